//! Resync: check units of regions that may be inconsistent are computed anew from the data. Where
//! copies are kept, all are rewritten from the first one that is there.

use parlour_units::{Region, Stripe};

use super::{Maintenance, Task};
use crate::array::Array;
use crate::code::UnitSet;
use crate::effect::Class;
use crate::frontier::Frontier;
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};
use crate::request::RequestError;
use crate::status::Event;

/// The region that is being resynced.
#[derive(Debug)]
pub(crate) struct Resync {
    region: Region,
    front: Frontier,
    /// Some stripe could not be resynced.
    incomplete: bool,
    /// A write to the region was cut off: check units of resynced stripes may not fit any more.
    spoilt: bool,
    /// The roster's count of changes when the resync of the region began.
    changes: u64,
}

impl Maintenance {
    /// Regions that could not be resynced before may be possible now.
    pub(crate) fn resync_again(&mut self) {
        self.resync_from = 0;
    }
}

impl Array {
    /// The progress of the resync. It ends when its end is recorded: before that, regions would
    /// still have to be resynced after a crash.
    pub(crate) fn resync_task(&self) -> Option<Task> {
        let left = u64::from(self.records.unsynced());
        if left == 0 {
            return None;
        }
        let (began, total) = self.maintenance.resync_began.unwrap_or((self.cx.now, left));
        let total = total.max(left);
        let rests = self.maintenance.resync.is_none() && self.next_resync().is_none();
        let being_recorded = self.cx.mode == Mode::Serving && self.records.bitmap_is_under_way();
        let stopped = rests && !being_recorded;
        Some(self.task(total - left, total, (began, 0), stopped && !self.resync_follows_rebuild()))
    }

    /// Whether a resync is waiting only for a rebuild to end.
    fn resync_follows_rebuild(&self) -> bool {
        self.cx.geometry.is_journaled()
            && self.maintenance.rebuild.as_ref().is_some_and(|rebuild| !rebuild.stopped)
    }

    fn next_resync(&self) -> Option<Region> {
        // While nothing can be logged, what is resynced would have to be again and again.
        let unlogged = self.cx.geometry.is_journaled() && self.cx.roster.is_degraded();
        self.records.resync.next(self.maintenance.resync_from).filter(|_| !unlogged)
    }

    /// Begins the next stripe of a region that needs a resync. Returns whether it did anything.
    pub(crate) fn step_resync(&mut self) -> bool {
        if self.records.closing.is_some() || self.maintenance.resync.is_none() && !self.begin_region() {
            return false;
        }
        let resync = self.maintenance.resync.as_ref().expect("a region was begun");
        let (region, index) = (resync.region, resync.front.next());
        let Some(stripe) = self.cx.geometry.layout().stripe_in(region, index) else {
            return self.finish_region();
        };
        let targets = self.resync_targets(stripe);
        // A rebuild job that holds this stripe now may have read a copy that was lost since. Its
        // writes then do not follow from the copies that are left. The resync job determines its
        // targets again when it has the lock.
        let rebuilding = self.cx.roster.is_rebuilding(stripe);
        let resync = self.maintenance.resync.as_mut().expect("a region was begun");
        match targets {
            Some(targets) if rebuilding || !targets.is_empty() => {
                resync.front.begin();
                self.start_maintenance(Purpose::Resync { region }, stripe);
            }
            possible => {
                resync.front.skip();
                resync.incomplete |= possible.is_none();
            }
        }
        true
    }

    /// The units to compute: check units, or all copies but the first. `None` if data is missing
    /// that is needed for this.
    pub(crate) fn resync_targets(&self, stripe: Stripe) -> Option<UnitSet> {
        let layout = self.cx.geometry.layout();
        let missing = self.cx.roster.missing(&self.cx.geometry, stripe);
        let mut present = layout.units().filter(|unit| !missing.has(*unit));
        if self.cx.geometry.keeps_copies() {
            let first =
                if is_planted(Bug::ResyncFromWrongCopy) { present.next_back() } else { present.next() };
            return first.map(|_first| present.collect());
        }
        let data_missing = layout.units().any(|unit| layout.is_data(unit) && missing.has(unit));
        (!data_missing).then(|| present.filter(|unit| !layout.is_data(*unit)).collect())
    }

