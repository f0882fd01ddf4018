//! Rebuild: a member's units are computed from the others, stripe by stripe. Several members may be
//! rebuilt at once. Those that are at the same stripe are rebuilt by one job, which reads it once;
//! a member waits for one behind it where both end no later for that. Otherwise the one with the
//! fewest jobs under way goes on first.
//!
//! Where there is spare room, the units of a failed member are rebuilt into it, each on another
//! member: that is a rebuild of a slot without a member. A member that takes the slot later gets
//! copies.
//!
//! [`Roster::rebuilt`](crate::roster::Roster) says which stripes are rebuilt. A job that holds a
//! stripe's lock uses the new member if the stripe is rebuilt, and works without it if not. The
//! frontier is recorded on the members after a flush of the new member, or of all that were
//! written.

use parlour_units::{Sector, Sectors, Slot, Stripe};

use super::state::{Maintenance, Rebuild};
use crate::code::UnitSet;
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Action, Class};
use crate::job::{Kind, Purpose};
use crate::log::Logs;
use crate::rebuilds::Rebuilds;
use crate::report::Task;
use crate::request::RequestError;
use crate::status::Event;
use crate::stripe::Stripes;

impl Maintenance {
    /// The member that is being rebuilt in `slot`, if it is there, is gone.
    pub(crate) fn forget_rebuild(&mut self, slot: Slot) {
        self.rebuilds.remove(&slot);
    }

    /// Starts the rebuild of the member in `slot`, from stripe `frontier` on.
    pub(crate) fn begin_rebuild(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        slot: Slot,
        frontier: u64,
    ) {
        let began = (cx.now, frontier);
        let (checkpointing, stopped, again) = (false, false, false);
        self.rebuilds.insert(slot, Rebuild { began, checkpointing, running: 0, stopped, again });
        if !cx.roster.is_moving(slot) {
            durable.inform_joining_member(cx);
        }
    }

    /// Begins to rebuild failed slots into spare room, where there is some. (The superblocks must
    /// record that it is free, and nothing may still be read there.)
    pub(crate) fn begin_moves(&mut self, cx: &mut Context, durable: &mut Durable) {
        while let Some(slot) = cx.roster.slot_to_move(&cx.geometry) {
            if durable.barrier() || cx.reads_are_older(cx.roster.room_since()) {
                return;
            }
            cx.roster.begin_move(slot, 0);
            self.begin_rebuild(cx, durable, slot, 0);
            cx.events.push_back(Event::SpareRoomTaken { slot });
            durable.record_frontier(cx, slot, 0);
        }
    }

    /// The progress of all rebuilds together. They have stopped when each has.
    pub(crate) fn rebuild_task(&self, cx: &Context) -> Option<Task> {
        let began = self.rebuilds.values().map(|rebuild| rebuild.began.0).min()?;
        let from = self.rebuilds.values().map(|rebuild| rebuild.began.1).sum();
        let done = self.rebuilds.keys().map(|slot| cx.roster.rebuilt(*slot).done()).sum();
        let total = cx.geometry.layout().stripes() * self.rebuilds.len() as u64;
        let stopped = self.rebuilds.values().all(|rebuild| rebuild.stopped && !rebuild.again);
        Some(self.task(cx, done, total, (began, from), stopped))
    }

    /// Begins the next stripe of a rebuild. Returns whether it did anything.
    pub(crate) fn step_rebuild(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        stripes: &mut Stripes,
    ) -> bool {
        let going_on = self.rebuilds.iter().filter(|(_, rebuild)| !rebuild.stopped);
        let slots: Vec<(u32, Slot)> = going_on.map(|(slot, rebuild)| (rebuild.running, *slot)).collect();
        // A member that is rebuilt does not wait for the others.
        slots.iter().for_each(|(_, slot)| durable.bitmap().skip_what_was_kept(cx, *slot));
        let slots = slots.into_iter().filter(|(_, slot)| may_go_on(cx, logs, *slot));
        let end = cx.geometry.layout().stripes();
        let (rebuilt, mut left): (Vec<_>, Vec<_>) =
            slots.partition(|(_, slot)| cx.roster.rebuilt(*slot).next() == end);
        if rebuilt.into_iter().any(|(_, slot)| self.finish_rebuild(cx, durable, logs, slot)) {
            return true;
        }
        let all = left.clone();
        left.retain(|(_, slot)| !all.iter().any(|(_, other)| waits_for(cx, *slot, *other)));
        left.sort_unstable();
        let Some((_, first)) = left.first().copied() else { return false };
        let at = |slot: Slot| cx.roster.rebuilt(slot).next();
        let beside = |slot: &Slot| may_go_together(cx, first) && may_go_together(cx, *slot);
        let others = left[1..].iter().map(|(_, slot)| *slot);
        let others: Vec<Slot> = others.filter(|slot| at(*slot) == at(first) && beside(slot)).collect();
        let (region, _) = cx.geometry.layout().region_of(Stripe::new(at(first)));
        self.begin_stripe(cx, stripes, first, &others);
        logs.want_parity_after(cx, region);
        true
    }

