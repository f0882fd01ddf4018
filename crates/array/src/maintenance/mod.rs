//! What the array does of itself: failing members, rebuild, resync, scrub.

mod members;
mod rebuild;
mod resync;
mod scrub;

use std::collections::BTreeMap;

use parlour_units::{Duration, Instant, Sectors, Stripe};
use serde::Serialize;

use crate::array::{Array, Mode};
use crate::job::Purpose;
use crate::map::{Columns, Window};
use crate::request::RequestError;

pub use members::AdminError;
pub(crate) use rebuild::Rebuild;
pub(crate) use resync::Resync;
pub(crate) use scrub::Scrub;
pub use scrub::{Mismatch, Repair, ScrubReport};

/// Hosts are thought to be waiting until they were silent for this long.
const QUIET: Duration = Duration::from_millis(50);

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Task {
    /// Done, in the unit of `total`.
    pub done: u64,
    /// All there is to do.
    pub total: u64,
    /// Seconds since it was begun.
    pub elapsed_seconds: f64,
    /// Seconds that it will still take at the pace so far.
    pub left_seconds: Option<f64>,
    /// Whether it has stopped and waits for people.
    pub stopped: bool,
}

/// What is under way.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    pub(crate) rebuild: Option<Rebuild>,
    /// The rebuild's frontier as it is recorded on the members.
    pub(crate) durable_frontier: u64,
    pub(crate) resync: Option<Resync>,
    /// Regions before this could not be resynced as the array now is.
    pub(crate) resync_from: u32,
    /// When the resync was begun, and how many regions needed it then.
    pub(crate) resync_began: Option<(Instant, u64)>,
    pub(crate) scrub: Option<Scrub>,
    pub(crate) last_scrub: Option<ScrubReport>,
    /// Jobs under way.
    running: u32,
    /// When a host last asked something.
    pub(crate) last_host: Option<Instant>,
}

/// Stripes that are being worked on, each with its windows under way: what lies before all of them is done.
#[derive(Debug, Default)]
pub(crate) struct Front {
    /// The next stripe to begin.
    pub(crate) next: u64,
    under_way: BTreeMap<u64, u32>,
}

impl Front {
    pub(crate) fn at(next: u64) -> Front {
        Front { next, under_way: BTreeMap::new() }
    }

    /// The first stripe that is not done.
    pub(crate) fn done(&self) -> u64 {
        self.under_way.first_key_value().map_or(self.next, |(stripe, _)| *stripe)
    }

    pub(crate) fn begin(&mut self, windows: u32) {
        if windows > 0 {
            self.under_way.insert(self.next, windows);
        }
        self.next += 1;
    }

    pub(crate) fn end(&mut self, stripe: Stripe) {
        let left = self.under_way.get_mut(&stripe.get()).expect("only what was begun ends");
        *left -= 1;
        if *left == 0 {
            self.under_way.remove(&stripe.get());
        }
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way.is_empty()
    }
}

impl Array {
    /// Starts maintenance jobs, as many as people's own I/O leaves room for. Says whether it started any.
    pub(crate) fn pump_maintenance(&mut self) -> bool {
        if self.mode != Mode::Serving {
            return false;
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
        let busy = !self.hosts.is_empty() || self.quiet_from().is_some_and(|quiet| quiet > self.now);
        if busy { self.tuning.maintenance_depth_busy } else { self.tuning.maintenance_depth }
    }

    fn quiet_from(&self) -> Option<Instant> {
        Some(self.maintenance.last_host? + QUIET)
    }

    /// Starts a job on each window of `stripe`; says how many.
    pub(crate) fn start_maintenance(&mut self, purpose: Purpose, stripe: Stripe) -> Vec<crate::job::JobId> {
        let unit = self.geometry.layout().unit_length();
        let slice = self.tuning.slice;
        let mut started = Vec::new();
        let mut from = Sectors::ZERO;
        while from < unit {
            let columns = Columns::new(from, (from + slice).min(unit));
            let window = Window { stripe, columns };
            let content = crate::plan::Content::Host;
            started.push(self.start_stripe(purpose, window, None, Vec::new(), content, false));
            self.maintenance.running += 1;
            from = columns.to;
        }
        started
    }

    pub(crate) fn maintenance_stripe_ended(
        &mut self,
        purpose: Purpose,
        window: Window,
        result: Result<(), RequestError>,
    ) {
        self.maintenance.running -= 1;
        match purpose {
            Purpose::Rebuild { place } => self.rebuilt_window(place, window, result),
            Purpose::Resync { region } => self.resynced_window(region, window, result),
            Purpose::Scrub => self.scrubbed_window(window, result),
            Purpose::Read | Purpose::Write | Purpose::Repair { .. } => unreachable!("no maintenance"),
        }
    }

    /// When the array wants to be called, if nothing happens before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let serving = self.mode == Mode::Serving;
        let waiting = serving
            && (self.maintenance.rebuild.is_some()
                || self.maintenance.scrub.is_some()
                || self.records.resync.count() > 0);
        let quiet = self.quiet_from().filter(|quiet| waiting && *quiet > self.now && self.hosts.is_empty());
        [self.clean_deadline(), quiet].into_iter().flatten().min()
    }

    /// The time that [`Array::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance_clock(now);
        self.clean_idle_regions();
        self.work();
    }

    pub(crate) fn task(&self, done: u64, total: u64, began: (Instant, u64), stopped: bool) -> Task {
        let (started, from) = began;
        let elapsed = self.now.since(started).as_secs_f64();
        let here = done.saturating_sub(from);
        let left = (here > 0 && !stopped).then(|| elapsed / here as f64 * (total - done) as f64);
        Task { done, total, elapsed_seconds: elapsed, left_seconds: left, stopped }
    }
}
