//! The fault tester's driver: carries out the array's effects on members in memory, each with a
//! random latency, and checks the contract between array and driver.
//!
//! If the driver gives members up, as the engine does, all accesses of a member that does not
//! answer or is excluded are reported as failed (gone) at once. Their writes may still be carried
//! out later, in part or completely.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::hash::{DefaultHasher, Hash, Hasher};

use parlour_array::{
    Action, Array, Assembly, AssemblyError, Banks, BufferId, Candidate, Class, CommitLogContent, Completion,
    Effect, Event, Fault, Geometry, MemberInfo, Opening, Operation, Outcome, Request, RequestError,
    SUPERBLOCK, Superblock, Tag, Tuning,
};
use parlour_codec::sector::SectorKey;
use parlour_codec::xor::is_zero;
use parlour_units::{Duration, Instant, Member, Sector, Sectors, Slot};

use crate::content::{SECTOR, SectorBytes, Value};
use crate::disk::{Content, Disk, Flushes, Kept};
use crate::identity::identity;
use crate::oracle::Range;
use crate::payload::{Payload, named_length};
use crate::random::Keyed;
use crate::silent::{self, Silenced};
use crate::trace::Trace;
use crate::violation::Violation;

/// What remains when the array is closed: members and time.
#[derive(Debug)]
pub(crate) struct Shelf {
    pub(crate) disks: Vec<Disk>,
    pub(crate) now: Instant,
    pub(crate) keyed: Keyed,
    pub(crate) sessions: u64,
    pub(crate) trace: Trace,
    /// How often the latency of an access of the same name was drawn. Other events do not change
    /// it.
    drawn: Vec<u32>,
    crashes: u64,
    /// Whether members that do not answer or are excluded are given up.
    pub(crate) gives_up: bool,
    /// A digest of all effects and events of the array, in their order.
    pub(crate) asked: Option<DefaultHasher>,
}

impl Shelf {
    pub(crate) fn new(disks: Vec<Disk>, seed: u64, trace: Trace) -> Shelf {
        Shelf {
            disks,
            now: Instant::ZERO,
            keyed: Keyed::new(seed),
            sessions: 0,
            trace,
            drawn: vec![0; 1 << 12],
            crashes: 0,
            asked: None,
            gives_up: false,
        }
    }

    /// A random number for the next access of this name.
    fn draw(&mut self, name: &[u64]) -> u64 {
        let hash = self.keyed.of(name);
        let slot = (hash % self.drawn.len() as u64) as usize;
        self.drawn[slot] += 1;
        self.keyed.of(&[hash, u64::from(self.drawn[slot])])
    }

    /// Assembles the array from the members in this order.
    pub(crate) fn assemble(&self, order: &[usize]) -> Result<Assembly, AssemblyError> {
        assemble(&self.disks, order)
    }
    fn info(&self, index: usize) -> MemberInfo {
        let disk = &self.disks[index];
        MemberInfo { identity: disk.identity, length: disk.length, unmaps: true }
    }
}

/// Both banks of a kind of metadata on each of `members`, as far as they are readable.
pub(crate) fn banks(
    disks: &[Disk],
    members: &[Option<usize>],
    at: impl Fn(usize) -> Sector,
    length: Sectors,
) -> Vec<Banks> {
    let read = |disk: &Option<usize>| [0, 1].map(|bank| disks[(*disk)?].try_read(at(bank), length));
    members.iter().map(read).collect()
}

/// Assembles the array from `disks` in this order.
pub(crate) fn assemble(disks: &[Disk], order: &[usize]) -> Result<Assembly, AssemblyError> {
    let candidate = |index: &usize| {
        let disk = &disks[*index];
        let block = |at: Sector| disk.try_read(at, SUPERBLOCK).unwrap_or_default();
        let [first, second] = Geometry::superblocks_at(disk.length).map(block);
        let superblock = Superblock::decode_copies(&first, &second);
        Candidate { name: format!("disk {index}"), length: disk.length, superblock }
    };
    let candidates: Vec<Candidate> = order.iter().map(candidate).collect();
    Assembly::new(&candidates)
}

