//! What the logs do by themselves: making room, writing entries, recovering, reintegrating.

use parlour_units::Region;

use crate::context::Context;
use crate::durable::Durable;
use crate::log::append::closing::Closing;
use crate::log::{Logs, RegionLog};
use crate::mode::Mode;

impl Logs {
    /// Makes room for jobs that wait, writes entries of the commit log, recovers regions, and
    /// starts reintegrations. `hosts_wait` says whether some request is not answered yet. Returns
    /// whether it did anything.
    pub(crate) fn pump(&mut self, cx: &mut Context, durable: &mut Durable, hosts_wait: bool) -> bool {
        if !self.pool_waiters.is_empty() && self.relieve_pool(cx, durable)
            || self.pump_commits(cx, durable)
            || self.pump_recovery(cx, durable, hosts_wait)
        {
            return true;
        }
        // Parity is not written before all members know of the session, or of a member's exclusion.
        !durable.barrier() && self.start_reintegrations(cx, durable)
    }

    /// The pool is exhausted: the fullest open buffer is appended although it is not full. Returns
    /// whether there was one.
    fn relieve_pool(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let busy = self.appending > 0 || self.running > 0 || !self.queue.is_empty();
        if busy {
            return false;
        }
        // Segments that the watermark policy keeps back are appended first.
        if let Some(region) = self.kept_back(cx, durable) {
            self.append_ready(cx, durable, region);
            return true;
        }
        let idle = self.open_segments().filter(|index| self.segment(*index).unfilled == 0);
        let fullest = idle.max_by_key(|index| self.segment(*index).used);
        let Some(index) = fullest else { return false };
        let region = self.segment(index).region;
        self.close(index);
        cx.counters.short_segments += 1;
        self.append_ready(cx, durable, region);
        true
    }

    /// Before the array stops, all records in memory go to the log, or to the parity. Called
    /// repeatedly, when no other work is under way. If the number of buffers does not fall over
    /// several calls, they can go nowhere, and the result is [`Closing::Stuck`].
    pub(crate) fn close_logs(&mut self, cx: &mut Context, durable: &mut Durable) -> Closing {
        let held = |index: &u32| self.segment(*index).buffer.is_some();
        let holding = |log: &&RegionLog| log.segments.iter().any(held);
        let segments: usize =
            self.regions.values().map(|log| log.segments.iter().filter(|index| held(index)).count()).sum();
        let regions: Vec<Region> =
            self.regions.iter().filter(|(_, log)| holding(log)).map(|(region, _)| region).collect();
        if regions.is_empty() {
            return Closing::Done;
        }
        if !self.closing.goes_on(segments) {
            return Closing::Stuck;
        }
        for region in regions {
            if let Some(open) = self.region(region).open {
                self.close(open);
            }
            self.append_ready(cx, durable, region);
        }
        Closing::UnderWay
    }

    /// Starts to recover the next regions. Returns whether it started any.
    pub(super) fn pump_recovery(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        hosts_wait: bool,
    ) -> bool {
        if cx.mode == Mode::Stopped || cx.mode.is_abandoned() || !self.may_redo(cx, durable) {
            return false;
        }
        // Even during a stop, hosts may wait for recovery through a full commit log. A queued
        // reintegration may wait for regions whose reintegration a crash cut off and whose intents
        // are in the same commit log.
        let queued = !self.queue.is_empty();
        let serving = cx.mode != Mode::Stopping || hosts_wait || queued;
        // Nothing is appended, and so no buffer becomes free, before all members know of the
        // session.
        let may_exceed = durable.session_is_known(cx);
        while let Some(region) = self.recoveries.queue(serving).front().copied() {
            let waits = self.regions.get(region).is_some_and(|log| log.waits_for_recovery());
            if waits && !self.has_memory_to_recover(region, may_exceed) {
                return false;
            }
            self.recoveries.queue(serving).pop_front();
            if waits {
                self.start_load(cx, durable, region);
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::tests::written;

    #[test]
    fn a_buffer_that_is_not_full_is_appended_only_if_no_other_work_frees_one() {
        let mut array = written();
        let core = &mut array.rooms.core;
        core.logs.running = 1;
        assert!(!core.logs.relieve_pool(&mut core.cx, &mut core.durable), "a reintegration frees one");
        core.logs.running = 0;
        assert!(core.logs.relieve_pool(&mut core.cx, &mut core.durable));
        assert_eq!(core.cx.counters.short_segments, 1);
    }
}
