//! A lane of a stream: where its entries are placed in the areas of members, and which of them
//! still count. An entry has the same place in the area of each member on which it stands.
//!
//! Invariants:
//! - One entry is under way. Entries are placed in the order of their numbers.
//! - The distance from the oldest entry that counts to the head is at most the length of the ring.
//! - An entry does not wrap around the end.
//! - Entries are forgotten from the front only. A forgotten entry is not needed after a crash.
//! - An entry is overwritten only when a durable one, of this lane or another, names an older one
//!   as forgotten, and a newer one of this lane is durable. So after a crash every entry of the
//!   lane that counts is there, unless it was damaged.

use std::collections::VecDeque;

use parlour_units::{Instant, Sectors, Slot};

use crate::log::found::{FoundEntry, FoundLane};

/// An entry that still counts.
#[derive(Clone, Debug)]
pub(in crate::log) struct Entry {
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
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// When it was begun, if that was in this session.
    pub(super) fn began(&self) -> Option<Instant> {
        self.began
    }

    /// It is begun now.
    pub(super) fn begin(&mut self, now: Instant) {
        self.began = Some(now);
    }

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

/// One lane of a stream.
#[derive(Debug)]
pub(in crate::log) struct Ring {
    length: u64,
    block: u64,
    /// Where the next entry goes, counted in sectors since the ring was new.
    head: u64,
    entries: VecDeque<Entry>,
    /// The entries that must not be overwritten, oldest first: each with its number and its start.
    /// They count, or would be found after a crash, or are the last one.
    standing: VecDeque<(u64, u64)>,
    /// What the newest entry that was found counts on, though it counts no more: a number, and
    /// where it starts. It must not be overwritten before this lane has an entry of this session,
    /// because until then that entry may be the newest again, without those that forget it. Nor if
    /// entries after that number are not forgotten.
    floor: Option<(u64, u64)>,
    /// The number of the last entry that was written; 0 where there is none.
    last: u64,
    /// The slots on whose members that entry stands.
    last_slots: Vec<Slot>,
    /// The entry that is being written.
    writing: Option<Writing>,
    /// No entry was written since the ring was opened, or since another member took its place.
    fresh: bool,
    /// Sectors that jobs have reserved.
    reserved: Sectors,
    /// An entry was given up, and would be found after a crash until a later one of the lane is
    /// durable.
    owes: bool,
    /// An empty entry could not be written to members that stand: none is tried before members have
    /// come or gone.
    refuses_marks: bool,
}

/// An entry that is being written.
#[derive(Clone, Debug)]
struct Writing {
    number: u64,
    tail: u64,
    slots: Vec<Slot>,
    /// One of these members is gone.
    lost: bool,
}

/// The place of a new entry: its number, where it starts, the number of the oldest entry of the
/// stream that counts, and the number of the entry before it in its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) struct Placed {
    pub(in crate::log) number: u64,
    pub(in crate::log) at: u64,
    pub(in crate::log) tail: u64,
    pub(in crate::log) previous: u64,
}

/// An entry that is to be begun: how long it is, and what it is kept for.
#[derive(Clone, Copy, Debug)]
pub(in crate::log) struct Wanted {
    pub(in crate::log) length: Sectors,
    /// Records or intents that are to be stored elsewhere.
    pub(in crate::log) unstored: u32,
    /// Writes whose data is still to be written.
    pub(in crate::log) unlanded: u32,
}

