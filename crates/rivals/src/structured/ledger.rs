//! Where units are, and what is live in each segment.

use std::collections::VecDeque;

use super::shape::Shape;

/// No place, or no unit.
pub(super) const NONE: u32 = u32::MAX;

/// What a segment is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It holds nothing.
    Free,
    /// It is being filled or written.
    Open,
    /// It is on the members.
    Full,
    /// Its live units are being copied.
    Cleaned,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    state: State,
    /// Units whose newest copy on the members is here.
    live: u32,
    /// Copies of its units that are not on the members yet.
    copies: u32,
    /// Reads that are under way.
    readers: u32,
    /// The version of its youngest unit.
    youngest: u64,
}

/// The map of an array, and the state of its segments.
#[derive(Clone, Debug)]
pub(super) struct Ledger {
    shape: Shape,
    /// By unit: its place.
    places: Vec<u32>,
    /// By place: the unit whose newest copy on the members is there.
    owners: Vec<u32>,
    segments: Vec<Segment>,
    /// In the order in which they became free.
    free: VecDeque<u32>,
}

impl Ledger {
    /// All segments are free, and no unit is written.
    pub(super) fn new(shape: Shape, units: u32) -> Ledger {
        let segment = Segment { state: State::Free, live: 0, copies: 0, readers: 0, youngest: 0 };
        Ledger {
            shape,
            places: vec![NONE; units as usize],
            owners: vec![NONE; (shape.slots() * shape.segments) as usize],
            segments: vec![segment; shape.segments as usize],
            free: (0..shape.segments).collect(),
        }
    }

    /// The number of free segments.
    pub(super) fn free(&self) -> usize {
        self.free.len()
    }

    /// Where a unit is, if it was ever written.
    pub(super) fn place(&self, unit: u32) -> Option<u32> {
        Some(self.places[unit as usize]).filter(|place| *place != NONE)
    }

    /// Takes a free segment to fill.
    pub(super) fn open(&mut self) -> Option<u32> {
        let segment = self.free.pop_front()?;
        let opened = &mut self.segments[segment as usize];
        assert_eq!((opened.state, opened.live), (State::Free, 0), "what is free holds nothing");
        (opened.state, opened.youngest) = (State::Open, 0);
        Some(segment)
    }

    /// A unit of this version is on the members, at `place`.
    pub(super) fn moved(&mut self, unit: u32, place: u32, version: u64) {
        let old = std::mem::replace(&mut self.places[unit as usize], place);
        assert_eq!(std::mem::replace(&mut self.owners[place as usize], unit), NONE, "one unit in one place");
        let segment = &mut self.segments[self.shape.segment(place) as usize];
        segment.live += 1;
        segment.youngest = segment.youngest.max(version);
        if old != NONE {
            self.owners[old as usize] = NONE;
            let left = self.shape.segment(old);
            self.segments[left as usize].live -= 1;
            self.free_if_empty(left);
        }
    }

    /// All of an open segment is on the members.
    pub(super) fn close(&mut self, segment: u32) {
        self.segments[segment as usize].state = State::Full;
        self.free_if_empty(segment);
    }

    /// A read in a segment begins.
    pub(super) fn reads(&mut self, segment: u32) {
        self.segments[segment as usize].readers += 1;
    }

    /// A read in a segment is done.
    pub(super) fn has_read(&mut self, segment: u32) {
        self.segments[segment as usize].readers -= 1;
        self.free_if_empty(segment);
    }

    /// A copy of one unit of a segment that is cleaned is on the members, or not needed.
    pub(super) fn copied(&mut self, segment: u32) {
        self.segments[segment as usize].copies -= 1;
        self.free_if_empty(segment);
    }

    /// Frees a segment without live units, if nothing is read from it or waits to be copied.
    fn free_if_empty(&mut self, number: u32) {
        let segment = &mut self.segments[number as usize];
        let is_whole = matches!(segment.state, State::Full | State::Cleaned);
        if is_whole && segment.live == 0 && segment.copies == 0 && segment.readers == 0 {
            segment.state = State::Free;
            self.free.push_back(number);
        }
    }

    /// Takes the segments that are best to clean, at most so many: by benefit over cost, (1 - u)
    /// age / (1 + u), where u is the live part of a segment of `room` units and its age is counted
    /// in written units (Rosenblum and Ousterhout, section 3.6). They are in the order of their
    /// ages, the oldest first.
    pub(super) fn choose(&mut self, most: usize, room: u32, now: u64) -> Vec<u32> {
        let mut best: Vec<(f64, u32)> = Vec::new();
        for (number, segment) in (0..).zip(&self.segments) {
            if segment.state != State::Full || segment.live >= room {
                continue;
            }
            let part = f64::from(segment.live) / f64::from(room);
            let worth = (1.0 - part) * (now - segment.youngest + 1) as f64 / (1.0 + part);
            if best.len() < most || best.last().is_some_and(|(least, _)| worth > *least) {
                let index = best.partition_point(|(other, _)| *other >= worth);
                best.insert(index, (worth, number));
                best.truncate(most);
            }
        }
        let mut chosen: Vec<u32> = best.into_iter().map(|(_, number)| number).collect();
        chosen.sort_by_key(|number| (self.segments[*number as usize].youngest, *number));
        for number in &chosen {
            self.segments[*number as usize].state = State::Cleaned;
            self.reads(*number);
        }
        chosen
    }

    /// The live units of a segment that is cleaned, with their places and the segment's version.
    /// They are to be [copied](Ledger::copied).
    pub(super) fn gather(&mut self, number: u32) -> Vec<(u32, u32, u64)> {
        let first = self.shape.first(number);
        let places = first..first + self.shape.slots();
        let youngest = self.segments[number as usize].youngest;
        let live = places.map(|place| (self.owners[place as usize], place, youngest));
        let live: Vec<_> = live.filter(|(unit, ..)| *unit != NONE).collect();
        self.segments[number as usize].copies = live.len() as u32;
        live
    }

    /// The live units of a segment.
    pub(super) fn live(&self, segment: u32) -> u32 {
        self.segments[segment as usize].live
    }

    /// Checks that map and segments agree.
    pub(super) fn check(&self) {
        let mut live = vec![0_u32; self.segments.len()];
        for (unit, place) in self.places.iter().enumerate().filter(|(_, place)| **place != NONE) {
            assert_eq!(self.owners[*place as usize], unit as u32, "a unit is where the map says");
            live[self.shape.segment(*place) as usize] += 1;
        }
        let owned = self.owners.iter().filter(|owner| **owner != NONE).count();
        assert_eq!(owned as u32, live.iter().sum::<u32>(), "no place has a unit that is elsewhere");
        for (segment, live) in self.segments.iter().zip(live) {
            assert_eq!(segment.live, live);
            assert!(segment.state != State::Free || live == 0, "no live unit is in a free segment");
        }
        let free = self.segments.iter().filter(|segment| segment.state == State::Free).count();
        assert_eq!(free, self.free.len());
    }
}
