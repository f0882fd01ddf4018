//! What all ways to carry accesses out have in common.

use std::fmt;
use std::io;

use rustix::fd::BorrowedFd;

use crate::access::{Access, Done};
use crate::member::Member;

/// A way to carry accesses out. They are done in any order and at the same time.
///
/// Dropping it waits for what is in flight, but for accesses that were given up.
pub trait IoBackend: fmt::Debug + Send {
    /// Takes all of `batch`, entering the kernel once if it can.
    ///
    /// # Errors
    /// If the way itself is broken; what failed on a member comes with its [`Done`].
    fn submit(&mut self, batch: &mut Vec<Access>) -> io::Result<()>;

    /// Adds what is done to `done`. Does not wait.
    ///
    /// # Errors
    /// If the way itself is broken.
    fn reap(&mut self, done: &mut Vec<Done>) -> io::Result<()>;

    /// Gives all accesses of `member` up, which has to be marked so before ([`Member::give_up`]).
    /// Those that are not with the kernel come back in `done` as failed; the others when the kernel
    /// answers, if ever.
    fn give_up(&mut self, member: &Member, done: &mut Vec<Done>);

    /// Whether it has to be asked again soon, though nothing will make it readable: the system
    /// lacked the means.
    fn is_stalled(&self) -> bool;

    /// Readable when there may be something to reap. Some accesses are done when `submit` returns,
    /// and do not make it readable: reap once after submitting, before waiting.
    fn wait_fd(&self) -> BorrowedFd<'_>;

    /// How many accesses were taken and not handed back, those that were given up among them.
    fn in_flight(&self) -> usize;

    /// What it is called, for people.
    fn name(&self) -> &'static str;
}
