//! Commands and faults that change the membership: members fail, are failed, removed, added,
//! replaced. What follows from a change for each component is written here, in order.

use parlour_units::{Instant, Member, Slot};

use crate::admin_error::AdminError;
use crate::array::Array;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::mode::Mode;
use crate::roster::{MemberInfo, SlotState};
use crate::status::{Event, FailureCause};

impl Array {
    pub(crate) fn check_slot(&self, slot: Slot) -> Result<Slot, AdminError> {
        let members = self.core.cx.geometry.members();
        if slot.get() < members { Ok(slot) } else { Err(AdminError::NoSuchMember(slot, members - 1)) }
    }

    fn writes(&self) -> Result<(), AdminError> {
        if self.core.cx.mode == Mode::Serving { Ok(()) } else { Err(AdminError::ReadOnly) }
    }

    /// Excludes the member in `slot` on an administrator's request. See [`Array::may_lose`].
    ///
    /// # Errors
    /// The array would lose data without it, or it is not there.
    pub fn fail(&mut self, now: Instant, slot: Slot) -> Result<(), AdminError> {
        self.advance_clock(now);
        self.writes()?;
        let slot = self.check_slot(slot)?;
        if self.core.cx.roster.state(slot) == SlotState::Failed {
            return Err(AdminError::AlreadyFailed(slot));
        }
        if !self.fail_slot(slot, FailureCause::Asked) {
            return Err(AdminError::Needed(slot));
        }
        self.work();
        Ok(())
    }

    /// Removes the failed member from `slot`; it may return later if it was whole. Returns the
    /// driver's number of the member, which is to be closed.
    ///
    /// # Errors
    /// It is active, or is not there.
    pub fn remove(&mut self, now: Instant, slot: Slot) -> Result<Option<Member>, AdminError> {
        self.advance_clock(now);
        self.writes()?;
        let slot = self.check_slot(slot)?;
        if self.core.cx.roster.state(slot) != SlotState::Failed {
            return Err(AdminError::StillActive(slot));
        }
        let member = self.core.cx.roster.vacate(slot);
        self.core.durable.record_change(&self.core.cx);
        self.work();
        Ok(member)
    }

    /// Adds a spare, which takes the slot of a failed member by itself. Returns the number by which
    /// effects name it.
    ///
    /// # Errors
    /// It is too small, or there are too many.
    pub fn add_spare(&mut self, now: Instant, info: MemberInfo) -> Result<Member, AdminError> {
        self.advance_clock(now);
        self.writes()?;
        self.fits(&info)?;
        let entries = usize::from(self.core.cx.geometry.members()) + self.core.cx.roster.spares().len();
        if entries >= crate::format::superblock::MEMBER_ENTRIES {
            return Err(AdminError::TooManySpares);
        }
        let member = self.core.cx.roster.add(info);
        self.core.cx.roster.add_spare(member);
        self.core.durable.record_change(&self.core.cx);
        self.take_spare();
        self.work();
        Ok(member)
    }

    /// Checks that a new member can be numbered and is long enough.
    fn fits(&self, info: &MemberInfo) -> Result<(), AdminError> {
        if !self.core.cx.roster.can_number() {
            return Err(AdminError::NumbersUsedUp);
        }
        let needs = self.core.cx.geometry.least_member_length();
        if info.length < needs {
            return Err(AdminError::TooSmall { has: info.length.bytes(), needs: needs.bytes() });
        }
        Ok(())
    }

    /// Puts a new member into `slot` and rebuilds it. A member that is still active there is failed
    /// first. If a returning member comes with its own identity (see [`Array::may_return`]), only
    /// regions that are out of sync are rebuilt. Returns the number by which effects name the new
    /// member.
    ///
    /// # Errors
    /// It is too small, or the array would lose data without the old one.
    pub fn replace(&mut self, now: Instant, slot: Slot, info: MemberInfo) -> Result<Member, AdminError> {
        self.advance_clock(now);
        self.writes()?;
        let slot = self.check_slot(slot)?;
        self.fits(&info)?;
        if let Some(other) = self.maintenance.rebuilding().filter(|other| *other != slot) {
            return Err(AdminError::RebuildUnderWay(other));
        }
        // (`fail_slot` is not used here: it would let a spare take the slot.)
        if self.core.cx.roster.state(slot) != SlotState::Failed && !self.exclude(slot, FailureCause::Asked) {
            return Err(AdminError::Needed(slot));
        }
        let member = self.core.cx.roster.add(info);
        self.occupy(slot, member);
        self.work();
        Ok(member)
    }

    /// Goes on with a rebuild that has stopped, or starts one onto a spare.
    ///
    /// # Errors
    /// There is nothing to rebuild, or nothing to rebuild onto.
    pub fn rebuild(&mut self, now: Instant) -> Result<Slot, AdminError> {
        self.advance_clock(now);
        self.writes()?;
        if let Some(slot) = self.maintenance.go_on_rebuilding() {
            self.work();
            return Ok(slot);
        }
        if !self.core.cx.roster.is_degraded() {
            return Err(AdminError::NothingToRebuild);
        }
        self.take_spare();
        self.work();
        self.maintenance.rebuilding().ok_or(AdminError::NoSpare)
    }