/// An access under way.
#[derive(Debug)]
struct Flight {
    effect: Effect,
    disk: usize,
    /// It was carried out, and is not yet reported.
    landed: bool,
    /// It was due, but the member did not answer.
    late: bool,
    /// The number of writes that a flush covers.
    covers: u64,
    fault: Option<Fault>,
    metadata: Option<Vec<u8>>,
    /// It was reported as failed, and this content may still be written.
    given_up: Option<Content>,
}

/// A write that a power cut may keep, lose or tear.
#[derive(Clone, Debug)]
pub(crate) struct Loose {
    pub(crate) disk: usize,
    pub(crate) content: Content,
    /// It was carried out, and is in the member's cache; otherwise it is under way.
    pub(crate) cached: bool,
}

/// An entry of the queue: the time, the order, the access, and whether the access is reported then.
type Due = Reverse<(u64, u64, u32, bool)>;

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) tag: u64,
    pub(crate) result: Result<(), RequestError>,
    /// The sectors that a read returned.
    pub(crate) sectors: Vec<SectorBytes>,
}

/// The array and its members.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) array: Array,
    pub(crate) shelf: Shelf,
    /// The disk of each member number of the array.
    numbers: Vec<Option<usize>>,
    payload: Payload,
    flights: Vec<Option<Flight>>,
    free: Vec<u32>,
    queue: BinaryHeap<Due>,
    order: u64,
    metadata: u32,
    /// The number of flights that were not given up.
    awaited: usize,
    /// The number of writes that were carried out after they were reported as failed, since the
    /// last query.
    pub(crate) landed_late: u32,
    /// Members that did not answer and get no new accesses.
    silent: Vec<usize>,
    /// By slot: the number of the member that stands there, or of the last one that did.
    slots: Vec<u16>,
    /// The number of accesses so far.
    pub(crate) accesses: u64,
    buffers: BTreeMap<u64, (BufferId, bool)>,
    pub(crate) answers: Vec<Answer>,
    pub(crate) events: Vec<Event>,
    /// Sectors with a transient error.
    pub(crate) hiccups: Vec<(usize, u64)>,
    /// The silent faults that have happened.
    pub(crate) silenced: Vec<Silenced>,
    sectors: Vec<SectorBytes>,
    sums: Vec<u64>,
    /// The key of the array's checksums.
    key: SectorKey,
    /// The unique name of the key: the checksum of a sector that is not zero.
    key_name: u64,
}

/// An array that refused to open.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) shelf: Shelf,
    pub(crate) error: AssemblyError,
}

impl Shelf {
    /// The commit log of each slot; empty if there is no member or no commit log, or if it is
    /// unreadable.
    fn commit_logs(&self, members: &[Option<usize>], geometry: &Geometry) -> Vec<Vec<u8>> {
        let (at, length) = geometry.commit_log();
        let read = |disk: &Option<usize>| {
            let disk = disk.filter(|_| !length.is_zero())?;
            self.disks[disk].try_read(at, length)
        };
        members.iter().map(|disk| read(disk).unwrap_or_default()).collect()
    }
}

