//! The members that the array has, and the work that it does by itself: rebuild, resync, scrub.

mod membership;
mod rebuild;
mod resync;
mod scrub;
mod state;

use parlour_units::Stripe;

use crate::core::Core;
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::mode::Mode;
use crate::request::RequestError;

pub(crate) use self::state::Maintenance;

impl Maintenance {
    /// Starts maintenance jobs, as many as hosts' I/O leaves room for; `busy` says whether hosts
    /// were active in the last moments. Returns whether it started any.
    pub(crate) fn pump(&mut self, core: &mut Core, busy: bool) -> bool {
        match core.cx.mode {
            Mode::Serving => {}
            // A scrub ends here: it could no longer repair what it cannot read.
            Mode::ReadOnly => return self.finish_scrub(&mut core.cx, false),
            _ => return false,
        }
        self.take_spares(core);
        let Core { cx, durable, logs, stripes, .. } = core;
        self.begin_moves(cx, durable);
        let tuning = &cx.tuning;
        let depth = if busy { tuning.maintenance_depth_busy } else { tuning.maintenance_depth };
        let mut any = false;
        while self.running < depth {
            let started = self.step_rebuild(cx, durable, logs, stripes)
                || self.step_resync(cx, durable, stripes)
                || self.step_scrub(cx, durable, stripes);
            if !started {
                break;
            }
            any = true;
        }
        any
    }

    /// A plan of maintenance is done, or (unless `whole`) broken.
    pub(crate) fn plan_ended(&mut self, core: &mut Core, id: JobId, whole: bool) {
        let Core { cx, durable, logs, .. } = core;
        let kind = cx.jobs.take_kind(id);
        cx.jobs.end(id);
        match kind {
            Kind::ResyncFlush { region } if whole => self.resync_flushed(durable, logs, region),
            Kind::ResyncFlush { region } => self.flush_resynced(cx, durable, region),
            Kind::Checkpoint { slot, done, since } if whole => {
                self.checkpoint_done(cx, durable, logs, (slot, done, since));
            }
            Kind::Checkpoint { slot, since, .. } => self.checkpoint_failed(cx, slot, since),
            other => unreachable!("{other:?} is no job of maintenance"),
        }
    }

    pub(crate) fn stripe_ended(
        &mut self,
        core: &mut Core,
        purpose: Purpose,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let Core { cx, durable, .. } = core;
        self.running -= 1;
        match purpose {
            Purpose::Rebuild(rebuilds) => {
                for (slot, since) in rebuilds.iter() {
                    self.rebuilt_stripe(cx, durable, slot, since, stripe, result);
                }
            }
            Purpose::Resync { region } => self.resynced_stripe(cx, durable, region, stripe, result),
            Purpose::Scrub { .. } => self.scrubbed_stripe(cx, stripe, result),
            Purpose::Read | Purpose::Write | Purpose::Repair { .. } => unreachable!("no maintenance"),
        }
    }
}
