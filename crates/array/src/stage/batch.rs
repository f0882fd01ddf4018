//! What is destaged next, in the order of places.
//!
//! A batch takes up all that is staged, sorted by place. When half of it is done, the next one
//! takes up what is left and what was staged since, and goes on where this one was: so members have
//! nothing to wait for at the end of a batch.
//!
//! Invariant: no sector is in two destages that are under way.

use std::collections::VecDeque;

use parlour_units::{Sector, Sectors};

use crate::buffer::BufferId;
use crate::ids::HostId;
use crate::stage::list::take;
use crate::stage::map::{Range, Staged};

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// Everything of entries up to this one.
    up_to: u64,
    /// In the order of places, from where the batch before was, and around the end.
    runs: VecDeque<Run>,
    /// The end of the run that was taken last.
    last: Sector,
    /// The staged ranges that are not destaged yet: now, and when the batch was begun.
    left: usize,
    size: usize,
    /// The length of all entries that were begun since.
    admitted: Sectors,
    /// Destages under way.
    running: Vec<(HostId, Destage)>,
}

/// Staged ranges without gaps between them.
#[derive(Debug)]
struct Run {
    range: Range,
    ranges: usize,
}

/// Staged parts that are written to their place together, one behind the other.
#[derive(Debug)]
pub(crate) struct Destage {
    pub(crate) parts: Vec<Staged>,
    /// Their content.
    pub(crate) buffer: BufferId,
    /// The length of the buffer, if it was made for this.
    pub(crate) copied: Sectors,
}

impl Destage {
    pub(crate) fn range(&self) -> Range {
        let (first, last) = (&self.parts[0], &self.parts[self.parts.len() - 1]);
        Range { from: first.range.from, to: last.range.to }
    }
}

impl Batch {
    /// Begins a batch of `ranges`, which are in the order of places, and of entries up to `up_to`.
    /// Those without gaps between them are destaged together, up to the end of a stripe.
    pub(crate) fn begin(&mut self, up_to: u64, ranges: impl Iterator<Item = Range>, stripe: Sectors) {
        let from = self.runs.front().map_or(self.last, |run| run.range.from);
        self.runs = runs(without(ranges, &self.under_way()), stripe).into();
        self.left = self.runs.iter().map(|run| run.ranges).sum::<usize>() + self.parts();
        self.runs.rotate_left(self.runs.partition_point(|run| run.range.from < from));
        (self.up_to, self.size, self.admitted) = (up_to, self.left, Sectors::ZERO);
    }

    /// The ranges that are being destaged, in the order of places.
    fn under_way(&self) -> Vec<Range> {
        let mut ranges: Vec<Range> = self.running.iter().map(|(_, destage)| destage.range()).collect();
        ranges.sort_unstable_by_key(|range| range.from);
        ranges
    }

    /// The number of parts in destages that are under way.
    fn parts(&self) -> usize {
        self.running.iter().map(|(_, destage)| destage.parts.len()).sum()
    }

    /// What is destaged next.
    pub(crate) fn next_run(&mut self) -> Option<Range> {
        let Run { range, ranges } = self.runs.pop_front()?;
        self.last = range.to;
        self.left -= ranges;
        Some(range)
    }

    /// The newest entry of which something is destaged.
    pub(crate) fn up_to(&self) -> u64 {
        self.up_to
    }

    /// A destage has begun, which `host` stands for.
    pub(crate) fn start_running(&mut self, host: HostId, destage: Destage) {
        self.left += destage.parts.len();
        self.running.push((host, destage));
    }

    /// The destage that `host` stands for has ended.
    pub(crate) fn end_running(&mut self, host: HostId) -> Option<Destage> {
        let destage = take(&mut self.running, host)?;
        self.left -= destage.parts.len();
        Some(destage)
    }

    /// The number of destages under way.
    pub(crate) fn running(&self) -> usize {
        self.running.len()
    }

    /// The length of what was copied for destages that are under way.
    pub(crate) fn copied(&self) -> Sectors {
        self.running.iter().fold(Sectors::ZERO, |sum, (_, destage)| sum + destage.copied)
    }

    /// An entry of this length was begun.
    pub(crate) fn admit(&mut self, length: Sectors) {
        self.admitted += length;
    }

