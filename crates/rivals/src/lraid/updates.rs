//! Updates in memory: those to come, those that are sorted, and those that are written to the log.

use super::sorter::{Chunk, Sorter};

/// The parts of the memory that are written to the log at once.
const CHUNKS: usize = 8;

/// The memory for updates.
#[derive(Clone, Debug)]
pub(super) struct Updates {
    /// The updates for which there is memory.
    most: usize,
    sorter: Sorter,
    /// Updates of writes under way.
    coming: usize,
    /// Updates that are being written to the log.
    leaving: usize,
}

impl Updates {
    /// A memory for at least one update.
    pub(super) fn new(most: usize) -> Updates {
        Updates { most: most.max(1), sorter: Sorter::default(), coming: 0, leaving: 0 }
    }

    /// The updates for which there is memory.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// The updates that are written to the log at once.
    pub(super) fn chunk(&self) -> usize {
        (self.most / CHUNKS).max(1)
    }

    /// Reserves memory for the updates of a write. Returns false if there is too little. (What is
    /// larger than all of it is taken when it is alone.)
    pub(super) fn expect(&mut self, updates: usize) -> bool {
        let held = self.held();
        let has_room = held == 0 || held + updates <= self.most;
        self.coming += if has_room { updates } else { 0 };
        has_room
    }

    fn held(&self) -> usize {
        self.sorter.len() + self.coming + self.leaving
    }

    /// An update that was expected is there.
    pub(super) fn add(&mut self, parity: u32) {
        self.coming -= 1;
        self.sorter.add(parity);
    }

    /// Whether there is memory for less than what is written at once.
    pub(super) fn is_nearly_full(&self) -> bool {
        self.sorter.len() + self.coming + self.chunk() > self.most
    }

    /// Takes updates to write to a log with so much room, if there are any and none are being
    /// written.
    pub(super) fn take(&mut self, room: u64) -> Option<Chunk> {
        if self.are_leaving() || self.sorter.len() == 0 || room == 0 {
            return None;
        }
        let chunk = self.sorter.take(self.chunk().min(room as usize));
        self.leaving = chunk.updates.len();
        Some(chunk)
    }

    /// Whether updates are being written.
    pub(super) fn are_leaving(&self) -> bool {
        self.leaving > 0
    }

    /// The updates that were being written are on the log.
    pub(super) fn left(&mut self) {
        self.leaving = 0;
    }

    /// What is taken next begins a run.
    pub(super) fn end_run(&mut self) {
        self.sorter.end_run();
    }

    /// Checks that there is memory for all, with so many requests under way.
    pub(super) fn check(&self, requests: usize) {
        assert!(self.held() <= self.most || requests <= 1, "no more updates than there is memory for");
    }
}
