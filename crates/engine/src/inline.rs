//! Carries short accesses out at once, in the caller's thread: passing them to another thread would
//! take longer.

use crate::access::{Access, Done, Step};
use crate::member::Round;
use crate::perform::perform_at_once;

/// The longest access to memory that is carried out at once. `examples/backends.rs` measures it:
/// io_uring is slower at every size up to this limit, by 30 times for one 4 KiB read and by a tenth
/// for 1 MiB. The bytes have to be copied in either case, and there is no device to wait for. A
/// longer access would delay the other work of the thread.
const LIMIT: u64 = 1 << 20;

/// Carries accesses out in the caller's thread.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    done: Vec<Done>,
    /// The batch that is being carried out. (It is kept for its memory.)
    batch: Vec<Access>,
}

impl Inline {
    /// Whether `access` is best carried out here: it is short, and its member has no device to wait
    /// for.
    pub(crate) fn suits(access: &Access) -> bool {
        access.member().is_on_memory() && (access.remaining() <= LIMIT || access.step() == Step::Sync)
    }

    /// Carries out all of `batch`, except accesses that must wait for a system resource: these stay
    /// in `batch`.
    pub(crate) fn run(&mut self, batch: &mut Vec<Access>) {
        let round = Round::begin();
        std::mem::swap(batch, &mut self.batch);
        for mut access in self.batch.drain(..) {
            match perform_at_once(&mut access, round) {
                Some(result) => self.done.push(access.finish(result)),
                None => batch.push(access),
            }
        }
    }

    /// Adds the completed accesses to `done`.
    pub(crate) fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    /// The number of completed accesses that were not reaped.
    pub(crate) fn len(&self) -> usize {
        self.done.len()
    }
}