    /// Begins the next stripe of the rebuilds of these slots, which are at the same one.
    fn begin_stripe(&mut self, cx: &mut Context, stripes: &mut Stripes, first: Slot, others: &[Slot]) {
        let stripe = Stripe::new(cx.roster.rebuilt(first).next());
        let (mut rebuilds, mut targets) = (Rebuilds::default(), UnitSet::NONE);
        for slot in std::iter::once(first).chain(others.iter().copied()) {
            let Some(unit) = cx.roster.places(&cx.geometry).unit_of(slot, stripe) else {
                cx.roster.rebuilt_mut(slot).skip();
                continue;
            };
            if rebuilds.add(slot, cx.roster.since(slot)) {
                targets = targets.or(UnitSet::of(unit));
                cx.roster.rebuilt_mut(slot).begin();
                self.rebuilds.get_mut(&slot).expect("it is under way").running += 1;
            }
        }
        if !rebuilds.is_empty() {
            self.start_maintenance(cx, stripes, Purpose::Rebuild(rebuilds), stripe, targets);
        }
    }

    pub(crate) fn rebuilt_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        slot: Slot,
        since: u64,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let Some(rebuild) = self.rebuilds.get_mut(&slot) else { return };
        // The member that was rebuilt when the job started may have failed since.
        if cx.roster.since(slot) != since {
            return;
        }
        rebuild.running -= 1;
        if result.is_ok() {
            cx.roster.rebuilt_mut(slot).end(stripe);
        } else if !std::mem::replace(&mut rebuild.stopped, true) {
            let at = Sector::ZERO + cx.geometry.layout().stripe_data() * stripe.get();
            cx.events.push_back(Event::RebuildStopped { slot, at });
        }
        if !rebuild.stopped {
            self.checkpoint_if_due(cx, durable, slot);
        } else if rebuild.running == 0 {
            // When a command says to go on, the rebuild repeats the stripes behind the one that
            // could not be computed.
            rebuild.stopped = !std::mem::take(&mut rebuild.again);
            cx.roster.rebuild_from(slot, cx.roster.rebuilt(slot).done());
        }
    }

    /// Lets rebuilds that have stopped go on: at once, or when their running jobs have ended.
    pub(crate) fn go_on_rebuilding(&mut self) {
        for rebuild in self.rebuilds.values_mut() {
            if rebuild.running == 0 {
                rebuild.stopped = false;
            } else {
                rebuild.again = rebuild.stopped;
            }
        }
    }

    fn checkpoint_if_due(&mut self, cx: &mut Context, durable: &mut Durable, slot: Slot) {
        let done = cx.roster.rebuilt(slot).done();
        let recorded = durable.frontier(cx, slot).min(done);
        // Not each stripe has a unit on the member.
        let layout = cx.geometry.layout();
        let units = (done - recorded) * u64::from(layout.width()) / u64::from(layout.members());
        let gone: Sectors = layout.unit_length() * units;
        if !self.rebuilds[&slot].checkpointing && gone >= cx.tuning.checkpoint && may_record(cx, slot) {
            self.start_checkpoint(cx, slot, done);
        }
    }

    fn start_checkpoint(&mut self, cx: &mut Context, slot: Slot, done: u64) {
        self.rebuilds.get_mut(&slot).expect("it is under way").checkpointing = true;
        let since = cx.roster.since(slot);
        let id = cx.jobs.start(Kind::Checkpoint { slot, done, since }, Class::Rebuild);
        match cx.roster.is_moving(slot) {
            true => cx.plan_flushes(id),
            false => cx.jobs.get_mut(id).plan.push(Action::Flush { member: slot.into() }, &[]),
        }
        cx.run_own(id);
    }

    /// A member could not be flushed. If it was that of the rebuild, it has failed.
    pub(crate) fn checkpoint_failed(&mut self, cx: &Context, slot: Slot, since: u64) {
        if let Some(rebuild) = self.rebuilds.get_mut(&slot).filter(|_| cx.roster.since(slot) == since) {
            rebuild.checkpointing = false;
        }
    }

    /// The new member is flushed: the progress of its rebuild is recorded, and the member becomes
    /// active when all of it is rebuilt.
    pub(crate) fn checkpoint_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        (slot, done, since): (Slot, u64, u64),
    ) {
        let Some(rebuild) = self.rebuilds.get_mut(&slot) else { return };
        // Another member may have taken the slot while this one was flushed.
        if cx.roster.since(slot) != since {
            return;
        }
        rebuild.checkpointing = false;
        if !may_record(cx, slot) {
            return;
        }
        durable.record_frontier(cx, slot, done);
        if done == cx.geometry.layout().stripes() && self.rebuild_may_end(cx, durable, logs, slot) {
            self.rebuilds.remove(&slot);
            cx.roster.complete(slot);
            durable.await_rebuilt(cx, slot);
            durable.bitmap_mut().resync_again();
        }
    }

    fn finish_rebuild(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        slot: Slot,
    ) -> bool {
        let ready = cx.roster.rebuilt(slot).is_idle()
            && !self.rebuilds[&slot].checkpointing
            && may_record(cx, slot)
            && self.rebuild_may_end(cx, durable, logs, slot);
        if ready {
            self.start_checkpoint(cx, slot, cx.geometry.layout().stripes());
        }
        ready
    }

    /// Whether the slot may become active once all of it is rebuilt.
    fn rebuild_may_end(&self, cx: &mut Context, durable: &Durable, logs: &mut Logs, slot: Slot) -> bool {
        // While the slot is not whole, an opening after a crash knows that logs which were stored
        // there are lost. After that only the durable resync bits say so.
        let known = durable.bitmap().all_resync_is_durable();
        // Once the slot is active the member is believed.
        known
            && durable.joining_member_is_informed(cx)
            && logs.commit_log_is_begun()
            && logs.entries_are_protected(cx, durable)
            && logs.are_copied_to(cx, slot)
    }
}

