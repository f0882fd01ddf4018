//! The Network Block Device protocol, server side.
//!
//! Two layers, each usable alone:
//!
//! - [`Connection`] is the protocol without I/O: bytes in, events and reply bytes out. It has no
//!   clock, no socket and no payload; what it buffers is a table of the requests in flight.
//! - [`Server`] puts non-blocking sockets around it, to be driven from somebody else's event loop.
//!   Payloads live in buffers of the owner's [`Backend`], which gives them out as credits: memory
//!   is bounded whatever the clients do.
//!
//! Names are those of the protocol document (`proto.md` of the `nbd` project). Spoken is fixed
//! newstyle negotiation with structured replies and the `base:allocation` metadata context; TLS and
//! extended headers are not.
//!
//! # Where the protocol leaves room
//!
//! - A request of length zero, other than a flush, is answered `EINVAL`.
//! - A read or write above the maximum block size is answered `EINVAL`, a read with
//!   `NBD_CMD_FLAG_DF` `EOVERFLOW`; the payload of a refused write is skipped as it comes, and the
//!   error is sent behind it.
//! - A write or write-zeroes beyond the end is answered `ENOSPC`, anything else beyond it `EINVAL`.
//! - A read is answered in one content chunk, so every read honours `NBD_CMD_FLAG_DF`; what
//!   succeeds without data is answered by a simple reply, what fails by an error chunk with a
//!   message.
//! - `NBD_CMD_FLAG_FUA`, where offered, is accepted on every command and means something on those
//!   that write.
//! - Block sizes are told whether asked for or not, and no client is turned away for not asking.
//! - A metadata context query without a namespace is answered `NBD_REP_ERR_INVALID`; one that finds
//!   nothing is not an error.
//! - A client that closes its side without `NBD_CMD_DISC` gets no more replies; what was received
//!   from it is carried out.
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
