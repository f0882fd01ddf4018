//! A circular log of entries on a member: its places, and which of its entries still count.
//!
//! Invariants: entries stand in the order of their numbers; what is between the oldest that counts and the head is not
//! longer than the ring; an entry does not wrap around the end; entries are forgotten from the front alone, and one that
//! is forgotten is no longer needed after a crash.

use std::collections::VecDeque;

use parlour_units::Sectors;

use super::commit_entry::Found;

/// An entry that still counts.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    number: u64,
    at: u64,
    end: u64,
    /// Records that are in memory only, or intents whose parity is not yet durable.
    unstored: u32,
    /// Writes whose data is on its way.
    unlanded: u32,
    /// The last flush that had begun when the last of them landed: the next one covers it.
    landed: Option<u64>,
}

impl Entry {
    /// Whether nothing but a flush is wanting.
    fn is_over(&self) -> bool {
        self.unstored == 0 && self.unlanded == 0
    }

    /// Whether it no longer counts, where `complete` is the last flush that is complete.
    fn is_done(&self, complete: u64) -> bool {
        self.is_over() && self.landed.is_none_or(|landed| complete > landed)
    }

    /// One more thing of it is to be stored.
    pub(super) fn keep(&mut self) {
        self.unstored += 1;
    }

    /// One of these things is where it should be.
    pub(super) fn stored(&mut self) {
        self.unstored -= 1;
    }

    /// Data that it tells of was written after the `begun`-th flush had begun.
    pub(super) fn covered_after(&mut self, begun: u64) {
        self.landed = self.landed.max(Some(begun));
    }

    /// The data of one of its writes has been written.
    pub(super) fn landed(&mut self, begun: u64) {
        self.unlanded -= 1;
        self.covered_after(begun);
    }

    /// It was not written: its writes will be told of by another.
    pub(super) fn broken(&mut self) {
        self.unlanded = 0;
    }
}

/// A part of a member's commit log.
#[derive(Debug)]
pub(super) struct Ring {
    length: u64,
    /// Where the next entry goes, in sectors ever appended.
    head: u64,
    next: u64,
    entries: VecDeque<Entry>,
    /// An entry is on its way.
    pub(super) writing: bool,
}

impl Ring {
    /// What was found goes on; what still counts of it is to be kept. Entries to come are numbered from `first`, so that
    /// they come after whatever could not be found.
    pub(super) fn new(found: &Found, first: u64, length: Sectors, block: Sectors) -> Ring {
        let entries = found.entries.iter().map(|entry| Entry {
            number: entry.number,
            at: entry.at,
            end: entry.at + entry.length(block).get(),
            unstored: 0,
            unlanded: 0,
            landed: None,
        });
        Ring {
            length: length.get(),
            head: found.head,
            next: found.next.max(first),
            entries: entries.collect(),
            writing: false,
        }
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Sectors from the oldest entry that counts to the head.
    pub(super) fn used(&self) -> u64 {
        self.entries.front().map_or(0, |entry| self.head - entry.at)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The number of the next entry.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Entries to come are numbered from `next`.
    pub(super) fn renumber(&mut self, next: u64) {
        self.next = next;
    }

    /// The entry with this number, if it still counts.
    pub(super) fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get_mut(index)
    }

    /// Begins an entry of `length` that tells of `unlanded` writes, and is kept until `unstored` things are stored. Says its
    /// number, where it starts, and the number of the oldest entry that counts.
    pub(super) fn append(&mut self, length: Sectors, unstored: u32, unlanded: u32) -> (u64, u64, u64) {
        let at = self.place(length);
        let number = self.next;
        self.next += 1;
        self.writing = true;
        self.entries.push_back(Entry {
            number,
            at,
            end: at + length.get(),
            unstored,
            unlanded,
            landed: None,
        });
        (number, at, self.oldest().expect("one was pushed"))
    }

    /// Makes room for an entry of `length`; says where it starts. One that nothing stands before goes to the start, so that
    /// no room is lost at the end of the ring while it is filled for the first time.
    fn place(&mut self, length: Sectors) -> u64 {
        let at = self.head % self.length;
        if at > 0 && (self.entries.is_empty() || at + length.get() > self.length) {
            self.head += self.length - at;
        }
        let start = self.head;
        self.head += length.get();
        let from = self.entries.front().map_or(start, |entry| entry.at);
        assert!(self.head - from <= self.length, "space is reserved before it is used");
        start
    }

    fn oldest(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.number)
    }

