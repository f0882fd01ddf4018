//! Why a control command fails, or a control socket cannot be opened.

use std::io;
use std::path::PathBuf;

/// Why a control command fails, or a control socket cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// No server listens.
    #[error("{path}: no server listens here; is the array being served?", path = .path.display())]
    NoServer {
        /// The socket.
        path: PathBuf,
    },
    /// The server belongs to another user.
    #[error("{path}: permission denied; the array is served by another user: run this as that user, or as root", path = .path.display())]
    Forbidden {
        /// The socket.
        path: PathBuf,
    },
    /// The socket is an NBD socket.
    #[error(
        "{path}: this socket is for NBD clients; name the array's directory, one of its members or its control socket \
         (parlour-….sock)",
        path = .path.display()
    )]
    Nbd {
        /// The socket.
        path: PathBuf,
    },
    /// The server does not answer.
    #[error(
        "{path}: the server has not answered for {seconds} s; it may wait for a member: look at its own output, and for \
         errors of disks at the kernel's (dmesg)",
        path = .path.display()
    )]
    Silent {
        /// The socket.
        path: PathBuf,
        /// How long the client has waited.
        seconds: u64,
    },
    /// Another server listens already.
    #[error("{path}: another server listens here; is the array being served already?", path = .path.display())]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// The path exists and is not a socket.
    #[error("{path}: is no socket; remove it, or name another path", path = .path.display())]
    NotASocket {
        /// The path.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("{path}: cannot be used: {source}", path = .path.display())]
    Io {
        /// The socket.
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The answer is not valid.
    #[error("{path}: the server's answer is not understood ({what}); is it of another version?", path = .path.display())]
    Answer {
        /// The socket.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The server did not carry the command out.
    #[error("{0}")]
    Refused(String),
}
