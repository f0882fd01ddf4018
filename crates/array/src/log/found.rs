//! What the areas of all members hold of one stream of entries, lane by lane.
//!
//! An entry stands on several members, in the same place of each member's area. One copy of it is
//! enough.

use std::ops::Range;

use parlour_units::{Sectors, Slot};

use crate::format::commit_entry::{CommitPart, EntryContent, EntryHeader};
use crate::log::lane::Lane;

/// What one member's area holds of a lane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Area {
    /// The entries that the newest of them counts on, and perhaps others.
    pub(crate) entries: Vec<EntryHeader>,
    /// The bytes of the newest one.
    pub(crate) last: Vec<u8>,
    /// What of it cannot be read.
    pub(crate) gaps: Gaps,
}

/// The parts of an area that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gaps {
    /// The length of the area.
    pub(crate) length: Sectors,
    /// In sectors from its start.
    pub(crate) parts: Vec<Range<u64>>,
}

impl Gaps {
    /// Whether an entry may stand here that is newer than the newest one that was found. It begins
    /// where that one ends, or where it starts, if that one was given up; or at the area's start.
    /// It takes less than a quarter of the area.
    fn hide_newer_than(&self, newest: Option<Range<u64>>) -> bool {
        let Some(newest) = newest else { return !self.parts.is_empty() };
        let (length, longest) = (self.length.get(), self.length.get() / 4);
        let at = newest.start % length.max(1);
        let places = [at..at + (newest.end - newest.start) + longest, 0..longest];
        let overlaps =
            |part: &Range<u64>| places.iter().any(|place| part.start < place.end && place.start < part.end);
        self.parts.iter().any(overlaps)
    }
}

/// An entry, its lane, and the slots on whose members it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    pub(crate) lane: Lane,
    pub(crate) header: EntryHeader,
    pub(crate) slots: Vec<Slot>,
}

/// The entries of all streams.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundLog {
    pub(crate) records: Found,
    pub(crate) intents: Found,
    pub(crate) writes: Found,
}

impl FoundLog {
    pub(crate) fn part(&self, part: CommitPart) -> &Found {
        match part {
            CommitPart::Records => &self.records,
            CommitPart::Intents => &self.intents,
            CommitPart::Writes => &self.writes,
        }
    }
}

/// The entries of one lane that count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundLane {
    /// Oldest first.
    pub(crate) entries: Vec<FoundEntry>,
    /// The number of the newest entry, whether it counts or not; 0 if there is none.
    pub(crate) newest: u64,
    /// Where it ends, counted in sectors since the lane was new.
    pub(crate) head: u64,
    /// If the newest entry is an empty one: where it starts, and the number of the one before it.
    pub(crate) empty: Option<(u64, u64)>,
    /// The start of the oldest entry that the newest one counts on. It is kept also if no entry
    /// counts any more.
    pub(crate) floor: u64,
    /// The bytes of the newest entry.
    pub(crate) last: Vec<u8>,
}

/// What was found of one stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// None if no area could be read.
    pub(crate) lanes: Vec<FoundLane>,
    /// Whether all entries that count are there.
    pub(crate) whole: bool,
    /// The slots in whose areas newer entries may stand that cannot be read.
    pub(crate) hidden: Vec<Slot>,
}

impl Default for Found {
    /// A stream of which nothing was read.
    fn default() -> Found {
        Found { lanes: Vec::new(), whole: true, hidden: Vec::new() }
    }
}

impl Found {
    /// The content of a stream, whose areas all have the same lanes. The newest entries name the
    /// oldest one that counts, and each names the one before it in its lane, so missing entries
    /// between them are noticed. When an entry is written, it overwrites no entry that counted when
    /// the one before it was written ([`Ring`](super::ring::Ring)): an entry that a crash cut off
    /// has damaged none of them.
    pub(crate) fn of(areas: impl IntoIterator<Item = (Slot, Vec<Area>)>, block: Sectors) -> Found {
        let mut by_lane: Vec<Vec<(Slot, Area)>> = Vec::new();
        for (slot, areas) in areas {
            by_lane.resize_with(by_lane.len().max(areas.len()), Vec::new);
            by_lane.iter_mut().zip(areas).for_each(|(lane, area)| lane.push((slot, area)));
        }
        let lanes = (0..).map(Lane).zip(by_lane);
        let lanes: Vec<LaneContent> =
            lanes.map(|(lane, areas)| LaneContent::of(lane, areas, block)).collect();
        let tail = lanes.iter().filter_map(LaneContent::tail).max().unwrap_or(0);
        let mut hidden: Vec<Slot> = lanes.iter().flat_map(|lane| lane.hidden.iter().copied()).collect();
        hidden.sort_unstable();
        hidden.dedup();
        let whole = lanes.iter().all(|lane| lane.is_whole_from(tail));
        let found = |lane: LaneContent| match whole {
            true => lane.found(tail, block),
            false => lane.without_entries(block),
        };
        Found { lanes: lanes.into_iter().map(found).collect(), whole, hidden }
    }

    /// The entries that count, in the order of their numbers.
    pub(crate) fn entries(&self) -> Vec<&FoundEntry> {
        let mut entries: Vec<&FoundEntry> = self.lanes.iter().flat_map(|lane| &lane.entries).collect();
        entries.sort_by_key(|entry| entry.header.number);
        entries
    }