    /// Forgets entries that no longer count, where `complete` is the last flush that is complete. Says whether there were any.
    pub(super) fn release(&mut self, complete: u64) -> bool {
        let before = self.entries.len();
        while self.entries.front().is_some_and(|entry| entry.is_done(complete)) {
            self.entries.pop_front();
        }
        self.entries.len() < before
    }

    /// Forgets all entries: their member is gone.
    pub(super) fn forget(&mut self) {
        self.entries.clear();
    }

    /// Whether a flush would free something.
    pub(super) fn wants_flush(&self) -> bool {
        self.entries.front().is_some_and(Entry::is_over)
    }

    /// Segments that hold records of entries up to here keep the older half in use; of these, the last number.
    pub(super) fn middle(&self) -> u64 {
        let half = self.head - self.used() / 2;
        let older = self.entries.iter().take_while(|entry| entry.end <= half).last();
        older.map(|entry| entry.number).or(self.oldest()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::commit_entry::{EntryHeader, Told};
    use super::*;

    const BLOCK: Sectors = Sectors::new(8);

    /// A ring of 80 sectors with entries of a block each, numbered from 1.
    fn ring(entries: u64) -> Ring {
        let entry = |number| EntryHeader { number, at: (number - 1) * 8, tail: 1, told: Told::default() };
        let found =
            Found { entries: (1..=entries).map(entry).collect(), next: entries + 1, head: entries * 8 };
        Ring::new(&found, 1, Sectors::new(80), BLOCK)
    }

    #[test]
    fn the_older_half_ends_with_an_entry() {
        assert_eq!(ring(0).middle(), 0);
        assert_eq!(ring(1).middle(), 1, "the oldest is always among them");
        assert_eq!(ring(4).middle(), 2);
        assert_eq!(ring(5).middle(), 2);
    }

    #[test]
    fn an_entry_does_not_wrap_around_the_end() {
        let mut ring = ring(0);
        assert_eq!(ring.append(Sectors::new(56), 1, 0), (1, 0, 1));
        assert_eq!(ring.append(Sectors::new(16), 1, 0), (2, 56, 1));
        ring.entry(1).unwrap().stored();
        assert!(ring.release(0));
        assert_eq!(ring.append(Sectors::new(16), 1, 0), (3, 80, 2), "8 sectors are left over");
        assert_eq!(ring.used(), 40);
        assert_eq!(ring.append(Sectors::new(40), 1, 0), (4, 96, 2), "it just fits");
    }

    #[test]
    #[should_panic(expected = "space is reserved before it is used")]
    fn what_still_counts_is_never_overwritten() {
        let mut ring = ring(2);
        ring.entry(2).unwrap().keep();
        ring.entry(1).unwrap().keep();
        ring.append(Sectors::new(72), 0, 0);
    }

    #[test]
    fn a_ring_where_nothing_counts_is_filled_from_its_start() {
        let mut ring = ring(3);
        assert!(ring.release(0));
        assert!(ring.is_empty());
        assert_eq!(ring.append(Sectors::new(80), 1, 0), (4, 80, 4));
    }

    #[test]
    fn entries_are_forgotten_in_order_once_all_is_stored_and_flushed() {
        let mut ring = ring(2);
        for number in [1, 2] {
            let entry = ring.entry(number).unwrap();
            entry.keep();
            entry.keep();
        }
        ring.entry(2).unwrap().stored();
        ring.entry(2).unwrap().stored();
        ring.entry(2).unwrap().covered_after(2);
        ring.entry(1).unwrap().stored();
        assert!(!ring.wants_flush());
        assert!(!ring.release(9), "something of the first is in memory only");
        ring.entry(1).unwrap().stored();
        assert!(ring.wants_flush());
        assert!(ring.release(2));
        assert_eq!(ring.used(), 8, "the flush that covers the second is not complete");
        assert!(ring.release(3));
        assert_eq!(ring.used(), 0);
        assert!(!ring.release(3));
    }
}
