//! Logs that are lost with their members, or given up: their records are dropped, and the parity is
//! computed from the data.

use parlour_units::Region;

use crate::context::Context;
use crate::durable::Durable;
use crate::log::{LoadState, Logs, SegmentState};
use crate::signal::Signal;

impl Logs {
    /// Frees a segment if nothing needs it any more.
    pub(crate) fn retire_segment(&mut self, cx: &mut Context, index: u32) {
        if let Some(buffer) = self.retire(index) {
            cx.buffers.release(buffer);
            self.freed = true;
        }
    }

    /// If `region`'s log was lost with its member, it is emptied and the parity is recomputed from
    /// the data (§2).
    pub(crate) fn check_log_members(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let idle = self.regions[region].reintegrating.is_none();
        if idle && self.log_is_lost(cx, region) {
            self.discard_log(cx, durable, region);
        }
    }

    /// Forgets `region`'s log and has its parity recomputed.
    pub(crate) fn discard_log(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        durable.bitmap_mut().give_records_up(cx, region);
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
        log.waiters.wake(&mut cx.runnable);
        cx.signal(Signal::FlushesMayStart);
    }
}
