//! The interface of all I/O backends.

use std::fmt;
use std::io;

use rustix::fd::BorrowedFd;

use crate::access::{Access, Done};
use crate::member::Member;

/// Carries accesses out, in any order and concurrently.
///
/// Dropping a backend waits for the accesses in flight, except those that were given up.
pub trait IoBackend: fmt::Debug + Send {
    /// Takes all of `batch`, with one system call if possible.
    ///
    /// # Errors
    /// If the backend itself is broken. A failure on a member is in the access's [`Done`].
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()>;

    /// Adds the completed accesses to `done`. Does not wait.
    ///
    /// # Errors
    /// If the backend itself is broken.
    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()>;

    /// Gives up all accesses of `member`, which the caller has marked before (`Member::give_up`).
    /// Accesses that were not submitted to the kernel are added to `done` as failed. The others are
    /// reaped when the kernel answers them, if it ever does.
    fn give_up(&mut self, member: &Member, done: &mut Vec<Done>);

    /// Whether the backend must be polled again soon, although its descriptor will not become
    /// readable: the system lacked a resource.
    fn is_stalled(&self) -> bool;

    /// Readable when there may be something to reap. Accesses that are complete when `submit`
    /// returns do not make it readable: reap once after submitting, before waiting.
    fn wait_fd(&self) -> BorrowedFd<'_>;

    /// The number of accesses that were submitted and not reaped, including those that were given
    /// up.
    fn in_flight(&self) -> usize;

    /// The backend's name, for people.
    fn name(&self) -> &'static str;
}
