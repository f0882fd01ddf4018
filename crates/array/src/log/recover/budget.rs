//! How many regions are recovered at a time, and how much memory that takes.

use super::remembered::Recovery;
use crate::context::Context;
use crate::log::recover::recoveries::{RECOVERIES, Recoveries};
use crate::log::{LoadState, Logs, RegionLog};
use parlour_units::{Region, Sectors};

/// The greatest size of a part, in sectors of data (4 MiB). A region is compared with its records
/// part by part. A part is made of whole stripes and has at most this much data, unless it is a
/// single stripe. So the memory and the work of a part are bounded, however much was written to the
/// region.
const PART: Sectors = Sectors::new(8_192);

/// The greatest size of a part, where jobs may hold `scratch`: all parts together hold about as
/// much again, what their records say and what stands on members.
pub(super) fn part_of(scratch: Sectors) -> Sectors {
    PART.min(Sectors::new(scratch.get() / u64::from(RECOVERIES * 2)))
}

impl RegionLog {
    /// Whether the commit log holds records of the region and their redo has not begun.
    pub(in crate::log) fn waits_for_recovery(&self) -> bool {
        self.recovery.is_some() && self.load == LoadState::Unknown
    }
}

impl Logs {
    /// The commit log holds records or intents of `region`: it is recovered later.
    pub(crate) fn recover_later(&mut self, region: Region, recovery: Recovery) {
        let log = self.region(region);
        log.recovery = Some(Box::new(recovery));
        log.load = LoadState::Unknown;
        self.recoveries.left += 1;
    }

    /// Removes and returns the records and intents that were to be redone in `region`.
    pub(crate) fn end_recovery(&mut self, region: Region) -> Option<Box<Recovery>> {
        let log = self.region(region);
        let runs = log.load == LoadState::Loading;
        let recovery = log.recovery.take()?;
        let buffers = self.recovery_buffers(&recovery);
        self.recoveries.left -= 1;
        if runs {
            self.recoveries.running -= 1;
            self.recoveries.taken -= buffers;
        }
        Some(recovery)
    }

    /// `region` was being loaded, and stalls. Returns the jobs that wait for it.
    pub(in crate::log) fn stall(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        assert!(log.load == LoadState::Loading, "only what is being loaded stalls");
        log.load = LoadState::Stalled;
        log.waiters.wake(&mut cx.runnable);
        if let Some(recovery) = log.recovery.take() {
            let buffers = self.recovery_buffers(&recovery);
            self.recoveries.running -= 1;
            self.recoveries.taken -= buffers;
            self.region(region).recovery = Some(recovery);
        }
    }

    /// `region` is about to be loaded.
    pub(crate) fn begin_recovery(&mut self, region: Region) {
        let Some(log) = self.regions.get(region) else { return };
        let Some(recovery) = &log.recovery else { return };
        let buffers = self.recovery_buffers(recovery);
        self.recoveries.running += 1;
        self.recoveries.taken += buffers;
    }

    /// Whether there is memory to recover one more region. If recovery `may_exceed` the budget, a
    /// single region always gets memory, so that recovery comes to an end.
    pub(in crate::log) fn has_memory_to_recover(&self, region: Region, may_exceed: bool) -> bool {
        let recovery = self.regions.get(region).and_then(|log| log.recovery.as_deref());
        let needs = recovery.map_or(0, |recovery| self.recovery_buffers(recovery));
        let Recoveries { running, taken, .. } = self.recoveries;
        let fits = running < RECOVERIES && self.in_memory + taken + needs <= self.pool_limit() / 2;
        running == 0 && may_exceed || fits
    }

    /// The greatest number of log buffers that the records to be redone take.
    pub(in crate::log) fn recovery_buffers(&self, recovery: &Recovery) -> u32 {
        if !self.have_positions() {
            return 0;
        }
        let lengths = recovery.records.iter().map(|one| one.committed.record.payload().get());
        // (A record that does not fit into the rest of a buffer goes to the next one: at most half
        // of each buffer is wasted.)
        (lengths.sum::<u64>() * 2).div_ceil(self.payload().get()).max(1) as u32
    }
}
