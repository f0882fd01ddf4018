//! Jobs that wait for a log buffer, first come first served.
//!
//! Whenever a buffer is freed, each waiting job tries again, in order. A try costs a plan's bands
//! and a reservation, and under load there are hundreds of waiting jobs for each buffer. So each
//! job notes under which conditions a try must fail, and such a try is left out: the result is the
//! same.

mod budget;
pub(super) mod shared;
pub(super) mod waiter;

use std::collections::VecDeque;

use self::waiter::PoolWaiter;

use crate::context::Context;
use crate::durable::Durable;
use crate::ids::JobId;
use crate::log::Logs;
use crate::mode::Mode;
use crate::plan::{Fragment, LogMethod};

impl Logs {
    /// The job's `fragments` found no room in the pool.
    pub(crate) fn await_pool(
        &mut self,
        cx: &mut Context,
        job: JobId,
        method: LogMethod,
        fragments: &[Fragment],
    ) {
        let stripe = cx.jobs.stripe(job);
        let (region, space) = (stripe.region, stripe.logging.commit_space);
        let commit = cx.geometry.is_journaled().then_some(space);
        let whole = !cx.roster.is_degraded();
        let plain = whole && !method.is_bare() && self.fits_one_buffer(method, fragments);
        self.pool_waiters.push_back(PoolWaiter { job, region, plain, commit });
        cx.counters.pool_waits += 1;
    }

    /// The jobs that wait for a buffer, in their order, if some were freed since they last tried.
    /// Each is to try again: see [`Logs::tries_again`].
    pub(crate) fn take_pool_waiters_to_retry(&mut self) -> Option<VecDeque<PoolWaiter>> {
        let retry = std::mem::take(&mut self.freed) && !self.pool_waiters.is_empty();
        retry.then(|| std::mem::take(&mut self.pool_waiters))
    }

    /// The job of `waiter`, if it is to try again; otherwise it goes on waiting.
    pub(crate) fn tries_again(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        waiter: PoolWaiter,
    ) -> Option<JobId> {
        cx.counters.steps += 1;
        if !self.waits_again(cx, durable, &waiter) {
            return Some(waiter.job);
        }
        cx.counters.pool_waits += 1;
        self.pool_waiters.push_back(waiter);
        None
    }

    /// Whether a try would find no room and change nothing.
    fn waits_again(&self, cx: &Context, durable: &Durable, waiter: &PoolWaiter) -> bool {
        let room = !self.is_exhausted() || self.open.get(waiter.region);
        if !waiter.plain
            || room
            || !self.logs_all_writes(cx, durable)
            || durable.bitmap().needs_resync(waiter.region)
        {
            return false;
        }
        // A try that fails gives back the space in the commit log, which wakes the jobs that wait
        // for that space.
        waiter.commit.is_none_or(|space| self.commits.nobody_waits_and_has_room(space))
    }

    /// Whether every write is logged, except in regions that need a resync: see
    /// [`Logs::logs_writes`].
    fn logs_all_writes(&self, cx: &Context, durable: &Durable) -> bool {
        cx.mode == Mode::Serving && durable.is_whole(cx) && cx.writes
    }
}
