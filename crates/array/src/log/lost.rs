//! Logs that are lost with their members, or given up: their records are dropped, and the parity is
//! computed from the data.

use parlour_units::{Region, Slot};

use super::{LoadState, SegmentState};
use crate::context::Context;
use crate::durable::Durable;
use crate::log::Logs;
use crate::planted::{Bug, is_planted};
use crate::signal::Signal;

impl Logs {
    /// If `region`'s log was lost with its member, it is emptied and the parity is recomputed from
    /// the data (§2).
    pub(crate) fn check_log_members(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let idle = self.regions[&region].reintegrating.is_none();
        if idle && self.log_is_lost(cx, region) {
            self.discard_log(cx, durable, region);
        }
    }

    /// Forgets `region`'s log and has its parity recomputed.
    pub(crate) fn discard_log(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if !is_planted(Bug::LostLogNotResynced) {
            durable.bitmap_mut().give_records_up(cx, region);
        }
        self.freed = true;
        // Elsewhere the table is written at a stop alone. Here it must not say that its records do
        // not count before it is durable that the region is to be resynced: when the region is
        // closed it does.
        if !cx.geometry.is_journaled() {
            self.outdate_positions(region);
        } else if self.region(region).load != LoadState::Known {
            self.give_up_positions(region);
        }
        let log = self.region(region);
        (log.load, log.wanted) = (LoadState::Known, false);
        if log.reintegrating.is_none() {
            self.drop_log(cx, region);
        }
    }

    /// Drops records of a region that is to be resynced. Until the resync, the parity certainly
    /// lacks them.
    pub(crate) fn drop_unapplied(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if self.region_is_live(region) {
            durable.bitmap_mut().mark_outdated(region);
        }
        self.drop_log(cx, region);
    }

    /// Drops all knowledge of `region`'s log. Reservations that are neither committed nor given
    /// back stay.
    pub(crate) fn drop_log(&mut self, cx: &mut Context, region: Region) {
        let logged = cx.geometry.is_journaled();
        if logged {
            self.give_up_positions(region);
        }
        for index in self.region(region).segments.clone() {
            let count = self.segment(index).records.len();
            // The region's records count after a crash until it is durable that the region is to be
            // resynced.
            self.orphan_records(index);
            self.drop_records(index, count);
            if self.segment(index).state == SegmentState::Open && self.segment(index).unfilled == 0 {
                self.close(index);
            }
            self.retire_segment(cx, index);
        }
        let log = self.region(region);
        log.unlanded.clear();
        cx.runnable.extend(log.waiters.drain(..));
        cx.signal(Signal::FlushesMayStart);
    }

    /// A member was failed: logs on it are lost, and the records of other logs are folded into the
    /// parity.
    pub(crate) fn logs_after_failure(&mut self, cx: &mut Context, durable: &mut Durable, slot: Slot) {
        cx.runnable.extend(self.take_pool_waiters());
        let regions: Vec<Region> = self.regions.keys().copied().collect();
        for region in regions {
            let layout = cx.geometry.layout();
            let sublogs = layout.logs().expect("a logged layout").shape().sublogs;
            let on_it = (0..sublogs).any(|sublog| layout.sublog_slot(region, sublog) == Some(slot));
            let log = &self.regions[&region];
            let unknown = log.load != LoadState::Known && on_it;
            // A job that is loading or reintegrating this log checks at its end whether the log's
            // members still stand. If an access hangs, that may be much later. Until then parity
            // that lacks the log's records must not be used.
            let loading = log.load == LoadState::Loading && on_it;
            let folding =
                log.reintegrating.is_some() && (cx.geometry.is_journaled() || self.log_is_lost(cx, region));
            if loading || folding && on_it {
                durable.bitmap_mut().give_records_up(cx, region);
                continue;
            }
            if log.reintegrating.is_some() || log.load == LoadState::Loading {
                continue;
            }
            // These records were durable only on the failed member. From here on they are in memory
            // only, and a crash would lose them.
            let live = log.load == LoadState::Known && self.region_is_live(region);
            let undurable = cx.geometry.is_journaled() && on_it && live;
            if unknown && log.recovery.is_some() {
                self.give_log_up(cx, durable, region);
            } else if (unknown || log.suspended && undurable) && log.half_done.is_some() {
                self.give_up_half_done(cx, durable, region);
            } else if unknown || undurable || self.log_is_lost(cx, region) {
                self.discard_log(cx, durable, region);
            } else if !unknown && self.region_is_live(region) && !cx.geometry.is_journaled() {
                self.want_parity(cx, durable, region);
            }
        }
    }
}