impl Ring {
    /// A ring that goes on with the entries that were found, and keeps those that still count.
    pub(super) fn new(found: &FoundLane, length: Sectors, block: Sectors) -> Ring {
        // The newest entry may be the empty one of a session that wrote no other. The empty entry
        // of this session takes its place: otherwise each crash would add one, until the ring is
        // full. (It is written as a whole or not at all: one sector of it is not zero.)
        let (head, last) = found.empty.unwrap_or((found.head, found.newest));
        let counts = |entry: &&FoundEntry| entry.header.at < head;
        let kept = found.entries.iter().filter(counts);
        let entries = kept.map(|FoundEntry { header, slots, .. }| Entry {
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
        let before = entries.front().map_or(last, |oldest| oldest.number.saturating_sub(1));
        let floor = Some((before, found.floor.min(head)));
        let standing = entries.iter().map(|entry| (entry.number, entry.at)).collect();
        Ring {
            length: length.get(),
            block: block.get(),
            head,
            last,
            last_slots: found.entries.last().map_or_else(Vec::new, |entry| entry.slots.clone()),
            entries,
            standing,
            floor,
            writing: None,
            fresh: true,
            reserved: Sectors::ZERO,
            owes: false,
            refuses_marks: false,
        }
    }

    /// Whether an empty entry is worth a try.
    pub(super) fn refuses_marks(&self) -> bool {
        self.refuses_marks
    }

    pub(super) fn refuse_marks(&mut self, refuse: bool) {
        self.refuses_marks = refuse;
    }

    /// Whether an entry was given up that would be found after a crash.
    pub(super) fn owes(&self) -> bool {
        self.owes
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

    /// Whether there is room for an entry of `length`. If there is none, writing an empty entry may
    /// make room: it frees the entries that were forgotten since the last one was written.
    pub(super) fn fits(&self, length: Sectors) -> bool {
        self.start(length.get(), self.length - self.block).is_some()
    }

    /// Whether there is room for an empty entry.
    pub(super) fn has_room_for_mark(&self) -> bool {
        self.start(self.block, self.length).is_some()
    }

    /// Whether an empty entry would make room, if entries before `oldest` are forgotten.
    pub(super) fn lags(&self, oldest: u64) -> bool {
        let forgotten = |(number, at): &(u64, u64)| *number < oldest && *at < self.head;
        match self.floor {
            Some((_, at)) => at < self.head,
            None => self.standing.front().is_some_and(forgotten),
        }
    }

    /// Whether space for an entry of `length` can be reserved.
    pub(super) fn has_room(&self, length: Sectors) -> bool {
        // The last quarter is kept free for the space that is left unused where the ring ends.
        let most = self.length / 4 * 3;
        let fits = self.used() + (self.reserved + length).get() <= most;
        // A single entry always fits: the ring has room for several of the longest.
        fits || self.is_empty() && self.reserved.is_zero()
    }

    /// Whether jobs have reserved space.
    pub(super) fn is_reserved(&self) -> bool {
        !self.reserved.is_zero()
    }

    /// Sectors in use or reserved.
    pub(super) fn taken(&self) -> u64 {
        self.used() + self.reserved.get()
    }

    pub(super) fn reserve(&mut self, length: Sectors) {
        self.reserved += length;
    }

    pub(super) fn give_back(&mut self, length: Sectors) {
        self.reserved = self.reserved - length;
    }

    /// Begins entry `number`. `oldest` is the oldest entry that counts in another lane. Returns its
    /// place.
    pub(super) fn append(
        &mut self,
        (number, oldest): (u64, Option<u64>),
        wanted: Wanted,
        slots: &[Slot],
    ) -> Placed {
        let Wanted { length, unstored, unlanded } = wanted;
        // If no entry of the stream counts any more and there is no room even for an empty entry,
        // the empty entry overwrites a forgotten one. (If a crash cuts that write off, the log is
        // taken for damaged.)
        let forgotten = self.entries.is_empty() && oldest.is_none() && length.get() == self.block;
        let start = self.start(length.get(), self.length).or(forgotten.then_some(self.head));
        let at = start.expect("space is reserved before it is used");
        assert!(self.writing.is_none(), "a lane has one entry under way");
        assert!(!slots.is_empty(), "an entry stands somewhere");
        self.head = at + length.get();
        self.entries.push_back(Entry {
            number,
            slots: slots.to_vec(),
            at,
            end: self.head,
            began: None,
            unstored,
            unlanded,
            landed: None,
        });
        self.standing.push_back((number, at));
        let own = self.entries.front().map_or(number, |oldest| oldest.number);
        let tail = oldest.map_or(own, |oldest| oldest.min(own));
        self.writing = Some(Writing { number, tail, slots: slots.to_vec(), lost: false });
        Placed { number, at, tail, previous: self.last }
    }

    /// The entry was written, or (unless `whole`) could not be. If it stands on all members that it
    /// was to stand on, returns the number of the oldest entry that it names. If not, its writes go
    /// into another entry, and another one takes its place.
    pub(super) fn written(&mut self, whole: bool) -> Option<u64> {
        let writing = self.writing.take().expect("an entry was on its way");
        if whole && !writing.lost {
            (self.last, self.fresh, self.owes) = (writing.number, false, false);
            self.floor = None;
            self.refuses_marks = false;
            self.last_slots = writing.slots;
            return Some(writing.tail);
        }
        if let Some(broken) = self.entries.back().filter(|entry| entry.number == writing.number) {
            self.head = broken.at;
            self.entries.pop_back();
            self.standing.pop_back();
        }
        self.owes = true;
        None
    }

    /// Entries before `tail` would not be found any more after a crash: they may be overwritten,
    /// apart from the last one, which shows where the ring goes on.
    pub(super) fn settle(&mut self, tail: u64) {
        let is_over = |(number, _): &(u64, u64)| *number < tail && *number != self.last;
        self.floor = self.floor.filter(|floor| !is_over(floor));
        while self.floor.is_none() && self.standing.front().is_some_and(is_over) {
            self.standing.pop_front();
        }
    }

    /// Not even an empty entry can be written: stop waiting for this session's first entry.
    pub(super) fn give_up_beginning(&mut self) {
        self.fresh = false;
    }

    /// Where an entry of `length` may start so that at most `most` sectors are in use. If the ring
    /// is empty, the entry goes to the start of the ring if possible, so that no room is lost at
    /// its end. (The first one of a session does not: the newest entry that was found is perhaps
    /// durable on one member alone. Without it, older ones count, which may be at the start.)
    fn start(&self, length: u64, most: u64) -> Option<u64> {
        let at = self.head % self.length;
        let around = if at == 0 { self.head } else { self.head + self.length - at };
        let wraps = at + length > self.length;
        let restarts = self.entries.is_empty() && !self.fresh;
        let first = if restarts || wraps { around } else { self.head };
        let floor = self.floor.as_ref().or(self.standing.front()).map_or(self.head, |(_, at)| *at);
        let fits = |start: &u64| start + length - floor <= most;
        let behind = (!wraps).then_some(self.head);
        Some(first).filter(fits).or(behind.filter(fits))
    }

    /// Forgets the oldest entry, if it no longer counts; `complete` is the number of the last
    /// complete flush. Returns whether it did.
    pub(super) fn release(&mut self, complete: u64) -> bool {
        let is_over = self.front_is_over() && self.entries[0].is_done(complete);
        if is_over {
            self.entries.pop_front();
        }
        is_over
    }

    /// Whether a flush would free the oldest entry.
    pub(super) fn front_is_over(&self) -> bool {
        let writing = self.writing.as_ref().map(|writing| writing.number);
        self.entries.front().is_some_and(|entry| entry.is_over() && Some(entry.number) != writing)
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

    /// Whether an entry that counts, or the last one that was written, stands in no other slots
    /// than these. The last one is left out, if it is to be copied elsewhere.
    pub(super) fn stands_only_in(&self, these: &[Slot], last_is_copied: bool) -> bool {
        let only_there = |slots: &[Slot]| !slots.is_empty() && slots.iter().all(|slot| these.contains(slot));
        let is_left_out = |number: u64| last_is_copied && number == self.last;
        let mut places = self.places().filter(|(number, _)| !is_left_out(*number));
        !last_is_copied && only_there(&self.last_slots) || places.any(|(_, slots)| only_there(slots))
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

    /// The oldest entry that counts.
    pub(super) fn oldest(&self) -> Option<&Entry> {
        self.entries.front()
    }

    /// The number of entries that count.
    pub(super) fn count(&self) -> usize {
        self.entries.len()
    }

    /// The entries that count, each with the slots on whose members it stands, oldest first.
    pub(super) fn places(&self) -> impl DoubleEndedIterator<Item = (u64, &[Slot])> {
        self.entries.iter().map(|entry| (entry.number, &entry.slots[..]))
    }

    /// The number of the last entry in the oldest quarter of the space in use: log buffers with
    /// records of entries up to this number keep that quarter in use.
    pub(super) fn oldest_part(&self) -> Option<u64> {
        let quarter = self.head - self.used() / 4 * 3;
        let older = self.entries.partition_point(|entry| entry.end <= quarter);
        self.entries.get(older.saturating_sub(1)).map(|entry| entry.number)
    }
}
