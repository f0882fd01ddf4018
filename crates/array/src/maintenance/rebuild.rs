//! Rebuild: a member's units are computed from the others, stripe by stripe.
//!
//! [`Roster::rebuilt`](crate::roster::Roster) says which stripes are rebuilt. A job that holds a
//! stripe's lock uses the new member if the stripe is rebuilt, and works without it if not. The
//! frontier is recorded on the members after a flush of the new member.

use parlour_units::{Instant, Sector, Sectors, Slot, Stripe};

use super::Task;
use crate::array::Array;
use crate::code::UnitSet;
use crate::effect::{Action, Class};
use crate::ids::JobId;
use crate::job::{Kind, Purpose};
use crate::planted::{Bug, is_planted};
use crate::request::RequestError;
use crate::status::Event;

/// A rebuild that is under way.
#[derive(Debug)]
pub(crate) struct Rebuild {
    pub(crate) slot: Slot,
    began: (Instant, u64),
    checkpointing: bool,
    /// The number of its jobs under way.
    running: u32,
    /// It met stripes that cannot be computed, and waits for a command.
    pub(crate) stopped: bool,
    /// A command said to go on while its jobs were still under way.
    again: bool,
}

impl Array {
    /// Starts the rebuild of the member in `slot`, from stripe `frontier` on.
    pub(crate) fn begin_rebuild(&mut self, slot: Slot, frontier: u64) {
        let began = (self.cx.now, frontier);
        let (checkpointing, stopped, again) = (false, false, false);
        self.maintenance.rebuild = Some(Rebuild { slot, began, checkpointing, running: 0, stopped, again });
        self.durable.inform_joining_member(&self.cx);
    }

    pub(crate) fn rebuild_task(&self) -> Option<Task> {
        let rebuild = self.maintenance.rebuild.as_ref()?;
        let total = self.cx.geometry.layout().stripes();
        Some(self.task(
            self.cx.roster.rebuilt(rebuild.slot).done(),
            total,
            rebuild.began,
            rebuild.stopped && !rebuild.again,
        ))
    }

    /// Begins the next stripe. Returns whether it did anything.
    pub(crate) fn step_rebuild(&mut self) -> bool {
        let stripes = self.cx.geometry.layout().stripes();
        let Some(rebuild) = self.maintenance.rebuild.as_ref().filter(|rebuild| !rebuild.stopped) else {
            return false;
        };
        let slot = rebuild.slot;
        self.durable.bitmap().skip_what_was_kept(&mut self.cx, slot);
        let next = self.cx.roster.rebuilt(slot).next();
        if next == stripes {
            return self.finish_rebuild();
        }
        let stripe = Stripe::new(next);
        let layout = self.cx.geometry.layout();
        let unit = layout.units().find(|unit| layout.locate(stripe, *unit).slot == slot);
        match unit {
            Some(unit) => {
                self.cx.roster.rebuilt_mut(slot).begin();
                self.maintenance.rebuild.as_mut().expect("it is under way").running += 1;
                let since = self.cx.roster.since(slot);
                self.start_maintenance(Purpose::Rebuild { slot, since }, stripe, UnitSet::of(unit));
            }
            None => self.cx.roster.rebuilt_mut(slot).skip(),
        }
        true
    }

    pub(crate) fn rebuilt_stripe(
        &mut self,
        slot: Slot,
        since: u64,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let current = self.maintenance.rebuild.as_mut().filter(|rebuild| rebuild.slot == slot);
        let Some(rebuild) = current else { return };
        // The member that was rebuilt when the job started may have failed since.
        if self.cx.roster.since(slot) != since {
            return;
        }
        rebuild.running -= 1;
        if result.is_ok() {
            self.cx.roster.rebuilt_mut(slot).end(stripe);
        } else if !std::mem::replace(&mut rebuild.stopped, true) {
            let at = Sector::ZERO + self.cx.geometry.layout().stripe_data() * stripe.get();
            self.cx.events.push_back(Event::RebuildStopped { slot, at });
        }
        if !rebuild.stopped {
            self.checkpoint_if_due();
        } else if rebuild.running == 0 {
            // When a command says to go on, the rebuild repeats the stripes behind the one that
            // could not be computed.
            rebuild.stopped = !std::mem::take(&mut rebuild.again);
            self.cx.roster.rebuild_from(slot, self.cx.roster.rebuilt(slot).done());
        }
    }