impl World {
    /// Opens the array that `assembly` has made of the members in this order.
    pub(crate) fn open(
        shelf: Shelf,
        assembly: &Assembly,
        order: &[usize],
        tuning: Tuning,
        force: bool,
    ) -> Result<World, Box<Refused>> {
        let assembly = assembly.clone();
        let geometry = assembly.geometry.clone();
        let members: Vec<Option<usize>> = assembly.slots.iter().map(|slot| slot.map(|c| order[c])).collect();
        let spares: Vec<usize> = assembly.spares.iter().map(|c| order[*c]).collect();
        let disks = &shelf.disks;
        let bitmaps = banks(disks, &members, |bank| geometry.bitmap_at(bank), geometry.bitmap_length());
        let tables = match geometry.layout().logs() {
            Some(_) => banks(disks, &members, |bank| geometry.table_at(bank), geometry.table_length()),
            None => Vec::new(),
        };
        let bad_block_logs = match geometry.bad_block_log_at(0) {
            Some((first, length)) => {
                let at = |bank| first + length * bank as u64;
                // Most bad-block logs have never been written.
                let written =
                    |disk: &usize| (0..2).any(|bank| !is_zero(disks[*disk].sector(at(bank).get()).bytes()));
                let members: Vec<Option<usize>> = members.iter().map(|disk| disk.filter(written)).collect();
                banks(disks, &members, at, length)
            }
            None => Vec::new(),
        };
        let numbers = members.iter().copied().chain(spares.iter().map(|disk| Some(*disk))).collect();
        let logs = shelf.commit_logs(&members, &geometry);
        let commits = logs.iter().map(|bytes| CommitLogContent::of(&assembly, bytes)).collect();
        let opening = Opening {
            assembly,
            members: members.iter().map(|disk| disk.map(|disk| shelf.info(disk))).collect(),
            spares: spares.iter().map(|disk| shelf.info(*disk)).collect(),
            bitmaps,
            tables,
            bad_block_logs,
            commits,
            session: identity(1_000 + shelf.sessions),
            read_only: false,
            force,
            tuning,
        };
        match Array::open(shelf.now, opening) {
            Ok(array) => Ok(World::around(array, shelf, numbers)),
            Err(error) => Err(Box::new(Refused { shelf, error })),
        }
    }

    fn around(array: Array, mut shelf: Shelf, numbers: Vec<Option<usize>>) -> World {
        shelf.sessions += 1;
        let key = array.sector_key();
        let slots = (0..array.geometry().members()).collect();
        World {
            key_name: key.checksum(&[1; SECTOR]),
            key,
            array,
            shelf,
            numbers,
            payload: Payload::new(),
            flights: Vec::new(),
            free: Vec::new(),
            queue: BinaryHeap::new(),
            order: 0,
            metadata: 0,
            awaited: 0,
            landed_late: 0,
            silent: Vec::new(),
            slots,
            accesses: 0,
            buffers: BTreeMap::new(),
            answers: Vec::new(),
            events: Vec::new(),
            hiccups: Vec::new(),
            silenced: Vec::new(),
            sectors: Vec::new(),
            sums: Vec::new(),
        }
    }

    /// Keeps the memory of an answer's sectors.
    pub(crate) fn reuse(&mut self, sectors: Vec<SectorBytes>) {
        self.payload.reuse(sectors);
    }

    pub(crate) fn now(&self) -> Instant {
        self.shelf.now
    }

    /// Whether accesses to superblocks or bitmaps are under way.
    pub(crate) fn records(&self) -> bool {
        self.metadata > 0
    }

    pub(crate) fn disk_of(&self, member: u16) -> Option<usize> {
        self.numbers.get(usize::from(member)).copied().flatten()
    }

    /// The array has taken `disk` as `member`.
    pub(crate) fn introduce(&mut self, member: Member, disk: usize) -> Result<(), Violation> {
        if member.as_usize() != self.numbers.len() {
            return Err(Violation::seam("a new member is not numbered behind the last"));
        }
        self.numbers.push(Some(disk));
        Ok(())
    }

    /// Whether an access to a disk is not reported yet.
    pub(crate) fn is_in_use(&self, disk: usize) -> bool {
        self.flights.iter().flatten().any(|flight| flight.disk == disk)
    }

    /// The information about a disk that the array gets.
    pub(crate) fn info(&self, disk: usize) -> MemberInfo {
        self.shelf.info(disk)
    }

    /// Reserves a buffer for the payload of request `tag`. Returns false if there is no memory for
    /// it.
    pub(crate) fn reserve(&mut self, tag: u64, operation: Operation, length: u64) -> bool {
        let reads = operation == Operation::Read;
        if !reads && !matches!(operation, Operation::Write { .. }) {
            return true;
        }
        let buffer = self.array.reserve(Sectors::new(length));
        self.buffers.extend(buffer.map(|buffer| (tag, (buffer, reads))));
        buffer.is_some()
    }

