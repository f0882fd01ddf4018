//! What the areas of all members hold of one stream of entries.
//!
//! An entry stands on several members, in the same place of each member's area. One copy of it is
//! enough.

use std::ops::Range;

use parlour_units::{Sectors, Slot};

use crate::format::commit_entry::{CommitPart, EntryHeader};

/// What one member's area holds of a stream.
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

/// An entry, and the slots on whose members it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundEntry {
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

/// The entries of one stream that count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) entries: Vec<FoundEntry>,
    /// The number of the newest entry; 0 if there is none.
    pub(crate) newest: u64,
    /// Where it ends, counted in sectors since the stream was new.
    pub(crate) head: u64,
    /// The start of the oldest entry that the newest one counts on. It is kept also if no entry
    /// counts any more because the array was stopped cleanly.
    pub(crate) floor: u64,
    /// Whether all entries that count are there.
    pub(crate) whole: bool,
    /// The bytes of the newest entry.
    pub(crate) last: Vec<u8>,
    /// The slots in whose areas newer entries may stand that cannot be read.
    pub(crate) hidden: Vec<Slot>,
}

impl Default for Found {
    /// A stream to which nothing was ever written.
    fn default() -> Found {
        Found {
            entries: Vec::new(),
            newest: 0,
            head: 0,
            floor: 0,
            whole: true,
            last: Vec::new(),
            hidden: Vec::new(),
        }
    }
}

impl Found {
    /// The content of a stream. Its newest entry names the oldest entry that counts, and each entry
    /// names the one before it, so missing entries between them are noticed. When an entry is
    /// written, it overwrites no entry that counted when the one before it was written
    /// ([`Ring`](super::ring::Ring)): an entry that a crash cut off has damaged none of them.
    pub(crate) fn of(areas: impl IntoIterator<Item = (Slot, Area)>, block: Sectors) -> Found {
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
                None => entries.push(FoundEntry { header, slots: vec![slot] }),
            }
        }
        let hidden = |newest: Option<Range<u64>>| {
            let hiding = gaps.iter().filter(|(_, gaps)| gaps.hide_newer_than(newest.clone()));
            hiding.map(|(slot, _)| *slot).collect::<Vec<Slot>>()
        };
        let Some(newest) = entries.last().map(|last| &last.header) else {
            return Found { hidden: hidden(None), ..Found::default() };
        };
        let (at, head) = (newest.at, newest.at + newest.length(block).get());
        let (newest, tail) = (newest.number, newest.tail);
        let (last, hidden) = (last.1, hidden(Some(at..head)));
        match chain(entries, tail).filter(|_| !contradicts) {
            Some(entries) => {
                let floor = entries.first().map_or(head, |oldest| oldest.header.at);
                Found { entries, newest, head, floor, whole: true, last, hidden }
            }
            None => Found { entries: Vec::new(), newest, head, floor: head, whole: false, last, hidden },
        }
    }

    /// The same stream after a clean stop: no entry counts any more. New entries are numbered and
    /// placed after the old ones.
    pub(crate) fn cleared(self) -> Found {
        Found { entries: Vec::new(), last: Vec::new(), ..self }
    }
}

/// The entries from number `tail` to the newest of `entries`, oldest first; each entry names the
/// one before it. `None` if one is missing. An entry that no other names was given up when it was
/// written, and its writes went into another entry.
fn chain(mut entries: Vec<FoundEntry>, tail: u64) -> Option<Vec<FoundEntry>> {
    let mut chain = Vec::with_capacity(entries.len());
    let mut wanted = entries.last()?.header.number;
    while wanted >= tail && wanted > 0 {
        let entry = entries.pop().filter(|entry| entry.header.number >= wanted)?;
        if entry.header.number == wanted {
            wanted = entry.header.previous;
            chain.push(entry);
        }
    }
    chain.reverse();
    Some(chain)
}
