//! A stream of entries in areas of members: lanes, each a ring with one entry under way.
//!
//! Invariants:
//! - Numbers rise in the order in which entries are begun, across lanes. An entry counts when it is
//!   durable on all of its members, whatever is under way in other lanes.
//! - Entries are forgotten in the order of their numbers, across lanes: what a newer entry has
//!   overwritten is not found without it.
//! - An entry names the oldest one that is not forgotten in any lane, its *tail*. What is before
//!   the highest tail that is found after a crash does not count, in no lane.

use std::ops::Range;

use parlour_units::{Instant, Sectors, Slot};

use crate::log::found::{Found, FoundLane};
use crate::log::lane::Lane;
use crate::log::ring::{Entry, Placed, Ring, Wanted};

/// See the module.
#[derive(Debug)]
pub(in crate::log) struct Lanes {
    rings: Vec<Ring>,
    next: u64,
    /// The highest tail that a written entry of this session names: older ones would not be found
    /// any more after a crash. 0 until there is one: up to then, what the session before forgot
    /// last may be found once more.
    tail: u64,
}

impl Lanes {
    /// Lanes of these lengths that go on with what was found. New entries are numbered from
    /// `first`, so that their numbers are higher than those of entries which could not be found.
    pub(super) fn new(found: &Found, first: u64, lengths: &[Sectors], block: Sectors) -> Lanes {
        let ring = |(lane, length): (usize, &Sectors)| match found.lanes.get(lane) {
            Some(found) => Ring::new(found, *length, block),
            None => Ring::new(&FoundLane::default(), *length, block),
        };
        let rings = lengths.iter().enumerate().map(ring).collect();
        Lanes { rings, next: first.max(found.newest() + 1), tail: 0 }
    }

    pub(super) fn all(&self) -> &[Ring] {
        &self.rings
    }

    pub(super) fn names(&self) -> Range<u8> {
        0..self.rings.len() as u8
    }

    pub(super) fn lane(&self, lane: Lane) -> &Ring {
        &self.rings[lane.as_usize()]
    }

    pub(super) fn lane_mut(&mut self, lane: Lane) -> &mut Ring {
        &mut self.rings[lane.as_usize()]
    }

    /// Lanes in which an entry may be begun, that with the most room first. While entries that were
    /// given up would be found after a crash, that is none; if even empty entries could not hide
    /// them, it is the lanes that have them.
    pub(super) fn free(&self) -> Vec<Lane> {
        let (owes, hides) = (self.owes(), self.can_hide());
        let may = |lane: &Lane| {
            let ring = self.lane(*lane);
            !ring.is_writing() && (!owes || !hides && ring.owes())
        };
        let mut free: Vec<Lane> = self.names().map(Lane).filter(may).collect();
        free.sort_by_key(|lane| self.lane(*lane).taken());
        free
    }

    /// Whether entries were given up that would be found after a crash.
    pub(super) fn owes(&self) -> bool {
        self.rings.iter().any(Ring::owes)
    }

    /// Whether entries were given up that would be found after a crash, and an empty entry may hide
    /// some of them.
    pub(super) fn can_hide(&self) -> bool {
        let hides = |ring: &Ring| ring.owes() && !ring.refuses_marks();
        self.names().map(Lane).any(|lane| hides(self.lane(lane)) && self.has_room_for_mark(lane))
    }

    /// Members have come or gone: empty entries are worth a try again.
    pub(super) fn try_marks(&mut self) {
        self.rings.iter_mut().for_each(|ring| ring.refuse_marks(false));
    }

    /// Whether there is room for an empty entry in `lane`.
    pub(super) fn has_room_for_mark(&self, lane: Lane) -> bool {
        self.oldest().is_none() || self.lane(lane).has_room_for_mark()
    }

    /// The lane in which space of `length` can be reserved: one in which no entry is being written,
    /// if there is one, and that with the most room.
    pub(super) fn with_room(&self, length: Sectors) -> Option<Lane> {
        let fitting = self.names().map(Lane).filter(|lane| self.lane(*lane).has_room(length));
        fitting.min_by_key(|lane| (self.lane(*lane).is_writing(), self.lane(*lane).taken()))
    }