    /// Submits a request that has its buffer. A write has the content of `value`.
    pub(crate) fn submit(
        &mut self,
        tag: u64,
        operation: Operation,
        Range { at, length }: Range,
        value: Value,
    ) -> Result<(), Violation> {
        let buffer = self.buffers.get(&tag).copied();
        if let Some((buffer, false)) = buffer {
            for (sector, memory) in (at..).zip(self.payload.buffer(&self.array, buffer)) {
                *memory = SectorBytes::written(value, sector);
            }
        }
        let buffer = buffer.map(|(buffer, _)| buffer);
        let request =
            Request { tag: Tag(tag), operation, at: Sector::new(at), length: Sectors::new(length), buffer };
        self.array.submit(self.shelf.now, request);
        self.drain()
    }

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
                self.shelf.trace.note(self.shelf.now, || format!("array: {event:?}"));
                if let Some(hash) = &mut self.shelf.asked {
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

    /// Gives up the accesses of an excluded member.
    fn follow(&mut self, event: &Event) {
        let member = match event {
            Event::MemberFailed { slot, .. } => self.slots.get(slot.as_usize()).copied(),
            Event::SpareDropped { member } => Some(member.get()),
            Event::SlotTaken { slot, member, .. } => {
                self.slots[slot.as_usize()] = member.get();
                None
            }
            _ => None,
        };
        if let Some(disk) = member.and_then(|member| self.disk_of(member)).filter(|_| self.shelf.gives_up) {
            self.give_up(disk);
        }
    }

    /// Reports all accesses of `disk` as failed (gone). Their writes may be carried out later.
    fn give_up(&mut self, disk: usize) {
        let mut effects = Vec::new();
        for number in 0..self.flights.len() {
            let waits = |flight: &&Flight| flight.disk == disk && flight.given_up.is_none();
            let Some(flight) = self.flights[number].as_ref().filter(waits) else { continue };
            let (effect, landed) = (flight.effect, flight.landed);
            let content = match landed {
                true => Content::new(),
                false => content(&mut self.payload, &self.array, effect, &mut self.sectors),
            };
            if let Some(flight) = &mut self.flights[number] {
                flight.given_up = Some(content);
            }
            self.awaited -= 1;
            self.metadata -= u32::from(effect.class == Class::Metadata);
            self.payload.unpin(self.array.slices(effect.id));
            effects.push(effect);
        }
        for effect in effects {
            let now = self.shelf.now;
            self.shelf.trace.note(now, || format!("  disk {disk}: {:?} is given up", effect.action));
            self.array.complete(now, effect.id, Outcome::Failed(Fault::Gone));
        }
    }

    fn answer_host(&mut self, Completion { tag: Tag(tag), result }: Completion) -> Result<(), Violation> {
        let mut sectors = Vec::new();
        if let Some((buffer, reads)) = self.buffers.remove(&tag) {
            self.array.release(buffer);
            if reads && result.is_ok() {
                sectors = self.read_into(buffer)?;
            }
        }
        self.answers.push(Answer { tag, result, sectors });
        Ok(())
    }

    /// The sectors that were read into `buffer`. The array releases the buffer, unless it needs it
    /// for a repair.
    fn read_into(&mut self, buffer: BufferId) -> Result<Vec<SectorBytes>, Violation> {
        while let Some(released) = self.array.poll_release() {
            if released == buffer {
                return self.payload.take(buffer);
            }
            self.payload.release(released)?;
        }
        Ok(self.payload.buffer(&self.array, buffer).clone())
    }

    /// Names of jobs and buffers are left out: they depend on what else was named, not on what
    /// is done.
    fn digest_effect(&mut self, effect: Effect) {
        let Some(hash) = &mut self.shelf.asked else { return };
        (effect.class, effect.action).hash(hash);
        self.array.slices(effect.id).iter().for_each(|slice| slice.length.hash(hash));
        if effect.class == Class::Metadata {
            self.array.metadata(effect.id).hash(hash);
        }
    }

    /// A digest of all effects and events so far, of this session and those before.
    pub(crate) fn digest(&self) -> u64 {
        self.shelf.asked.as_ref().map_or(0, DefaultHasher::finish)
    }

    /// Begins an effect.
    fn begin(&mut self, effect: Effect) -> Result<(), Violation> {
        let (member, at, length) = match effect.action {
            Action::Xor | Action::Accumulate { .. } | Action::Compare => {
                // Computations are carried out in the order in which they are issued.
                let alike = self.payload.compute(&self.array, effect);
                let outcome = if alike { Outcome::Done } else { Outcome::Differs };
                self.array.complete(self.shelf.now, effect.id, outcome);
                return Ok(());
            }
            Action::Checksum => {
                self.payload.gather(&self.array, effect, &mut self.sectors);
                let key = (self.key_name, &self.key);
                self.sums.clear();
                self.sums.extend(self.sectors.drain(..).map(|sector| sector.checksum(key)));
                self.array.complete(self.shelf.now, effect.id, Outcome::Checksums(&self.sums));
                return Ok(());
            }
            Action::Read { member, at, length }
            | Action::Write { member, at, length, .. }
            | Action::Zero { member, at, length } => (member, at, length),
            Action::ReadModifyWrite { member, .. } | Action::Float { member, .. } => {
                let what =
                    format!("{member} is to read and write in one access, and the array was not opened so");
                return Err(Violation::seam(what));
            }
            Action::Flush { member } => (member, Sector::ZERO, Sectors::ZERO),
        };
        self.accesses += 1;
        let disk = self
            .disk_of(member.get())
            .ok_or_else(|| Violation::seam(format!("an access to {member}, which is not there")))?;
        self.check(effect, disk, at, length)?;
        if self.silent.contains(&disk) {
            self.array.complete(self.shelf.now, effect.id, Outcome::Failed(Fault::Gone));
            return Ok(());
        }
        self.payload.pin(&self.array, self.array.slices(effect.id))?;
        self.metadata += u32::from(effect.class == Class::Metadata);
        let kind = match effect.action {
            Action::Read { .. } => 0,
            Action::Write { durable, .. } => 1 + u64::from(durable),
            Action::Zero { .. } => 3,
            _ => 4,
        };
        let drawn = self.shelf.draw(&[kind, disk as u64, at.get(), length.get()]);
        let covers = self.shelf.disks[disk].written();
        let flight = Flight {
            effect,
            disk,
            landed: false,
            late: false,
            covers,
            fault: None,
            metadata: None,
            given_up: None,
        };
        let number = self.enter(flight);
        let time = latency(drawn) * self.shelf.disks[disk].slow;
        // A completed access is not always reported at once.
        if kind != 4 && drawn.is_multiple_of(4) {
            let landing = Duration::from_nanoseconds(time.nanoseconds() / 2);
            self.expect(landing, number, false);
        }
        self.expect(time, number, true);
        Ok(())
    }

    fn enter(&mut self, flight: Flight) -> u32 {
        self.awaited += 1;
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

    fn expect(&mut self, after: Duration, flight: u32, answered: bool) {
        self.order += 1;
        let at = (self.shelf.now + after).nanoseconds();
        self.queue.push(Reverse((at, self.order, flight, answered)));
    }

    /// Checks that the array may ask for this access.
    fn check(&self, effect: Effect, disk: usize, at: Sector, length: Sectors) -> Result<(), Violation> {
        let broken = |what: &str| Err(Violation::seam(format!("{what}: {effect:?}")));
        if (at + length).get() > self.shelf.disks[disk].length.get() {
            return broken("an access beyond the member's end");
        }
        let slices = named_length(self.array.slices(effect.id));
        let (writes, payload) = match effect.action {
            Action::Read { .. } => (false, true),
            Action::Write { .. } => (true, true),
            Action::Zero { .. } => (true, false),
            _ => return Ok(()),
        };
        if payload && slices != length.get() {
            return broken("slices are not as long as their access");
        }
        let start = self.array.geometry().data_start();
        let end = start + Sectors::new(self.array.geometry().stored().layout.length);
        let in_data = at >= start && (at + length) <= end;
        let (commits, length_of_commits) = self.array.geometry().commit_log();
        let in_commits = at >= commits && (at + length) <= commits + length_of_commits;
        let fits = match effect.class {
            // A session begins each commit log with an entry.
            Class::Metadata => !in_data,
            Class::Log => in_data || in_commits,
            _ => in_data,
        };
        if writes && !fits {
            return broken("a write in a place that is not for its kind");
        }
        Ok(())
    }

    /// The time of the next event, if there is no new request.
    pub(crate) fn next_time(&self) -> Option<Instant> {
        let queue = self.queue.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at));
        let timeout = self.array.poll_timeout().map(|due| due.max(self.shelf.now));
        [queue, timeout].into_iter().flatten().min()
    }