    /// Whether an entry of `length` may be begun by now while this batch is destaged, if those of a
    /// whole batch may have `most`. An eighth is there at once, and the rest comes as the batch
    /// goes on: so writes are slowed down to the pace of destages, and do not stand still at its
    /// end.
    pub(crate) fn allows(&self, length: Sectors, most: Sectors) -> bool {
        let (done, size) = (self.size.saturating_sub(self.left) as u64, self.size.max(1) as u64);
        let (most, part) = (most.get(), most.get() / 8);
        self.is_over() || self.admitted + length <= Sectors::new(part + (most - part) * done / size)
    }

    fn is_over(&self) -> bool {
        self.left == 0
    }

    /// Whether it is time for the next batch.
    pub(crate) fn is_half_done(&self) -> bool {
        self.left * 2 <= self.size
    }
}

/// `ranges` without those that overlap one of `others`. Both are in the order of places.
fn without(ranges: impl Iterator<Item = Range>, others: &[Range]) -> impl Iterator<Item = Range> {
    let mut others = others.iter().peekable();
    ranges.filter(move |range| {
        while others.next_if(|other| other.to <= range.from).is_some() {}
        others.peek().is_none_or(|other| !other.overlaps(*range))
    })
}

/// Joins ranges without gaps between them, up to the ends of stripes.
fn runs(ranges: impl Iterator<Item = Range>, stripe: Sectors) -> Vec<Run> {
    let of = |at: Sector| at.from_start() / stripe;
    let mut runs: Vec<Run> = Vec::new();
    for range in ranges {
        match runs.last_mut() {
            Some(Run { range: run, ranges }) if range.from == run.to && of(range.from) == of(run.from) => {
                (run.to, *ranges) = (range.to, *ranges + 1);
            }
            _ => runs.push(Run { range, ranges: 1 }),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffers;

    const STRIPE: Sectors = Sectors::new(40);

    fn range(from: u64, to: u64) -> Range {
        Range { from: Sector::new(from), to: Sector::new(to) }
    }

    fn begin(batch: &mut Batch, ranges: &[(u64, u64)]) {
        batch.begin(1, ranges.iter().map(|(from, to)| range(*from, *to)), STRIPE);
    }

    fn host(index: u32) -> HostId {
        HostId(index)
    }

    /// Takes what comes next, and lets it run. Returns where it begins and ends.
    fn next(batch: &mut Batch, index: u32) -> Option<(u64, u64)> {
        let range = batch.next_run()?;
        let buffer = Buffers::new().take(range.length());
        let parts = vec![Staged { range, entry: 1, buffer, start: Sectors::ZERO }];
        batch.start_running(host(index), Destage { parts, buffer, copied: Sectors::ZERO });
        Some((range.from.get(), range.to.get()))
    }

    #[test]
    fn ranges_in_a_row_are_one_run_up_to_the_end_of_a_stripe() {
        let mut batch = Batch::default();
        begin(&mut batch, &[(20, 25), (25, 40), (40, 45)]);
        assert_eq!(next(&mut batch, 0), Some((20, 40)));
        assert_eq!(next(&mut batch, 1), Some((40, 45)));
    }

    #[test]
    fn the_next_batch_leaves_out_what_is_under_way_and_goes_on_where_the_last_was() {
        let mut batch = Batch::default();
        begin(&mut batch, &[(40, 42), (80, 81), (120, 121), (160, 161)]);
        assert_eq!(next(&mut batch, 0), Some((40, 42)));
        assert_eq!(next(&mut batch, 1), Some((80, 81)));
        assert!(!batch.is_half_done());
        batch.end_running(host(0));
        batch.end_running(host(1));
        assert!(batch.is_half_done());
        assert_eq!(next(&mut batch, 2), Some((120, 121)));
        // (While it is under way, one of its sectors was written again.)
        begin(&mut batch, &[(0, 1), (41, 42), (119, 121), (160, 161)]);
        assert!(!batch.is_half_done());
        assert_eq!(next(&mut batch, 3), Some((160, 161)));
        batch.end_running(host(2));
        assert_eq!(next(&mut batch, 4), Some((0, 1)), "around the end");
    }

    #[test]
    fn entries_are_begun_at_the_pace_of_destages() {
        let mut batch = Batch::default();
        let allows = |batch: &Batch, length| batch.allows(Sectors::new(length), Sectors::new(80));
        assert!(allows(&batch, 1_000), "nothing is destaged");
        begin(&mut batch, &[(0, 1), (10, 11)]);
        assert!(allows(&batch, 10) && !allows(&batch, 11), "an eighth at once");
        next(&mut batch, 0);
        batch.end_running(host(0));
        batch.admit(Sectors::new(10));
        assert!(allows(&batch, 35) && !allows(&batch, 36), "half of the rest when half is done");
    }
}
