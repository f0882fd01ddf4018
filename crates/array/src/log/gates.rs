//! What a stripe job waits for in its region's log.

use parlour_units::Region;

use super::{LoadState, Logs};
use crate::context::Context;
use crate::ids::JobId;
use crate::job::{Gate, Stage};

impl Logs {
    /// Passes when the headers of the region's log are known.
    pub(crate) fn load_gate(&mut self, cx: &mut Context, region: Region, id: JobId) -> Gate {
        match self.regions.get(region).map_or(LoadState::Known, |log| log.load) {
            LoadState::Known => Gate::Pass,
            LoadState::Stalled => Gate::Refused,
            LoadState::Unknown | LoadState::Loading => {
                self.region(region).waiters.park(id);
                self.want_parity(cx, region);
                Gate::Wait
            }
        }
    }

    /// Passes when the job's stripe has no live records (or the job is about to cancel them) and no
    /// reintegration runs. From then on, the job keeps the region from being reintegrated.
    pub(crate) fn settle_gate(&mut self, cx: &mut Context, cancels: bool, id: JobId) -> Gate {
        let job = cx.jobs.stripe(id);
        let (region, stripe) = (job.region, job.window.stripe);
        let suspended = self.is_suspended(cx, region);
        let index = cx.geometry.layout().region_of(stripe).1 as u32;
        let live = self.is_live(region, index) && !cancels;
        let log = self.region(region);
        if log.reintegrating.is_none() && live && suspended {
            return Gate::Refused;
        }
        if live || log.reintegrating.is_some() || log.queued {
            log.waiters.park(id);
            if live {
                self.want_parity(cx, region);
            }
            self.wake_parity_repairers(cx);
            return Gate::Wait;
        }
        log.holders += 1;
        let job = cx.jobs.stripe(id);
        (job.holdings.parity, job.stage) = (true, Stage::Plan);
        Gate::Pass
    }
}