    /// The number of the newest entry; 0 if there is none.
    pub(crate) fn newest(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.newest).max().unwrap_or(0)
    }

    /// The lowest number of a lane's newest entry; 0 if a lane has none.
    pub(crate) fn least_newest(&self) -> u64 {
        self.lanes.iter().map(|lane| lane.newest).min().unwrap_or(0)
    }

    /// The same stream after a clean stop: no entry counts any more. New entries are numbered and
    /// placed after the old ones.
    pub(crate) fn cleared(mut self) -> Found {
        for lane in &mut self.lanes {
            (lane.entries, lane.empty, lane.last) = (Vec::new(), None, Vec::new());
        }
        self
    }
}

/// What all areas hold of one lane.
struct LaneContent {
    /// In the order of their numbers.
    entries: Vec<FoundEntry>,
    /// The bytes of the newest one.
    last: Vec<u8>,
    hidden: Vec<Slot>,
    /// Two members hold different entries with the same number.
    contradicts: bool,
}

impl LaneContent {
    fn of(lane: Lane, areas: Vec<(Slot, Area)>, block: Sectors) -> LaneContent {
        let mut all: Vec<(EntryHeader, Slot)> = Vec::new();
        let mut last = (0, Vec::new());
        let mut gaps: Vec<(Slot, Gaps)> = Vec::new();
        for (slot, area) in areas {
            gaps.push((slot, area.gaps));
            let newest = area.entries.iter().map(|entry| entry.number).max().unwrap_or(0);
            if newest > last.0 {
                last = (newest, area.last);
            }
            all.extend(area.entries.into_iter().map(|entry| (entry, slot)));
        }
        all.sort_by_key(|(entry, slot)| (entry.number, *slot));
        let mut entries: Vec<FoundEntry> = Vec::with_capacity(all.len());
        let mut contradicts = false;
        for (header, slot) in all {
            match entries.last_mut().filter(|last| last.header.number == header.number) {
                Some(last) if last.header == header => last.slots.push(slot),
                Some(_) => contradicts = true,
                None => entries.push(FoundEntry { lane, header, slots: vec![slot] }),
            }
        }
        let newest = entries.last().map(|last| last.header.at..last.end(block));
        let hiding = gaps.iter().filter(|(_, gaps)| gaps.hide_newer_than(newest.clone()));
        let hidden = hiding.map(|(slot, _)| *slot).collect();
        LaneContent { entries, last: last.1, hidden, contradicts }
    }

    /// The number of the oldest entry that the newest one counts on.
    fn tail(&self) -> Option<u64> {
        self.entries.last().map(|newest| newest.header.tail)
    }

    /// The numbers of the entries from `tail` to the newest, as far as each names the one before
    /// it, and whether none is missing. An entry that no other names was given up when it was
    /// written, and its writes went into another one.
    fn chain(&self, tail: u64) -> (Vec<u64>, bool) {
        let mut chain = Vec::with_capacity(self.entries.len());
        let mut wanted = self.entries.last().map_or(0, |newest| newest.header.number);
        for FoundEntry { header, .. } in self.entries.iter().rev() {
            if header.number == wanted && wanted >= tail {
                chain.push(wanted);
                wanted = header.previous;
            }
        }
        chain.reverse();
        (chain, wanted < tail || wanted == 0)
    }

    fn is_whole_from(&self, tail: u64) -> bool {
        !self.contradicts && self.chain(tail).1
    }

    /// The lane, whose entries count from `tail` on.
    fn found(self, tail: u64, block: Sectors) -> FoundLane {
        let (counting, _) = self.chain(tail);
        // (What stands before the tail is protected too, if the newest entry of the lane counts on
        // it: perhaps nothing else is durable that names the tail.)
        let (protected, _) = self.chain(self.tail().unwrap_or(0));
        let of = |chain: &[u64], entry: &FoundEntry| chain.binary_search(&entry.header.number).is_ok();
        let starts = self.entries.iter().filter(|entry| of(&protected, entry)).map(|entry| entry.header.at);
        let floor = starts.min().unwrap_or(0);
        let place = self.place(block);
        let entries = self.entries.into_iter().filter(|entry| of(&counting, entry)).collect();
        FoundLane { entries, floor, last: self.last, ..place }
    }

    /// The lane, where entries are missing.
    fn without_entries(self, block: Sectors) -> FoundLane {
        let place = self.place(block);
        FoundLane { floor: place.head, last: self.last, ..place }
    }

    /// The newest entry, and where it ends.
    fn place(&self, block: Sectors) -> FoundLane {
        let Some(entry) = self.entries.last() else { return FoundLane::default() };
        let EntryHeader { number, at, previous, content, .. } = &entry.header;
        let empty = (*content == EntryContent::default()).then_some((*at, *previous));
        FoundLane { newest: *number, head: entry.end(block), empty, ..FoundLane::default() }
    }
}

impl FoundEntry {
    /// Where it ends, counted in sectors since its lane was new.
    fn end(&self, block: Sectors) -> u64 {
        self.header.at + self.header.length(block).get()
    }
}
