//! The fault tester's driver: carries out the array's effects on members in memory, each with a
//! random latency, and checks the contract between array and driver.
//!
//! If the driver gives members up, as the engine does, all accesses of a member that does not
//! answer or is excluded are reported as failed (gone) at once. Their writes may still be carried
//! out later, in part or completely.

mod arithmetic;
mod buffers;
mod flights;
mod members;
mod seam;

use std::hash::Hash;

use parlour_array::{
    Action, AdminError, Array, Assembly, AssemblyError, Completion, Effect, Event, Fault, Mode, Operation,
    Outcome, Part, Repair, Request, RequestError, Tag, Tuning,
};
use parlour_units::{Duration, Instant, Member, Sector, Sectors, Slot};

use crate::content::{SectorBytes, Value};
use crate::disk::{Content, Disk};
use crate::found;
use crate::payload::Payload;
use crate::request::{LONGEST_REQUEST, Range};
use crate::shelf::Shelf;
use crate::silent::Silenced;
use crate::violation::Violation;
use arithmetic::Arithmetic;
use buffers::Buffers;
use flights::{Flight, Flights};
use members::{Means, Members};

/// The longest time after which a member that does not answer is given up, or carries out a write.
const LONGEST_DELAY_US: u64 = 30_000_000;

/// A write that a power cut may keep, lose or tear.
#[derive(Clone, Debug)]
pub(crate) struct Loose {
    pub(crate) disk: usize,
    pub(crate) content: Content,
    /// It was carried out, and is in the member's cache; otherwise it is under way.
    pub(crate) cached: bool,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) tag: u64,
    pub(crate) result: Result<(), RequestError>,
    /// The sectors that a read returned.
    pub(crate) sectors: Vec<SectorBytes>,
}

/// An array that refused to open.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) shelf: Shelf,
    pub(crate) error: AssemblyError,
}

/// The array and its members.
#[derive(Debug)]
pub(crate) struct World {
    array: Array,
    shelf: Shelf,
    members: Members,
    flights: Flights,
    payload: Payload,
    arithmetic: Arithmetic,
    buffers: Buffers,
    /// The number of accesses so far.
    accesses: u64,
    answers: Vec<Answer>,
    events: Vec<Event>,
}

/// Opening and closing.
impl World {
    /// Opens the array that `assembly` has made of the members in this order.
    pub(crate) fn open(
        mut shelf: Shelf,
        assembly: &Assembly,
        order: &[usize],
        tuning: Tuning,
        force: bool,
    ) -> Result<World, Box<Refused>> {
        let spares = assembly.spares.iter().map(|spare| Some(order[*spare]));
        let numbers = found::members(assembly, order).into_iter().chain(spares).collect();
        match Array::open(shelf.now(), shelf.opening(assembly, order, tuning, force)) {
            Ok(array) => {
                shelf.begin_session();
                Ok(World::around(array, shelf, numbers))
            }
            Err(error) => Err(Box::new(Refused { shelf, error })),
        }
    }

    fn around(array: Array, shelf: Shelf, numbers: Vec<Option<usize>>) -> World {
        World {
            arithmetic: Arithmetic::of(&array),
            members: Members::new(numbers, array.geometry().slots().count() as u16),
            array,
            shelf,
            flights: Flights::default(),
            payload: Payload::new(),
            buffers: Buffers::default(),
            accesses: 0,
            answers: Vec::new(),
            events: Vec::new(),
        }
    }

    /// The array crashes: accesses under way are carried out in part, and at a power cut writes
    /// that were not flushed are kept in part.
    pub(crate) fn crash(&mut self, power: bool) -> Shelf {
        let salt = self.shelf.begin_crash();
        let mut flights: Vec<(u32, Flight)> = self.flights.leave_all().collect();
        for (number, flight) in &mut flights {
            self.members.land_late(&mut self.shelf, *number, flight, salt);
        }
        for (_, flight) in flights.iter().filter(|(_, flight)| flight.given_up().is_none()) {
            let (payload, shelf) = (&mut self.payload, &mut self.shelf);
            self.members.land_in_part(Means { array: &self.array, payload, shelf, salt }, flight);
        }
        self.shelf.end_session(power);
        self.take_shelf()
    }

