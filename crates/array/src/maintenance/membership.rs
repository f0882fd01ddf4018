//! Changes of the membership: members fail, are failed, removed, added, replaced. What follows from
//! a change for each component is written here, in order.

use parlour_units::{Member, Slot};

use super::state::Maintenance;
use crate::admin_error::AdminError;
use crate::core::Core;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::format::superblock::MEMBER_ENTRIES;
use crate::mode::Mode;
use crate::roster::{MemberInfo, SlotState};
use crate::signal::Signal;
use crate::status::{Event, FailureCause};

impl Maintenance {
    /// The array was opened: rebuilds that were under way go on at their recorded frontiers, what
    /// was lost with missing members is settled, and spares take the slots of these.
    pub(crate) fn take_up(&mut self, core: &mut Core) {
        for slot in core.cx.roster.slots() {
            if core.cx.roster.state(slot) == SlotState::Rebuilding || core.cx.roster.is_moving(slot) {
                let done = rebuild_start(core, slot, core.durable.frontier(&core.cx, slot));
                core.cx.roster.rebuild_from(slot, done);
                self.begin_rebuild(&mut core.cx, &mut core.durable, slot, done);
            }
        }
        if core.cx.mode != Mode::Serving {
            return;
        }
        // Logs on missing members are lost; records of the other logs are folded into the parity.
        let Core { cx, durable, logs, .. } = core;
        let failed = |slot: &Slot| cx.roster.state(*slot) == SlotState::Failed;
        let failed: Vec<Slot> = cx.roster.slots().filter(failed).collect();
        for slot in failed {
            logs.logs_after_failure(cx, durable, slot);
        }
        self.take_spares(core);
    }

    /// Excludes the member in `slot` on an administrator's request.
    pub(crate) fn fail_on_request(&mut self, core: &mut Core, slot: Slot) -> Result<(), AdminError> {
        serves(core)?;
        let slot = core.check_slot(slot)?;
        if core.cx.roster.state(slot) == SlotState::Failed {
            return Err(AdminError::AlreadyFailed(slot));
        }
        if self.fail_slot(core, slot, FailureCause::Asked) { Ok(()) } else { Err(AdminError::Needed(slot)) }
    }

    /// Removes the failed member from `slot`, and returns it.
    pub(crate) fn remove(&mut self, core: &mut Core, slot: Slot) -> Result<Option<Member>, AdminError> {
        serves(core)?;
        let slot = core.check_slot(slot)?;
        if core.cx.roster.state(slot) != SlotState::Failed {
            return Err(AdminError::StillActive(slot));
        }
        let member = core.cx.roster.vacate(slot);
        core.durable.record_change(&core.cx);
        Ok(member)
    }

    /// Adds a spare, which takes the slot of a failed member.
    pub(crate) fn add_spare(&mut self, core: &mut Core, info: MemberInfo) -> Result<Member, AdminError> {
        serves(core)?;
        fits(core, Slot::new(0), &info)?;
        let entries = core.cx.geometry.slots().count() + core.cx.roster.spares().len();
        if entries >= MEMBER_ENTRIES {
            return Err(AdminError::TooManySpares);
        }
        let member = core.cx.roster.add(info);
        core.cx.roster.add_spare(member);
        core.durable.record_change(&core.cx);
        self.take_spares(core);
        Ok(member)
    }

    /// Puts a new member into `slot`, whose member is failed first, and rebuilds it.
    pub(crate) fn replace(
        &mut self,
        core: &mut Core,
        slot: Slot,
        info: MemberInfo,
    ) -> Result<Member, AdminError> {
        serves(core)?;
        let slot = core.check_slot(slot)?;
        fits(core, slot, &info)?;
        // (`fail_slot` is not used here: it would let a spare take the slot.)
        let stands = core.cx.roster.state(slot) != SlotState::Failed;
        if stands && !self.exclude(core, slot, FailureCause::Asked) {
            return Err(AdminError::Needed(slot));
        }
        let member = core.cx.roster.add(info);
        self.occupy(core, slot, member);
        Ok(member)
    }

    /// Goes on with rebuilds that have stopped, or starts some onto spares. Returns the slots that
    /// are being rebuilt.
    pub(crate) fn rebuild_on_request(&mut self, core: &mut Core) -> Result<Vec<Slot>, AdminError> {
        serves(core)?;
        if !core.cx.roster.is_degraded() {
            return Err(AdminError::NothingToRebuild);
        }
        self.go_on_rebuilding();
        self.take_spares(core);
        let slots: Vec<Slot> = self.rebuilds.keys().copied().collect();
        if slots.is_empty() { Err(AdminError::NoSpare) } else { Ok(slots) }
    }

