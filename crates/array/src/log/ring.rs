//! A stream of entries in areas of members: where entries are placed, and which of them still
//! count. An entry has the same place in the area of each member on which it stands.
//!
//! Invariants:
//! - Entries are placed in the order of their numbers.
//! - The distance from the oldest entry that counts to the head is at most the length of the ring.
//! - An entry does not wrap around the end.
//! - Entries are forgotten from the front only. A forgotten entry is not needed after a crash.
//! - The last entry that was written names the oldest entry that counts. From that one on, no entry
//!   is overwritten before a later entry is durable. So after a crash every entry that the newest
//!   one counts on is there, unless it was damaged.

use std::collections::VecDeque;

use parlour_units::{Instant, Sectors, Slot};

use crate::format::commit_entry::EntryContent;
use crate::log::found::{Found, FoundEntry};

/// An entry that still counts.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    number: u64,
    /// The slots on whose members it stands.
    slots: Vec<Slot>,
    at: u64,
    end: u64,
    /// When it was begun, if that was in this session.
    began: Option<Instant>,
    /// Records that are in memory only, or intents whose parity is not yet durable.
    unstored: u32,
    /// Writes whose data is still being written.
    unlanded: u32,
    /// The number of the last flush that had begun when the last of these writes was done: a later
    /// flush covers them.
    landed: Option<u64>,
}

impl Entry {
    /// Whether only a flush is still needed.
    fn is_over(&self) -> bool {
        self.unstored == 0 && self.unlanded == 0
    }

    /// Whether the entry no longer counts; `complete` is the number of the last complete flush.
    fn is_done(&self, complete: u64) -> bool {
        self.is_over() && self.landed.is_none_or(|landed| complete > landed)
    }

    /// The slots on whose members it stands.
    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The entry is kept until one more record or intent is stored elsewhere.
    pub(super) fn keep(&mut self) {
        self.unstored += 1;
    }

    /// One record or intent of the entry is stored elsewhere, or no longer needed.
    pub(super) fn stored(&mut self) {
        self.unstored -= 1;
    }

    /// Data that the entry describes was written after the `begun`-th flush had begun.
    pub(super) fn covered_after(&mut self, begun: u64) {
        self.landed = self.landed.max(Some(begun));
    }

    /// The data of one of the entry's writes has been written.
    pub(super) fn landed(&mut self, begun: u64) {
        self.unlanded -= 1;
        self.covered_after(begun);
    }
}

/// One of the streams.
#[derive(Debug)]
pub(super) struct Ring {
    length: u64,
    block: u64,
    /// Where the next entry goes, counted in sectors since the ring was new.
    head: u64,
    next: u64,
    entries: VecDeque<Entry>,
    /// The number of the last entry that was written; 0 where there is none.
    last: u64,
    /// The slots on whose members that entry stands.
    last_slots: Vec<Slot>,
    /// The start of the oldest entry that counts, as the last written entry names it.
    floor: u64,
    /// The number of that entry; 0 until an entry of this session is written: up to then, what the
    /// session before forgot last may be found once more.
    tail: u64,
    /// The entry that is being written.
    writing: Option<Writing>,
    /// No entry was written since the ring was opened, or since another member took its place.
    fresh: bool,
}

/// An entry that is being written.
#[derive(Clone, Debug)]
struct Writing {
    number: u64,
    floor: u64,
    tail: u64,
    slots: Vec<Slot>,
    /// One of these members is gone.
    lost: bool,
}

/// The place of a new entry: its number, where it starts, the number of the oldest entry that
/// counts, and the number of the entry before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) tail: u64,
    pub(super) previous: u64,
}

