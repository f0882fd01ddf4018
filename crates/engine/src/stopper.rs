//! Stops a server from another thread or from a signal handler.

use std::io;
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};

/// A handle to stop a server. It writes a byte to a pipe, which a signal handler may do.
#[derive(Clone, Debug)]
pub struct Stopper {
    writer: Arc<OwnedFd>,
}

impl Stopper {
    /// Stops the server: hosts' requests are completed, the array is stopped, and the server
    /// returns. May be called in a signal handler, and more than once.
    pub fn request_stop(&self) {
        // A full pipe means that a stop was requested already; without a reader the server is gone.
        let _ = rustix::io::write(&*self.writer, &[1]);
    }

    /// A separate descriptor, for code that reports signals by writing a byte. It does not block.
    ///
    /// # Errors
    /// If there is no free descriptor.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(rustix::io::fcntl_dupfd_cloexec(&*self.writer, 0)?)
    }
}

/// The server's end of the pipe: readable after a stop was requested.
#[derive(Debug)]
pub(crate) struct StopRequest {
    reader: OwnedFd,
    stopper: Stopper,
}

impl StopRequest {
    pub(crate) fn new() -> io::Result<StopRequest> {
        let (reader, writer) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(StopRequest { reader, stopper: Stopper { writer: Arc::new(writer) } })
    }

    pub(crate) fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    pub(crate) fn wait_fd(&self) -> BorrowedFd<'_> {
        self.reader.as_fd()
    }

    /// Reads all bytes, so that the descriptor is readable only after a new request.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.reader, &mut bytes), Ok(count) if count == bytes.len()) {}
    }
}