    /// Takes the members from under the array.
    pub(crate) fn take_shelf(&mut self) -> Shelf {
        std::mem::replace(&mut self.shelf, Shelf::empty())
    }

    /// Puts members under the array.
    pub(crate) fn put_shelf(&mut self, shelf: Shelf) {
        self.shelf = shelf;
    }

    /// The writes that a power cut now may keep or lose, in the order in which they reach the
    /// members.
    pub(crate) fn loose(&mut self) -> Vec<Loose> {
        let mut loose = Vec::new();
        for (disk, member) in self.shelf.disks().iter().enumerate().filter(|(_, disk)| !disk.is_dead()) {
            let cached = member.unflushed().into_iter();
            loose.extend(cached.map(|content| Loose { disk, content, cached: true }));
        }
        for flight in self.flights.iter().filter(|flight| !flight.has_landed()) {
            let member = &self.shelf.disks()[flight.disk()];
            if member.is_dead() || member.is_full() {
                continue;
            }
            let content = match flight.given_up() {
                Some(content) => content.clone(),
                None => self.members.content(&self.array, &mut self.payload, flight.effect()),
            };
            if !content.is_empty() {
                loose.push(Loose { disk: flight.disk(), content, cached: false });
            }
        }
        loose
    }
}

/// What can be seen.
impl World {
    /// The array, for questions only: requests and outcomes go through the world.
    pub(crate) fn array(&self) -> &Array {
        &self.array
    }

    pub(crate) fn mode(&self) -> Mode {
        self.array.mode()
    }

    pub(crate) fn disk(&self, disk: usize) -> &Disk {
        &self.shelf.disks()[disk]
    }

    pub(crate) fn disk_mut(&mut self, disk: usize) -> &mut Disk {
        &mut self.shelf.disks_mut()[disk]
    }

    pub(crate) fn disks(&self) -> &[Disk] {
        self.shelf.disks()
    }

    pub(crate) fn disks_mut(&mut self) -> &mut [Disk] {
        self.shelf.disks_mut()
    }

    /// Adds a disk that is no member yet. Returns its number.
    pub(crate) fn add_disk(&mut self, disk: Disk) -> usize {
        self.shelf.add(disk)
    }

    pub(crate) fn disk_of(&self, member: u16) -> Option<usize> {
        self.members.disk_of(member)
    }

    pub(crate) fn now(&self) -> Instant {
        self.shelf.now()
    }

    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        self.shelf.note(line);
    }

    /// The number of sessions so far.
    pub(crate) fn sessions(&self) -> u64 {
        self.shelf.sessions()
    }

    /// The number of accesses so far.
    pub(crate) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// A digest of all effects and events so far, of this session and those before.
    pub(crate) fn digest(&self) -> u64 {
        self.shelf.digest()
    }

    /// Whether accesses are under way that were not given up.
    pub(crate) fn is_busy(&self) -> bool {
        self.flights.is_busy()
    }

    /// Whether accesses to superblocks or bitmaps are under way.
    pub(crate) fn records(&self) -> bool {
        self.flights.records()
    }

    /// Whether an access to a disk is not reported yet.
    pub(crate) fn is_in_use(&self, disk: usize) -> bool {
        self.flights.iter().any(|flight| flight.disk() == disk)
    }

    /// The answers to hosts since the last query.
    pub(crate) fn take_answers(&mut self) -> Vec<Answer> {
        std::mem::take(&mut self.answers)
    }

    /// The array's events since the last query.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The sectors that have had a transient error since the last query, and their disks.
    pub(crate) fn take_transient_errors(&mut self) -> Vec<(usize, u64)> {
        self.members.take_transient_errors()
    }

    /// The silent faults that have happened since the last query.
    pub(crate) fn take_silenced(&mut self) -> Vec<Silenced> {
        self.members.take_silenced()
    }

    /// The number of writes that were carried out after they were reported as failed, since the
    /// last query.
    pub(crate) fn take_landed_late(&mut self) -> u32 {
        self.members.take_landed_late()
    }
}