    /// Lets a rebuild that has stopped go on: at once, or when its running jobs have ended.
    pub(crate) fn go_on_rebuilding(&mut self) -> Option<Slot> {
        let rebuild = self.maintenance.rebuild.as_mut()?;
        if rebuild.running == 0 {
            rebuild.stopped = false;
        } else {
            rebuild.again = rebuild.stopped;
        }
        Some(rebuild.slot)
    }

    fn checkpoint_if_due(&mut self) {
        let rebuild = self.maintenance.rebuild.as_ref().expect("a rebuild is under way");
        let done = self.cx.roster.rebuilt(rebuild.slot).done();
        let gone: Sectors =
            self.cx.geometry.layout().unit_length() * (done - self.durable.frontier().min(done));
        if !rebuild.checkpointing && gone >= self.cx.tuning.checkpoint {
            self.start_checkpoint(done);
        }
    }

    fn start_checkpoint(&mut self, done: u64) {
        let rebuild = self.maintenance.rebuild.as_mut().expect("a rebuild is under way");
        rebuild.checkpointing = true;
        let slot = rebuild.slot;
        let since = self.cx.roster.since(slot);
        let id = self.cx.jobs.start(Kind::Checkpoint { slot, done, since }, Class::Rebuild);
        if !is_planted(Bug::FrontierBeforeFlush) {
            self.cx.jobs.get_mut(id).plan.push(Action::Flush { member: slot.into() }, &[]);
        }
        self.start_plan(id, None, &[]);
    }

    /// The new member is flushed: the progress of its rebuild is recorded, and the member becomes
    /// active when all of it is rebuilt.
    pub(crate) fn checkpoint_done(&mut self, id: JobId) {
        let Some(Kind::Checkpoint { slot, done, since }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a checkpoint")
        };
        self.cx.jobs.end(id);
        let Some(rebuild) = self.maintenance.rebuild.as_mut().filter(|rebuild| rebuild.slot == slot) else {
            return;
        };
        // Another member may have taken the slot while this one was flushed.
        if self.cx.roster.since(slot) != since {
            return;
        }
        rebuild.checkpointing = false;
        self.durable.record_frontier(&self.cx, done);
        if done == self.cx.geometry.layout().stripes() && self.rebuild_may_end() {
            self.maintenance.rebuild = None;
            self.cx.roster.complete(slot);
            self.durable.await_rebuilt(&self.cx, slot);
            self.durable.bitmap_mut().resync_again();
            self.take_spare();
        }
    }

    fn finish_rebuild(&mut self) -> bool {
        let rebuild = self.maintenance.rebuild.as_ref().expect("a rebuild is under way");
        let ready = self.cx.roster.rebuilt(rebuild.slot).is_idle()
            && !rebuild.checkpointing
            && self.rebuild_may_end();
        if ready {
            self.start_checkpoint(self.cx.geometry.layout().stripes());
        }
        ready
    }

    /// Whether the slot may become active once all of it is rebuilt.
    fn rebuild_may_end(&self) -> bool {
        // While the slot is not whole, an opening after a crash knows that logs which were stored
        // there are lost. After that only the durable resync bits say so.
        let known = self.durable.bitmap().all_resync_is_durable();
        // Once the slot is active the member is believed.
        known
            && self.durable.joining_member_is_informed(&self.cx)
            && self.logs.commit_logs_are_begun(&self.cx)
    }
}
