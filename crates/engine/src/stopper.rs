//! Asking a server to stop, from another thread or from a signal's handler.

use std::io;
use std::sync::Arc;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};

/// Asks a server to stop. A byte in a pipe does it, so that a signal's handler can.
#[derive(Clone, Debug)]
pub struct Stopper {
    writer: Arc<OwnedFd>,
}

impl Stopper {
    /// Asks the server to stop: hosts are drained, the array is stopped, and the server returns.
    /// May be called in a signal's handler, and more than once.
    pub fn request_stop(&self) {
        // A full pipe has said it already; without a reader there is nobody to tell.
        let _ = rustix::io::write(&*self.writer, &[1]);
    }

    /// A descriptor of its own, to be given to those who tell of signals by writing a byte. It does
    /// not block.
    ///
    /// # Errors
    /// If there is no descriptor left.
    pub fn descriptor(&self) -> io::Result<OwnedFd> {
        Ok(rustix::io::fcntl_dupfd_cloexec(&*self.writer, 0)?)
    }
}

/// The server's end: readable once a stop was asked for.
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

    /// Takes what was written, so that the descriptor is readable only when there is news.
    pub(crate) fn clear(&self) {
        let mut bytes = [0; 64];
        while matches!(rustix::io::read(&self.reader, &mut bytes), Ok(count) if count == bytes.len()) {}
    }
}