/// Commands to the array. Their effects begin when it is drained.
impl World {
    pub(crate) fn stop(&mut self) {
        self.array.stop(self.shelf.now());
    }

    pub(crate) fn fail(&mut self, slot: u16) -> Result<(), AdminError> {
        self.array.fail(self.shelf.now(), Slot::new(slot))
    }

    pub(crate) fn scrub(&mut self, repair: Repair) -> Result<(), AdminError> {
        self.array.scrub(self.shelf.now(), repair)
    }

    pub(crate) fn remove(&mut self, slot: u16) -> Result<(), AdminError> {
        self.array.remove(self.shelf.now(), Slot::new(slot)).map(drop)
    }

    /// A disk is to take `slot`. Returns whether the array takes it.
    pub(crate) fn replace(&mut self, slot: u16, disk: usize) -> Result<bool, Violation> {
        let info = self.shelf.info(disk);
        let taken = self.array.replace(self.shelf.now(), Slot::new(slot), info);
        self.introduce(taken, disk)
    }

    /// A disk is to become a spare. Returns whether the array takes it.
    pub(crate) fn add_spare(&mut self, disk: usize) -> Result<bool, Violation> {
        let info = self.shelf.info(disk);
        let taken = self.array.add_spare(self.shelf.now(), info);
        self.introduce(taken, disk)
    }

    fn introduce(&mut self, taken: Result<Member, AdminError>, disk: usize) -> Result<bool, Violation> {
        let Ok(member) = taken else { return Ok(false) };
        self.members.introduce(member, disk)?;
        Ok(true)
    }

    /// Reserves a buffer for the payload of request `tag`. Returns false if there is no memory for
    /// it.
    pub(crate) fn reserve(&mut self, tag: u64, operation: Operation, length: u64) -> bool {
        self.buffers.reserve(&mut self.array, tag, operation, length)
    }

    /// A host says that a write begins `at`, which may come or not.
    pub(crate) fn expect_write(&mut self, at: u64) {
        self.array.expect_write(self.shelf.now(), Sector::new(at), Sectors::new(LONGEST_REQUEST));
    }

    /// Submits a request that has its buffer. A write has the content of `value`.
    pub(crate) fn submit(
        &mut self,
        tag: u64,
        operation: Operation,
        Range { at, length }: Range,
        value: Value,
    ) -> Result<(), Violation> {
        let buffer = self.buffers.fill(&self.array, &mut self.payload, tag, at, value);
        let request =
            Request { tag: Tag(tag), operation, at: Sector::new(at), length: Sectors::new(length), buffer };
        self.array.submit(self.shelf.now(), request);
        self.drain()
    }

    /// Keeps the memory of an answer's sectors.
    pub(crate) fn reuse(&mut self, sectors: Vec<SectorBytes>) {
        self.payload.reuse(sectors);
    }
}

/// What the array answers.
impl World {
    /// Polls the array until it has nothing more.
    pub(crate) fn drain(&mut self) -> Result<(), Violation> {
        loop {
            let mut any = false;
            while let Some(effect) = self.array.poll_effect() {
                any = true;
                self.digest_effect(effect);
                self.begin(effect)?;
            }
            while let Some(completion) = self.array.poll_completion() {
                any = true;
                self.answer_host(completion)?;
            }
            while let Some(event) = self.array.poll_event() {
                // Giving up accesses may give the array more work.
                any = true;
                self.shelf.note(|| format!("array: {event:?}"));
                if let Some(hash) = self.shelf.asked() {
                    event.hash(hash);
                }
                self.follow(&event);
                self.events.push(event);
            }
            while let Some(buffer) = self.array.poll_release() {
                self.payload.release(buffer)?;
            }
            if !any {
                return Ok(());
            }
        }
    }

