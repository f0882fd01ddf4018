//! The budget of log buffers, and the jobs that wait for one; and the budget of all memory, if it
//! is shared.

use crate::context::Context;
use crate::ids::JobId;
use crate::log::Logs;
use crate::log::pool::shared::{Parts, Use, most_of_reintegration};
use crate::plan::{Fragment, LogMethod};
use crate::tuning::LogPool;
use parlour_units::{Region, Sectors};

impl Logs {
    /// Removes and returns all jobs that wait for a buffer.
    pub(crate) fn take_pool_waiters(&mut self) -> impl Iterator<Item = JobId> + '_ {
        self.pool_waiters.drain(..).map(|waiter| waiter.job)
    }

    /// Whether all buffers are in use, if all regions share one pool.
    pub(in crate::log) fn is_exhausted(&self) -> bool {
        self.pool == LogPool::Global && self.in_memory >= self.pool_limit
    }

    pub(in crate::log) fn fits_one_buffer(&self, method: LogMethod, fragments: &[Fragment]) -> bool {
        let logged = fragments.iter().filter(|fragment| !fragment.bare);
        let compression = self.compression_of(method);
        let stored = |fragment: &Fragment| compression.stored(fragment.columns.length());
        let length = logged.fold(Sectors::ZERO, |sum, fragment| sum + stored(fragment));
        length <= self.payload() && fragments.len() as u64 <= u64::from(self.most_records())
    }

    /// What is in use.
    fn used(&self, cx: &Context) -> Parts {
        let buffers = self.segment_length * u64::from(self.in_memory);
        [cx.scratch.in_use(), buffers, self.reintegration_memory]
    }

    /// If memory is shared: log buffers and prereads may take what the other uses leave now.
    pub(crate) fn share_memory(&mut self, cx: &mut Context) {
        let Some(shared) = &self.shared else { return };
        let used = self.used(cx);
        cx.scratch.set_limit(shared.limit(Use::Scratch, used));
        if !self.segment_length.is_zero() {
            let buffers = shared.limit(Use::Buffers, used) / self.segment_length;
            let limit = u32::try_from(buffers).unwrap_or(u32::MAX).max(self.least_buffers);
            self.freed |= limit > self.pool_limit;
            self.pool_limit = limit;
        }
    }

    /// Whether another reintegration may start.
    pub(in crate::log) fn has_reintegration_memory(&self, cx: &Context) -> bool {
        let few = self.running < cx.tuning.reintegration_buffers.max(1);
        few && self.shared.is_none_or(|shared| {
            let limit = shared.limit(Use::Reintegrations, self.used(cx));
            self.running == 0 || self.reintegration_memory + shared.least(Use::Reintegrations) <= limit
        })
    }

    /// Memory for a reintegration that starts: what is free, as far as it can use it.
    pub(in crate::log) fn reintegration_share(&self, cx: &Context) -> Option<Sectors> {
        let shared = self.shared?;
        let free = shared.limit(Use::Reintegrations, self.used(cx)).saturating_sub(self.reintegration_memory);
        let least = shared.least(Use::Reintegrations);
        Some(free.min(most_of_reintegration(&cx.geometry, &cx.tuning)).max(least))
    }

    /// The region's reintegration is over: others may use its memory.
    pub(in crate::log) fn give_back_memory(&mut self, region: Region) {
        let share = self.region(region).reintegration_memory.take();
        self.reintegration_memory = self.reintegration_memory - share.unwrap_or(Sectors::ZERO);
    }
}