    /// Treats a failed access of any job as a failure of its member.
    pub(crate) fn note_failure(&mut self, core: &mut Core, failure: &FailedAccess) {
        match failure.fault {
            Fault::Gone => self.fail_member(core, failure.member, FailureCause::Gone),
            Fault::Truncated => self.fail_member(core, failure.member, FailureCause::Truncated),
            Fault::NoSpace | Fault::Undurable => core.out_of_space(failure.member),
            // A block on the bad-block log is no new error of the member.
            Fault::Unreadable if is_listed(core, failure) => {}
            Fault::Unreadable => self.count_error(core, failure.member),
        }
    }

    /// A flush or a durable write of a member failed. This is acted on at once: if another flush of
    /// the member is under way and succeeds, that success means nothing. If the member has to be
    /// kept, its unflushed writes may be lost.
    pub(crate) fn note_undurable(&mut self, core: &mut Core, failure: &FailedAccess) {
        let mut failure = *failure;
        if failure.fault.is_of_space() && core.does_without(failure.member, &mut Vec::new()) {
            failure.fault = Fault::Gone;
        }
        let failure = &failure;
        self.note_failure(core, failure);
        let roster = &mut core.cx.roster;
        if roster.slot_of(failure.member).is_some() && roster.note_flush_failed(failure.member) {
            core.durable.bitmap_mut().note_unflushed();
            core.take_back_that_all_is_well();
        }
    }

    /// A superblock could not be read. A member that does not answer is excluded, if the array
    /// survives that. An unreadable copy has no other consequence, because the two copies are read
    /// in turn.
    pub(crate) fn note_looked(&mut self, core: &mut Core, failure: &FailedAccess) {
        let cause = match failure.fault {
            Fault::Gone => FailureCause::Gone,
            Fault::Truncated => FailureCause::Truncated,
            _ => return,
        };
        self.fail_member_if_possible(core, failure.member, cause);
    }

    /// Excludes a member, if the array survives that; otherwise reports that it is kept.
    pub(crate) fn fail_member(&mut self, core: &mut Core, member: Member, cause: FailureCause) {
        if let Some(slot) = core.cx.roster.slot_of(member) {
            if !self.fail_slot(core, slot, cause) {
                core.cx.events.push_back(Event::MemberKept { slot });
            }
        } else if core.cx.roster.drop_spare(member) {
            core.cx.events.push_back(Event::SpareDropped { member });
            core.durable.record_change(&core.cx);
        }
    }

    /// The same for a member that no access needs now: if it has to be kept, no event is reported.
    fn fail_member_if_possible(&mut self, core: &mut Core, member: Member, cause: FailureCause) {
        match core.cx.roster.slot_of(member) {
            Some(slot) => _ = self.fail_slot(core, slot, cause),
            None => self.fail_member(core, member, cause),
        }
    }

    /// Counts a read error of a member. A member is kept however many there are: its readable data
    /// may be needed if another member fails, and its unreadable data is computed and written
    /// again. If that write fails, the member is excluded.
    fn count_error(&mut self, core: &mut Core, member: Member) {
        let (now, threshold) = (core.cx.now, core.cx.tuning.error_threshold);
        let Some((errors, before, recent)) = core.cx.roster.count_error(member, now) else { return };
        if before <= threshold
            && recent > threshold
            && let Some(slot) = core.cx.roster.slot_of(member)
        {
            core.cx.events.push_back(Event::MemberFailing { slot, errors });
        }
    }

    /// A member that is being rebuilt cannot read data that was written to it. It is excluded: all
    /// its data can still be had from the other members, while the job that failed may have no
    /// other source.
    pub(crate) fn exclude_unreadable_joining_members(&mut self, core: &mut Core, failures: &[FailedAccess]) {
        for failure in failures.iter().filter(|failure| failure.fault == Fault::Unreadable) {
            let slot = core.cx.roster.slot_of(failure.member);
            if slot.is_some_and(|slot| core.cx.roster.state(slot) == SlotState::Rebuilding) {
                self.fail_member(core, failure.member, FailureCause::Errors);
            }
        }
    }

    /// Excludes the member in `slot`, and lets a spare take the slot. Returns `false` if the array
    /// would lose data.
    fn fail_slot(&mut self, core: &mut Core, slot: Slot, cause: FailureCause) -> bool {
        let excluded = self.exclude(core, slot, cause);
        if excluded {
            self.take_spares(core);
        }
        excluded
    }