impl Ring {
    /// A ring that goes on with the entries that were found, and keeps those that still count. New
    /// entries are numbered from `first`, so that their numbers are higher than those of entries
    /// which could not be found.
    pub(super) fn new(found: &Found, first: u64, length: Sectors, block: Sectors) -> Ring {
        let (head, last, kept) = match found.entries.split_last() {
            // The newest entry is the empty one of a session that wrote no other. The empty entry
            // of this session takes its place: otherwise each crash would add one, until the ring
            // is full.
            Some((FoundEntry { header: newest, .. }, before))
                if newest.content == EntryContent::default() =>
            {
                (newest.at, newest.previous, before)
            }
            _ => (found.head, found.newest, &found.entries[..]),
        };
        let entries = kept.iter().map(|FoundEntry { header, slots }| Entry {
            number: header.number,
            slots: slots.clone(),
            at: header.at,
            end: header.at + header.length(block).get(),
            began: None,
            unstored: 0,
            unlanded: 0,
            landed: None,
        });
        let entries: VecDeque<Entry> = entries.collect();
        let last_slots = found.entries.last().map_or_else(Vec::new, |entry| entry.slots.clone());
        Ring {
            length: length.get(),
            block: block.get(),
            head,
            next: first.max(found.newest + 1),
            last,
            last_slots,
            // (After a clean stop, too, the entries that the newest one counts on must not be torn.
            // If a crash comes before this session has begun, that entry is still the newest, and
            // the array is no longer marked clean.)
            floor: found.floor.min(head),
            tail: 0,
            entries,
            writing: None,
            fresh: true,
        }
    }

    /// Whether an entry is being written.
    pub(super) fn is_writing(&self) -> bool {
        self.writing.is_some()
    }

    /// Whether it holds no entry of this session yet. After a crash such a ring could not be
    /// distinguished from one that has lost all entries of the session.
    pub(super) fn is_fresh(&self) -> bool {
        self.fresh
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// The same, without the space for empty entries.
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

    /// The entry with this number, if it still counts.
    pub(super) fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = self.entries.binary_search_by_key(&number, |entry| entry.number).ok()?;
        self.entries.get_mut(index)
    }

    /// Whether the entry with this number would be found after a crash. (It may be forgotten by
    /// now.)
    pub(super) fn would_be_found(&self, number: u64) -> bool {
        number >= self.tail
    }

    /// Whether there is room for an entry of `length`. If there is none, writing an empty entry
    /// makes room: it frees the entries that were forgotten since the last one was written.
    pub(super) fn fits(&self, length: Sectors) -> bool {
        self.start(length.get(), self.length - self.block).is_some()
    }

    /// Whether there is room for an empty entry.
    pub(super) fn has_room_for_mark(&self) -> bool {
        self.entries.is_empty() || self.start(self.block, self.length).is_some()
    }

    /// Whether an empty entry would make room.
    pub(super) fn lags(&self) -> bool {
        self.floor < self.entries.front().map_or(self.head, |entry| entry.at)
    }

    /// Begins an entry of `length` with `unlanded` writes, which is kept until `unstored` records
    /// or intents are stored elsewhere.
    pub(super) fn append(&mut self, length: Sectors, slots: &[Slot], unstored: u32, unlanded: u32) -> Placed {
        // If no entry counts any more and there is no room even for an empty entry, the empty entry
        // overwrites a forgotten one. (If a crash cuts that write off, the log is taken for
        // damaged.)
        let forgotten = self.entries.is_empty() && length.get() == self.block;
        let start = self.start(length.get(), self.length).or(forgotten.then_some(self.head));
        let at = start.expect("space is reserved before it is used");
        assert!(self.writing.is_none(), "one entry is written at a time");
        assert!(!slots.is_empty(), "an entry stands somewhere");
        self.head = at + length.get();
        let (number, previous) = (self.next, self.last);
        self.next += 1;
        let of_entry = slots.to_vec();
        self.entries.push_back(Entry {
            number,
            slots: of_entry,
            at,
            end: self.head,
            began: None,
            unstored,
            unlanded,
            landed: None,
        });
        let oldest = self.entries.front().expect("one was pushed");
        self.writing = Some(Writing {
            number,
            floor: oldest.at,
            tail: oldest.number,
            slots: slots.to_vec(),
            lost: false,
        });
        Placed { number, at, tail: oldest.number, previous }
    }

    /// The entry that was just appended is begun now.
    pub(super) fn begin(&mut self, now: Instant) {
        if let Some(newest) = self.entries.back_mut() {
            newest.began = Some(now);
        }
    }

    /// The number of entries that count, and when the oldest was begun, if that was in this
    /// session.
    pub(super) fn oldest_since(&self) -> (usize, Option<Instant>) {
        (self.entries.len(), self.entries.front().and_then(|entry| entry.began))
    }

