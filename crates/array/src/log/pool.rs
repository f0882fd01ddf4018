//! Jobs that wait for a log buffer, first come first served.
//!
//! Whenever a buffer is freed each of them tries again, in order. A try costs a plan's bands and a
//! reservation, and under load there are hundreds of waiting jobs for each buffer. So each notes
//! what a try that must fail looks like, and such a try is left out: the outcome is the same.

use parlour_units::{Region, Sectors, Slot};

use super::Logs;
use crate::array::Array;
use crate::ids::JobId;
use crate::mode::Mode;
use crate::plan::{Fragment, LogMethod};
use crate::tuning::LogPool;

/// A job that waits for a log buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolWaiter {
    pub(crate) job: JobId,
    region: Region,
    /// It needs one buffer where its region has none open, and nothing but a failed member changes
    /// that.
    plain: bool,
    /// Which commit log it reserves space in, and how much, where there are commit logs.
    commit: Option<(Slot, Sectors)>,
}

impl Array {
    /// The job's `fragments` found no room in the pool.
    pub(crate) fn await_pool(&mut self, job: JobId, method: LogMethod, fragments: &[Fragment]) {
        let (region, space) = {
            let job = self.cx.jobs.stripe(job);
            (job.region, job.commit_space)
        };
        let commit = self.cx.geometry.is_logged().then(|| (self.commit_slot(region), space));
        let whole = !self.cx.roster.is_degraded();
        let logs = self.logs.as_mut().expect("writes are logged");
        let plain = whole && !method.is_bare() && logs.fits_one_buffer(fragments);
        logs.pool_waiters.push_back(PoolWaiter { job, region, plain, commit });
        self.cx.counters.pool_waits += 1;
    }

    /// Lets those that wait for a buffer try again, in their order.
    pub(super) fn retry_pool_waiters(&mut self) {
        let logs = self.logs.as_mut().expect("a pool of log buffers");
        let waiters = std::mem::take(&mut logs.pool_waiters);
        for waiter in waiters {
            self.cx.steps += 1;
            if self.waits_again(&waiter) {
                self.cx.counters.pool_waits += 1;
                self.logs.as_mut().expect("it was there").pool_waiters.push_back(waiter);
            } else {
                self.advance_stripe(waiter.job);
            }
        }
    }

    /// Whether a try would find no room and change nothing.
    fn waits_again(&self, waiter: &PoolWaiter) -> bool {
        let logs = self.logs.as_ref().expect("a pool of log buffers");
        let room = !logs.is_exhausted() || logs.open.get(waiter.region);
        if !waiter.plain || room || !self.logs_all_writes() || self.records.resync.get(waiter.region) {
            return false;
        }
        match (waiter.commit, &logs.commits) {
            // A try that fails gives back the space in the commit log, which wakes those that wait
            // for it.
            (Some((slot, space)), Some(commits)) => commits.nobody_waits_and_has_room(slot, space),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether writes are logged wherever no resync is due: see [`Array::logs_writes`].
    fn logs_all_writes(&self) -> bool {
        self.cx.mode == Mode::Serving && self.is_durably_whole() && self.records.enabled
    }
}

impl Logs {
    /// Jobs that wait for a buffer, which is no longer what they wait for.
    pub(crate) fn take_pool_waiters(&mut self) -> impl Iterator<Item = JobId> + '_ {
        self.pool_waiters.drain(..).map(|waiter| waiter.job)
    }

    /// Whether all buffers of a pool that all regions share are in use.
    fn is_exhausted(&self) -> bool {
        self.pool == LogPool::Global && self.in_memory >= self.pool_limit
    }

    fn fits_one_buffer(&self, fragments: &[Fragment]) -> bool {
        let told = fragments.iter().filter(|fragment| !fragment.bare);
        let length = told.fold(Sectors::ZERO, |sum, fragment| sum + fragment.columns.length());
        length <= self.payload() && fragments.len() as u64 <= u64::from(self.most_records())
    }
}