    /// Whether accesses are under way that were not given up.
    pub(crate) fn is_busy(&self) -> bool {
        self.awaited > 0
    }

    /// Processes the next event.
    pub(crate) fn step(&mut self) -> Result<(), Violation> {
        let Some(time) = self.next_time() else { return Ok(()) };
        self.shelf.now = self.shelf.now.max(time);
        let due = self.queue.peek().is_some_and(|Reverse((at, ..))| *at <= time.nanoseconds());
        if !due {
            self.array.handle_timeout(self.shelf.now);
            return self.drain();
        }
        let Some(Reverse((_, _, number, answered))) = self.queue.pop() else { return Ok(()) };
        self.land(number);
        if answered { self.answer(number) } else { Ok(()) }
    }

    /// Carries out an access on its member, unless it was carried out before.
    fn land(&mut self, number: u32) {
        let Some(flight) = self.flights[number as usize].as_mut().filter(|flight| !flight.landed) else {
            return;
        };
        let (effect, disk) = (flight.effect, &mut self.shelf.disks[flight.disk]);
        if disk.dead || disk.mute {
            flight.fault = Some(Fault::Gone);
            return;
        }
        if flight.given_up.is_some() {
            return self.land_late(number, self.order);
        }
        flight.landed = true;
        let data = effect.class != Class::Metadata;
        let may_starve = !matches!(effect.action, Action::Flush { .. });
        if may_starve && std::mem::take(&mut disk.starved) {
            flight.fault = Some(Fault::NoSpace);
            return;
        }
        match effect.action {
            Action::Read { at, length, .. } => {
                if data && std::mem::take(&mut disk.hiccup) {
                    let disk = flight.disk;
                    self.hiccups.extend((at.get()..(at + length).get()).map(|sector| (disk, sector)));
                    flight.fault = Some(Fault::Unreadable);
                } else if !disk.can_read(at, length) {
                    flight.fault = Some(Fault::Unreadable);
                } else {
                    flight.metadata = self.payload.fill(&self.array, effect, at, disk);
                }
            }
            Action::Write { member, at, .. }
                if match effect.class {
                    Class::Log => {
                        let geometry = self.array.geometry();
                        disk.has_no_room(false) && silent::is_of_logs(geometry, &self.slots, member, at)
                    }
                    Class::Metadata => disk.has_no_room(false),
                    _ => disk.has_no_room(true),
                } =>
            {
                flight.fault = Some(Fault::NoSpace);
            }
            Action::Write { member, at, length, durable } => {
                let slot = self.slots.iter().position(|number| *number == member.get());
                let slot = slot.map(|slot| Slot::new(slot as u16));
                let geometry = self.array.geometry();
                // While other redundancy is missing, a silent fault would be one fault too many.
                let sound = geometry.keeps_copies() || self.array.unsynced_regions() == 0;
                let slot = slot.filter(|_| sound);
                let silent = slot.and_then(|slot| disk.silence(geometry, slot, at, length));
                self.payload.write(&self.array, effect, disk, (at, durable));
                if let Some(part) = silent::commit_part(geometry, at) {
                    disk.newest[part].clear();
                    disk.newest[part].push(at.get()..(at + length).get());
                }
                if let (Some(slot), Some(silent)) = (slot, silent) {
                    let (number, fault) = (flight.disk, silent.0.how.fault());
                    let sectors = disk.go_wrong(geometry, slot, (at, length), silent);
                    self.silenced.push(Silenced { disk: number, fault, sectors });
                }
            }
            Action::Zero { at, length, .. } => disk.zero(at, length),
            Action::Flush { .. } if disk.flushes == Flushes::Fail => {
                disk.flush_failed();
                flight.fault = Some(Fault::Gone);
            }
            _ => {}
        }
    }