    /// The entry was written, or (unless `whole`) could not be. Returns whether it stands on all
    /// members that it was to stand on. If not, its writes go into another entry, which takes its
    /// place.
    pub(super) fn written(&mut self, whole: bool) -> bool {
        let writing = self.writing.take().expect("an entry was on its way");
        let whole = whole && !writing.lost;
        if whole {
            assert!(
                writing.floor >= self.floor && writing.tail >= self.tail,
                "what was forgotten does not count again"
            );
            (self.last, self.floor, self.tail, self.fresh) =
                (writing.number, writing.floor, writing.tail, false);
            self.last_slots = writing.slots;
        } else if let Some(broken) = self.entries.back().filter(|entry| entry.number == writing.number) {
            self.head = broken.at;
            self.entries.pop_back();
        }
        whole
    }

    /// Not even an empty entry can be written: stop waiting for this session's first entry.
    pub(super) fn give_up_beginning(&mut self) {
        self.fresh = false;
    }

    /// Where an entry of `length` may start so that at most `most` sectors are in use. If the ring
    /// is empty, the entry goes to the start of the ring if possible, so that no room is lost at
    /// its end.
    fn start(&self, length: u64, most: u64) -> Option<u64> {
        let at = self.head % self.length;
        let around = if at == 0 { self.head } else { self.head + self.length - at };
        let wraps = at + length > self.length;
        let first = if self.entries.is_empty() || wraps { around } else { self.head };
        let fits = |start: &u64| start + length - self.floor <= most;
        let behind = (!wraps).then_some(self.head);
        Some(first).filter(fits).or(behind.filter(fits))
    }

    /// Forgets entries that no longer count; `complete` is the number of the last complete flush.
    /// Returns whether there were any.
    pub(super) fn release(&mut self, complete: u64) -> bool {
        let before = self.entries.len();
        let writing = self.writing.as_ref().map(|writing| writing.number);
        let is_over = |entry: &Entry| entry.is_done(complete) && Some(entry.number) != writing;
        while self.entries.front().is_some_and(is_over) {
            self.entries.pop_front();
        }
        self.entries.len() < before
    }

    /// The member in `slot` is gone, and the copies on it.
    pub(super) fn lose(&mut self, slot: Slot) {
        self.entries.iter_mut().for_each(|entry| entry.slots.retain(|other| *other != slot));
        self.last_slots.retain(|other| *other != slot);
        if let Some(writing) = &mut self.writing {
            writing.lost |= writing.slots.contains(&slot);
        }
    }

    /// The newest entry also stands in `slots` now. Returns its number, if it still counts.
    pub(super) fn copied(&mut self, slots: &[Slot]) -> Option<u64> {
        let newest = self.entries.back_mut()?;
        newest.slots.extend(slots);
        self.last_slots.extend(slots);
        Some(newest.number)
    }

    /// The newest of the entries that are forgotten and would be found after a crash; 0 if there is
    /// none.
    pub(super) fn lagging(&self) -> u64 {
        let kept = self.oldest().unwrap_or(self.last);
        if self.tail < kept { kept - 1 } else { 0 }
    }

    /// Whether entries up to `number` are forgotten, and would be found after a crash until another
    /// entry is written.
    pub(super) fn forgets_with_mark(&self, number: u64) -> bool {
        number > 0 && self.would_be_found(number) && self.oldest().is_none_or(|oldest| oldest > number)
    }

    /// The slots on whose members the last entry stands that was written. It names all that count,
    /// also if it does not count itself.
    pub(super) fn last_slots(&self) -> &[Slot] {
        &self.last_slots
    }

    /// The number of the last entry that was written; 0 where there is none.
    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// The next entry gets at least this number.
    pub(super) fn number_from(&mut self, least: u64) {
        self.next = self.next.max(least);
    }

    /// The highest number that was given to an entry.
    pub(super) fn highest(&self) -> u64 {
        self.next.saturating_sub(1)
    }

