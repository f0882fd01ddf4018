//! Which sectors of the array are staged, and which entry has each sector's last staged content.
//!
//! Invariants:
//! - Segments do not overlap. Each names the newest entry that counts and holds its sectors.
//! - A segment with data holds a reference to its buffer.
//! - An entry is over when no segment with data names it.

use std::collections::BTreeMap;

use parlour_units::{Sector, Sectors};

use crate::buffer::{BufferId, Buffers};
use crate::format::commit_entry::StagedWrite;

/// A range of sectors of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from: Sector,
    pub(crate) to: Sector,
}

impl Range {
    pub(crate) fn new(at: Sector, length: Sectors) -> Range {
        Range { from: at, to: at + length }
    }

    pub(crate) fn of(write: &StagedWrite) -> Range {
        Range::new(Sector::new(write.at), write.length())
    }

    pub(crate) fn length(self) -> Sectors {
        self.to - self.from
    }

    pub(crate) fn overlaps(self, other: Range) -> bool {
        self.from < other.to && other.from < self.to
    }

    fn and(self, other: Range) -> Range {
        Range { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

/// A part of the array, and where its content is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Staged {
    pub(crate) range: Range,
    pub(crate) entry: u64,
    pub(crate) buffer: BufferId,
    /// Where it starts in the buffer.
    pub(crate) start: Sectors,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    to: Sector,
    entry: u64,
    /// The content, until it is destaged.
    data: Option<(BufferId, Sectors)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct StageMap {
    segments: BTreeMap<Sector, Segment>,
    /// By entry: its sectors with data.
    live: BTreeMap<u64, Sectors>,
    /// Entries that are over, since they were last taken.
    over: Vec<u64>,
    /// With more segments than this, those of entries that are forgotten are dropped.
    many: usize,
}

/// So many segments are kept in any case.
const MANY: usize = 4_096;

impl StageMap {
    /// Whether nothing waits to be destaged.
    pub(crate) fn is_empty(&self) -> bool {
        self.live.is_empty()
    }

    /// Sectors that wait to be destaged.
    pub(crate) fn sectors(&self) -> Sectors {
        self.live.values().fold(Sectors::ZERO, |sum, length| sum + *length)
    }

    /// Takes in a write of an entry that counts. It takes the place of what it covers of entries
    /// that are not newer.
    pub(crate) fn insert(&mut self, buffers: &mut Buffers, staged: Staged) {
        let Staged { range, entry, start, .. } = staged;
        let newer = self.overlapping(range).filter(|(_, segment)| segment.entry > entry);
        let newer: Vec<Range> = newer.map(|(from, segment)| Range { from, to: segment.to }).collect();
        let mut from = range.from;
        for other in newer.into_iter().chain([Range { from: range.to, to: range.to }]) {
            if from < other.from {
                let part = Range { from, to: other.from };
                self.insert_part(
                    buffers,
                    Staged { range: part, start: start + (from - range.from), ..staged },
                );
            }
            from = from.max(other.to);
        }
    }

    /// All of the entry's writes were inserted. (It is over if newer ones have covered them.)
    pub(crate) fn inserted(&mut self, entry: u64) {
        if !self.live.contains_key(&entry) && !self.over.contains(&entry) {
            self.over.push(entry);
        }
    }

    fn insert_part(&mut self, buffers: &mut Buffers, staged: Staged) {
        let Staged { range, entry, buffer, start } = staged;
        self.cut_out(buffers, range);
        buffers.hold(buffer);
        self.segments.insert(range.from, Segment { to: range.to, entry, data: Some((buffer, start)) });
        *self.live.entry(entry).or_default() += range.length();
        // (It was over if this write has covered all others of the same entry.)
        self.over.retain(|over| *over != entry);
    }

    /// What is staged of `range`, in order.
    pub(crate) fn staged(&self, range: Range) -> impl Iterator<Item = Staged> {
        self.overlapping(range).filter_map(move |(from, segment)| {
            let (buffer, start) = segment.data?;
            let part = Range { from, to: segment.to }.and(range);
            let start = start + (part.from - from);
            Some(Staged { range: part, entry: segment.entry, buffer, start })
        })
    }

    /// All that is staged in entries up to `entry`, in order.
    pub(crate) fn up_to(&self, entry: u64) -> impl Iterator<Item = Range> {
        let old = move |segment: &Segment| segment.data.is_some() && segment.entry <= entry;
        let segments = self.segments.iter().filter(move |(_, segment)| old(segment));
        segments.map(|(from, segment)| Range { from: *from, to: segment.to })
    }

    /// The newest entry that holds some sector of `range`, whether it is destaged or not.
    pub(crate) fn newest(&self, range: Range) -> Option<u64> {
        self.overlapping(range).map(|(_, segment)| segment.entry).max()
    }

    /// The content of `range` in `entry` is in its place.
    pub(crate) fn destaged(&mut self, buffers: &mut Buffers, range: Range, entry: u64) {
        let parts: Vec<Staged> = self.staged(range).filter(|staged| staged.entry == entry).collect();
        for Staged { range, entry, .. } in parts {
            self.cut_out(buffers, range);
            self.segments.insert(range.from, Segment { to: range.to, entry, data: None });
        }
    }

    /// The next entry that is over, if there is one.
    pub(crate) fn take_over(&mut self) -> Option<u64> {
        self.over.pop()
    }

    /// Drops destaged segments of entries that would not be found after a crash, if there are many.
    pub(crate) fn forget(&mut self, would_be_found: impl Fn(u64) -> bool) {
        if self.segments.len() > self.many.max(MANY) {
            self.segments.retain(|_, segment| segment.data.is_some() || would_be_found(segment.entry));
            self.many = self.segments.len() * 2;
        }
    }

    fn overlapping(&self, range: Range) -> impl Iterator<Item = (Sector, Segment)> {
        let before =
            self.segments.range(..=range.from).next_back().filter(|(_, first)| first.to > range.from);
        let from = before.map_or(range.from, |(from, _)| *from);
        let to = range.to.max(from);
        self.segments.range(from..to).map(|(from, segment)| (*from, *segment))
    }

    /// Removes `range` from all segments.
    fn cut_out(&mut self, buffers: &mut Buffers, range: Range) {
        let cut: Vec<(Sector, Segment)> = self.overlapping(range).collect();
        for (from, segment) in cut {
            self.segments.remove(&from);
            let part = |from: Sector, to: Sector, base: Sector| {
                let data = segment.data.map(|(buffer, start)| (buffer, start + (from - base)));
                (from < to).then_some((from, Segment { to, entry: segment.entry, data }))
            };
            let left = part(from, segment.to.min(range.from), from);
            let right = part(from.max(range.to), segment.to, from);
            for (from, segment) in [left, right].into_iter().flatten() {
                if let Some((buffer, _)) = segment.data {
                    buffers.hold(buffer);
                }
                self.segments.insert(from, segment);
            }
            if let Some((buffer, _)) = segment.data {
                buffers.release(buffer);
                self.shrink(segment.entry, Range { from, to: segment.to }.and(range).length());
            }
        }
    }

    fn shrink(&mut self, entry: u64, by: Sectors) {
        let live = self.live.get_mut(&entry).expect("an entry with data is counted");
        *live = *live - by;
        if live.is_zero() {
            self.live.remove(&entry);
            self.over.push(entry);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(from: u64, to: u64) -> Range {
        Range { from: Sector::new(from), to: Sector::new(to) }
    }

    /// What a map that keeps each sector by itself would hold: entry, buffer and place of its
    /// content, and whether it is destaged.
    type Simple = BTreeMap<u64, (u64, BufferId, u64, bool)>;

    fn content(map: &StageMap) -> Simple {
        let mut simple = Simple::new();
        for Staged { range, entry, buffer, start } in map.staged(range(0, 64)) {
            for index in 0..range.length().get() {
                simple.insert(range.from.get() + index, (entry, buffer, start.get() + index, false));
            }
        }
        simple
    }

    proptest! {
        #[test]
        fn a_map_of_segments_is_a_map_of_sectors(
            steps in proptest::collection::vec(
                (0..60_u64, 1..20_u64, any::<bool>(), any::<bool>()), 1..60,
            ),
        ) {
            let (mut map, mut buffers) = (StageMap::default(), Buffers::new());
            let mut simple = Simple::new();
            let mut entry = 10;
            let (mut held, mut used) = (Vec::new(), std::collections::BTreeSet::new());
            for (from, length, destages, comes_late) in steps {
                let to = (from + length).min(64);
                if destages {
                    let of = map.newest(range(from, to)).unwrap_or(0);
                    map.destaged(&mut buffers, range(from, to), of);
                    for (_, sector) in simple.range_mut(from..to) {
                        sector.3 |= sector.0 == of;
                    }
                } else {
                    // An entry may have several writes, but none after it was destaged in part.
                    let goes_on = length % 2 == 0 && !simple.values().any(|sector| sector.0 == entry && sector.3);
                    entry += 10 * u64::from(!goes_on);
                    // An entry may count after a newer one.
                    let last = entry;
                    let entry = if comes_late && !goes_on { last - 15 } else { last };
                    used.insert(entry);
                    let buffer = buffers.take(Sectors::new(100));
                    let start = Sectors::new(entry % 7);
                    map.insert(&mut buffers, Staged { range: range(from, to), entry, buffer, start });
                    map.inserted(entry);
                    buffers.release(buffer);
                    held.push(buffer);
                    for index in from..to {
                        if simple.get(&index).is_none_or(|sector| sector.0 <= entry) {
                            simple.insert(index, (entry, buffer, start.get() + index - from, false));
                        }
                    }
                }
                let staged: Simple = simple.iter().filter(|(_, sector)| !sector.3).map(|(a, b)| (*a, *b)).collect();
                prop_assert_eq!(content(&map), staged.clone());
                prop_assert_eq!(map.sectors().get(), staged.len() as u64);
                prop_assert_eq!(map.live.keys().next().copied(), staged.values().map(|sector| sector.0).min());
                let newest = simple.range(from..to).map(|(_, sector)| sector.0).max();
                prop_assert_eq!(map.newest(range(from, to)), newest);
            }
            // Buffers live as long as some segment names them.
            let named: std::collections::BTreeSet<BufferId> =
                content(&map).values().map(|sector| sector.1).collect();
            let mut released = Vec::new();
            while let Some(buffer) = buffers.poll_release() {
                released.push(buffer);
            }
            for buffer in held {
                prop_assert_eq!(released.contains(&buffer), !named.contains(&buffer));
            }
            let mut over = Vec::new();
            while let Some(entry) = map.take_over() {
                over.push(entry);
            }
            over.sort_unstable();
            let ended: Vec<u64> = used.into_iter().filter(|entry| !map.live.contains_key(entry)).collect();
            prop_assert_eq!(over, ended, "an entry is over once");
        }
    }
}
