//! The state of rebuild, resync and scrub, and the start of their jobs.

use std::collections::BTreeMap;

use parlour_units::{Instant, Sectors, Slot, Stripe};

use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::context::Context;
use crate::durable::Durable;
use crate::frontier::Frontier;
use crate::job::Purpose;
use crate::mode::Mode;
use crate::report::{Repair, ScrubReport, Task};
use crate::stripe::{StripeWork, Stripes};

/// The state of rebuild, resync and scrub.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    /// By slot.
    pub(super) rebuilds: BTreeMap<Slot, Rebuild>,
    pub(super) scrub: Option<Scrub>,
    pub(super) last_scrub: Option<ScrubReport>,
    /// The number of maintenance jobs under way.
    pub(super) running: u32,
}

/// A rebuild that is under way.
#[derive(Debug)]
pub(super) struct Rebuild {
    pub(super) began: (Instant, u64),
    pub(super) checkpointing: bool,
    /// The number of its jobs under way.
    pub(super) running: u32,
    /// It met stripes that cannot be computed, and waits for a command.
    pub(super) stopped: bool,
    /// A command said to go on while its jobs were still under way.
    pub(super) again: bool,
}

/// A scrub that is under way.
#[derive(Debug)]
pub(super) struct Scrub {
    pub(super) front: Frontier,
    pub(super) repair: Repair,
    pub(super) began: (Instant, u64),
    pub(super) report: ScrubReport,
}

impl Maintenance {
    /// Whether there is anything to do that waits for hosts to be idle.
    pub(crate) fn has_work(&self, cx: &Context, durable: &Durable) -> bool {
        cx.mode == Mode::Serving && self.is_wanted(cx, durable)
    }

    /// Whether a rebuild, a scrub or a resync is wanted or under way.
    pub(crate) fn is_wanted(&self, cx: &Context, durable: &Durable) -> bool {
        let spares = || {
            let roster = &cx.roster;
            let takes = || roster.slot_to_move(&cx.geometry).or_else(|| roster.slot_for_spare(&cx.geometry));
            cx.geometry.layout().spares() > 0 && roster.is_degraded() && takes().is_some()
        };
        !self.rebuilds.is_empty() || self.scrub.is_some() || durable.bitmap().resync_count() > 0 || spares()
    }

    /// The report of the last scrub that has ended.
    pub(crate) fn last_scrub(&self) -> Option<&ScrubReport> {
        self.last_scrub.as_ref()
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

    pub(super) fn task(
        &self,
        cx: &Context,
        done: u64,
        total: u64,
        began: (Instant, u64),
        stopped: bool,
    ) -> Task {
        let (started, from) = began;
        let elapsed = cx.now.since(started).as_secs_f64();
        let here = done.saturating_sub(from);
        let left = (here > 0 && !stopped).then(|| elapsed / here as f64 * (total - done) as f64);
        Task { done, total, elapsed_seconds: elapsed, left_seconds: left, stopped }
    }
}