    /// The number of the oldest entry that counts.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.entries.front().map(|entry| entry.number)
    }

    /// The entries that count, each with the slots on whose members it stands, oldest first.
    pub(super) fn places(&self) -> impl DoubleEndedIterator<Item = (u64, &[Slot])> {
        self.entries.iter().map(|entry| (entry.number, &entry.slots[..]))
    }

    /// Whether a flush would free an entry.
    pub(super) fn wants_flush(&self) -> bool {
        let writing = self.writing.as_ref().map(|writing| writing.number);
        self.entries.front().is_some_and(|entry| entry.is_over() && Some(entry.number) != writing)
    }

    /// The number of the last entry in the older half of the space in use. Segments with records of
    /// entries up to this number keep the older half in use.
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
    const PLACES: [Slot; 2] = [Slot::new(1), Slot::new(2)];

    /// A ring of 80 sectors with this many entries of one block each, numbered from 1.
    fn ring(entries: u64) -> Ring {
        let entry = |number| EntryHeader {
            number,
            at: (number - 1) * 8,
            tail: 1,
            previous: number - 1,
            content: something(),
        };
        let entries: Vec<FoundEntry> = (1..=entries).map(|number| found(entry(number))).collect();
        let (newest, head) = (entries.len() as u64, entries.len() as u64 * 8);
        let found = Found { entries, newest, head, ..Found::default() };
        Ring::new(&found, 1, Sectors::new(80), BLOCK)
    }

    fn found(header: EntryHeader) -> FoundEntry {
        FoundEntry { header, slots: PLACES.to_vec() }
    }

    /// Appends an entry and completes its write; returns its number, its place and the number of
    /// the oldest entry that counts.
    fn append(ring: &mut Ring, length: u64, unstored: u32) -> (u64, u64, u64) {
        let placed = ring.append(Sectors::new(length), &PLACES, unstored, 0);
        ring.written(true);
        (placed.number, placed.at, placed.tail)
    }

    #[test]
    fn a_ring_keeps_space_for_empty_entries() {
        let room = |length| Ring::new(&Found::default(), 1, Sectors::new(length), BLOCK).room();
        assert_eq!([room(800), room(80)], [800 - 4 * 8, 80 - 20], "at most a quarter");
    }

    #[test]
    fn a_flush_frees_no_entry_that_is_being_written() {
        let mut ring = ring(0);
        ring.append(BLOCK, &PLACES, 0, 0);
        assert!(!ring.wants_flush(), "it would be begun again and again");
        ring.written(true);
        assert!(ring.wants_flush());
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
        ring.append(Sectors::new(72), &PLACES, 0, 0);
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
        let found = Found { newest: 7, head: 56, ..Found::default() };
        let mut ring = Ring::new(&found, 90, Sectors::new(80), BLOCK);
        assert_eq!(append(&mut ring, 8, 0), (90, 56, 90), "not at the start, where nothing counts any more");
        assert!(ring.release(0));
        assert_eq!(append(&mut ring, 40, 1), (91, 80, 91));
    }

    #[test]
    fn an_entry_that_could_not_be_written_is_not_the_one_before() {
        let mut ring = ring(2);
        ring.append(Sectors::new(8), &PLACES, 0, 1);
        ring.written(false);
        assert!(ring.entry(3).is_none());
        let placed = ring.append(Sectors::new(8), &PLACES, 0, 0);
        assert_eq!((placed.number, placed.previous, placed.at), (4, 2, 16), "it takes its place");
    }

    #[test]
    fn empty_entries_of_sessions_do_not_fill_a_ring() {
        let header =
            |number, previous, content| EntryHeader { number, at: number * 8, tail: 0, previous, content };
        let entries = vec![found(header(0, 0, something())), found(header(1, 0, EntryContent::default()))];
        let stream = Found { entries, newest: 1, head: 16, ..Found::default() };
        let mut ring = Ring::new(&stream, 90, Sectors::new(80), BLOCK);
        let placed = ring.append(Sectors::new(8), &PLACES, 0, 0);
        assert_eq!((placed.number, placed.at, placed.previous), (90, 8, 0));
    }

    #[test]
    fn a_ring_is_fresh_until_an_entry_is_written() {
        let mut ring = ring(2);
        assert!(ring.is_fresh());
        append(&mut ring, 8, 0);
        assert!(!ring.is_fresh());
    }

    #[test]
    fn an_entry_one_of_whose_members_is_gone_is_written_again() {
        let mut ring = ring(1);
        ring.append(Sectors::new(8), &PLACES, 0, 1);
        ring.lose(PLACES[0]);
        assert!(!ring.written(true));
        assert!(ring.entry(2).is_none());
        let left: Vec<(u64, Vec<Slot>)> =
            ring.places().map(|(number, slots)| (number, slots.to_vec())).collect();
        assert_eq!(left, [(1, vec![PLACES[1]])]);
        ring.append(Sectors::new(8), &PLACES[1..], 0, 1);
        ring.lose(PLACES[0]);
        assert!(ring.written(true), "it has no copy there");
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