    /// Reports an access. If its member does not answer, the access fails late.
    fn answer(&mut self, number: u32) -> Result<(), Violation> {
        let flight = self.flights[number as usize].as_mut().expect("an access is answered once");
        let disk = flight.disk;
        if self.shelf.disks[disk].mute && !std::mem::replace(&mut flight.late, true) {
            let drawn = self.shelf.draw(&[5, disk as u64]);
            self.expect(Duration::from_micros(drawn % 30_000_000), number, true);
            return Ok(());
        }
        if flight.given_up.is_some() {
            self.land_late(number, self.order);
            self.flights[number as usize] = None;
            self.free.push(number);
            return Ok(());
        }
        if flight.late && self.shelf.gives_up {
            // It has taken too long: all accesses of the member are given up.
            self.silent.push(disk);
            self.give_up(disk);
            self.expect(
                Duration::from_micros(self.shelf.keyed.of(&[10, self.order]) % 30_000_000),
                number,
                true,
            );
            return self.drain();
        }
        let mut flight = self.flights[number as usize].take().expect("it was there");
        self.free.push(number);
        if flight.late {
            // The driver has given up; the member may still have carried out a part of the write.
            self.land_in_part(&flight, self.order);
            flight.fault = Some(Fault::Gone);
        }
        self.awaited -= 1;
        self.metadata -= u32::from(flight.effect.class == Class::Metadata);
        self.payload.unpin(self.array.slices(flight.effect.id));
        if let (Action::Flush { .. }, None) = (flight.effect.action, flight.fault) {
            self.shelf.disks[disk].flush_answered(flight.covers);
        }
        let now = self.shelf.now;
        self.shelf.trace.note(now, || told(&flight));
        let outcome = match (flight.fault, &flight.metadata) {
            (Some(fault), _) => Outcome::Failed(fault),
            (None, Some(bytes)) => Outcome::Metadata(bytes),
            (None, None) => Outcome::Done,
        };
        self.array.complete(now, flight.effect.id, outcome);
        self.drain()
    }

