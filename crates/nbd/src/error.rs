//! The errors: those sent to the client, those of the client, and those of the configuration.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use rustix::io::Errno;

/// An error value of a reply, with the protocol's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[repr(u32)]
pub enum NbdError {
    /// The operation is not permitted: a write to a read-only export.
    #[error("operation not permitted")]
    Eperm = 1,
    /// The data could not be read or written.
    #[error("input/output error")]
    Eio = 5,
    /// Out of memory.
    #[error("cannot allocate memory")]
    Enomem = 12,
    /// The request is invalid.
    #[error("invalid argument")]
    Einval = 22,
    /// No space is left, or the write goes beyond the end.
    #[error("no space left on device")]
    Enospc = 28,
    /// A read with `NBD_CMD_FLAG_DF` is too large to be answered in one piece.
    #[error("value too large")]
    Eoverflow = 75,
    /// A `NBD_CMD_WRITE_ZEROES` with `NBD_CMD_FLAG_FAST_ZERO` would not be fast. For any other
    /// request it is sent as [`Einval`](Self::Einval), as the protocol demands.
    #[error("operation not supported")]
    Enotsup = 95,
    /// The server is shutting down.
    #[error("server is in the process of being shut down")]
    Eshutdown = 108,
}

impl NbdError {
    /// The number on the wire.
    #[must_use]
    pub fn code(self) -> u32 {
        self as u32
    }
}

/// Why a request was refused before it reached the backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("unknown or unadvertised command")]
    UnknownCommand,
    #[error("command flag unknown, unadvertised or not valid for this command")]
    InvalidFlag,
    #[error("export is read-only")]
    ReadOnly,
    #[error("length is zero")]
    ZeroLength,
    #[error("offset and length must be zero in a flush")]
    FlushRange,
    #[error("range reaches beyond the end of the export")]
    BeyondEnd,
    #[error("range reaches beyond the end of the export")]
    WriteBeyondEnd,
    #[error("offset or length is not a multiple of the minimum block size")]
    Misaligned,
    #[error("length is above the maximum block size")]
    TooLarge,
    #[error("length is above the maximum block size, and must not be fragmented")]
    TooLargeUnfragmented,
    #[error("no metadata context was negotiated")]
    NoMetaContext,
}

impl Refusal {
    pub(crate) fn error(self) -> NbdError {
        match self {
            Self::ReadOnly => NbdError::Eperm,
            Self::WriteBeyondEnd => NbdError::Enospc,
            Self::TooLargeUnfragmented => NbdError::Eoverflow,
            _ => NbdError::Einval,
        }
    }
}

/// Why the server closes a connection without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disconnect {
    /// The client set a handshake flag that the server did not offer.
    #[error("unknown client flags {0:#x}")]
    ClientFlags(u32),
    /// An option did not begin with `IHAVEOPT`.
    #[error("bad option magic {0:#x}")]
    OptionMagic(u64),
    /// A client that did not ask for fixed newstyle sent an option other than
    /// `NBD_OPT_EXPORT_NAME`.
    #[error("option {0} without fixed newstyle negotiation")]
    NotFixedNewstyle(u32),
    /// `NBD_OPT_EXPORT_NAME` named an unknown export; this option has no error reply.
    #[error("unknown export in NBD_OPT_EXPORT_NAME")]
    UnknownExport,
    /// The client sent more options than [`Limits::options`](crate::Limits::options).
    #[error("too many options")]
    TooManyOptions,
    /// A request did not begin with `NBD_REQUEST_MAGIC`.
    #[error("bad request magic {0:#x}")]
    RequestMagic(u32),
}

/// What is wrong with an [`Export`](crate::Export) or [`Limits`](crate::Limits).
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A name or description is longer than 4096 bytes or contains NUL.
    #[error("export name or description is longer than 4096 bytes or contains NUL")]
    BadString,
    /// The minimum block size is not a power of two from 1 to 65536.
    #[error("minimum block size {0} is not a power of two between 1 and 65536")]
    MinimumBlock(u32),
    /// The preferred block size is not a power of two between the larger of 512 and the minimum,
    /// and the maximum.
    #[error(
        "preferred block size {0} is not a power of two between 512, the minimum and the maximum block size"
    )]
    PreferredBlock(u32),
    /// The size is not a multiple of the minimum block size, in bytes.
    #[error("export size {0} is not a multiple of the minimum block size")]
    Size(u64),
    /// The maximum payload is not a multiple of the minimum block size between 64 KiB and 1 GiB.
    #[error("maximum payload {0} is not a multiple of the minimum block size between 64 KiB and 1 GiB")]
    Payload(u32),
    /// The maximum length of an option is not between 4608 bytes and 64 KiB.
    #[error("maximum option length {0} is not between 4608 and 65536 bytes")]
    OptionLength(u32),
    /// A limit on requests in flight, connections, connections of a client, or handshakes is zero,
    /// or the limit on connections is above 65535.
    #[error(
        "limits on requests in flight, connections and handshakes must be at least 1, and connections at most 65535"
    )]
    Count,
}

/// The message for an address on which the system does not let the server listen, with a remedy.
fn refused(address: &str, source: &io::Error) -> String {
    let next = address.parse::<SocketAddr>().ok().and_then(|mut address| {
        address.set_port(address.port().checked_add(1)?);
        Some(format!(", such as {address}"))
    });
    let next = next.unwrap_or_default();
    match source.kind() {
        io::ErrorKind::AddrInUse => format!("another program listens there; choose another port{next}"),
        io::ErrorKind::AddrNotAvailable => {
            "this machine has no such address; 'ip address' shows those that it has".to_owned()
        }
        io::ErrorKind::PermissionDenied => {
            "permission denied; choose a port above 1023, or a directory that you may write to".to_owned()
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only; choose a path elsewhere".to_owned()
        }
        io::ErrorKind::NotFound => "no such directory; make it, or choose another path".to_owned(),
        _ if source.raw_os_error() == Some(Errno::NAMETOOLONG.raw_os_error()) => {
            "the path of a socket has 107 bytes at the most; choose a shorter one".to_owned()
        }
        _ => source.to_string(),
    }
}

/// Why [`Server`](crate::Server) cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another process listens on this path.
    #[error("{0}: another server is listening on this socket; stop it or choose another path")]
    InUse(PathBuf),
    /// The path exists and is not a socket.
    #[error("{0}: exists and is not a socket; remove it or choose another path")]
    NotASocket(PathBuf),
    /// The group does not exist.
    #[error("{0}: no group of this name in /etc/group; give the group's number")]
    NoSuchGroup(String),
    /// A system call failed.
    #[error("cannot listen on {address}: {}", refused(.address, .source))]
    Io {
        /// The path or address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
}
