//! Jobs that wait for a log buffer, first come first served.
//!
//! Whenever a buffer is freed, each waiting job tries again, in order. A try costs a plan's bands
//! and a reservation, and under load there are hundreds of waiting jobs for each buffer. So each
//! job notes under which conditions a try must fail, and such a try is left out: the result is the
//! same.

mod budget;
pub(super) mod waiter;

use self::waiter::PoolWaiter;

use crate::array::Array;
use crate::ids::JobId;
use crate::mode::Mode;
use crate::plan::{Fragment, LogMethod};

impl Array {
    /// The job's `fragments` found no room in the pool.
    pub(crate) fn await_pool(&mut self, job: JobId, method: LogMethod, fragments: &[Fragment]) {
        let (region, space) = {
            let job = self.cx.jobs.stripe(job);
            (job.region, job.commit_space)
        };
        let commit = self.cx.geometry.is_journaled().then(|| (self.commit_slot(region), space));
        let whole = !self.cx.roster.is_degraded();
        let logs = self.logs.as_mut().expect("writes are logged");
        let plain = whole && !method.is_bare() && logs.fits_one_buffer(fragments);
        logs.pool_waiters.push_back(PoolWaiter { job, region, plain, commit });
        self.cx.counters.pool_waits += 1;
    }

    /// Lets the jobs that wait for a buffer try again, in their order.
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
        if !waiter.plain
            || room
            || !self.logs_all_writes()
            || self.durable.bitmap().needs_resync(waiter.region)
        {
            return false;
        }
        match (waiter.commit, &logs.commits) {
            // A try that fails gives back the space in the commit log, which wakes the jobs that
            // wait for that space.
            (Some((slot, space)), Some(commits)) => commits.nobody_waits_and_has_room(slot, space),
            (None, None) => true,
            _ => false,
        }
    }

    /// Whether every write is logged, except in regions that need a resync: see
    /// [`Array::logs_writes`].
    fn logs_all_writes(&self) -> bool {
        self.cx.mode == Mode::Serving && self.durable.is_whole(&self.cx) && self.cx.writes
    }
}
