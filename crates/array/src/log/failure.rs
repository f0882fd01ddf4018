//! What the failure of a member means for the logs.

use parlour_units::{Region, Slot};

use crate::context::Context;
use crate::durable::Durable;
use crate::log::{LoadState, Logs};

impl Logs {
    /// A member was failed: logs on it of which no copy stands are lost. If there is no journal,
    /// the records of other logs are folded into the parity.
    pub(crate) fn logs_after_failure(&mut self, cx: &mut Context, durable: &mut Durable, slot: Slot) {
        cx.runnable.extend(self.take_pool_waiters());
        let regions: Vec<Region> = self.regions.regions().collect();
        for region in regions {
            let held = cx.geometry.log_slots(region).any(|other| other == slot);
            let on_it = held && !self.log_stands(cx, region);
            let log = &self.regions[region];
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
                self.want_parity(cx, region);
            }
        }
    }
}
