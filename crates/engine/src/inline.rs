//! Accesses that are over sooner than they could be handed to somebody else.

use crate::access::{Access, Done, Step};
use crate::member::Round;
use crate::perform::perform_at_once;

/// The longest access to memory that is done at once. `examples/backends.rs` measures it: io_uring
/// is slower at every size up to here, by 30 times for one 4 KiB read and by a tenth for 1 MiB,
/// since somebody has to copy the bytes and nobody is waited for. What is longer would keep
/// everybody else waiting.
const LIMIT: u64 = 1 << 20;

/// Does accesses in the caller's thread.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    done: Vec<Done>,
}

impl Inline {
    /// Whether `access` is best done here: a short one, to a member that no device keeps waiting.
    pub(crate) fn suits(access: &Access) -> bool {
        access.member().is_on_memory() && (access.remaining() <= LIMIT || access.step() == Step::Sync)
    }

    /// Does all of `batch`, but for what has to wait for the system's means: that stays in it.
    pub(crate) fn run(&mut self, batch: &mut Vec<Access>) {
        let round = Round::begin();
        for mut access in std::mem::take(batch) {
            match perform_at_once(&mut access, round) {
                Some(result) => self.done.push(access.finish(result)),
                None => batch.push(access),
            }
        }
    }

    /// Hands over what is done.
    pub(crate) fn reap(&mut self, done: &mut Vec<Done>) {
        done.append(&mut self.done);
    }

    /// How many are done and not handed over.
    pub(crate) fn len(&self) -> usize {
        self.done.len()
    }
}
