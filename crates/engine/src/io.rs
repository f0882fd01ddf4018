//! Carries accesses out, through the backend that was chosen.

use std::io;

use rustix::fd::BorrowedFd;

use crate::access::{Access, Done};
use crate::backend::IoBackend;
use crate::inline::Inline;
use crate::member::Member;
use crate::threads::Threads;
use crate::uring::Ring;

/// The choice of backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// Short accesses to members in memory at once, all others through io_uring. Threads are used
    /// where io_uring is refused.
    #[default]
    Auto,
    /// All through io_uring.
    Uring,
    /// All through a pool of threads.
    Threads,
}

/// No backend can be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// io_uring was asked for and is refused.
    #[error("io_uring is refused here: {0}; choose threads, or let the choice be automatic")]
    Uring(#[source] io::Error),
    /// The threads cannot be started.
    #[error(
        "cannot start the threads that access the members: {0}; raise the limits on processes and open files"
    )]
    Threads(#[source] io::Error),
}

/// The accesses of one array.
#[derive(Debug)]
pub struct Io {
    backend: Box<dyn IoBackend>,
    /// None if all accesses go through the backend.
    inline: Option<Inline>,
    /// The accesses of a batch that go to the backend. The vector is kept for its capacity.
    rest: Vec<Access>,
}

impl Io {
    /// Starts the chosen backend.
    ///
    /// # Errors
    /// If the chosen backend is refused.
    pub fn new(choice: Choice) -> Result<Io, StartError> {
        let backend: Box<dyn IoBackend> = match (choice, Ring::new()) {
            (Choice::Auto | Choice::Uring, Ok(ring)) => Box::new(ring),
            (Choice::Uring, Err(error)) => return Err(StartError::Uring(error)),
            (Choice::Auto, Err(_)) | (Choice::Threads, _) => {
                Box::new(Threads::new().map_err(StartError::Threads)?)
            }
        };
        let inline = (choice == Choice::Auto).then(Inline::default);
        Ok(Io { backend, inline, rest: Vec::new() })
    }

    /// All accesses go through `backend`.
    pub(crate) fn through(backend: Box<dyn IoBackend>) -> Io {
        Io { backend, inline: None, rest: Vec::new() }
    }

    /// Whether accesses to `member` are carried out one after another, as they are submitted.
    pub(crate) fn is_inline(&self, member: &Member) -> bool {
        self.inline.is_some() && member.is_on_memory()
    }
}

impl IoBackend for Io {
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()> {
        let Some(inline) = &mut self.inline else { return self.backend.submit(batch) };
        // The backend's accesses go first, so that the kernel works on them while the others are
        // carried out here.
        self.rest.extend(batch.extract_if(.., |access| !Inline::suits(access)));
        if !self.rest.is_empty() {
            self.backend.submit(&mut self.rest)?;
        }
        inline.run(batch);
        if batch.is_empty() { Ok(()) } else { self.backend.submit(batch) }
    }

    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()> {
        if let Some(inline) = &mut self.inline {
            inline.reap(done);
        }
        if self.backend.in_flight() > 0 { self.backend.reap(done) } else { Ok(()) }
    }

    fn give_up(&mut self, member: &Member, done: &mut Vec<Done>) {
        self.backend.give_up(member, done);
    }

    fn is_stalled(&self) -> bool {
        self.backend.is_stalled()
    }

    fn wait_fd(&self) -> BorrowedFd<'_> {
        self.backend.wait_fd()
    }

    fn in_flight(&self) -> usize {
        self.backend.in_flight() + self.inline.as_ref().map_or(0, Inline::len)
    }

    fn name(&self) -> &'static str {
        self.backend.name()
    }
}