    /// Whether a lane has no entry of this session yet.
    pub(super) fn is_fresh(&self) -> bool {
        self.rings.iter().any(Ring::is_fresh)
    }

    pub(super) fn length(&self) -> u64 {
        self.rings.iter().map(Ring::length).sum()
    }

    /// The same as the length, without the space for empty entries.
    pub(super) fn room(&self) -> u64 {
        self.rings.iter().map(Ring::room).sum()
    }

    /// Sectors in use.
    pub(super) fn used(&self) -> u64 {
        self.rings.iter().map(Ring::used).sum()
    }

    /// The entry with this number, if it still counts.
    pub(super) fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        self.rings.iter_mut().find_map(|ring| ring.entry(number))
    }

    /// Whether the entry with this number would be found after a crash. (It may be forgotten by
    /// now.)
    pub(super) fn would_be_found(&self, number: u64) -> bool {
        number >= self.tail
    }

    /// Whether an empty entry in `lane` would make room there.
    pub(super) fn lags(&self, lane: Lane) -> bool {
        self.lane(lane).lags(self.oldest().unwrap_or(self.next))
    }

    /// Begins an entry in `lane`.
    pub(super) fn append(&mut self, lane: Lane, wanted: Wanted, slots: &[Slot]) -> Placed {
        let oldest = self.oldest();
        let number = self.next;
        self.next += 1;
        self.lane_mut(lane).append((number, oldest), wanted, slots)
    }

    /// The entry of `lane` was written, or (unless `whole`) could not be. Returns whether it stands
    /// on all members that it was to stand on.
    pub(super) fn written(&mut self, lane: Lane, whole: bool) -> bool {
        let Some(tail) = self.lane_mut(lane).written(whole) else { return false };
        self.tail = self.tail.max(tail);
        let tail = self.tail;
        self.rings.iter_mut().for_each(|ring| ring.settle(tail));
        true
    }

    /// The number of entries that count, and when the oldest was begun, if that was in this
    /// session.
    pub(super) fn oldest_since(&self) -> (usize, Option<Instant>) {
        let count = self.rings.iter().map(Ring::count).sum();
        (count, self.oldest_entry().and_then(Entry::began))
    }

    /// Forgets entries that no longer count, in order; `complete` is the number of the last
    /// complete flush. Returns whether there were any.
    pub(super) fn release(&mut self, complete: u64) -> bool {
        let mut any = false;
        while let Some(lane) = self.oldest_lane()
            && self.lane_mut(lane).release(complete)
        {
            any = true;
        }
        any
    }

    /// Whether a flush would free an entry.
    pub(super) fn wants_flush(&self) -> bool {
        self.oldest_lane().is_some_and(|lane| self.lane(lane).front_is_over())
    }

    /// The member in `slot` is gone, and the copies on it.
    pub(super) fn lose(&mut self, slot: Slot) {
        self.rings.iter_mut().for_each(|ring| ring.lose(slot));
    }

    /// The newest of the entries that are forgotten and would be found after a crash; 0 if there is
    /// none.
    pub(super) fn lagging(&self) -> u64 {
        let kept = self.oldest().unwrap_or(self.last());
        if self.tail < kept { kept - 1 } else { 0 }
    }

    /// Whether entries up to `number` are forgotten, and would be found after a crash until another
    /// entry is written.
    pub(super) fn forgets_with_mark(&self, number: u64) -> bool {
        number > 0 && self.would_be_found(number) && self.oldest().is_none_or(|oldest| oldest > number)
    }

    /// The highest number of an entry that was written; 0 where there is none.
    pub(super) fn last(&self) -> u64 {
        self.rings.iter().map(Ring::last).max().unwrap_or(0)
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
        self.oldest_entry().map(Entry::number)
    }

    fn oldest_entry(&self) -> Option<&Entry> {
        self.rings.iter().filter_map(Ring::oldest).min_by_key(|entry| entry.number())
    }

    fn oldest_lane(&self) -> Option<Lane> {
        let numbers = self.names().map(Lane);
        let oldest = |lane: Lane| Some((self.lane(lane).oldest()?.number(), lane));
        numbers.filter_map(oldest).min().map(|(_, lane)| lane)
    }

    /// The entries that count, each with the slots on whose members it stands, in no order.
    pub(super) fn places(&self) -> impl Iterator<Item = (u64, &[Slot])> {
        self.rings.iter().flat_map(Ring::places)
    }

    /// Whether jobs have reserved space in some lane.
    pub(super) fn is_reserved(&self) -> bool {
        self.rings.iter().any(Ring::is_reserved)
    }

    /// The number of the last entry in the oldest quarter of the space in use, in the lane that is
    /// filled most.
    pub(super) fn oldest_part(&self) -> u64 {
        let fullest = self.rings.iter().max_by_key(|ring| ring.used());
        fullest.and_then(Ring::oldest_part).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::EntryContent;
    use crate::format::commit_entry::EntryHeader;
    use crate::format::commit_entry::tests::something;
    use crate::log::found::FoundEntry;

    const BLOCK: Sectors = Sectors::new(8);
    const PLACES: [Slot; 2] = [Slot::new(1), Slot::new(2)];

    /// One lane of 80 sectors with this many entries of one block each, numbered from 1.
    fn ring(entries: u64) -> Lanes {
        let entry = |number| EntryHeader {
            number,
            at: (number - 1) * 8,
            tail: 1,
            previous: number - 1,
            content: something(),
        };
        let entries: Vec<FoundEntry> = (1..=entries).map(|number| found(entry(number))).collect();
        let (newest, head) = (entries.len() as u64, entries.len() as u64 * 8);
        opened(1, FoundLane { entries, newest, head, ..FoundLane::default() })
    }

    fn opened(first: u64, lane: FoundLane) -> Lanes {
        let found = Found { lanes: vec![lane], ..Found::default() };
        Lanes::new(&found, first, &[Sectors::new(80)], BLOCK)
    }

    /// Lanes of 80 sectors each, in which nothing was written.
    fn lanes(count: usize) -> Lanes {
        Lanes::new(&Found::default(), 1, &vec![Sectors::new(80); count], BLOCK)
    }

    fn found(header: EntryHeader) -> FoundEntry {
        FoundEntry { lane: Lane::FIRST, header, slots: PLACES.to_vec() }
    }

    fn wanted(length: u64, unstored: u32, unlanded: u32) -> Wanted {
        Wanted { length: Sectors::new(length), unstored, unlanded }
    }

    /// Appends an entry and completes its write; returns its number, its place and the number of
    /// the oldest entry that counts.
    fn append(lanes: &mut Lanes, length: u64, unstored: u32) -> (u64, u64, u64) {
        let placed = lanes.append(Lane::FIRST, wanted(length, unstored, 0), &PLACES);
        lanes.written(Lane::FIRST, true);
        (placed.number, placed.at, placed.tail)
    }

    #[test]
    fn a_ring_keeps_space_for_empty_entries() {
        let room = |length| Lanes::new(&Found::default(), 1, &[Sectors::new(length)], BLOCK).room();
        assert_eq!([room(800), room(80)], [800 - 4 * 8, 80 - 20], "at most a quarter");
    }

    #[test]
    fn a_flush_frees_no_entry_that_is_being_written() {
        let mut ring = ring(0);
        ring.append(Lane::FIRST, wanted(8, 0, 0), &PLACES);
        assert!(!ring.wants_flush(), "it would be begun again and again");
        ring.written(Lane::FIRST, true);
        assert!(ring.wants_flush());
    }

    #[test]
    fn the_oldest_quarter_ends_with_an_entry() {
        assert_eq!(ring(0).oldest_part(), 0);
        assert_eq!(ring(1).oldest_part(), 1, "the oldest is always among them");
        assert_eq!(ring(4).oldest_part(), 1);
        assert_eq!(ring(7).oldest_part(), 1);
        assert_eq!(ring(8).oldest_part(), 2);
    }

    #[test]
    fn an_entry_does_not_wrap_around_the_end() {
        let mut ring = ring(0);
        assert_eq!(append(&mut ring, 56, 1), (1, 0, 1));
        assert_eq!(append(&mut ring, 16, 1), (2, 56, 1));
        ring.entry(1).unwrap().stored();
        assert!(ring.release(0));
        assert!(!ring.lane(Lane::FIRST).fits(Sectors::new(16)), "the last entry counts on the first still");
        assert_eq!(append(&mut ring, 8, 0), (3, 72, 2));
        assert!(ring.lane(Lane::FIRST).fits(Sectors::new(16)));
        assert_eq!(append(&mut ring, 16, 1), (4, 80, 2));
        assert_eq!(ring.used(), 40);
        assert_eq!(append(&mut ring, 32, 1), (5, 96, 2));
        assert!(!ring.lane(Lane::FIRST).fits(Sectors::new(8)), "a block is kept for an empty entry");
    }

    /// Regression test. It was kept until all older entries of other lanes were forgotten as well:
    /// an entry whose space was reserved found none.
    #[test]
    fn what_the_newest_entry_counts_on_is_free_when_its_lane_has_an_entry_of_this_session() {
        let entry = |lane, number, at| {
            let header = EntryHeader { number, at, tail: 1, previous: 0, content: something() };
            FoundEntry { lane: Lane(lane), header, slots: PLACES.to_vec() }
        };
        let first =
            FoundLane { entries: vec![entry(0, 1, 0)], newest: 1, head: 8, floor: 0, ..FoundLane::default() };
        let second = FoundLane {
            entries: vec![entry(1, 3, 56)],
            newest: 3,
            head: 64,
            floor: 0,
            ..FoundLane::default()
        };
        let found = Found { lanes: vec![first, second], ..Found::default() };
        let mut lanes = Lanes::new(&found, 4, &[Sectors::new(80); 2], BLOCK);
        assert!(!lanes.lane(Lane(1)).fits(Sectors::new(16)), "until then it is kept");
        lanes.append(Lane(1), wanted(8, 0, 0), &PLACES);
        lanes.written(Lane(1), true);
        assert_eq!(lanes.oldest(), Some(1), "the entry of the other lane counts");
        assert!(lanes.lane(Lane(1)).fits(Sectors::new(16)));
    }

    #[test]
    #[should_panic(expected = "space is reserved before it is used")]
    fn what_still_counts_is_never_overwritten() {
        let mut ring = ring(2);
        ring.entry(2).unwrap().keep();
        ring.entry(1).unwrap().keep();
        ring.append(Lane::FIRST, wanted(72, 0, 0), &PLACES);
    }

    #[test]
    fn what_the_last_entry_counts_on_is_not_overwritten_before_another_is_written() {
        let mut ring = ring(7);
        assert!(ring.release(0));
        assert_eq!(ring.used(), 0);
        assert!(!ring.lane(Lane::FIRST).fits(Sectors::new(40)), "a tear would cost the first");
        assert_eq!(append(&mut ring, 8, 0), (8, 56, 8));
        assert!(ring.release(0));
        assert!(ring.lane(Lane::FIRST).fits(Sectors::new(40)));
        assert_eq!(append(&mut ring, 40, 1), (9, 80, 9), "nothing stands before it");
    }

    #[test]
    fn what_the_last_entry_before_a_clean_stop_counts_on_is_not_overwritten_before_another_is_written() {
        let mut ring = opened(90, FoundLane { newest: 7, head: 56, ..FoundLane::default() });
        assert_eq!(append(&mut ring, 8, 0), (90, 56, 90), "not at the start, where nothing counts any more");
        assert!(ring.release(0));
        assert_eq!(append(&mut ring, 40, 1), (91, 80, 91));
    }

    #[test]
    fn an_entry_that_could_not_be_written_is_not_the_one_before() {
        let mut ring = ring(2);
        ring.append(Lane::FIRST, wanted(8, 0, 1), &PLACES);
        ring.written(Lane::FIRST, false);
        assert!(ring.entry(3).is_none());
        let placed = ring.append(Lane::FIRST, wanted(8, 0, 0), &PLACES);
        assert_eq!((placed.number, placed.previous, placed.at), (4, 2, 16), "it takes its place");
    }

    #[test]
    fn empty_entries_of_sessions_do_not_fill_a_ring() {
        let header =
            |number, previous, content| EntryHeader { number, at: number * 8, tail: 0, previous, content };
        let entries = vec![found(header(0, 0, something())), found(header(1, 0, EntryContent::default()))];
        let empty = Some((8, 0));
        let mut ring = opened(90, FoundLane { entries, newest: 1, head: 16, empty, ..FoundLane::default() });
        let placed = ring.append(Lane::FIRST, wanted(8, 0, 0), &PLACES);
        assert_eq!((placed.number, placed.at, placed.previous), (90, 8, 0));
    }

    #[test]
    fn a_session_begins_where_the_last_empty_entry_stands() {
        let header =
            EntryHeader { number: 3, at: 24, tail: 3, previous: 2, content: EntryContent::default() };
        let lane = FoundLane {
            entries: vec![found(header)],
            newest: 3,
            head: 32,
            empty: Some((24, 2)),
            floor: 24,
            ..FoundLane::default()
        };
        let mut ring = opened(90, lane);
        assert_eq!(append(&mut ring, 8, 0), (90, 24, 90), "not at the start, where older ones may count");
        assert!(ring.release(0));
        assert_eq!(append(&mut ring, 8, 0), (91, 80, 91));
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
        ring.append(Lane::FIRST, wanted(8, 0, 1), &PLACES);
        ring.lose(PLACES[0]);
        assert!(!ring.written(Lane::FIRST, true));
        assert!(ring.entry(2).is_none());
        let left: Vec<(u64, Vec<Slot>)> =
            ring.places().map(|(number, slots)| (number, slots.to_vec())).collect();
        assert_eq!(left, [(1, vec![PLACES[1]])]);
        ring.append(Lane::FIRST, wanted(8, 0, 1), &PLACES[1..]);
        ring.lose(PLACES[0]);
        assert!(ring.written(Lane::FIRST, true), "it has no copy there");
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

    #[test]
    fn the_first_entry_of_a_session_goes_where_the_empty_one_stood_and_not_to_the_start() {
        // (Perhaps only one member has the empty one. Without it, older entries count.)
        let header =
            EntryHeader { number: 9, at: 40, tail: 9, previous: 8, content: EntryContent::default() };
        let entries = vec![found(header)];
        let empty = Some((40, 8));
        let lane = FoundLane { entries, newest: 9, head: 48, floor: 40, empty, ..FoundLane::default() };
        let mut ring = opened(90, lane);
        assert_eq!(append(&mut ring, 8, 0), (90, 40, 90));
        assert!(ring.release(0));
        assert_eq!(append(&mut ring, 8, 0), (91, 80, 91), "all others do");
    }

    #[test]
    fn what_another_lane_forgets_is_protected_until_this_session_has_an_entry_and_no_longer() {
        // (The newest entry found counts on all from 0 on. One of another lane names a later tail.)
        let header = |number| EntryHeader {
            number,
            at: number * 8,
            tail: 1,
            previous: number - 1,
            content: something(),
        };
        let entries = vec![found(header(6)), found(header(7))];
        let mut ring =
            opened(90, FoundLane { entries, newest: 7, head: 64, floor: 0, ..FoundLane::default() });
        ring.entry(6).unwrap().keep();
        assert!(!ring.lane(Lane::FIRST).fits(Sectors::new(16)));
        assert!(ring.lags(Lane::FIRST));
        assert_eq!(append(&mut ring, 8, 0), (90, 64, 6));
        assert!(ring.lane(Lane::FIRST).fits(Sectors::new(32)), "6 is the oldest");
    }

    const OTHER: Lane = Lane(1);

    #[test]
    fn entries_are_forgotten_in_the_order_of_their_numbers_across_lanes() {
        let mut lanes = lanes(2);
        lanes.append(Lane::FIRST, wanted(8, 1, 0), &PLACES);
        lanes.append(OTHER, wanted(8, 0, 0), &PLACES);
        assert!(lanes.written(OTHER, true));
        assert!(!lanes.release(0), "the older one is being written");
        assert!(!lanes.wants_flush());
        assert!(lanes.written(Lane::FIRST, true));
        assert!(!lanes.release(0));
        lanes.entry(1).unwrap().stored();
        assert!(lanes.release(0));
        assert_eq!(lanes.used(), 0);
    }

    #[test]
    fn an_entry_names_the_oldest_one_of_all_lanes_also_if_that_is_under_way() {
        let mut lanes = lanes(2);
        lanes.append(Lane::FIRST, wanted(8, 0, 1), &PLACES);
        let placed = lanes.append(OTHER, wanted(8, 0, 0), &PLACES);
        assert_eq!((placed.number, placed.tail, placed.previous), (2, 1, 0));
    }

    #[test]
    fn what_a_later_entry_of_another_lane_forgets_may_be_overwritten_when_that_one_is_durable() {
        let mut lanes = lanes(2);
        assert_eq!(append(&mut lanes, 40, 0), (1, 0, 1));
        assert_eq!(append(&mut lanes, 8, 0), (2, 40, 1));
        assert!(lanes.release(0));
        assert!(!lanes.lane(Lane::FIRST).fits(Sectors::new(32)), "the second names the first");
        assert!(lanes.lags(Lane::FIRST));
        let placed = lanes.append(OTHER, wanted(8, 0, 0), &PLACES);
        assert_eq!(placed.tail, 3);
        assert!(!lanes.lane(Lane::FIRST).fits(Sectors::new(32)));
        assert!(lanes.written(OTHER, true));
        assert!(lanes.lane(Lane::FIRST).fits(Sectors::new(32)));
        assert!(!lanes.lane(Lane::FIRST).fits(Sectors::new(40)), "the last one stays");
        let placed = lanes.append(Lane::FIRST, wanted(32, 0, 0), &PLACES);
        assert_eq!((placed.at, placed.previous), (80, 2));
    }

    #[test]
    fn no_entry_is_begun_while_one_that_was_given_up_would_be_found() {
        let mut lanes = lanes(3);
        append(&mut lanes, 8, 0);
        lanes.append(OTHER, wanted(8, 0, 1), &PLACES);
        lanes.lose(PLACES[0]);
        assert!(!lanes.written(OTHER, true));
        assert_eq!((lanes.free(), lanes.can_hide()), (vec![], true));
        lanes.lane_mut(OTHER).refuse_marks(true);
        assert_eq!(lanes.free(), [OTHER], "if no empty entry can be written, this one is tried");
        assert!(!lanes.can_hide());
        let placed = lanes.append(OTHER, wanted(8, 0, 0), &PLACES);
        assert_eq!((placed.at, placed.previous), (0, 0), "it takes its place");
        assert!(lanes.written(OTHER, true));
        assert_eq!(lanes.free().len(), 3);
    }

    #[test]
    fn the_lane_with_the_most_room_is_taken() {
        let mut lanes = lanes(3);
        lanes.lane_mut(Lane::FIRST).reserve(Sectors::new(16));
        lanes.lane_mut(OTHER).reserve(Sectors::new(8));
        assert_eq!(lanes.free(), [Lane(2), OTHER, Lane::FIRST]);
        assert_eq!(lanes.with_room(Sectors::new(8)), Some(Lane(2)));
        lanes.append(Lane(2), wanted(8, 0, 1), &PLACES);
        assert_eq!(lanes.with_room(Sectors::new(8)), Some(OTHER), "the other has an entry under way");
    }
}
