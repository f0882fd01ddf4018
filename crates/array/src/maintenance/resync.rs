//! Resync: check units of regions that may be inconsistent are computed anew from the data. Where
//! copies are kept, all are rewritten from the first one that is there. The bitmap knows which
//! regions these are, and how far the resync has come.

use parlour_units::{Region, Stripe};

use super::state::Maintenance;
use crate::code::UnitSet;
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Class;
use crate::job::{Kind, Purpose};
use crate::log::Logs;
use crate::mode::Mode;
use crate::report::Task;
use crate::request::RequestError;
use crate::stripe::Stripes;

impl Maintenance {
    /// The progress of the resync. It ends when its end is recorded: before that, regions would
    /// still have to be resynced after a crash.
    pub(crate) fn resync_task(&self, cx: &Context, durable: &Durable) -> Option<Task> {
        let bitmap = durable.bitmap();
        let left = u64::from(bitmap.unsynced());
        if left == 0 {
            return None;
        }
        let (began, total) = bitmap.resync_began().unwrap_or((cx.now, left));
        let total = total.max(left);
        let rests = !bitmap.is_resyncing() && bitmap.next_resync(cx).is_none();
        let being_recorded = cx.mode == Mode::Serving && bitmap.is_under_way(cx);
        let stopped = rests && !being_recorded;
        Some(self.task(cx, total - left, total, (began, 0), stopped && !self.resync_follows_rebuild(cx)))
    }

    /// Whether a resync is waiting only for rebuilds to end.
    fn resync_follows_rebuild(&self, cx: &Context) -> bool {
        cx.geometry.is_journaled() && self.rebuilds.values().any(|rebuild| !rebuild.stopped)
    }

    /// Begins the next stripe of a region that needs a resync. Returns whether it did anything.
    pub(crate) fn step_resync(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        stripes: &mut Stripes,
    ) -> bool {
        if durable.bitmap().closed().is_some() {
            return false;
        }
        let Some((region, index)) = durable.bitmap_mut().resync_position(cx) else { return false };
        let Some(stripe) = cx.geometry.layout().stripe_in(region, index) else {
            return self.finish_region(cx, durable);
        };
        let targets = cx.roster.resync_targets(&cx.geometry, stripe);
        // A rebuild job that holds this stripe now may have read a copy that was lost since. Its
        // writes then do not follow from the copies that are left. The resync job determines its
        // targets again when it has the lock.
        let rebuilding = cx.roster.is_rebuilding(stripe);
        match targets {
            Some(targets) if rebuilding || !targets.is_empty() => {
                durable.bitmap_mut().begin_stripe();
                self.start_maintenance(cx, stripes, Purpose::Resync { region }, stripe, UnitSet::NONE);
            }
            possible => durable.bitmap_mut().skip_stripe(possible.is_some()),
        }
        true
    }

    pub(crate) fn resynced_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        region: Region,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let index = cx.geometry.layout().region_of(stripe).1;
        durable.bitmap_mut().end_stripe(region, index, result.is_ok());
    }

    /// All stripes of a region were begun. Returns whether all are done as well.
    fn finish_region(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let Some(resynced) = durable.bitmap_mut().end_region(cx) else { return false };
        if let Some(region) = resynced {
            self.close_region(cx, durable, region);
        }
        true
    }

    /// A region that was resynced is to be logged again. First, the array waits for writes without
    /// records that are still under way, and lets no others begin. Then all members are flushed.
    /// Then the table records that the region's old log does not count. Only then the bitmap
    /// records that the region needs no resync after a crash.
    fn close_region(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if durable.bitmap_mut().close(region) {
            self.flush_resynced(cx, durable, region);
        }
    }

    /// The region that is being closed has no writers left.
    pub(crate) fn flush_resynced(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if durable.bitmap_mut().reopen_if_spoilt(cx, region) {
            return;
        }
        let id = cx.jobs.start(Kind::ResyncFlush { region }, Class::Rebuild);
        cx.plan_flushes(id);
        cx.run_own(id);
    }

    pub(super) fn resync_flushed(&mut self, durable: &mut Durable, logs: &mut Logs, region: Region) {
        // Records of the region in the commit log and in positions are older than its parity, which
        // was computed from the data.
        logs.outdate_positions(region);
        durable.await_table(region);
    }
}
