//! Segments that are being filled in memory, and written.

use std::collections::VecDeque;

/// A unit in memory that is to be written to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) unit: u32,
    /// The version of its content: writes are numbered.
    pub(super) version: u64,
    pub(super) origin: Origin,
}

/// Where the content of an entry comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// A host, whose request is answered already.
    Memory,
    /// A host, whose request waits until it is on the members.
    Request(u32),
    /// This place of a segment that is cleaned.
    Cleaned(u32),
}

/// A segment that is being filled.
#[derive(Clone, Debug)]
pub(super) struct Filling {
    pub(super) segment: u32,
    /// The first row that is not being written yet.
    pub(super) row: u32,
}

/// What fills one segment after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Stream {
    pub(super) filling: Option<Filling>,
    /// What is to be written next.
    pub(super) entries: VecDeque<Entry>,
    /// Entries that are being written.
    pub(super) written: usize,
}

impl Stream {
    /// The entries in memory.
    pub(super) fn held(&self) -> usize {
        self.entries.len() + self.written
    }
}

/// Rows of a segment that are being written.
#[derive(Clone, Debug)]
pub(super) struct Writing {
    pub(super) segment: u32,
    /// The place of the first entry.
    pub(super) first: u32,
    pub(super) entries: Vec<Entry>,
    /// Accesses that are not completed.
    pub(super) left: u16,
    /// Whether the segment has no rows after these.
    pub(super) closes: bool,
}

/// The bytes that a segment's summary has for each unit: its number and its version.
const SUMMARY: u64 = 16;

/// The units that a summary of so many units takes.
pub(super) fn summary(units: u32, unit_bytes: u64) -> u32 {
    (u64::from(units) * SUMMARY).div_ceil(unit_bytes) as u32
}

/// The most entries that fit into some slots together with their summary.
pub(super) fn room(slots: u32, unit_bytes: u64) -> u32 {
    let mut entries = slots;
    while entries > 0 && entries + summary(entries, unit_bytes) > slots {
        entries -= 1;
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_fit_beside_what_they_describe() {
        assert_eq!([room(252, 2_048), room(1, 2_048), room(2, 2_048), room(129, 2_048)], [250, 0, 1, 128]);
        assert_eq!([summary(0, 512), summary(32, 512), summary(33, 512)], [0, 1, 2]);
    }
}
