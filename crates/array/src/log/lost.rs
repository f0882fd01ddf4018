//! Logs that are lost with their members, or given up: their records are dropped, and the parity is
//! computed from the data.

use parlour_units::{Region, Slot};

use super::{LoadState, SegmentState};
use crate::array::Array;
use crate::planted::{Bug, is_planted};

impl Array {
    /// If `region`'s log was lost with its member, it is emptied and the parity is recomputed from
    /// the data (§2).
    pub(crate) fn check_log_members(&mut self, region: Region) {
        let idle = self.logs.as_ref().is_some_and(|logs| logs.regions[&region].reintegrating.is_none());
        if idle && self.log_is_lost(region) {
            self.discard_log(region);
        }
    }

    /// Forgets `region`'s log and has its parity recomputed.
    pub(crate) fn discard_log(&mut self, region: Region) {
        if !is_planted(Bug::LostLogNotResynced) {
            self.durable.bitmap_mut().give_records_up(&self.cx, region);
        }
        let logs = self.logs.as_mut().expect("only logs are discarded");
        logs.freed = true;
        // Elsewhere the table is written at a stop alone. Here it must not say that its records do
        // not count before it is durable that the region is to be resynced: when the region is
        // closed it does.
        if !self.cx.geometry.is_journaled() {
            logs.outdate_positions(region);
        } else if logs.region(region).load != LoadState::Known {
            logs.give_up_positions(region);
        }
        let log = logs.region(region);
        (log.load, log.wanted) = (LoadState::Known, false);
        if log.reintegrating.is_none() {
            self.drop_log(region);
        }
    }

    /// Drops records of a region that is to be resynced. Until the resync, the parity certainly
    /// lacks them.
    pub(crate) fn drop_unapplied(&mut self, region: Region) {
        let logs = self.logs.as_ref().expect("only logs are dropped");
        if logs.region_is_live(region) {
            self.durable.bitmap_mut().mark_outdated(region);
        }
        self.drop_log(region);
    }

    /// Drops all knowledge of `region`'s log. Reservations that are neither committed nor given
    /// back stay.
    pub(crate) fn drop_log(&mut self, region: Region) {
        let logged = self.cx.geometry.is_journaled();
        let logs = self.logs.as_mut().expect("only logs are discarded");
        if logged {
            logs.give_up_positions(region);
        }
        for index in logs.region(region).segments.clone() {
            let logs = self.logs.as_mut().expect("only logs are discarded");
            let count = logs.segment(index).records.len();
            // The region's records count after a crash until it is durable that the region is to be
            // resynced.
            logs.orphan_records(index);
            logs.drop_records(index, count);
            if logs.segment(index).state == SegmentState::Open && logs.segment(index).unfilled == 0 {
                logs.close(index);
            }
            self.retire_segment(index);
        }
        let log = self.logs.as_mut().expect("only logs are discarded").region(region);
        log.unlanded.clear();
        self.cx.runnable.extend(log.waiters.drain(..));
        self.resume_hosts();
    }

    /// A member was failed: logs on it are lost, and the records of other logs are folded into the
    /// parity.
    pub(crate) fn logs_after_failure(&mut self, slot: Slot) {
        let Some(logs) = &mut self.logs else { return };
        self.cx.runnable.extend(logs.take_pool_waiters());
        let regions: Vec<Region> = logs.regions.keys().copied().collect();
        for region in regions {
            let layout = self.cx.geometry.layout();
            let sublogs = layout.logs().expect("a logged layout").shape().sublogs;
            let on_it = (0..sublogs).any(|sublog| layout.sublog_slot(region, sublog) == Some(slot));
            let logs = self.logs.as_ref().expect("it was there");
            let log = &logs.regions[&region];
            let unknown = log.load != LoadState::Known && on_it;
            // A job that is loading or reintegrating this log checks at its end whether the log's
            // members still stand. If an access hangs, that may be much later. Until then parity
            // that lacks the log's records must not be used.
            let loading = log.load == LoadState::Loading && on_it;
            let folding =
                log.reintegrating.is_some() && (self.cx.geometry.is_journaled() || self.log_is_lost(region));
            if loading || folding && on_it {
                self.durable.bitmap_mut().give_records_up(&self.cx, region);
                continue;
            }
            if log.reintegrating.is_some() || log.load == LoadState::Loading {
                continue;
            }
            // These records were durable only on the failed member. From here on they are in memory
            // only, and a crash would lose them.
            let live = log.load == LoadState::Known && logs.region_is_live(region);
            let undurable = self.cx.geometry.is_journaled() && on_it && live;
            if unknown && log.recovery.is_some() {
                self.give_log_up(region);
            } else if (unknown || log.suspended && undurable) && log.half_done.is_some() {
                self.give_up_half_done(region);
            } else if unknown || undurable || self.log_is_lost(region) {
                self.discard_log(region);
            } else if !unknown && logs.region_is_live(region) && !self.cx.geometry.is_journaled() {
                self.want_parity(region);
            }
        }
    }
}
