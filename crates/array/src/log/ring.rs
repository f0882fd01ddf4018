//! A circular log of entries on a member: its places, and which of its entries still count.
//!
//! Invariants: entries stand in the order of their numbers; what is between the oldest that counts
//! and the head is not longer than the ring; an entry does not wrap around the end; entries are
//! forgotten from the front alone, and one that is forgotten is no longer needed after a crash.
//! What the last entry that was written calls the oldest that counts, and all behind it, is not
//! overwritten before a later entry is durable: so after a crash each entry that the newest one
//! counts on is there, or was damaged.

use std::collections::VecDeque;

use parlour_units::Sectors;

use crate::format::commit_entry::{Found, Told};

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
}

/// A part of a member's commit log.
#[derive(Debug)]
pub(super) struct Ring {
    length: u64,
    block: u64,
    /// Where the next entry goes, in sectors ever appended.
    head: u64,
    next: u64,
    entries: VecDeque<Entry>,
    /// The number of the last entry that was written; 0 where there is none.
    last: u64,
    /// Where the oldest entry starts that the last one which was written counts on.
    floor: u64,
    /// An entry is on its way.
    writing: Option<Writing>,
    /// No entry was written since the ring was opened, or since another member took its place.
    fresh: bool,
}

/// An entry that is being written.
#[derive(Clone, Copy, Debug)]
struct Writing {
    number: u64,
    floor: u64,
}

/// A new entry: its number, where it starts, and the numbers of the oldest that counts and of the
/// one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) tail: u64,
    pub(super) previous: u64,
}

impl Ring {
    /// What was found goes on; what still counts of it is to be kept. Entries to come are numbered
    /// from `first`, so that they come after whatever could not be found.
    pub(super) fn new(found: &Found, first: u64, length: Sectors, block: Sectors) -> Ring {
        let (head, last, kept) = match found.entries.split_last() {
            // The empty entry of a session in which nothing followed: that of this one takes its
            // place, or the ring would fill up with them from crash to crash.
            Some((newest, before)) if newest.told == Told::default() => (newest.at, newest.previous, before),
            _ => (found.head, found.newest, &found.entries[..]),
        };
        let entries = kept.iter().map(|entry| Entry {
            number: entry.number,
            at: entry.at,
            end: entry.at + entry.length(block).get(),
            unstored: 0,
            unlanded: 0,
            landed: None,
        });
        let entries: VecDeque<Entry> = entries.collect();
        Ring {
            length: length.get(),
            block: block.get(),
            head,
            next: first.max(found.newest + 1),
            last,
            // (What the newest counts on must not be torn either after a clean stop: a crash that
            // comes before this session has begun leaves that entry the newest, and the array is
            // not called clean any more.)
            floor: found.floor.min(head),
            entries,
            writing: None,
            fresh: true,
        }
    }

    /// Whether an entry is on its way.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether it holds no entry of this session yet. Without one a crash could not be told from a
    /// loss of all of them.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The same, without what is for empty entries.
    pub(super) fn room(&self) -> u64 {
        self.length - (4 * self.block).min(self.length / 4)
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

    /// Another member holds it from now on: entries to come are numbered from `next`.
    pub(super) fn renumber(&mut self, next: u64) {
        self.entries.clear();
        (self.next, self.last, self.floor, self.fresh) = (next, 0, self.head, true);
    }

    /// The entry with this number, if it still counts.
    pub(super) fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get_mut(index)
    }

    /// Whether there is room for an entry of `length`. Where there is none, an empty entry makes
    /// some: what was forgotten since the last one was written is free once another is.
    pub(super) fn fits(&self, length: Sectors) -> bool {
        self.start(length.get(), self.length - self.block).is_some()
    }

    /// Whether an empty entry would make room.
    pub(super) fn lags(&self) -> bool {
        self.floor < self.entries.front().map_or(self.head, |entry| entry.at)
    }

    /// Begins an entry of `length` that tells of `unlanded` writes, and is kept until `unstored`
    /// things are stored.
    pub(super) fn append(&mut self, length: Sectors, unstored: u32, unlanded: u32) -> Placed {
        // Where nothing counts any more, and there is no room for an empty entry, it takes that of
        // one that is forgotten. (If a crash cuts it off just then, the log is taken for damaged.)
        let forgotten = self.entries.is_empty() && length.get() == self.block;
        let start = self.start(length.get(), self.length).or(forgotten.then_some(self.head));
        let at = start.expect("space is reserved before it is used");
        assert!(self.writing.is_none(), "one entry is written at a time");
        self.head = at + length.get();
        let (number, previous) = (self.next, self.last);
        self.next += 1;
        self.entries.push_back(Entry { number, at, end: self.head, unstored, unlanded, landed: None });
        let oldest = self.entries.front().expect("one was pushed");
        self.writing = Some(Writing { number, floor: oldest.at });
        Placed { number, at, tail: oldest.number, previous }
    }

    /// The entry on its way was written, or (unless `whole`) could not be: then its writes will be
    /// in another, which takes its place.
    pub(super) fn written(&mut self, whole: bool) {
        let writing = self.writing.take().expect("an entry was on its way");
        if whole {
            (self.last, self.floor, self.fresh) = (writing.number, writing.floor, false);
        } else if let Some(broken) = self.entries.back().filter(|entry| entry.number == writing.number) {
            self.head = broken.at;
            self.entries.pop_back();
        }
    }

    /// Not even an empty entry can be written: nobody waits for one any more.
    pub(super) fn give_up_beginning(&mut self) {
        self.fresh = false;
    }