    /// Excludes the member in `slot`: what is remembered of it and its state change at once; then
    /// each component learns of it, in this order. Returns `false` if the array would lose data.
    fn exclude(&mut self, core: &mut Core, slot: Slot, cause: FailureCause) -> bool {
        // (What is in spare room needs no member, until superblocks record that it is home.)
        let roster = &core.cx.roster;
        let joins = roster.state(slot) == SlotState::Rebuilding || roster.is_moved(slot);
        let lose = match core.cx.geometry.is_for_journal(slot) {
            true => {
                joins || !core.logs.reads_alone_from(&core.cx, &core.durable, slot) || may_lack_entries(core)
            }
            false => joins || core.cx.roster.can_lose(&core.cx.geometry, slot),
        };
        if !lose {
            return false;
        }
        if core.cx.geometry.is_for_journal(slot) && !joins {
            let left = core.logs.leave_journal();
            core.cx.roster.leave_entries(slot, left);
        }
        core.durable.note_may_return(&mut core.cx, slot, cause);
        core.cx.roster.fail(slot);
        core.stripes.forget_cached(&mut core.cx);
        self.forget_rebuild(slot);
        core.cx.events.push_back(Event::MemberFailed { slot, cause });
        core.stop_again();
        core.durable.record_exclusion(&core.cx);
        core.logs.lose_copies(slot);
        core.logs.logs_after_failure(&mut core.cx, &mut core.durable, slot);
        core.cx.signal(Signal::FlushesMayStart);
        self.go_on_moving(core, slot);
        true
    }

    /// The member in `slot` has failed on its way home: a move that it interrupted goes on.
    fn go_on_moving(&mut self, core: &mut Core, slot: Slot) {
        if core.cx.roster.is_moving(slot) {
            let done = core.cx.roster.rebuilt(slot).done();
            core.cx.roster.begin_move(slot, done);
            self.begin_rebuild(&mut core.cx, &mut core.durable, slot, done);
        }
    }

    /// Spares take the slots of failed members: first those whose units are nowhere. One that is
    /// being moved is left until its move has ended, which is sooner. (They are made to hold data,
    /// and do not take those of journal devices.)
    pub(crate) fn take_spares(&mut self, core: &mut Core) {
        if core.cx.mode != Mode::Serving || !core.cx.geometry.code().has_checks() {
            return;
        }
        while let Some(slot) = core.cx.roster.slot_for_spare(&core.cx.geometry) {
            let member = core.cx.roster.take_spare();
            self.occupy(core, slot, member);
        }
    }

    /// Puts `member` into `slot`, to be rebuilt.
    fn occupy(&mut self, core: &mut Core, slot: Slot, member: Member) {
        core.cx.roster.occupy(slot, member);
        core.stripes.forget_cached(&mut core.cx);
        let start = rebuild_start(core, slot, 0);
        core.cx.roster.rebuild_from(slot, start);
        self.begin_rebuild(&mut core.cx, &mut core.durable, slot, start);
        let out_of_sync =
            core.cx.roster.is_returning(slot).then(|| core.durable.bitmap().out_of_sync_count());
        core.cx.events.push_back(Event::SlotTaken { slot, member, out_of_sync });
        core.durable.record_frontier(&core.cx, slot, 0);
    }
}

fn serves(core: &Core) -> Result<(), AdminError> {
    if core.cx.mode == Mode::Serving { Ok(()) } else { Err(AdminError::ReadOnly) }
}

/// The first stripe that is to be rebuilt in `slot`, if what is before `recorded` is rebuilt. A
/// journal device holds no units.
fn rebuild_start(core: &Core, slot: Slot, recorded: u64) -> u64 {
    if core.cx.geometry.is_for_journal(slot) { core.cx.geometry.layout().stripes() } else { recorded }
}

/// Checks that a new member can be numbered and is long enough for `slot`.
fn fits(core: &Core, slot: Slot, info: &MemberInfo) -> Result<(), AdminError> {
    if !core.cx.roster.can_number() {
        return Err(AdminError::NumbersUsedUp);
    }
    let needs = core.cx.geometry.least_length(slot);
    if info.length < needs {
        return Err(AdminError::TooSmall { has: info.length.bytes(), needs: needs.bytes() });
    }
    Ok(())
}

/// Whether journal devices may be lost with entries that stand on them alone. With write-through,
/// and as many devices for an entry as may be lost, what the entries say is computed from the
/// members: if these are all there, and not otherwise.
fn may_lack_entries(core: &Core) -> bool {
    let geometry = &core.cx.geometry;
    let enough = geometry.journal_copies() <= geometry.fault_tolerance() && !geometry.writes_back();
    enough && !core.cx.roster.lacks_any()
}

fn is_listed(core: &Core, failure: &FailedAccess) -> bool {
    let roster = &core.cx.roster;
    let slot = roster.slot_of(failure.member);
    slot.is_some_and(|slot| roster.listed().has(slot, failure.at, failure.length))
}
