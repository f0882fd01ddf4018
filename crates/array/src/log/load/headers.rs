//! The headers of a region's log that were read so far, and which ones are to be read next.

use crate::format::bitmap::Stored;
use crate::format::horizon::{first_sequence, session_of};
use crate::format::segment::Header;
use crate::log::copies::LogCopies;
use parlour_units::Region;
use std::collections::{BTreeMap, BTreeSet};

/// The number of positions whose headers are read first. Each further read takes twice as many.
pub(in crate::log) const FIRST_SLOTS: usize = 8;

/// A log whose headers are being read.
#[derive(Debug)]
pub(crate) struct Load {
    pub(in crate::log) region: Region,
    /// The roster's turn when the load began: a member that came to a slot later does not hold the
    /// log.
    pub(in crate::log) turn: u64,
    /// By sublog: the copies that are read, one after the other. (They stood when the load began.)
    pub(in crate::log) sources: Vec<Vec<u16>>,
    /// By position: its newest header that could be read, and the number of the source that has it.
    pub(in crate::log) found: BTreeMap<u32, (Header, usize)>,
    /// Positions of which no header could be read so far.
    pub(in crate::log) unreadable: BTreeSet<u32>,
    /// Which of each position's sources is being read, and at which end.
    pub(in crate::log) source: usize,
    pub(in crate::log) end: End,
    /// The positions whose headers are being read.
    pub(in crate::log) asked: Vec<u32>,
}

/// The end of a segment at which a header is read: both have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum End {
    Front,
    Back,
}

impl Load {
    /// Which headers to read next, of a log with this many positions: a source, an end of its
    /// segments, and positions. `None` once all are read.
    pub(in crate::log) fn next(&self, positions: u32) -> Option<(usize, End, Vec<u32>)> {
        let all = |source: usize, from: u32| {
            (from..positions).filter(move |position| self.copy_of(*position, source).is_some())
        };
        if self.end == End::Front {
            let from = self.asked.last().map_or(0, |last| last + 1);
            let count = (self.asked.len() * 2).max(FIRST_SLOTS);
            let next: Vec<u32> = all(self.source, from).take(count).collect();
            if !next.is_empty() {
                return Some((self.source, End::Front, next));
            }
            let is_missing = |position: &u32| !self.found.contains_key(position);
            let missing: Vec<u32> = all(self.source, 0).filter(is_missing).collect();
            if !missing.is_empty() {
                return Some((self.source, End::Back, missing));
            }
        }
        let next: Vec<u32> = all(self.source + 1, 0).take(FIRST_SLOTS).collect();
        (!next.is_empty()).then_some((self.source + 1, End::Front, next))
    }

    /// The copy of the log that is this source of a position.
    pub(in crate::log) fn copy_of(&self, position: u32, source: usize) -> Option<u16> {
        self.sources[position as usize % self.sources.len()].get(source).copied()
    }

    /// The copies of the log that hold what was found in a position, as far as it is known.
    pub(in crate::log) fn copies_of(&self, position: u32) -> LogCopies {
        let first = self.found.get(&position).map_or(0, |(_, source)| *source);
        self.sources[position as usize % self.sources.len()][first..].iter().copied().collect()
    }

    /// Takes in what was read of a position.
    pub(in crate::log) fn take(&mut self, position: u32, header: Header) {
        self.unreadable.remove(&position);
        if self.found.get(&position).is_none_or(|(found, _)| found.stamp < header.stamp) {
            self.found.insert(position, (header, self.source));
        }
    }

    /// Notes which of the headers that are asked for could not be read.
    pub(in crate::log) fn note_read(&mut self, failed: &[bool]) {
        let first = self.source == 0 && self.end == End::Front;
        for (position, failed) in self.asked.iter().zip(failed) {
            if !failed {
                // (If it is the first one, it was not among these.)
                self.unreadable.remove(position);
            } else if first {
                self.unreadable.insert(*position);
            }
        }
    }

    /// Whether the headers that were read, which hold all records that the table counts as
    /// `stored`, hold the newest copy of each: all live ones are in segments of the table's
    /// session, or there is no other of this many positions.
    pub(in crate::log) fn is_settled(&self, positions: u32, stored: Stored, applied: u64) -> bool {
        let session = first_sequence(session_of(stored.stamp));
        let mut seen = BTreeSet::new();
        let is_older = |(_, header): &(u32, &Header)| {
            let live = header.records.iter().filter(|record| record.sequence > applied);
            let first = live.filter(|record| seen.insert(record.sequence)).count() > 0;
            first && header.stamp <= session
        };
        let all_read = self.asked.last().is_some_and(|last| last + 1 == positions);
        let first = self.source == 0 && self.end == End::Front;
        let last = !first || all_read && self.unreadable.is_empty();
        last || !self.newest_first().iter().any(is_older)
    }

    /// The headers, the newest segment first. If a crash caused a record to be appended twice, the
    /// newer copy counts.
    pub(in crate::log) fn newest_first(&self) -> Vec<(u32, &Header)> {
        let mut headers: Vec<(u32, &Header)> =
            self.found.iter().map(|(position, (header, _))| (*position, header)).collect();
        headers.sort_by_key(|(_, header)| std::cmp::Reverse(header.stamp));
        headers
    }
}

