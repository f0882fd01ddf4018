//! The accesses under way.

use parlour_array::EffectId;
use parlour_units::{Duration, Instant};

use crate::memory::Part;

/// The accesses under way, each with a number, and how long they may take.
#[derive(Debug)]
pub(super) struct Flights {
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    /// The number of flights that were given up.
    given_up: usize,
    /// How long an access may take.
    patience: Duration,
    /// No access can have taken too long before this time.
    look_at: Instant,
}

/// An access that is under way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) effect: EffectId,
    pub(super) member: u16,
    /// The memory for the effect's own bytes.
    pub(super) metadata: Option<Part>,
    pub(super) reads: bool,
    /// The access moves bytes: its time counts in the comparison of members' speed.
    pub(super) moves: bool,
    pub(super) began: Instant,
    /// The access was reported to the array as failed, but the kernel has not answered it.
    pub(super) given_up: bool,
}

impl Flights {
    pub(super) fn new(patience: Duration) -> Flights {
        Flights { flights: Vec::new(), free: Vec::new(), given_up: 0, patience, look_at: Instant::ZERO }
    }

    /// How long an access may take.
    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// The number of accesses under way, except those that were given up.
    pub(super) fn in_flight(&self) -> usize {
        self.flights.len() - self.free.len() - self.given_up
    }

    /// The number of accesses that were given up and that the kernel has not answered yet.
    pub(super) fn given_up(&self) -> usize {
        self.given_up
    }

    /// The accesses under way, except those that were given up.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.flights.iter().flatten().filter(|flight| !flight.given_up)
    }

    /// Begins an access. Returns its number.
    pub(super) fn take_off(&mut self, flight: Flight) -> u64 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.flights.push(None);
            (self.flights.len() - 1) as u32
        });
        self.flights[slot as usize] = Some(flight);
        u64::from(slot)
    }

    /// The access with this number, which has not landed.
    pub(super) fn get(&self, number: u64) -> &Flight {
        self.flights[number as usize].as_ref().expect("an access is done once")
    }

    /// Ends an access.
    pub(super) fn land(&mut self, number: u64) -> Flight {
        let flight = self.flights[number as usize].take().expect("an access is done once");
        // The number fits: there are fewer than 2^32 flights.
        self.free.push(number as u32);
        self.given_up -= usize::from(flight.given_up);
        flight
    }

    /// When to look for members that do not answer.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (self.in_flight() > 0).then_some(self.look_at)
    }

    /// The members with an access that has been under way for too long. Such members are rare, so
    /// the flights are checked rarely: the next check is when the oldest access now under way would
    /// take too long.
    pub(super) fn hung(&mut self, now: Instant) -> Vec<u16> {
        let mut hung: Vec<u16> = Vec::new();
        if self.deadline().is_none_or(|due| now < due) {
            return hung;
        }
        let mut oldest = now;
        for flight in self.iter() {
            if flight.began + self.patience > now {
                oldest = oldest.min(flight.began);
            } else if !hung.contains(&flight.member) {
                hung.push(flight.member);
            }
        }
        self.look_at = oldest + self.patience;
        hung
    }

    /// Gives up all accesses of a member. Returns their effects, each with the memory for its own
    /// bytes.
    pub(super) fn give_up(&mut self, member: u16) -> Vec<(EffectId, Option<Part>)> {
        let mut given_up = Vec::new();
        let of_it = |flight: &&mut Flight| flight.member == member && !flight.given_up;
        for flight in self.flights.iter_mut().flatten().filter(of_it) {
            flight.given_up = true;
            given_up.push((flight.effect, flight.metadata));
        }
        self.given_up += given_up.len();
        given_up
    }

    /// Whether the kernel has not answered all accesses of a member that were given up.
    pub(super) fn are_late(&self, member: u16) -> bool {
        self.flights.iter().flatten().any(|flight| flight.member == member && flight.given_up)
    }
}
