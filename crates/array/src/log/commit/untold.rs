//! Entries of records that are being written or durable, and whose jobs do not know that yet: of
//! each region, jobs are told in the order of the entries. How far a region's records are in its
//! parity is one number.

use std::collections::{BTreeMap, BTreeSet};

use parlour_units::Region;

use crate::format::segment::Record;
use crate::ids::JobId;
use crate::log::lane::Lane;

/// An entry with records that is being written.
#[derive(Debug)]
pub(crate) struct CommitEntry {
    pub(in crate::log) number: u64,
    pub(in crate::log) lane: Lane,
    /// The jobs whose records it has.
    pub(in crate::log) jobs: Vec<(JobId, Vec<Record>)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(in crate::log) struct Untold {
    /// By entry: the region of each job.
    regions: BTreeMap<u64, Vec<Region>>,
    /// Those of them that are durable.
    durable: BTreeMap<u64, CommitEntry>,
    /// Since they were last asked for, jobs may have come to be told.
    changed: bool,
}

impl Untold {
    /// An entry is being written that has a job for each of these regions.
    pub(in crate::log) fn begin(&mut self, number: u64, regions: Vec<Region>) {
        self.regions.insert(number, regions);
    }

    /// An entry is durable.
    pub(in crate::log) fn is_durable(&mut self, entry: CommitEntry) {
        self.durable.insert(entry.number, entry);
        self.changed = true;
    }

    /// An entry was given up: it holds nobody up any more.
    pub(in crate::log) fn give_up(&mut self, number: u64) {
        self.regions.remove(&number);
        self.changed = true;
    }

    /// The jobs of durable entries that may go on, each with its entry and records.
    pub(in crate::log) fn take(&mut self) -> Vec<(u64, JobId, Vec<Record>)> {
        let (mut blocked, mut told) = (BTreeSet::new(), Vec::new());
        if !std::mem::take(&mut self.changed) || self.durable.is_empty() {
            return told;
        }
        for (number, regions) in &mut self.regions {
            if let Some(entry) = self.durable.get_mut(number) {
                let jobs = std::mem::take(&mut entry.jobs).into_iter().zip(std::mem::take(regions));
                let (now, later): (Vec<_>, Vec<_>) = jobs.partition(|(_, region)| !blocked.contains(region));
                told.extend(now.into_iter().map(|((job, records), _)| (*number, job, records)));
                (entry.jobs, *regions) = later.into_iter().unzip();
            }
            blocked.extend(regions.iter().copied());
        }
        self.regions.retain(|_, regions| !regions.is_empty());
        self.durable.retain(|_, entry| !entry.jobs.is_empty());
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Untold entries: 1 has jobs of regions 1 and 2, and so on.
    fn untold() -> Untold {
        let of = |numbers: &[u32]| numbers.iter().copied().map(Region::new).collect::<Vec<_>>();
        let mut untold = Untold::default();
        let entries = [(1, of(&[1, 2])), (2, of(&[1, 3])), (3, of(&[3]))];
        entries.into_iter().for_each(|(number, regions)| untold.begin(number, regions));
        untold
    }

    fn entry(number: u64, jobs: &[u32]) -> CommitEntry {
        let job = |index: &u32| (JobId { index: *index, generation: 0 }, Vec::new());
        CommitEntry { number, lane: Lane::FIRST, jobs: jobs.iter().map(job).collect() }
    }

    fn told(untold: &mut Untold) -> Vec<(u64, u32)> {
        untold.take().into_iter().map(|(number, job, _)| (number, job.index)).collect()
    }

    #[test]
    fn records_of_a_region_are_told_of_in_the_order_of_their_entries() {
        let mut untold = untold();
        untold.is_durable(entry(3, &[30]));
        assert_eq!(told(&mut untold), [], "an older entry has records of its region");
        untold.is_durable(entry(2, &[20, 21]));
        assert_eq!(told(&mut untold), [(2, 21), (3, 30)]);
        untold.is_durable(entry(1, &[10, 11]));
        assert_eq!(told(&mut untold), [(1, 10), (1, 11), (2, 20)]);
        assert!(untold.regions.is_empty() && untold.durable.is_empty());
    }

    #[test]
    fn an_entry_that_is_given_up_holds_nobody_up() {
        let mut untold = untold();
        untold.is_durable(entry(2, &[20, 21]));
        assert_eq!(told(&mut untold), [(2, 21)]);
        assert_eq!(told(&mut untold), [], "nothing has changed");
        untold.give_up(1);
        assert_eq!(told(&mut untold), [(2, 20)]);
    }
}
