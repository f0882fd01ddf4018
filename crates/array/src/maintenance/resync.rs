//! Resync: check units of regions that may be inconsistent are computed anew from the data. Where
//! copies are kept, all are rewritten from the first one that is there. The bitmap knows which
//! regions these are, and how far the resync has come.

use parlour_units::{Region, Stripe};

use super::Task;
use crate::array::Array;
use crate::code::UnitSet;
use crate::effect::Class;
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};
use crate::request::RequestError;

impl Array {
    /// The progress of the resync. It ends when its end is recorded: before that, regions would
    /// still have to be resynced after a crash.
    pub(crate) fn resync_task(&self) -> Option<Task> {
        let bitmap = self.durable.bitmap();
        let left = u64::from(bitmap.unsynced());
        if left == 0 {
            return None;
        }
        let (began, total) = bitmap.resync_began().unwrap_or((self.cx.now, left));
        let total = total.max(left);
        let rests = !bitmap.is_resyncing() && bitmap.next_resync(&self.cx).is_none();
        let being_recorded = self.cx.mode == Mode::Serving && bitmap.is_under_way(&self.cx);
        let stopped = rests && !being_recorded;
        Some(self.task(total - left, total, (began, 0), stopped && !self.resync_follows_rebuild()))
    }

    /// Whether a resync is waiting only for a rebuild to end.
    fn resync_follows_rebuild(&self) -> bool {
        self.cx.geometry.is_journaled()
            && self.maintenance.rebuild.as_ref().is_some_and(|rebuild| !rebuild.stopped)
    }

    /// Begins the next stripe of a region that needs a resync. Returns whether it did anything.
    pub(crate) fn step_resync(&mut self) -> bool {
        if self.durable.bitmap().closed().is_some() {
            return false;
        }
        let Some((region, index)) = self.durable.bitmap_mut().resync_position(&self.cx) else { return false };
        let Some(stripe) = self.cx.geometry.layout().stripe_in(region, index) else {
            return self.finish_region();
        };
        let targets = self.cx.roster.resync_targets(&self.cx.geometry, stripe);
        // A rebuild job that holds this stripe now may have read a copy that was lost since. Its
        // writes then do not follow from the copies that are left. The resync job determines its
        // targets again when it has the lock.
        let rebuilding = self.cx.roster.is_rebuilding(stripe);
        match targets {
            Some(targets) if rebuilding || !targets.is_empty() => {
                self.durable.bitmap_mut().begin_stripe();
                self.start_maintenance(Purpose::Resync { region }, stripe, UnitSet::NONE);
            }
            possible => self.durable.bitmap_mut().skip_stripe(possible.is_some()),
        }
        true
    }

    pub(crate) fn resynced_stripe(
        &mut self,
        region: Region,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let index = self.cx.geometry.layout().region_of(stripe).1;
        self.durable.bitmap_mut().end_stripe(region, index, result.is_ok());
    }

    /// All stripes of a region were begun. Returns whether all are done as well.
    fn finish_region(&mut self) -> bool {
        let Some(resynced) = self.durable.bitmap_mut().end_region(&mut self.cx) else { return false };
        if let Some(region) = resynced {
            self.close_region(region);
        }
        true
    }

    /// A region that was resynced is to be logged again. First, the array waits for writes without
    /// records that are still under way, and lets no others begin. Then all members are flushed.
    /// Then the table records that the region's old log does not count. Only then the bitmap
    /// records that the region needs no resync after a crash.
    fn close_region(&mut self, region: Region) {
        if self.durable.bitmap_mut().close(region) {
            self.flush_resynced(region);
        }
    }

    /// The region that is being closed has no writers left.
    pub(crate) fn flush_resynced(&mut self, region: Region) {
        if self.durable.bitmap_mut().reopen_if_spoilt(&mut self.cx, region) {
            return;
        }
        let id = self.cx.jobs.start(Kind::ResyncFlush { region }, Class::Rebuild);
        if !is_planted(Bug::ResyncFlushSkipped) {
            self.cx.plan_flushes(id);
        }
        self.start_plan(id, None, &[]);
    }

    pub(crate) fn resync_flushed(&mut self, id: JobId, whole: bool) {
        let Some(Kind::ResyncFlush { region }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a flush after a resync")
        };
        self.cx.jobs.end(id);
        if !whole {
            return self.flush_resynced(region);
        }
        if is_planted(Bug::LoggedAgainBeforeTable) {
            return self.close_resynced(region);
        }
        // Records of the region in commit logs and positions are older than its parity, which was
        // computed from the data.
        self.logs.outdate_positions(region);
        self.durable.record_applied(region);
    }

    /// The durable table says that the region's old log does not count.
    pub(crate) fn close_resynced(&mut self, region: Region) {
        self.logs.forget_given_up(region);
        self.durable.bitmap_mut().reopen(&mut self.cx, region);
    }
}