    /// Names of jobs and buffers are left out: they depend on what else was named, not on what
    /// is done.
    fn digest_effect(&mut self, effect: Effect) {
        let Some(hash) = self.shelf.asked() else { return };
        (effect.class, effect.action).hash(hash);
        let parts = self.array.parts(effect.id);
        parts.clone().for_each(|part| part.length().hash(hash));
        parts.filter_map(Part::metadata).for_each(|bytes| bytes.hash(hash));
    }

    /// Gives up the accesses of an excluded member.
    fn follow(&mut self, event: &Event) {
        let disk = match event {
            Event::MemberFailed { slot, .. } => self.members.disk_in(*slot),
            Event::SpareDropped { member } => self.members.disk_of(member.get()),
            Event::SlotTaken { slot, member, .. } => {
                self.members.take_slot(*slot, *member);
                None
            }
            _ => None,
        };
        if let Some(disk) = disk.filter(|_| self.shelf.gives_up()) {
            self.give_up(disk);
        }
    }

    /// Reports all accesses of `disk` as failed (gone). Their writes may be carried out later.
    fn give_up(&mut self, disk: usize) {
        let mut effects = Vec::new();
        for number in self.flights.awaited_of(disk) {
            let Some(flight) = self.flights.at(number) else { continue };
            let effect = flight.effect();
            let content = match flight.has_landed() {
                true => Content::new(),
                false => self.members.content(&self.array, &mut self.payload, effect),
            };
            self.flights.give_up(number, content);
            self.payload.unpin(&self.array, effect);
            effects.push(effect);
        }
        for effect in effects {
            self.shelf.note(|| format!("  disk {disk}: {:?} is given up", effect.action));
            self.array.complete(self.shelf.now(), effect.id, Outcome::Failed(Fault::Gone));
        }
    }

    fn answer_host(&mut self, Completion { tag: Tag(tag), result }: Completion) -> Result<(), Violation> {
        let sectors = self.buffers.take(&mut self.array, &mut self.payload, tag, result.is_ok())?;
        self.answers.push(Answer { tag, result, sectors });
        Ok(())
    }

    /// Begins an effect.
    fn begin(&mut self, effect: Effect) -> Result<(), Violation> {
        let Some((member, at, length)) = seam::place(effect)? else {
            // Computations are carried out in the order in which they are issued.
            let (array, payload) = (&mut self.array, &mut self.payload);
            self.arithmetic.compute(array, payload, self.shelf.now(), effect);
            return Ok(());
        };
        self.accesses += 1;
        let disk = self
            .disk_of(member)
            .ok_or_else(|| Violation::seam(format!("an access to {member}, which is not there")))?;
        seam::check(&self.array, self.disk(disk).length(), effect, at, length)?;
        if self.members.has_abandoned(disk) {
            self.array.complete(self.shelf.now(), effect.id, Outcome::Failed(Fault::Gone));
            return Ok(());
        }
        self.payload.pin(&self.array, effect)?;
        let kind = kind(effect);
        let drawn = self.shelf.draw(&[kind, disk as u64, at.get(), length.get()]);
        let (slowness, covers) = (self.disk(disk).slowness(), self.disk(disk).written());
        let time = latency(drawn) * slowness;
        let number = self.flights.enter(Flight::new(effect, disk, covers));
        // A completed access is not always reported at once.
        if kind != FLUSH && drawn.is_multiple_of(4) {
            let landing = Duration::from_nanoseconds(time.nanoseconds() / 2);
            self.flights.expect(self.now() + landing, number, false);
        }
        self.flights.expect(self.now() + time, number, true);
        Ok(())
    }
}

