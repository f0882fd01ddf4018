//! The Network Block Device protocol, server side.
//!
//! Two layers, each usable alone:
//!
//! - [`Connection`] is the protocol without I/O: bytes in, events and reply bytes out. It has no
//!   clock, no socket and no payload; it stores only a table of the requests in flight.
//! - [`Server`] adds non-blocking sockets, and is driven by its owner's event loop. Payloads are in
//!   buffers of the owner's [`Backend`], which grants them as credits: the memory is bounded,
//!   whatever the clients do.
//!
//! The names are those of the protocol document (`proto.md` of the `nbd` project). The server
//! supports fixed newstyle negotiation with structured replies and the `base:allocation` metadata
//! context. It supports neither TLS nor extended headers.
//!
//! # Where the protocol leaves a choice
//!
//! - A request of length zero, other than a flush, is answered `EINVAL`.
//! - A read or write above the maximum block size is answered `EINVAL`, a read with
//!   `NBD_CMD_FLAG_DF` `EOVERFLOW`. The payload of a refused write is skipped as it arrives, and
//!   the error is sent after it.
//! - A write or write-zeroes beyond the end is answered `ENOSPC`; any other request beyond the end
//!   is answered `EINVAL`.
//! - A read is answered in one content chunk, so every read honours `NBD_CMD_FLAG_DF`. A request
//!   that succeeds without data is answered by a simple reply, and one that fails by an error chunk
//!   with a message.
//! - `NBD_CMD_FLAG_FUA`, if it is offered, is accepted on every command, and has an effect on
//!   commands that write.
//! - Block sizes are sent even if they are not requested, and a client that does not request them
//!   is not refused.
//! - A metadata context query without a namespace is answered `NBD_REP_ERR_INVALID`; one that finds
//!   nothing is not an error.
//! - A client that closes its side without `NBD_CMD_DISC` gets no more replies. Requests that were
//!   received from it are carried out.
//!
//! `examples/memory.rs` is a complete server of a disk in memory.

mod connection;
mod error;
mod event;
mod export;
mod handshake;
mod negotiated;
mod reply;
mod request;
mod server;
mod wire;

pub use connection::Connection;
pub use error::{ConfigError, Disconnect, ListenError, NbdError};
pub use event::{Advance, Event, RequestId};
pub use export::{Export, Features, Limits, Terms};
pub use request::{Extent, Request};
pub use server::{Backend, BufferHandle, RequestToken, Server, SocketAccess, Statistics, group_number};
