//! The budget of log buffers, and the jobs that wait for one.

use crate::ids::JobId;
use crate::log::Logs;
use crate::plan::{Fragment, LogMethod};
use crate::tuning::LogPool;
use parlour_units::Sectors;

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
}
