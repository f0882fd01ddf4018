//! The members that the array has, and the work that it does by itself: rebuild, resync, scrub.

mod membership;
mod rebuild;
mod resync;
mod scrub;

use parlour_units::{Instant, Sectors, Stripe};

use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::context::Context;
use crate::core::Core;
use crate::durable::Durable;
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::mode::Mode;
use crate::request::RequestError;
use crate::stripe::StripeWork;
use crate::stripe::Stripes;

use self::rebuild::Rebuild;
use self::scrub::Scrub;
use crate::report::{ScrubReport, Task};

/// The state of rebuild, resync and scrub.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    rebuild: Option<Rebuild>,
    scrub: Option<Scrub>,
    last_scrub: Option<ScrubReport>,
    /// The number of maintenance jobs under way.
    running: u32,
}

impl Maintenance {
    /// Starts maintenance jobs, as many as hosts' I/O leaves room for; `busy` says whether hosts were
    /// active in the last moments. Returns whether it started any.
    pub(crate) fn pump(&mut self, core: &mut Core, busy: bool) -> bool {
        let Core { cx, durable, logs, stripes, .. } = core;
        match cx.mode {
            Mode::Serving => {}
            // A scrub ends here: it could no longer repair what it cannot read.
            Mode::ReadOnly => return self.finish_scrub(cx, false),
            _ => return false,
        }
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

    /// Whether there is anything to do that waits for hosts to be idle.
    pub(crate) fn has_work(&self, cx: &Context, durable: &Durable) -> bool {
        let waits = self.rebuild.is_some() || self.scrub.is_some();
        cx.mode == Mode::Serving && (waits || durable.bitmap().resync_count() > 0)
    }

    /// The report of the last scrub that has ended.
    pub(crate) fn last_scrub(&self) -> Option<&ScrubReport> {
        self.last_scrub.as_ref()
    }

    /// A plan of maintenance is done, or (unless `whole`) broken.
    pub(crate) fn plan_ended(&mut self, core: &mut Core, id: JobId, whole: bool) {
        let Core { cx, durable, logs, .. } = core;
        match cx.jobs.kind(id) {
            Kind::ResyncFlush { .. } => self.resync_flushed(cx, durable, logs, id, whole),
            Kind::Checkpoint { .. } if whole => self.checkpoint_done(cx, durable, logs, id),
            Kind::Checkpoint { .. } => cx.jobs.end(id),
            other => unreachable!("{other:?} is no job of maintenance"),
        }
    }

    /// Starts a job on `stripe`, which handles the stripe window by window under one lock.
    pub(crate) fn start_maintenance(
        &mut self,
        cx: &mut Context,
        stripes: &mut Stripes,
        purpose: Purpose,
        stripe: Stripe,
        targets: UnitSet,
    ) {
        let unit = cx.geometry.layout().unit_length();
        let columns = Columns::new(Sectors::ZERO, cx.tuning.slice.min(unit));
        self.running += 1;
        stripes.start_stripe(cx, StripeWork::own(purpose, Window { stripe, columns }, targets));
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
            Purpose::Rebuild { slot, since } => self.rebuilt_stripe(cx, durable, slot, since, stripe, result),
            Purpose::Resync { region } => self.resynced_stripe(cx, durable, region, stripe, result),
            Purpose::Scrub { .. } => self.scrubbed_stripe(cx, stripe, result),
            Purpose::Read | Purpose::Write | Purpose::Repair { .. } => unreachable!("no maintenance"),
        }
    }

    fn task(&self, cx: &Context, done: u64, total: u64, began: (Instant, u64), stopped: bool) -> Task {
        let (started, from) = began;
        let elapsed = cx.now.since(started).as_secs_f64();
        let here = done.saturating_sub(from);
        let left = (here > 0 && !stopped).then(|| elapsed / here as f64 * (total - done) as f64);
        Task { done, total, elapsed_seconds: elapsed, left_seconds: left, stopped }
    }
}
