//! What was read of a region's log so far, and what is to be read next.

use crate::format::bitmap::Stored;
use crate::format::horizon::{first_sequence, session_of};
use crate::format::segment::Header;
use parlour_units::Region;
use std::collections::{BTreeMap, BTreeSet};

/// Positions whose headers are read first; each time after, twice as many.
pub(in crate::log) const FIRST_SLOTS: u32 = 8;

/// A log whose headers are being read.
#[derive(Debug)]
pub(crate) struct Load {
    pub(in crate::log) region: Region,
    /// When that began: who came to stand in a slot later does not hold it.
    pub(in crate::log) turn: u64,
    /// By position: its header, where one could be read.
    pub(in crate::log) found: BTreeMap<u32, Header>,
    /// Positions of which neither copy could be read so far.
    pub(in crate::log) unreadable: BTreeSet<u32>,
    /// The copies that are being read, …
    pub(in crate::log) copy: Copy,
    /// … of these positions.
    pub(in crate::log) asked: Vec<u32>,
}

/// A copy of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Copy {
    First,
    Second,
}

impl Load {
    /// What is read next of a log of so many positions; none once all is.
    pub(in crate::log) fn next(&self, positions: u32) -> Option<(Copy, Vec<u32>)> {
        let from = self.asked.last().map_or(0, |last| last + 1);
        if self.copy == Copy::First && from < positions {
            let count = (self.asked.len() as u32 * 2).max(FIRST_SLOTS);
            return Some((Copy::First, (from..positions.min(from + count)).collect()));
        }
        let missing: Vec<u32> =
            (0..positions).filter(|position| !self.found.contains_key(position)).collect();
        (self.copy == Copy::First && !missing.is_empty()).then_some((Copy::Second, missing))
    }

    /// The headers, the newest segment first: what was appended twice, because a crash came
    /// between, counts where it was appended last.
    pub(in crate::log) fn newest_first(&self) -> Vec<(u32, &Header)> {
        let mut headers: Vec<(u32, &Header)> =
            self.found.iter().map(|(position, header)| (*position, header)).collect();
        headers.sort_by_key(|(_, header)| std::cmp::Reverse(header.stamp));
        headers
    }
}

/// Whether all live records are in `headers`, the newest segment first, that the table says are
/// `stored`.
///
/// Records that are `held` by a commit log and stood in a segment before the table's session were
/// used in that session as the commit log holds them, and were not counted; unless the commit log
/// counted for nothing then, because the session before had been stopped cleanly, and counts again
/// because this one did not begin it anew. Then all of them were.
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
