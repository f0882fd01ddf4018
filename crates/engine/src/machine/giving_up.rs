//! Members that do not answer: when their accesses are given up, and what happens to these
//! accesses.

use parlour_array::{Fault, Outcome};
use parlour_units::Instant;

use super::Machine;
use crate::backend::IoBackend;
use crate::fault::Failure;

impl Machine {
    /// When to look for members that do not answer.
    pub(crate) fn hang_deadline(&self) -> Option<Instant> {
        self.flights.deadline()
    }

    /// Gives up members with an access that has been under way for too long.
    pub(crate) fn give_up_hung(&mut self) {
        for member in self.flights.hung(self.now) {
            self.roster.note_failure(member, Failure::Unanswered);
            self.give_up(member);
        }
    }

    /// Reports all accesses of `member` as failed (gone). The member gets no new accesses until the
    /// kernel has answered the old ones.
    pub(crate) fn give_up(&mut self, member: u16) {
        let Some(open) = self.roster.get(member).cloned() else { return };
        open.give_up();
        // Accesses that were not submitted to the kernel are withdrawn.
        let mut withdrawn = Vec::new();
        self.io.give_up(&open, &mut withdrawn);
        withdrawn.into_iter().for_each(|done| self.land(done));
        let given_up = self.flights.give_up(member);
        for (effect, room) in &given_up {
            self.payload.quarantine(&self.array, *effect, *room);
        }
        for (effect, _) in given_up {
            self.array.complete(self.now, effect, Outcome::Failed(Fault::Gone));
        }
        self.collect_released();
        self.ask_again(member);
    }
}
