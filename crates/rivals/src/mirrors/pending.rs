//! The masters of a disk that were written near the heads and are not in their places yet.

use std::collections::BTreeSet;

/// Masters to be written to their places, in the order of these.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    indices: BTreeSet<u64>,
    /// Where the last write to a place was.
    last: u64,
    /// Writes to places that are under way.
    pub(super) under_way: u32,
}

impl Pending {
    /// The number of masters that are not in their places.
    pub(super) fn count(&self) -> usize {
        self.indices.len()
    }

    pub(super) fn has(&self, index: u64) -> bool {
        self.indices.contains(&index)
    }

    pub(super) fn insert(&mut self, index: u64) {
        self.indices.insert(index);
    }

    pub(super) fn remove(&mut self, index: u64) {
        self.indices.remove(&index);
    }

    /// The next master onwards that `may` be written to its place now, and again from the first
    /// one.
    pub(super) fn next(&mut self, may: impl Fn(u64) -> bool) -> Option<u64> {
        let onwards = self.indices.range(self.last..).chain(self.indices.range(..self.last));
        let next = onwards.copied().find(|index| may(*index))?;
        self.last = next + 1;
        Some(next)
    }
}