    /// Excludes a member, if the array survives that; otherwise reports that it is kept.
    pub(crate) fn fail_member(&mut self, member: Member, cause: FailureCause) {
        if let Some(slot) = self.core.cx.roster.slot_of(member) {
            if !self.fail_slot(slot, cause) {
                self.core.cx.events.push_back(Event::MemberKept { slot });
            }
        } else if self.core.cx.roster.drop_spare(member) {
            self.core.cx.events.push_back(Event::SpareDropped { member });
            self.core.durable.record_change(&self.core.cx);
        }
    }

    /// The same for a member that no access needs now: if it has to be kept, no event is reported.
    pub(crate) fn fail_member_if_possible(&mut self, member: Member, cause: FailureCause) {
        match self.core.cx.roster.slot_of(member) {
            Some(slot) => _ = self.fail_slot(slot, cause),
            None => self.fail_member(member, cause),
        }
    }

    /// Counts a read error of a member. A member is kept however many there are: its readable data
    /// may be needed if another member fails, and its unreadable data is computed and written
    /// again. If that write fails, the member is excluded.
    pub(crate) fn count_error(&mut self, member: Member) {
        let (now, threshold) = (self.core.cx.now, self.core.cx.tuning.error_threshold);
        let Some((errors, before, recent)) = self.core.cx.roster.count_error(member, now) else { return };
        if before <= threshold
            && recent > threshold
            && let Some(slot) = self.core.cx.roster.slot_of(member)
        {
            self.core.cx.events.push_back(Event::MemberFailing { slot, errors });
        }
    }

    /// A member that is being rebuilt cannot read data that was written to it. It is excluded: all
    /// its data can still be had from the other members, while the job that failed may have no
    /// other source.
    pub(crate) fn exclude_unreadable_joining_members(&mut self, failures: &[FailedAccess]) {
        for failure in failures.iter().filter(|failure| failure.fault == Fault::Unreadable) {
            let slot = self.core.cx.roster.slot_of(failure.member);
            if slot.is_some_and(|slot| self.core.cx.roster.state(slot) == SlotState::Rebuilding) {
                self.fail_member(failure.member, FailureCause::Errors);
            }
        }
    }

    /// A member has no space for a write. The member is not at fault and is not excluded, but the
    /// array can no longer write.
    pub(crate) fn out_of_space(&mut self, member: Member) {
        if self.core.cx.counters.out_of_space {
            return;
        }
        self.core.cx.counters.out_of_space = true;
        if self.core.cx.mode == Mode::Serving {
            self.core.cx.mode = Mode::ReadOnly;
        }
        self.core.cx.events.push_back(Event::OutOfSpace { member });
        self.wake_all();
    }

    /// Excludes the member in `slot`, and lets a spare take the slot. Returns `false` if the array
    /// would lose data.
    fn fail_slot(&mut self, slot: Slot, cause: FailureCause) -> bool {
        let excluded = self.exclude(slot, cause);
        if excluded {
            self.take_spare();
        }
        excluded
    }

    fn exclude(&mut self, slot: Slot, cause: FailureCause) -> bool {
        let lose = self.core.cx.roster.state(slot) == SlotState::Rebuilding
            || self.core.cx.roster.can_lose(&self.core.cx.geometry, slot);
        if !lose {
            return false;
        }
        self.core.durable.note_may_return(&mut self.core.cx, slot, cause);
        self.core.cx.roster.fail(slot);
        self.core.stripes.forget_cached(&mut self.core.cx);
        self.maintenance.forget_rebuild(slot);
        self.core.cx.events.push_back(Event::MemberFailed { slot, cause });
        self.stop_again();
        self.core.durable.record_exclusion(&self.core.cx);
        self.core.logs.forget_commit_log(&mut self.core.cx, slot);
        self.core.logs.logs_after_failure(&mut self.core.cx, &mut self.core.durable, slot);
        self.hosts.resume_hosts(&mut self.core);
        true
    }

    /// A spare takes a failed member's slot.
    pub(crate) fn take_spare(&mut self) {
        if self.maintenance.rebuilding().is_some() || self.core.cx.mode != Mode::Serving {
            return;
        }
        let slots = (0..self.core.cx.geometry.members()).map(Slot::new);
        let failed = slots.into_iter().find(|slot| self.core.cx.roster.state(*slot) == SlotState::Failed);
        let Some(slot) = failed.filter(|_| {
            !self.core.cx.roster.spares().is_empty() && self.core.cx.geometry.fault_tolerance() > 0
        }) else {
            return;
        };
        let member = self.core.cx.roster.take_spare();
        self.occupy(slot, member);
    }

    /// Puts `member` into `slot`, to be rebuilt.
    fn occupy(&mut self, slot: Slot, member: Member) {
        self.core.cx.roster.occupy(slot, member);
        self.core.stripes.forget_cached(&mut self.core.cx);
        self.maintenance.begin_rebuild(&mut self.core.cx, &mut self.core.durable, slot, 0);
        self.core.logs.renumber_commit_log(slot);
        let out_of_sync =
            self.core.cx.roster.is_returning(slot).then(|| self.core.durable.bitmap().out_of_sync_count());
        self.core.cx.events.push_back(Event::SlotTaken { slot, member, out_of_sync });
        self.core.durable.record_frontier(&self.core.cx, 0);
    }
}
