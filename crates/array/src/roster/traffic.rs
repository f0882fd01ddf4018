//! Accesses to members: queues, flushes, errors; and the state of their superblocks.

use parlour_units::{Instant, Member, Sector, Slot};

use super::Roster;
use super::epoch::Epoch;
use super::member::{MemberInfo, Traffic};
use crate::effect::{Action, Class, Fault};

impl Roster {
    /// The driver's description of `member`.
    ///
    /// # Panics
    /// If no such member was added.
    pub(crate) fn info(&self, member: Member) -> &MemberInfo {
        &self.member(member).expect("it was added").info
    }

    /// Whether a member was added under this number.
    pub(crate) fn has_number(&self, member: Member) -> bool {
        self.member(member).is_some()
    }

    /// Whether all standing members unmap zeroed ranges. (Nothing is zeroed on journal devices.)
    pub(crate) fn all_unmap(&self) -> bool {
        let unmaps = |slot: Slot, member| self.entries_elsewhere(slot).is_some() || self.info(member).unmaps;
        self.standing().all(|(slot, member)| unmaps(slot, member))
    }

    /// An access to `member` is handed out.
    pub(crate) fn note_handed_out(&mut self, class: Class, action: Action, member: Member) {
        if let (Action::Read { at, length, .. }, Some(floats)) = (action, &mut self.floats) {
            floats.hold(member, at, length);
        }
        let record = self.record(member).expect("an effect goes to a member that is there");
        record.note_handed_out(class, action);
    }

    /// An access is answered, or has failed.
    pub(crate) fn note_answered(&mut self, action: Action, fault: Option<Fault>) {
        if let (Action::Read { member, at, length }, Some(floats)) = (action, &mut self.floats) {
            floats.let_go(member, at, length);
        }
        if let Some(record) = action.member().and_then(|member| self.record(member)) {
            record.note_answered(action, fault);
        }
    }

    /// The number of accesses that `member` has to answer, and the end of the last one that it was
    /// given.
    ///
    /// # Panics
    /// If no such member was added.
    pub(crate) fn queue(&self, member: Member) -> (u32, Sector) {
        let record = self.member(member).expect("it was added");
        (record.queue, record.head)
    }

    /// The slots whose members need a flush: those that were written since their last flush began.
    /// Their writes count as flushed from here on.
    pub(crate) fn take_unflushed(&mut self) -> Vec<Slot> {
        let mut slots = Vec::new();
        let standing: Vec<(Slot, Member)> = self.standing().collect();
        for (slot, member) in standing {
            let record = self.record(member).expect("a standing member is there");
            // A flush that is under way does not cover writes that were answered after it began.
            if std::mem::take(&mut record.unflushed) || record.flushing > 0 {
                slots.push(slot);
            }
        }
        slots
    }

    /// A flush of `member` failed, and the member was kept. Returns whether this is the first time.
    pub(crate) fn note_flush_failed(&mut self, member: Member) -> bool {
        self.record(member).is_some_and(|record| !std::mem::replace(&mut record.flush_failed, true))
    }

    /// A read of `member` failed. Returns the number of errors since it was added, and the numbers
    /// of recent errors before and after this one.
    pub(crate) fn count_error(&mut self, member: Member, now: Instant) -> Option<(u32, u32, u32)> {
        let record = self.record(member)?;
        record.errors += 1;
        let (before, recent) = record.recent_errors.add(now);
        Some((record.errors, before, recent))
    }

    /// The numbers of read errors of `member` since it was added, and of recent ones.
    pub(crate) fn errors(&self, member: Member, now: Instant) -> (u32, u32) {
        self.member(member).map_or((0, 0), |record| (record.errors, record.recent_errors.at(now)))
    }

    /// The accesses to `member`, by class.
    pub(crate) fn traffic_of(&self, member: Member) -> [Traffic; 5] {
        self.member(member).map_or_else(Default::default, |record| record.traffic)
    }

    /// The accesses of one class to all members.
    pub(crate) fn traffic(&self, class: Class) -> Traffic {
        let members = self.members.iter().flatten();
        members.map(|record| record.traffic[class as usize]).fold(Traffic::default(), |sum, one| sum + one)
    }

    /// The copy of the superblock of `member` that is written first: the one that is damaged or
    /// older, so that a sound copy is left at any time.
    pub(crate) fn worse_copy(&self, member: Member) -> usize {
        self.member(member).map_or(0, |record| record.worse_copy)
    }

    /// The first copies of all superblocks are written: the other copies are now the worse ones.
    pub(crate) fn swap_copies(&mut self) {
        for record in self.members.iter_mut().flatten() {
            record.worse_copy = 1 - record.worse_copy;
        }
    }

    /// What is known about the superblocks of `member`.
    pub(crate) fn epoch(&self, member: Member) -> Option<Epoch> {
        self.member(member).map(|record| record.epoch)
    }

    pub(crate) fn set_epoch(&mut self, member: Member, epoch: Epoch) {
        if let Some(record) = self.record(member) {
            record.epoch = epoch;
        }
    }
}
