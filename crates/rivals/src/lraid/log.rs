//! A log disk: sorted runs, one after another.

use std::ops::Range;

/// A log disk. An update takes one unit of it; its parity unit's number is kept with it (in a
/// sector's label, which is not counted).
#[derive(Clone, Debug)]
pub(super) struct Log {
    runs: Vec<Run>,
    /// The units of the disk.
    room: u64,
    /// The units that are written.
    end: u64,
}

/// A run.
#[derive(Clone, Debug)]
struct Run {
    first: u64,
    updates: Vec<u32>,
}

impl Log {
    pub(super) fn new(room: u64) -> Log {
        Log { runs: Vec::new(), room, end: 0 }
    }

    /// A full log, as it is after long use: each run has updates of all the parity, evenly.
    pub(super) fn full(room: u64, run: u64, parity: u64) -> Log {
        let mut log = Log::new(room);
        while log.left() > 0 {
            let length = run.min(log.left()).min(parity);
            // Runs begin at different places, because updates of different runs are different.
            let shift = log.runs.len() as u64 % (parity / length).max(1);
            let updates = (0..length).map(|number| (number * parity / length + shift).min(parity - 1) as u32);
            log.append(&updates.collect::<Vec<_>>(), true);
        }
        log
    }

    /// The units that are not written.
    pub(super) fn left(&self) -> u64 {
        self.room - self.end
    }

    /// The part that is written.
    pub(super) fn filled(&self) -> f64 {
        self.end as f64 / self.room as f64
    }

    /// Appends a part of a run. Returns the unit at which it begins.
    pub(super) fn append(&mut self, updates: &[u32], begins_run: bool) -> u64 {
        let at = self.end;
        self.end += updates.len() as u64;
        assert!(self.end <= self.room, "no more is appended than there is room for");
        match self.runs.last_mut() {
            Some(run) if !begins_run => run.updates.extend(updates),
            _ => self.runs.push(Run { first: at, updates: updates.to_vec() }),
        }
        at
    }

    /// The updates of these parity units: of each run, which units of the disk.
    pub(super) fn subsequences(&self, parity: &Range<u64>) -> Vec<Range<u64>> {
        let part = |run: &Run| {
            let before = |end: u64| run.updates.partition_point(|update| u64::from(*update) < end) as u64;
            run.first + before(parity.start)..run.first + before(parity.end)
        };
        self.runs.iter().map(part).filter(|part| !part.is_empty()).collect()
    }

    /// All has been merged: it is empty.
    pub(super) fn truncate(&mut self) {
        self.runs.clear();
        self.end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_of_parity_have_all_updates_once() {
        let log = Log::full(1_000, 300, 5_000);
        assert_eq!((log.left(), log.runs.len()), (0, 4));
        assert!(log.runs.iter().all(|run| run.updates.is_sorted_by(|one, other| one < other)));
        let areas = (0..10).map(|area| area * 500..(area + 1) * 500);
        let mut units: Vec<u64> = areas.flat_map(|area| log.subsequences(&area)).flatten().collect();
        units.sort_unstable();
        assert_eq!(units, (0..1_000).collect::<Vec<_>>());
    }

    #[test]
    fn a_run_goes_on_from_chunk_to_chunk() {
        let mut log = Log::new(10);
        assert_eq!([log.append(&[1, 5], true), log.append(&[7], false), log.append(&[2], true)], [0, 2, 3]);
        assert_eq!(log.subsequences(&(2..8)), [1..3, 3..4]);
    }
}