    /// Carries out some sectors of a write that was given up.
    fn land_late(&mut self, number: u32, salt: u64) {
        let Some(flight) = self.flights[number as usize].as_mut() else { return };
        let Some(content) = flight.given_up.as_mut().map(std::mem::take) else { return };
        let durable = matches!(flight.effect.action, Action::Write { durable: true, .. });
        let disk = &mut self.shelf.disks[flight.disk];
        if disk.dead || disk.full {
            return;
        }
        let key = self.shelf.keyed;
        let kept = Kept::draw(key.of(&[11, salt, u64::from(number)]));
        for (sector, bytes) in content.iter().filter(|(sector, _)| kept.lands(key.of(&[12, salt, *sector]))) {
            disk.write_one(*sector, bytes.clone(), durable);
        }
        self.landed_late += u32::from(kept != Kept::Nothing && !content.is_empty());
    }

    /// Carries out some sectors of a write whose member did not answer.
    fn land_in_part(&mut self, flight: &Flight, salt: u64) {
        let key = self.shelf.keyed;
        let disk = &mut self.shelf.disks[flight.disk];
        if flight.landed || disk.dead || disk.full {
            return;
        }
        let (at, durable) = match flight.effect.action {
            Action::Write { at, durable, .. } => (at, durable),
            Action::Zero { at, length, .. } => {
                let kept = Kept::draw(key.of(&[6, salt, at.get()]));
                for sector in at.get()..(at + length).get() {
                    if kept.lands(key.of(&[7, salt, sector])) {
                        disk.write_one(sector, SectorBytes::filled(0), false);
                    }
                }
                return;
            }
            _ => return,
        };
        self.payload.gather(&self.array, flight.effect, &mut self.sectors);
        let kept = Kept::draw(key.of(&[6, salt, at.get()]));
        if let Some(part) = silent::commit_part(self.array.geometry(), at) {
            disk.newest[part].push(at.get()..at.get() + self.sectors.len() as u64);
        }
        for (sector, bytes) in (at.get()..).zip(self.sectors.drain(..)) {
            if kept.lands(key.of(&[7, salt, sector])) {
                disk.write_one(sector, bytes, durable);
            }
        }
    }