    /// Whether `stripe`'s check units do not fit its data, or may not: its region is to be
    /// resynced, and the stripe was not resynced yet.
    pub(crate) fn is_in_doubt(&self, stripe: Stripe) -> bool {
        let (region, index) = self.cx.geometry.layout().region_of(stripe);
        let passed = self.maintenance.resync.as_ref().is_some_and(|resync| {
            let sure = resync.region == region && !resync.spoilt && !resync.incomplete;
            sure && resync.front.has(Stripe::new(index))
        });
        let closing = self.records.closing == Some(region) && !self.records.closing_spoilt;
        self.records.resync.get(region) && !passed && !closing
    }

    fn begin_region(&mut self) -> bool {
        let Some(region) = self.next_resync() else { return false };
        let total = u64::from(self.records.resync.count());
        self.maintenance.resync_began.get_or_insert((self.cx.now, total));
        self.maintenance.resync = Some(Resync {
            region,
            front: Frontier::at(0),
            incomplete: false,
            spoilt: false,
            changes: self.cx.roster.changes(),
        });
        true
    }

    pub(crate) fn resynced_stripe(
        &mut self,
        region: Region,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let index = self.cx.geometry.layout().region_of(stripe).1;
        let Some(resync) = self.maintenance.resync.as_mut().filter(|resync| resync.region == region) else {
            return;
        };
        resync.incomplete |= result.is_err();
        resync.front.end(Stripe::new(index));
    }

    /// All stripes of a region were begun. Returns whether all are done as well.
    fn finish_region(&mut self) -> bool {
        let resync = self.maintenance.resync.as_ref().expect("a region was begun");
        if !resync.front.is_idle() {
            return false;
        }
        let Resync { region, incomplete, spoilt, changes, .. } = *resync;
        self.maintenance.resync = None;
        if spoilt {
            self.maintenance.resync_from = self.maintenance.resync_from.min(region.get());
            return true;
        }
        if incomplete && changes != self.cx.roster.changes() {
            // With the members that are there now, it may be possible.
            self.maintenance.resync_from = self.maintenance.resync_from.min(region.get());
        } else if incomplete {
            self.maintenance.resync_from = region.get() + 1;
        } else if self.cx.geometry.is_journaled() {
            self.close_region(region);
            return true;
        } else {
            self.resynced(region);
        }
        self.tell_of_resync();
        true
    }

    /// A write to `region` left check units that do not fit; a resync under way may already have
    /// passed them.
    pub(crate) fn spoil_resync(&mut self, region: Region) {
        if let Some(resync) = self.maintenance.resync.as_mut().filter(|resync| resync.region == region) {
            resync.spoilt = true;
        }
        self.records.closing_spoilt |= self.records.closing == Some(region);
    }

    fn tell_of_resync(&mut self) {
        if self.records.resync.count() == 0 {
            self.maintenance.resynced = true;
            self.announce_resynced();
        } else if self.next_resync().is_none() {
            self.cx.events.push_back(Event::ResyncIncomplete);
        }
    }

    /// Reports the end of a resync once it is recorded.
    pub(crate) fn announce_resynced(&mut self) {
        if self.maintenance.resynced && self.records.unsynced() == 0 {
            self.maintenance.resynced = false;
            self.maintenance.resync_began = None;
            self.cx.events.push_back(Event::ResyncDone);
        }
    }

    /// A region that was resynced is to be logged again. First, the array waits for writes without
    /// records that are still under way, and lets no others begin. Then all members are flushed.
    /// Then the table records that the region's old log does not count. Only then the bitmap
    /// records that the region needs no resync after a crash.
    fn close_region(&mut self, region: Region) {
        self.records.closing = Some(region);
        if self.writers_in(region) == 0 {
            self.flush_resynced(region);
        }
    }

    /// The region that is being closed has no writers left.
    pub(crate) fn flush_resynced(&mut self, region: Region) {
        if std::mem::take(&mut self.records.closing_spoilt) {
            self.records.closing = None;
            self.maintenance.resync_from = self.maintenance.resync_from.min(region.get());
            self.wake_bitmap_waiters();
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
        self.end_job(id);
        if !whole {
            return self.flush_resynced(region);
        }
        if is_planted(Bug::LoggedAgainBeforeTable) {
            return self.close_resynced(region);
        }
        let logs = self.logs.as_mut().expect("regions of a log are closed");
        // Records of the region in commit logs and positions are older than its parity, which was
        // computed from the data.
        logs.outdate_positions(region);
        self.record_applied(region);
    }

    /// The durable table says that the region's old log does not count.
    pub(crate) fn close_resynced(&mut self, region: Region) {
        self.records.closing = None;
        if let Some(logs) = &mut self.logs {
            logs.forget_given_up(region);
        }
        self.resynced(region);
        self.tell_of_resync();
    }
}
