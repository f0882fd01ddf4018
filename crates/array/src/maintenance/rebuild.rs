//! Rebuild: a member's units are computed from the others, stripe by stripe.
//!
//! Two frontiers: stripes before `done` hold what they should on the new member and may be read there;
//! stripes before `issued` are done or locked, so that a writer who holds a stripe's lock and finds it before
//! `issued` writes to the new member too. The recorded frontier follows `done` after a flush of the new member.

use parlour_units::{Instant, Member, Sectors, Stripe};

use super::{Front, Task};
use crate::array::Array;
use crate::effect::{Action, Class};
use crate::health::PlaceState;
use crate::job::{JobId, Kind, Purpose};
use crate::map::Window;
use crate::plan::UnitSet;
use crate::request::RequestError;
use crate::status::Event;

/// A rebuild that is under way.
#[derive(Debug)]
pub(crate) struct Rebuild {
    pub(crate) place: Member,
    front: Front,
    began: (Instant, u64),
    checkpointing: bool,
    /// It met what cannot be computed, and waits for people.
    pub(crate) stopped: bool,
}

impl Rebuild {
    pub(crate) fn new(place: Member, frontier: u64, now: Instant) -> Rebuild {
        Rebuild {
            place,
            front: Front::at(frontier),
            began: (now, frontier),
            checkpointing: false,
            stopped: false,
        }
    }
}

impl Array {
    pub(crate) fn rebuild_task(&self) -> Option<Task> {
        let rebuild = self.maintenance.rebuild.as_ref()?;
        let total = self.geometry.layout().stripes();
        Some(self.task(rebuild.front.done(), total, rebuild.began, rebuild.stopped))
    }

    /// Begins the next stripe. Says whether it did anything.
    pub(crate) fn step_rebuild(&mut self) -> bool {
        let stripes = self.geometry.layout().stripes();
        let Some(rebuild) = self.maintenance.rebuild.as_mut().filter(|rebuild| !rebuild.stopped) else {
            return false;
        };
        let (place, next) = (rebuild.place, rebuild.front.next);
        if next == stripes {
            return self.finish_rebuild();
        }
        let stripe = Stripe::new(next);
        let layout = self.geometry.layout();
        let unit = layout
            .group_of(stripe)
            .contains(&place.get())
            .then(|| layout.units().find(|unit| layout.place(stripe, *unit).member == place))
            .flatten();
        let windows = layout.unit_length().get().div_ceil(self.tuning.slice.get()) as u32;
        // First the frontier, then the jobs: a writer that comes between must already write to the new member.
        self.advance_rebuild(if unit.is_some() { windows } else { 0 });
        if let Some(unit) = unit {
            for job in self.start_maintenance(Purpose::Rebuild { place }, stripe) {
                self.jobs.stripe(job).targets = UnitSet::of(unit);
            }
        }
        true
    }

    fn advance_rebuild(&mut self, windows: u32) {
        let rebuild = self.maintenance.rebuild.as_mut().expect("a rebuild is under way");
        rebuild.front.begin(windows);
        self.show_frontiers();
    }

    fn show_frontiers(&mut self) {
        let Some(rebuild) = &self.maintenance.rebuild else { return };
        let state = PlaceState::Rebuilding { done: rebuild.front.done(), issued: rebuild.front.next };
        self.health.places[rebuild.place.as_usize()].state = state;
    }

    pub(crate) fn rebuilt_window(&mut self, place: Member, window: Window, result: Result<(), RequestError>) {
        let Some(rebuild) = self.maintenance.rebuild.as_mut().filter(|rebuild| rebuild.place == place) else {
            return;
        };
        if result.is_err() {
            // From the recorded frontier on everything is done again when people say so.
            let frontier = rebuild.front.done().min(window.stripe.get());
            if !rebuild.stopped {
                let at =
                    parlour_units::Sector::ZERO + self.geometry.layout().stripe_data() * window.stripe.get();
                self.events.push_back(Event::RebuildStopped { place, at });
            }
            *rebuild =
                Rebuild { stopped: true, began: rebuild.began, ..Rebuild::new(place, frontier, self.now) };
            self.show_frontiers();
            return;
        }
        if rebuild.stopped {
            return;
        }
        rebuild.front.end(window.stripe);
        self.show_frontiers();
        self.checkpoint_if_due();
    }

    fn checkpoint_if_due(&mut self) {
        let rebuild = self.maintenance.rebuild.as_ref().expect("a rebuild is under way");
        let done = rebuild.front.done();
        let gone: Sectors =
            self.geometry.layout().unit_length() * (done - self.maintenance.durable_frontier.min(done));
        if !rebuild.checkpointing && gone >= self.tuning.checkpoint {
            self.start_checkpoint(done);
        }
    }

    fn start_checkpoint(&mut self, done: u64) {
        let rebuild = self.maintenance.rebuild.as_mut().expect("a rebuild is under way");
        rebuild.checkpointing = true;
        let place = rebuild.place;
        let id = self.jobs.start(Kind::Checkpoint { place, done }, Class::Rebuild);
        self.jobs.get_mut(id).plan.push(Action::Flush { member: place }, &[]);
        self.start_plan(id, None, &[]);
    }

    /// The new member is flushed: what is rebuilt on it is recorded, and it is active when that is all.
    pub(crate) fn checkpoint_done(&mut self, id: JobId) {
        let Some(Kind::Checkpoint { place, done }) = self.jobs.get_mut(id).kind.take() else {
            unreachable!("a checkpoint")
        };
        self.end_job(id);
        let Some(rebuild) = self.maintenance.rebuild.as_mut().filter(|rebuild| rebuild.place == place) else {
            return;
        };
        rebuild.checkpointing = false;
        self.maintenance.durable_frontier = done;
        if done == self.geometry.layout().stripes() {
            self.maintenance.rebuild = None;
            self.health.places[place.as_usize()].state = PlaceState::Active;
            self.health.review();
            self.events.push_back(Event::RebuildDone { place });
            self.maintenance.resync_again();
        }
        self.record_change();
    }

    fn finish_rebuild(&mut self) -> bool {
        let rebuild = self.maintenance.rebuild.as_ref().expect("a rebuild is under way");
        let ready = rebuild.front.is_idle() && !rebuild.checkpointing;
        if ready {
            self.start_checkpoint(self.geometry.layout().stripes());
        }
        ready
    }
}
