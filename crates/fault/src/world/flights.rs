//! Accesses under way: what each has come to, and when something happens to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parlour_array::{Action, Class, Effect, Fault};
use parlour_units::Instant;

use crate::disk::Content;

/// An access under way.
#[derive(Debug)]
pub(super) struct Flight {
    effect: Effect,
    disk: usize,
    /// The number of writes that a flush covers.
    covers: u64,
    /// It was carried out, and is not yet reported.
    landed: bool,
    /// It was due, but the member did not answer.
    late: bool,
    fault: Option<Fault>,
    metadata: Option<Vec<u8>>,
    /// It was reported as failed, and this content may still be written.
    given_up: Option<Content>,
}

impl Flight {
    /// An access to `disk`. A flush covers the first `covers` writes.
    pub(super) fn new(effect: Effect, disk: usize, covers: u64) -> Flight {
        Flight {
            effect,
            disk,
            covers,
            landed: false,
            late: false,
            fault: None,
            metadata: None,
            given_up: None,
        }
    }

    pub(super) fn effect(&self) -> Effect {
        self.effect
    }

    pub(super) fn disk(&self) -> usize {
        self.disk
    }

    /// The number of writes that it makes durable, if it is a flush that has not failed.
    pub(super) fn flushes(&self) -> Option<u64> {
        let flush = matches!(self.effect.action, Action::Flush { .. });
        (flush && self.fault.is_none()).then_some(self.covers)
    }

    pub(super) fn has_landed(&self) -> bool {
        self.landed
    }

    /// It is carried out now.
    pub(super) fn land(&mut self) {
        self.landed = true;
    }

    /// It is to be reported as failed.
    pub(super) fn fail(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// It has read these bytes of metadata, if any.
    pub(super) fn has_read(&mut self, metadata: Option<Vec<u8>>) {
        self.metadata = metadata;
    }

    pub(super) fn metadata(&self) -> Option<&[u8]> {
        self.metadata.as_deref()
    }

    pub(super) fn is_late(&self) -> bool {
        self.late
    }

    /// It is due, and the member does not answer. Returns whether it was late before.
    pub(super) fn delay(&mut self) -> bool {
        std::mem::replace(&mut self.late, true)
    }

    /// The content that may still be written, if it was reported as failed.
    pub(super) fn given_up(&self) -> Option<&Content> {
        self.given_up.as_ref()
    }

    /// The same, to be written now.
    pub(super) fn take_given_up(&mut self) -> Option<Content> {
        self.given_up.as_mut().map(std::mem::take)
    }

    fn is_of_metadata(&self) -> bool {
        self.effect.class == Class::Metadata
    }
}

/// For people.
impl std::fmt::Display for Flight {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (disk, class) = (self.disk, self.effect.class);
        match self.effect.action {
            Action::Read { at, length, .. } => {
                write!(f, "  disk {disk}: {class:?} read of {} at {}", length.get(), at.get())?;
            }
            Action::Write { at, length, durable, .. } => {
                let durably = if durable { " durable" } else { "" };
                write!(f, "  disk {disk}: {class:?}{durably} write of {} at {}", length.get(), at.get())?;
            }
            Action::Zero { at, length, .. } => {
                write!(f, "  disk {disk}: {class:?} zeroing of {} at {}", length.get(), at.get())?;
            }
            _ => write!(f, "  disk {disk}: {class:?} flush")?,
        }
        self.fault.map_or(Ok(()), |fault| write!(f, " fails: {fault:?}"))
    }
}

/// An entry of the queue: the time, the order, the access, and whether the access is reported then.
type Due = Reverse<(u64, u64, u32, bool)>;

/// All accesses under way.
#[derive(Debug, Default)]
pub(super) struct Flights {
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    queue: BinaryHeap<Due>,
    /// The number of entries that the queue has had.
    order: u64,
    /// The number of flights to superblocks or bitmaps that were not given up.
    metadata: u32,
    /// The number of flights that were not given up.
    awaited: usize,
}

impl Flights {
    /// An access begins. Returns its number.
    pub(super) fn enter(&mut self, flight: Flight) -> u32 {
        self.awaited += 1;
        self.metadata += u32::from(flight.is_of_metadata());
        match self.free.pop() {
            Some(index) => {
                self.flights[index as usize] = Some(flight);
                index
            }
            None => {
                self.flights.push(Some(flight));
                self.flights.len() as u32 - 1
            }
        }
    }

    /// At `time` something happens to an access: it is reported, or only carried out.
    pub(super) fn expect(&mut self, time: Instant, flight: u32, reported: bool) {
        self.order += 1;
        self.queue.push(Reverse((time.nanoseconds(), self.order, flight, reported)));
    }

    /// When something happens next.
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at))
    }

    /// The access to which something happens next, and whether it is reported then.
    pub(super) fn pop_next(&mut self) -> Option<(u32, bool)> {
        self.queue.pop().map(|Reverse((_, _, number, reported))| (number, reported))
    }

    /// A number that depends on how much has happened.
    pub(super) fn order(&self) -> u64 {
        self.order
    }

    pub(super) fn at(&self, number: u32) -> Option<&Flight> {
        self.flights[number as usize].as_ref()
    }

    pub(super) fn at_mut(&mut self, number: u32) -> Option<&mut Flight> {
        self.flights[number as usize].as_mut()
    }

    /// The accesses to `disk` that are to be answered.
    pub(super) fn awaited_of(&self, disk: usize) -> Vec<u32> {
        let waits = |flight: &Flight| flight.disk == disk && flight.given_up.is_none();
        let numbers = 0..self.flights.len() as u32;
        numbers.filter(|number| self.at(*number).is_some_and(waits)).collect()
    }

    /// An access is reported as failed, and `content` may still be written.
    pub(super) fn give_up(&mut self, number: u32, content: Content) {
        let Some(flight) = &mut self.flights[number as usize] else { return };
        flight.given_up = Some(content);
        self.awaited -= 1;
        self.metadata -= u32::from(flight.is_of_metadata());
    }

    /// An access ends.
    pub(super) fn leave(&mut self, number: u32) -> Flight {
        let flight = self.flights[number as usize].take().expect("an access ends once");
        self.free.push(number);
        if flight.given_up.is_none() {
            self.awaited -= 1;
            self.metadata -= u32::from(flight.is_of_metadata());
        }
        flight
    }

    /// All accesses end.
    pub(super) fn leave_all(&mut self) -> impl Iterator<Item = (u32, Flight)> + use<> {
        self.awaited = 0;
        let flights = std::mem::take(&mut self.flights).into_iter().enumerate();
        flights.filter_map(|(number, flight)| flight.map(|flight| (number as u32, flight)))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Flight> {
        self.flights.iter().flatten()
    }

    /// Whether accesses are under way that were not given up.
    pub(super) fn is_busy(&self) -> bool {
        self.awaited > 0
    }

    /// Whether some of these are to superblocks or bitmaps.
    pub(super) fn records(&self) -> bool {
        self.metadata > 0
    }
}