/// Time.
impl World {
    /// The time of the next event, if there is no new request.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        let timeout = self.array.poll_timeout().map(|due| due.max(self.shelf.now()));
        [self.flights.next_time(), timeout].into_iter().flatten().min()
    }

    /// Nothing happens until `time`, unless that has passed.
    pub(crate) fn wait_until(&mut self, time: Instant) {
        self.shelf.wait_until(time);
    }

    /// Nothing happens for a while.
    pub(crate) fn wait(&mut self, time: Duration) {
        self.shelf.wait(time);
    }

    /// Processes the next event.
    pub(crate) fn step(&mut self) -> Result<(), Violation> {
        let Some(time) = self.next_time() else { return Ok(()) };
        self.shelf.wait_until(time);
        if self.flights.next_time().is_none_or(|due| due > time) {
            self.array.handle_timeout(self.shelf.now());
            return self.drain();
        }
        let Some((number, reported)) = self.flights.pop_next() else { return Ok(()) };
        self.land(number);
        if reported { self.answer(number) } else { Ok(()) }
    }

    /// Carries out an access on its member, unless it was carried out before.
    fn land(&mut self, number: u32) {
        let salt = self.flights.order();
        let Some(flight) = self.flights.at_mut(number) else { return };
        let (payload, shelf) = (&mut self.payload, &mut self.shelf);
        self.members.land(Means { array: &self.array, payload, shelf, salt }, number, flight);
    }

    /// Reports an access. If its member does not answer, the access fails late.
    fn answer(&mut self, number: u32) -> Result<(), Violation> {
        let order = self.flights.order();
        let flight = self.flights.at_mut(number).expect("an access is answered once");
        let disk = flight.disk();
        if self.shelf.disks()[disk].hangs() && !flight.delay() {
            let drawn = self.shelf.draw(&[5, disk as u64]);
            self.expect_late(number, drawn);
            return Ok(());
        }
        if flight.given_up().is_some() {
            self.members.land_late(&mut self.shelf, number, flight, order);
            self.flights.leave(number);
            return Ok(());
        }
        if flight.is_late() && self.shelf.gives_up() {
            // It has taken too long: all accesses of the member are given up.
            self.members.abandon(disk);
            self.give_up(disk);
            self.expect_late(number, self.shelf.keyed().of(&[10, order]));
            return self.drain();
        }
        let mut flight = self.flights.leave(number);
        if flight.is_late() {
            // The driver has given up; the member may still have carried out a part of the write.
            let (payload, shelf) = (&mut self.payload, &mut self.shelf);
            self.members.land_in_part(Means { array: &self.array, payload, shelf, salt: order }, &flight);
            flight.fail(Fault::Gone);
        }
        self.payload.unpin(&self.array, flight.effect());
        if let Some(covers) = flight.flushes() {
            self.disk_mut(disk).flush_answered(covers);
        }
        self.shelf.note(|| flight.to_string());
        let outcome = match (flight.fault(), flight.metadata()) {
            (Some(fault), _) => Outcome::Failed(fault),
            (None, Some(bytes)) => Outcome::Metadata(bytes),
            (None, None) => Outcome::Done,
        };
        self.array.complete(self.shelf.now(), flight.effect().id, outcome);
        self.drain()
    }

    fn expect_late(&mut self, number: u32, drawn: u64) {
        let delay = Duration::from_micros(drawn % LONGEST_DELAY_US);
        self.flights.expect(self.now() + delay, number, true);
    }
}

/// The kinds of accesses whose latencies are drawn apart.
fn kind(effect: Effect) -> u64 {
    match effect.action {
        Action::Read { .. } => 0,
        Action::Write { durable, .. } => 1 + u64::from(durable),
        Action::Zero { .. } => 3,
        _ => FLUSH,
    }
}

const FLUSH: u64 = 4;

/// Usually about a tenth of a millisecond, seldom much more.
fn latency(drawn: u64) -> Duration {
    let base = 20_000 + (drawn >> 8) % 180_000;
    Duration::from_nanoseconds(if (drawn >> 40).is_multiple_of(40) { base * 25 } else { base })
}
