//! Members that do not answer: when their accesses are given up, and what happens to these
//! accesses.

use parlour_array::{EffectId, Fault, Outcome};
use parlour_units::Instant;

use super::Machine;
use crate::backend::IoBackend;
use crate::fault::Failure;
use crate::memory::Buffer;

impl Machine {
    /// When to look for members that do not answer.
    pub(crate) fn hang_deadline(&self) -> Option<Instant> {
        (self.in_flight() > 0).then_some(self.look_at)
    }

    /// Gives up members with an access that has been under way for too long. Such members are rare,
    /// so the flights are checked rarely: the next check is when the oldest access now under way
    /// would take too long.
    pub(crate) fn give_up_hung(&mut self) {
        if self.hang_deadline().is_none_or(|due| self.now < due) {
            return;
        }
        let mut oldest = self.now;
        let mut hung: Vec<u16> = Vec::new();
        for flight in self.flights.iter().flatten().filter(|flight| !flight.given_up) {
            if flight.began + self.patience > self.now {
                oldest = oldest.min(flight.began);
            } else if !hung.contains(&flight.member) {
                hung.push(flight.member);
            }
        }
        self.look_at = oldest + self.patience;
        for member in hung {
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
        let given_up: Vec<EffectId> = self.quarantine_flights(member);
        for effect in given_up {
            self.array.complete(self.now, effect, Outcome::Failed(Fault::Gone));
        }
        self.collect_released();
        self.ask_again(member);
    }

    /// Gives up all of `member`'s flights, and puts their memory in quarantine. Returns their
    /// effects.
    fn quarantine_flights(&mut self, member: u16) -> Vec<EffectId> {
        let mut effects = Vec::new();
        for slot in 0..self.flights.len() {
            let Some(flight) =
                self.flights[slot].as_mut().filter(|one| one.member == member && !one.given_up)
            else {
                continue;
            };
            flight.given_up = true;
            self.given_up += 1;
            let (effect, metadata) = (flight.effect, flight.metadata.map(|part| part.buffer));
            effects.push(effect);
            self.locate(effect, metadata);
            for part in &self.parts {
                // The effect's own bytes stay with the flight, so only payload needs quarantine.
                if let Buffer::Payload(number) = part.buffer {
                    self.memory.quarantine(number);
                }
            }
        }
        effects
    }
}