    /// Where an entry of `length` may start so that no more than `most` is in use. One that nothing
    /// stands before goes to the start of the ring, if it can, so that no room is lost at its end.
    fn start(&self, length: u64, most: u64) -> Option<u64> {
        let at = self.head % self.length;
        let around = if at == 0 { self.head } else { self.head + self.length - at };
        let wraps = at + length > self.length;
        let first = if self.entries.is_empty() || wraps { around } else { self.head };
        let fits = |start: &u64| start + length - self.floor <= most;
        let behind = (!wraps).then_some(self.head);
        Some(first).filter(fits).or(behind.filter(fits))
    }

    /// Forgets entries that no longer count, where `complete` is the last flush that is complete.
    /// Says whether there were any.
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

    /// Segments that hold records of entries up to here keep the older half in use; of these, the
    /// last number.
    pub(super) fn middle(&self) -> u64 {
        let half = self.head - self.used() / 2;
        let older = self.entries.partition_point(|entry| entry.end <= half);
        self.entries.get(older.saturating_sub(1)).map_or(0, |entry| entry.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::EntryHeader;
    use crate::format::commit_entry::tests::something;

    const BLOCK: Sectors = Sectors::new(8);

    /// A ring of 80 sectors with entries of a block each, numbered from 1.
    fn ring(entries: u64) -> Ring {
        let entry = |number| EntryHeader {
            number,
            at: (number - 1) * 8,
            tail: 1,
            previous: number - 1,
            told: something(),
        };
        let entries: Vec<EntryHeader> = (1..=entries).map(entry).collect();
        let (newest, head) = (entries.len() as u64, entries.len() as u64 * 8);
        Ring::new(&Found { entries, newest, head, floor: 0, whole: true }, 1, Sectors::new(80), BLOCK)
    }

    /// Appends an entry, which is written; returns its number, its place and the oldest that
    /// counts.
    fn append(ring: &mut Ring, length: u64, unstored: u32) -> (u64, u64, u64) {
        let placed = ring.append(Sectors::new(length), unstored, 0);
        ring.written(true);
        (placed.number, placed.at, placed.tail)
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
        assert_eq!(append(&mut ring, 56, 1), (1, 0, 1));
        assert_eq!(append(&mut ring, 16, 1), (2, 56, 1));
        ring.entry(1).unwrap().stored();
        assert!(ring.release(0));
        assert!(!ring.fits(Sectors::new(16)), "the last entry counts on the first still");
        assert_eq!(append(&mut ring, 8, 0), (3, 72, 2));
        assert!(ring.fits(Sectors::new(16)));
        assert_eq!(append(&mut ring, 16, 1), (4, 80, 2));
        assert_eq!(ring.used(), 40);
        assert_eq!(append(&mut ring, 32, 1), (5, 96, 2));
        assert!(!ring.fits(Sectors::new(8)), "a block is kept for an empty entry");
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
    fn what_the_last_entry_counts_on_is_not_overwritten_before_another_is_written() {
        let mut ring = ring(7);
        assert!(ring.release(0));
        assert!(ring.is_empty());
        assert!(!ring.fits(Sectors::new(40)), "a tear would cost the first");
        assert_eq!(append(&mut ring, 8, 0), (8, 56, 8));
        assert!(ring.release(0));
        assert!(ring.fits(Sectors::new(40)));
        assert_eq!(append(&mut ring, 40, 1), (9, 80, 9), "nothing stands before it");
    }

    #[test]
    fn what_the_last_entry_before_a_clean_stop_counts_on_is_not_overwritten_before_another_is_written() {
        let found = Found { entries: Vec::new(), newest: 7, head: 56, floor: 0, whole: true };
        let mut ring = Ring::new(&found, 90, Sectors::new(80), BLOCK);
        assert_eq!(append(&mut ring, 8, 0), (90, 56, 90), "not at the start, where nothing counts any more");
        assert!(ring.release(0));
        assert_eq!(append(&mut ring, 40, 1), (91, 80, 91));
    }

    #[test]
    fn an_entry_that_could_not_be_written_is_not_the_one_before() {
        let mut ring = ring(2);
        ring.append(Sectors::new(8), 0, 1);
        ring.written(false);
        assert!(ring.entry(3).is_none());
        let placed = ring.append(Sectors::new(8), 0, 0);
        assert_eq!((placed.number, placed.previous, placed.at), (4, 2, 16), "it takes its place");
    }

    #[test]
    fn empty_entries_of_sessions_do_not_fill_a_ring() {
        let header = |number, previous, told| EntryHeader { number, at: number * 8, tail: 0, previous, told };
        let entries = vec![header(0, 0, something()), header(1, 0, Told::default())];
        let found = Found { entries, newest: 1, head: 16, floor: 0, whole: true };
        let mut ring = Ring::new(&found, 90, Sectors::new(80), BLOCK);
        let placed = ring.append(Sectors::new(8), 0, 0);
        assert_eq!((placed.number, placed.at, placed.previous), (90, 8, 0));
    }

    #[test]
    fn a_ring_is_fresh_until_an_entry_of_its_member_is_written() {
        let mut ring = ring(2);
        assert!(ring.is_fresh());
        append(&mut ring, 8, 0);
        assert!(!ring.is_fresh());
        ring.forget();
        ring.renumber(90);
        assert!(ring.is_fresh());
        let placed = ring.append(Sectors::new(8), 0, 0);
        assert_eq!((placed.number, placed.previous, placed.tail), (90, 0, 90));
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
