//! Hosts' requests that are with the array: whose they are, and since when.

use parlour_array::{Operation, Tag};
use parlour_units::{Bytes, Instant, Sectors};

/// What a request moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
    /// Nothing: flushes, trims.
    Neither,
}

/// A request that is with the array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    /// The frontend's name for it.
    pub(crate) tag: u64,
    pub(crate) began: Instant,
    pub(crate) direction: Direction,
    pub(crate) moved: Bytes,
}

/// Requests by the tag that the array knows.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    slots: Vec<Option<Pending>>,
    free: Vec<u32>,
}

impl Requests {
    pub(crate) fn insert(&mut self, tag: u64, began: Instant, operation: Operation, length: Sectors) -> Tag {
        let direction = match operation {
            Operation::Read => Direction::Read,
            Operation::Write { .. } | Operation::WriteZeroes { .. } => Direction::Write,
            Operation::Trim | Operation::Flush => Direction::Neither,
        };
        let pending = Some(Pending { tag, began, direction, moved: length.bytes() });
        match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = pending;
                Tag(u64::from(slot))
            }
            None => {
                self.slots.push(pending);
                Tag(self.slots.len() as u64 - 1)
            }
        }
    }

    pub(crate) fn take(&mut self, tag: Tag) -> Pending {
        let pending = self.slots[tag.0 as usize].take().expect("a request is answered once");
        self.free.push(tag.0 as u32);
        pending
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}
