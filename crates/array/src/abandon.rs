//! The array is left as it is: nothing more is handed out, and all requests fail.
//!
//! So it is where another server has opened it, and where a member has no space, or the system no
//! memory, for the array's own metadata. A member that lacks what the others hold must not be
//! written on as if it held it, and is not at fault. What is on the members is then what a crash at
//! that moment would have left, and the next opening deals with it as with any.

use crate::array::Array;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};
use crate::status::Event;

impl Array {
    /// Whether the array was left as it is: nothing is handed out any more.
    pub fn is_abandoned(&self) -> bool {
        self.cx.mode.is_abandoned()
    }

    pub(crate) fn abandon(&mut self, mode: Mode, event: Event) {
        self.cx.mode = mode;
        self.cx.events.push_back(event);
        self.cx.effects.forget();
        self.end_abandoned();
    }

    /// Hosts are answered as soon as nobody works with their payload.
    pub(crate) fn end_abandoned(&mut self) {
        if self.cx.effects.none_flies() {
            self.refuse_hosts();
        }
    }

    /// Abandons the array if `failures` say that a member had no space or memory for what the job
    /// was to write of metadata. Says whether.
    pub(crate) fn halt_unrecorded(&mut self, id: JobId, failures: &[FailedAccess]) -> bool {
        if is_planted(Bug::UnrecordedServedOn) {
            return false;
        }
        let job = self.cx.jobs.get(id);
        if job.class != Class::Metadata {
            return false;
        }
        // (Flushes and reads that fail so leave nothing unwritten.)
        let is_write = |failure: &FailedAccess| {
            job.actions().any(|action| match action {
                Action::Write { member, at, .. } => (member, at) == (failure.member, failure.at),
                _ => false,
            })
        };
        let unwritten = failures.iter().filter(|failure| failure.fault.is_of_space() && is_write(failure));
        // (A spare that has no room is not needed.)
        let Some(slot) = { unwritten }.find_map(|failure| self.cx.roster.slot_of(failure.member)) else {
            return false;
        };
        self.cx.counters.out_of_space = true;
        self.abandon(Mode::Halted, Event::Halted { slot });
        true
    }
}