/// Whether `headers` (the newest segment first) hold all live records that the table counts as
/// `stored`.
///
/// Some records are `held` by the commit log as well, and stand in a segment from before the
/// table's session. The table counts either none or all of them:
/// - None, normally: in the table's session they were used from the commit log.
/// - All, if the commit log did not count in that session, because the session before had been
///   stopped cleanly, and counts again now, because the table's session wrote no entry to it.
pub(in crate::log) fn is_complete(
    headers: &[(u32, &Header)],
    stored: Stored,
    applied: u64,
    held: &BTreeSet<u64>,
) -> bool {
    let session = first_sequence(session_of(stored.stamp));
    let mut seen = BTreeSet::new();
    let (mut all, mut unheld) = (Stored::up_to(stored.stamp), Stored::up_to(stored.stamp));
    for (_, header) in headers.iter().filter(|(_, header)| header.stamp <= stored.stamp) {
        for record in header.records.iter().filter(|record| record.sequence > applied) {
            if seen.insert(record.sequence) {
                all.add(record.sequence, record.digest);
                if header.stamp > session || !held.contains(&record.sequence) {
                    unheld.add(record.sequence, record.digest);
                }
            }
        }
    }
    stored == unheld || stored == all
}

#[cfg(test)]
mod tests {
    use parlour_units::{Sectors, Unit};

    use super::*;
    use crate::columns::Columns;
    use crate::format::horizon::first_sequence;
    use crate::format::segment::{Record, RecordKind};

    fn header(stamp: u64, sequence: u64) -> Header {
        let columns = Columns::new(Sectors::ZERO, Sectors::new(8));
        let (unit, kind, start) = (Unit::new(0), RecordKind::Update, Sectors::ZERO);
        let record = Record { sequence, stripe: 0, unit, kind, columns, start, digest: 7 };
        Header { region: Region::new(0), position: None, stamp, records: vec![record] }
    }

    fn stored(stamp: u64, sequences: &[u64]) -> Stored {
        let mut stored = Stored::up_to(stamp);
        sequences.iter().for_each(|sequence| stored.add(*sequence, 7));
        stored
    }

    fn load(found: &[(u32, u64)], asked: u32) -> Load {
        Load {
            region: Region::new(0),
            turn: 0,
            sources: vec![vec![0]],
            found: found.iter().map(|(position, stamp)| (*position, (header(*stamp, 1), 0))).collect(),
            unreadable: BTreeSet::new(),
            source: 0,
            end: End::Front,
            asked: (0..asked).collect(),
        }
    }

    /// Regression test. A segment that a crash had cut off behind its header was used, although its
    /// records had been appended again at a position that was not read.
    #[test]
    fn a_segment_from_before_the_tables_session_is_not_used_before_all_headers_are_read() {
        let session = first_sequence(3);
        let stored = stored(session + 9, &[1]);
        let (old, new) = (session - 5, session + 5);
        assert!(load(&[(0, new)], 8).is_settled(16, stored, 0), "nothing newer can follow");
        assert!(!load(&[(0, old)], 8).is_settled(16, stored, 0), "perhaps there is a newer copy");
        assert!(load(&[(0, old)], 8).is_settled(16, stored, 1), "what is applied does not matter");
        assert!(load(&[(0, old), (9, new)], 16).is_settled(16, stored, 0), "all are read");
        let unreadable = Load { unreadable: BTreeSet::from([9]), ..load(&[(0, old)], 16) };
        assert!(!unreadable.is_settled(16, stored, 0), "its other copy may be newer");
        assert!(Load { end: End::Back, ..unreadable }.is_settled(16, stored, 0));
    }

    #[test]
    fn a_log_that_is_not_complete_is_read_from_its_other_copies() {
        // Two sublogs, of which the second has one copy left.
        let mut load = Load { sources: vec![vec![0, 1], vec![1]], ..load(&[], 0) };
        let first = load.next(4);
        assert_eq!(first, Some((0, End::Front, vec![0, 1, 2, 3])));
        load.asked = vec![0, 1, 2, 3];
        load.note_read(&[true, false, true, false]);
        load.take(1, header(7, 1));
        load.take(3, header(7, 3));
        load.take(2, header(5, 2));
        assert_eq!(load.next(4), Some((0, End::Back, vec![0])));
        (load.end, load.asked) = (End::Back, vec![0]);
        load.note_read(&[true]);
        assert_eq!(load.unreadable, BTreeSet::from([0]));
        let second = load.next(4);
        assert_eq!(second, Some((1, End::Front, vec![0, 2])));
        (load.source, load.end, load.asked) = (1, End::Front, vec![0, 2]);
        load.note_read(&[false, false]);
        load.take(2, header(9, 2));
        assert!(load.unreadable.is_empty(), "position 0 was read, and holds nothing");
        let copies = |position| [0, 1].map(|copy| load.copies_of(position).has(copy));
        assert_eq!(copies(2), [false, true], "the first copy has an older segment");
        assert_eq!((copies(1), copies(0)), ([false, true], [true, true]));
        assert_eq!(load.next(4), Some((1, End::Back, vec![0])));
        (load.end, load.asked) = (End::Back, vec![0]);
        assert_eq!(load.next(4), None);
    }

    /// Records 1 and 2 are in the commit log as well; 1 is in a segment from before the table's
    /// session, 2 in one of it.
    #[test]
    fn a_table_counts_records_that_a_commit_log_holds_only_if_their_segment_is_of_its_session() {
        let session = first_sequence(3);
        let (old, new) = (header(session - 5, 1), header(session + 5, 2));
        let headers = [(1, &new), (0, &old)];
        let held = BTreeSet::from([1, 2]);
        let is_complete = |counted: &[u64]| is_complete(&headers, stored(session + 9, counted), 0, &held);
        assert!(is_complete(&[2]), "in the table's session the old one was used from the commit log");
        assert!(is_complete(&[1, 2]), "or the commit log did not count");
        assert!(!is_complete(&[1]) && !is_complete(&[]) && !is_complete(&[2, 3]));
    }
}