/// Whether the progress of the rebuild of `slot` may be recorded. A move writes to members that may
/// have to be kept though they could not flush: what they hold does not count, whatever a later
/// flush of them says.
fn may_record(cx: &Context, slot: Slot) -> bool {
    !cx.roster.is_moving(slot) || !cx.roster.has_lost_writes()
}

/// Whether the rebuild of `slot` need not wait. A member whose units are in spare room gets copies
/// only when nothing is left to be redone there.
fn may_go_on(cx: &Context, logs: &Logs, slot: Slot) -> bool {
    let comes_home = || cx.roster.moved_slots().any(|moved| moved == slot) && !cx.roster.is_moving(slot);
    !logs.is_to_be_recovered() || !comes_home()
}

/// Whether the rebuild of `slot` may share its jobs with others: each computes the slot's own unit
/// of the next stripe. (Which unit a slot has to hold is not known beforehand where some have
/// moved, and a member that returns passes over most stripes.)
fn may_go_together(cx: &Context, slot: Slot) -> bool {
    cx.roster.moved_slots().next().is_none() && !cx.roster.is_returning(slot)
}

/// Whether each stripe that is read for `slot` has to be read for `other` too.
fn need_the_same(cx: &Context, slot: Slot, other: Slot) -> bool {
    let layout = cx.geometry.layout();
    let whole = layout.width() == layout.members() / layout.groups();
    cx.geometry.keeps_parity()
        && whole
        && layout.group_of_slot(slot) == layout.group_of_slot(other)
        && [slot, other].iter().all(|slot| may_go_together(cx, *slot))
}

/// Whether the rebuild of `slot` waits for that of `other`, to go on together with it. The other
/// has to catch up no more than is left of this one: if they took turns instead, each stripe that
/// is left would be read for both, so that they would end no earlier.
fn waits_for(cx: &Context, slot: Slot, other: Slot) -> bool {
    let [at, behind] = [slot, other].map(|slot| cx.roster.rebuilt(slot).next());
    let left = cx.geometry.layout().stripes() - at;
    behind < at && at - behind <= left && need_the_same(cx, slot, other)
}

#[cfg(test)]
mod tests {
    use parlour_units::{Instant, Slot};

    use crate::array::Array;
    use crate::commands::tests::{LENGTH, identity, opened, run};
    use crate::effect::{Action, EffectId, Outcome};
    use crate::roster::{MemberInfo, SlotState};

    /// Carries out all effects but writes of the bitmap, and returns those.
    fn run_without_bitmap(array: &mut Array) -> Vec<EffectId> {
        let banks = [0, 1].map(|bank| array.geometry().bitmap_at(bank));
        let mut held = Vec::new();
        while let Some(effect) = array.poll_effect() {
            match effect.action {
                Action::Write { at, .. } if banks.contains(&at) => held.push(effect.id),
                _ => array.complete(Instant::ZERO, effect.id, Outcome::Done),
            }
        }
        held
    }

    #[test]
    fn a_member_is_not_active_before_both_banks_of_its_bitmap_are_written() {
        let (mut array, slot) = (opened(), Slot::new(1));
        array.fail(Instant::ZERO, slot).expect("one member may be lost");
        run(&mut array);
        let info = MemberInfo { identity: identity(20), length: LENGTH, unmaps: true };
        array.replace(Instant::ZERO, slot, info).expect("it fits");
        for bank in 0..2 {
            let held = run_without_bitmap(&mut array);
            assert!(!held.is_empty(), "bank {bank} is written");
            let roster = &array.rooms.core.cx.roster;
            assert_eq!(roster.rebuilt(slot).next(), array.geometry().layout().stripes());
            assert_eq!(roster.state(slot), SlotState::Rebuilding);
            held.into_iter().for_each(|id| array.complete(Instant::ZERO, id, Outcome::Done));
        }
        run(&mut array);
        assert_eq!(array.rooms.core.cx.roster.state(slot), SlotState::Active);
    }
}