    /// The writes that a power cut now may keep or lose, in the order in which they reach the
    /// members.
    pub(crate) fn loose(&mut self) -> Vec<Loose> {
        let mut loose = Vec::new();
        for (disk, member) in self.shelf.disks.iter().enumerate().filter(|(_, disk)| !disk.dead) {
            let cached = member.unflushed().into_iter();
            loose.extend(cached.map(|content| Loose { disk, content, cached: true }));
        }
        for flight in self.flights.iter().flatten().filter(|flight| !flight.landed) {
            let disk = flight.disk;
            if self.shelf.disks[disk].dead || self.shelf.disks[disk].full {
                continue;
            }
            let content = match &flight.given_up {
                Some(content) => content.clone(),
                None => content(&mut self.payload, &self.array, flight.effect, &mut self.sectors),
            };
            if content.is_empty() {
                continue;
            }
            loose.push(Loose { disk, content, cached: false });
        }
        loose
    }

    /// The array crashes: accesses under way are carried out in part, and at a power cut writes
    /// that were not flushed are kept in part.
    pub(crate) fn crash(&mut self, power: bool) -> Shelf {
        self.shelf.crashes += 1;
        let crash = self.shelf.crashes;
        (0..self.flights.len()).for_each(|number| self.land_late(number as u32, crash));
        self.awaited = 0;
        let flights: Vec<Flight> = std::mem::take(&mut self.flights).into_iter().flatten().collect();
        let waited_for = flights.iter().filter(|flight| flight.given_up.is_none());
        waited_for.for_each(|flight| self.land_in_part(flight, crash));
        let key = self.shelf.keyed;
        for (index, disk) in self.shelf.disks.iter_mut().enumerate() {
            disk.heal_what_is_cut_off(power);
            if power {
                let key = Keyed::new(key.of(&[8, crash, index as u64]));
                disk.power_cut(key, Kept::draw(key.of(&[9])));
            }
            (disk.mute, disk.silent, disk.starved) = (false, None, false);
            disk.flushes = Flushes::Work;
            disk.slow = 1;
        }
        std::mem::replace(&mut self.shelf, Shelf::new(Vec::new(), 0, Trace::default()))
    }
}

/// The content that an access writes.
fn content(payload: &mut Payload, array: &Array, effect: Effect, sectors: &mut Vec<SectorBytes>) -> Content {
    match effect.action {
        Action::Write { at, .. } => {
            payload.gather(array, effect, sectors);
            (at.get()..).zip(sectors.drain(..)).collect()
        }
        Action::Zero { at, length, .. } => {
            (at.get()..(at + length).get()).map(|sector| (sector, SectorBytes::filled(0))).collect()
        }
        _ => Content::new(),
    }
}

/// Usually about a tenth of a millisecond, seldom much more.
fn latency(drawn: u64) -> Duration {
    let base = 20_000 + (drawn >> 8) % 180_000;
    Duration::from_nanoseconds(if (drawn >> 40).is_multiple_of(40) { base * 25 } else { base })
}

fn told(flight: &Flight) -> String {
    let how = flight.fault.map_or(String::new(), |fault| format!(" fails: {fault:?}"));
    let (disk, class) = (flight.disk, flight.effect.class);
    match flight.effect.action {
        Action::Read { at, length, .. } => {
            format!("  disk {disk}: {class:?} read of {} at {}{how}", length.get(), at.get())
        }
        Action::Write { at, length, durable, .. } => {
            let durably = if durable { " durable" } else { "" };
            format!("  disk {disk}: {class:?}{durably} write of {} at {}{how}", length.get(), at.get())
        }
        Action::Zero { at, length, .. } => {
            format!("  disk {disk}: {class:?} zeroing of {} at {}{how}", length.get(), at.get())
        }
        _ => format!("  disk {disk}: {class:?} flush{how}"),
    }
}
