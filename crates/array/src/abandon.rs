//! Abandoning the array: no more effects are handed out, and all requests fail.
//!
//! The array is abandoned if another server has opened it, or if its metadata cannot be written
//! because a member has no space or the system no memory. In the second case the member is not at
//! fault, but it lacks metadata that the others hold, and the array must not go on as if the member
//! held it. The members are then in the state that a crash at that moment would have left, and the
//! next opening handles it as usual.

use parlour_units::{Member, Slot};

use crate::core::Core;
use crate::effect::{Action, Class, Fault};
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::mode::Mode;
use crate::status::Event;

impl Core {
    /// Abandons the array. Hosts are answered when no effect uses their payload any more.
    pub(crate) fn abandon(&mut self, mode: Mode, event: Event) {
        self.cx.mode = mode;
        self.cx.events.push_back(event);
        self.cx.effects.forget();
    }

    /// Members that have no space or memory for an access are not at fault. Two kinds count as gone
    /// all the same: those that stand no more, and journal devices that cannot write, which the
    /// array does without.
    pub(crate) fn blame_for_space(&self, id: JobId, failures: &mut [FailedAccess]) {
        let mut lost = Vec::new();
        for failure in failures.iter_mut().filter(|failure| failure.fault.is_of_space()) {
            let stands = self.cx.roster.stands(failure.member);
            if !stands || self.is_of_write(id, failure) && self.does_without(failure.member, &mut lost) {
                failure.fault = Fault::Gone;
            }
        }
    }

    /// Whether `member` is a journal device of which no entry needs the copy, if those in `lost`
    /// are lost as well. If so, it is added to these. (A lack of space or memory may hit all
    /// devices at once.)
    pub(crate) fn does_without(&self, member: Member, lost: &mut Vec<Slot>) -> bool {
        let slot = self.cx.roster.slot_of(member).filter(|slot| self.cx.geometry.is_for_journal(*slot));
        let Some(slot) = slot else { return false };
        lost.push(slot);
        let without = !self.logs.need_some_of(lost);
        if !without {
            lost.pop();
        }
        without
    }

    fn is_of_write(&self, id: JobId, failure: &FailedAccess) -> bool {
        self.cx.jobs.get(id).actions().any(|action| match action {
            Action::Write { member, at, .. } => (member, at) == (failure.member, failure.at),
            _ => false,
        })
    }

    /// Abandons the array if `failures` show that a member had no space or memory for metadata that
    /// the job was to write. Returns whether it did.
    pub(crate) fn halt_unrecorded(&mut self, id: JobId, failures: &[FailedAccess]) -> bool {
        let job = self.cx.jobs.get(id);
        if job.class != Class::Metadata {
            return false;
        }
        // (Flushes and reads that fail in this way leave nothing unwritten.)
        let unwritten = failures.iter();
        let unwritten =
            unwritten.filter(|failure| failure.fault.is_of_space() && self.is_of_write(id, failure));
        // (A spare without space is not needed.)
        let Some(slot) = { unwritten }.find_map(|failure| self.cx.roster.slot_of(failure.member)) else {
            return false;
        };
        self.cx.lacks_space = true;
        self.abandon(Mode::Halted, Event::Halted { slot });
        true
    }
}
