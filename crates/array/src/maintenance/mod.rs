//! Work that the array does by itself: failing members, rebuild, resync, scrub.

mod members;
mod rebuild;
pub(crate) mod report;
mod resync;
mod risk;
mod scrub;

use parlour_units::{Duration, Instant, Sectors, Stripe};

use crate::array::Array;
use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::job::Purpose;
use crate::mode::Mode;
use crate::request::RequestError;
use crate::stripe::StripeWork;

pub use members::AdminError;
pub(crate) use rebuild::Rebuild;
pub use report::{Mismatch, Repair, ScrubReport, Task};
pub(crate) use scrub::Scrub;

/// Hosts count as idle after they were silent for this long; until then maintenance leaves them
/// room.
const QUIET: Duration = Duration::from_millis(50);

/// The state of rebuild, resync and scrub.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    pub(crate) rebuild: Option<Rebuild>,
    pub(crate) scrub: Option<Scrub>,
    pub(crate) last_scrub: Option<ScrubReport>,
    /// The number of maintenance jobs under way.
    running: u32,
    /// When the last request of a host came.
    pub(crate) last_host: Option<Instant>,
}

impl Array {
    /// Starts maintenance jobs, as many as hosts' I/O leaves room for. Returns whether it started
    /// any.
    pub(crate) fn pump_maintenance(&mut self) -> bool {
        match self.cx.mode {
            Mode::Serving => {}
            // A scrub ends here: it could no longer repair what it cannot read.
            Mode::ReadOnly => return self.finish_scrub(false),
            _ => return false,
        }
        let mut any = false;
        while self.maintenance.running < self.maintenance_depth() {
            let started = self.step_rebuild() || self.step_resync() || self.step_scrub();
            if !started {
                break;
            }
            any = true;
        }
        any
    }

    fn maintenance_depth(&self) -> u32 {
        let busy = !self.hosts.is_empty() || self.quiet_from().is_some_and(|quiet| quiet > self.cx.now);
        if busy { self.cx.tuning.maintenance_depth_busy } else { self.cx.tuning.maintenance_depth }
    }

    fn quiet_from(&self) -> Option<Instant> {
        Some(self.maintenance.last_host? + QUIET)
    }

    /// Starts a job on `stripe`, which handles the stripe window by window under one lock.
    pub(crate) fn start_maintenance(&mut self, purpose: Purpose, stripe: Stripe, targets: UnitSet) {
        let unit = self.cx.geometry.layout().unit_length();
        let columns = Columns::new(Sectors::ZERO, self.cx.tuning.slice.min(unit));
        self.maintenance.running += 1;
        self.stripes
            .start_stripe(&mut self.cx, StripeWork::own(purpose, Window { stripe, columns }, targets));
    }

    pub(crate) fn maintenance_stripe_ended(
        &mut self,
        purpose: Purpose,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        self.maintenance.running -= 1;
        match purpose {
            Purpose::Rebuild { slot, since } => self.rebuilt_stripe(slot, since, stripe, result),
            Purpose::Resync { region } => self.resynced_stripe(region, stripe, result),
            Purpose::Scrub { .. } => self.scrubbed_stripe(stripe, result),
            Purpose::Read | Purpose::Write | Purpose::Repair { .. } => unreachable!("no maintenance"),
        }
    }

    /// When the driver must call [`Array::handle_timeout`], if it gives no other input before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let serving = self.cx.mode == Mode::Serving;
        let waiting = serving
            && (self.maintenance.rebuild.is_some()
                || self.maintenance.scrub.is_some()
                || self.durable.bitmap().resync_count() > 0);
        let quiet =
            self.quiet_from().filter(|quiet| waiting && *quiet > self.cx.now && self.hosts.is_empty());
        let cleaning = self.durable.bitmap().clean_deadline(&self.cx);
        let looking = self.durable.look_deadline(&self.cx);
        [cleaning, looking, quiet].into_iter().flatten().min()
    }

    /// The time that [`Array::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance_clock(now);
        self.clean_idle_regions();
        self.work();
    }

    pub(crate) fn task(&self, done: u64, total: u64, began: (Instant, u64), stopped: bool) -> Task {
        let (started, from) = began;
        let elapsed = self.cx.now.since(started).as_secs_f64();
        let here = done.saturating_sub(from);
        let left = (here > 0 && !stopped).then(|| elapsed / here as f64 * (total - done) as f64);
        Task { done, total, elapsed_seconds: elapsed, left_seconds: left, stopped }
    }
}
