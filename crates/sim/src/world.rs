//! The driver: effects become accesses of drives, and time is what comes next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parlour_array::record::Recorded;
use parlour_array::{
    Action, BufferId, Class, Completion, Effect, Fault, LogStatus, Mode, Operation, Outcome, Request,
    RequestError, Tag,
};
use parlour_units::{Instant, Sector, Sectors};

use crate::health::{Deed, Health, HealthError, Incident, Rebuild, What};
use crate::member::{Begun, Member, Serving};
use crate::opening::{OpeningError, assemble};
use crate::paths::{Line, Machine, PathError, Paths, Station};
use crate::volume::Volume;

/// Arrays, their drives, and the paths to them.
///
/// Hosts see the volumes one behind the other, in their order, as one address space. A request that
/// reaches from one volume into the next is cut there, and answered when all its parts are; a flush
/// is one of all volumes.
#[derive(Debug)]
pub struct World {
    pub(crate) volumes: Vec<Volume>,
    machine: Option<Box<Machine>>,
    health: Health,
    now: Instant,
    /// What happens when; of equal times what was expected first comes first.
    due: BinaryHeap<Reverse<(u64, u64, Next)>>,
    order: u64,
    /// By tag: the request under way.
    requests: Vec<Asked>,
    under_way: usize,
    /// What is answered, in order.
    answers: Vec<Completion>,
    /// Accesses with which the processors are busy.
    issuing: Vec<Option<(u16, Effect)>>,
    /// Memory for the parts of a request.
    parts: Vec<Part>,
    /// Memory for what is read, and of what is written, as metadata.
    bytes: Vec<u8>,
    sums: Vec<u64>,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A unit of a member of a volume is done.
    Done { volume: u16, member: u16, unit: u16 },
    /// What a unit has read is to cross its bus.
    Crosses { volume: u16, member: u16, unit: u16 },
    /// The processors are done with an access.
    Issued(u32),
    /// The processors are done with a request.
    Processed(u32),
    /// The channel has brought what a request writes.
    Brought(u32),
    /// The channel has brought what a request has read.
    Returned(u32),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    operation: Operation,
    at: Sector,
    length: Sectors,
    /// Parts that are not answered yet.
    left: u16,
    result: Result<(), RequestError>,
}

/// What a volume has of a request.
#[derive(Clone, Copy, Debug)]
struct Part {
    volume: usize,
    at: Sector,
    length: Sectors,
}

impl World {
    /// Volumes, and nothing between them and hosts.
    pub fn new(mut volumes: Vec<Volume>) -> World {
        let mut first = Sector::ZERO;
        for volume in &mut volumes {
            volume.first = first;
            first = volume.end();
        }
        let mut world = World {
            volumes,
            machine: None,
            health: Health::default(),
            now: Instant::ZERO,
            due: BinaryHeap::new(),
            order: 0,
            requests: Vec::new(),
            under_way: 0,
            answers: Vec::new(),
            issuing: Vec::new(),
            parts: Vec::new(),
            bytes: Vec::new(),
            sums: Vec::new(),
        };
        (0..world.volumes.len()).for_each(|volume| world.drain(volume));
        world
    }

    /// The same, with paths between hosts and drives, from now on.
    ///
    /// # Errors
    /// There can be no such path, or a drive hangs on none.
    pub fn on_paths(mut self, paths: &Paths) -> Result<World, PathError> {
        for volume in &self.volumes {
            for (member, drive) in volume.members.iter().enumerate() {
                let strings = paths.strings.len();
                if let Some(string) = drive.string().filter(|string| usize::from(*string) >= strings) {
                    let array = volume.name.clone();
                    return Err(PathError::NoString { array, member, string, strings });
                }
            }
        }
        self.machine = Some(Box::new(Machine::new(paths)?));
        Ok(self)
    }

    /// The volumes, in the order in which hosts see them.
    pub fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// What all volumes hold for hosts.
    pub fn capacity(&self) -> Sectors {
        self.volumes.last().map_or(Sectors::ZERO, |last| last.end().from_start())
    }

    /// The parity logs of those that have any.
    pub fn logs(&self) -> impl Iterator<Item = LogStatus> {
        self.volumes.iter().filter_map(|volume| volume.array().log_status())
    }

    /// The drives, volume by volume.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.volumes.iter().flat_map(Volume::members)
    }

    /// What lies between hosts and drives: processors, the channel, strings.
    pub fn stations(&self) -> impl Iterator<Item = &Station> {
        self.machine.iter().flat_map(|machine| machine.stations())
    }

    /// Requests that were not answered yet.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A host asks. False if an array has no memory for its payload now.
    pub fn submit(&mut self, tag: Tag, operation: Operation, at: Sector, length: Sectors) -> bool {
        let index = tag.0 as usize;
        let asked = Asked { operation, at, length, left: 0, result: Ok(()) };
        if index >= self.requests.len() {
            self.requests.resize(index + 1, asked);
        }
        let mut parts = std::mem::take(&mut self.parts);
        self.cut(operation, at, length, &mut parts);
        let room = self.reserve(tag, operation, &parts);
        if room {
            self.under_way += 1;
            self.requests[index] = Asked { left: parts.len() as u16, ..asked };
            match self.machine.as_deref_mut() {
                None => self.hand_over(tag, &parts),
                Some(Machine { processors: Some((all, station)), .. }) if !all.request.is_nothing() => {
                    let (_, done) = station.take(self.now, all.request.of(length));
                    self.expect(done, Next::Processed(index as u32));
                }
                Some(_) => self.processed(tag),
            }
        }
        self.parts = parts;
        room
    }

    /// Which volume has what of a request. What lies beyond all is for the last one to refuse.
    fn cut(&self, operation: Operation, at: Sector, length: Sectors, parts: &mut Vec<Part>) {
        parts.clear();
        if let [_] = self.volumes[..] {
            return parts.push(Part { volume: 0, at, length });
        }
        if operation == Operation::Flush {
            let all = 0..self.volumes.len();
            return parts.extend(all.map(|volume| Part { volume, at: Sector::ZERO, length: Sectors::ZERO }));
        }
        let last = self.volumes.len() - 1;
        let mut volume = self.volumes.partition_point(|volume| volume.end() <= at).min(last);
        let (mut at, mut rest) = (at, length);
        loop {
            let here = &self.volumes[volume];
            let part = if volume == last { rest } else { rest.min(here.end() - at) };
            parts.push(Part { volume, at: Sector::ZERO + (at - here.first), length: part });
            rest = rest - part;
            if rest.is_zero() {
                return;
            }
            (at, volume) = (here.end(), volume + 1);
        }
    }

    /// Takes memory for all parts, or for none.
    fn reserve(&mut self, tag: Tag, operation: Operation, parts: &[Part]) -> bool {
        if !matches!(operation, Operation::Read | Operation::Write { .. }) {
            return true;
        }
        for (number, part) in parts.iter().enumerate() {
            if !self.volumes[part.volume].reserve(tag.0, part.length) {
                parts[..number].iter().for_each(|part| self.volumes[part.volume].release(tag.0));
                return false;
            }
        }
        true
    }

    /// The processors are done with a request, if there are any.
    fn processed(&mut self, tag: Tag) {
        let Asked { operation, length, .. } = self.requests[tag.0 as usize];
        let writes = matches!(operation, Operation::Write { .. });
        match self.machine.as_mut().and_then(|machine| machine.channel.as_mut()) {
            Some(channel) if writes => {
                let (_, brought) = channel.carry(self.now, length);
                self.expect(brought, Next::Brought(tag.0 as u32));
            }
            _ => self.brought(tag),
        }
    }

    /// What a request writes is here.
    fn brought(&mut self, tag: Tag) {
        let Asked { operation, at, length, .. } = self.requests[tag.0 as usize];
        let mut parts = Vec::new();
        self.cut(operation, at, length, &mut parts);
        self.hand_over(tag, &parts);
    }

    /// The arrays are told of a request.
    fn hand_over(&mut self, tag: Tag, parts: &[Part]) {
        let operation = self.requests[tag.0 as usize].operation;
        for Part { volume, at, length } in parts.iter().copied() {
            let buffer = self.volumes[volume].buffer(tag.0);
            let request = Request { tag, operation, at, length, buffer };
            self.volumes[volume].array.submit(self.now, request);
            self.drain(volume);
        }
    }

    /// Takes what was answered since.
    pub fn answers(&mut self) -> std::vec::Drain<'_, Completion> {
        self.answers.drain(..)
    }

    /// When something happens next without a host.
    pub fn next_time(&self) -> Option<Instant> {
        let due = self.due.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at));
        let timeouts = self.volumes.iter().filter_map(|volume| volume.array().poll_timeout());
        let timeout = timeouts.min().map(|timeout| timeout.max(self.now));
        let planned = self.health.next_time().map(|planned| planned.max(self.now));
        [due, timeout, planned].into_iter().flatten().min()
    }

    /// Nothing happens until `time`, which is not behind what happens next.
    pub fn advance(&mut self, time: Instant) {
        self.now = self.now.max(time);
    }

    /// Lets happen what happens next, or until `end` if nothing does before. Says whether it did.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(time) = self.next_time().filter(|time| *time <= end) else {
            self.now = end;
            return false;
        };
        self.step_to(time);
        true
    }

    /// Lets happen what happens at `time`, which is when [something happens
    /// next](World::next_time).
    pub(crate) fn step_to(&mut self, time: Instant) {
        self.now = time;
        match self.due.peek() {
            Some(Reverse((at, _, next))) if *at <= time.nanoseconds() => {
                let next = *next;
                self.due.pop();
                self.happen(next);
            }
            _ if self.health.next_time().is_some_and(|planned| planned <= time) => self.carry_out_planned(),
            _ => {
                let is_due =
                    |volume: &Volume| volume.array().poll_timeout().is_some_and(|timeout| timeout <= time);
                if let Some(volume) = self.volumes.iter().position(is_due) {
                    self.volumes[volume].array.handle_timeout(time);
                    self.drain(volume);
                }
            }
        }
    }

    /// Something is to be done to a volume at a time. If it cannot be then, [`World::incidents`]
    /// tell so.
    pub fn plan(&mut self, at: Instant, volume: usize, deed: Deed) {
        self.health.plan(at, volume, deed);
    }

    /// What has happened to the arrays, in order.
    pub fn incidents(&self) -> &[Incident] {
        self.health.incidents()
    }

    /// Rebuilds that are done or under way, in the order in which they began.
    pub fn rebuilds(&self) -> Vec<Rebuild> {
        self.health.rebuilds()
    }

    /// Does something to a volume now.
    ///
    /// # Errors
    /// The array refuses, or the drive does not fit.
    pub fn carry_out(&mut self, volume: usize, deed: Deed) -> Result<(), HealthError> {
        let (now, volumes) = (self.now, self.volumes.len());
        let own = self.volumes.get_mut(volume).ok_or(HealthError::NoVolume { volume, volumes })?;
        let done = deed.carry_out(own, now);
        self.drain(volume);
        done
    }

    /// The next deed that was planned.
    fn carry_out_planned(&mut self) {
        let Some((volume, deed)) = self.health.take_planned() else { return };
        if let Err(error) = self.carry_out(volume, deed) {
            self.health.note(Incident { at: self.now, volume, what: What::NotDone(error) });
        }
    }

    /// Stops an array as people do, and opens it again from what its members hold. Time goes on for
    /// the others meanwhile.
    ///
    /// # Errors
    /// It cannot be stopped, or not be opened again.
    pub fn restart(&mut self, volume: usize) -> Result<(), OpeningError> {
        let now = self.now;
        self.volumes[volume].array.stop(now);
        self.drain(volume);
        while self.volumes[volume].array().mode() != Mode::Stopped {
            let Some(next) = self.next_time() else {
                return Err(OpeningError::Stuck(self.volumes[volume].name.clone()));
            };
            self.step(next);
        }
        let own = &mut self.volumes[volume];
        let status = own.array().status();
        let standing = status.members.iter().filter_map(|member| member.member).chain(status.spares);
        let mut members: Vec<Option<Member>> =
            std::mem::take(&mut own.members).into_iter().map(Some).collect();
        let drives = standing.filter_map(|number| members[usize::from(number)].take()).collect();
        own.sessions += 1;
        (own.array, own.members) = assemble(&own.name, drives, own.sessions, own.settings, None)?;
        self.drain(volume);
        Ok(())
    }

    fn happen(&mut self, next: Next) {
        match next {
            Next::Done { volume, member, unit } => {
                self.finish(volume, member, unit);
                self.drain(usize::from(volume));
            }
            Next::Crosses { volume, member, unit } => {
                let drive = &mut self.volumes[usize::from(volume)].members[usize::from(member)];
                let bus = bus(&mut self.machine, drive).expect("what crosses a bus hangs on one");
                let begun = drive.cross(self.now, unit, bus);
                self.follow(begun, volume, member);
            }
            Next::Issued(slot) => {
                let issued = self.issuing[slot as usize].take();
                let (volume, effect) = issued.expect("the processors are done with what they began");
                self.access(volume, effect);
            }
            Next::Processed(tag) => self.processed(Tag(tag.into())),
            Next::Brought(tag) => self.brought(Tag(tag.into())),
            Next::Returned(tag) => self.answer(Tag(tag.into())),
        }
    }

    fn expect(&mut self, at: Instant, next: Next) {
        self.order += 1;
        self.due.push(Reverse((at.nanoseconds(), self.order, next)));
    }

    fn follow(&mut self, Begun { unit, at, crosses }: Begun, volume: u16, member: u16) {
        let next = match crosses {
            true => Next::Crosses { volume, member, unit },
            false => Next::Done { volume, member, unit },
        };
        self.expect(at, next);
    }

    /// A unit of a member is done: the array is told.
    fn finish(&mut self, volume: u16, member: u16, unit: u16) {
        let Volume { array, members, together, .. } = &mut self.volumes[usize::from(volume)];
        let drive = &mut members[usize::from(member)];
        let Serving { effect, placed, .. } = drive.done(self.now, unit);
        together.end(effect.id.job(), member, self.now, members);
        let drive = &mut members[usize::from(member)];
        let units = !matches!(effect.class, Class::Metadata | Class::Log);
        let outcome = match effect.action {
            _ if drive.is_dead() => Outcome::Failed(Fault::Gone),
            Action::Float { .. } => placed.map_or(Outcome::Done, Outcome::Placed),
            // Where units are there is no metadata.
            _ if units => {
                debug_assert!(array.slices(effect.id).iter().all(|slice| slice.buffer != BufferId::METADATA));
                Outcome::Done
            }
            Action::Read { at, .. } => read_metadata(array, drive, effect, at, &mut self.bytes),
            Action::Write { at, .. } => write_metadata(array, drive, effect, at),
            Action::Zero { at, length, .. } | Action::ReadModifyWrite { at, length, .. } => {
                drive.metadata.forget(at, length);
                Outcome::Done
            }
            _ => Outcome::Done,
        };
        // What is served next may float, and goes by where units are now.
        array.complete(self.now, effect.id, outcome);
        let line = bus(&mut self.machine, drive);
        if let Some(next) = drive.go_on(self.now, unit, line, |id| array.get().free_positions(id)) {
            self.follow(next, volume, member);
        }
    }

    /// Takes from an array all that it has to say. (What it is told meanwhile, that computations
    /// are done and memory is given back, gives it nothing more to say than that.)
    pub(crate) fn drain(&mut self, volume: usize) {
        while let Some(effect) = self.volumes[volume].array.poll_effect() {
            self.begin(volume as u16, effect);
        }
        while let Some(completion) = self.volumes[volume].array.poll_completion() {
            self.volumes[volume].answered(&completion);
            self.part_answered(completion);
        }
        while let Some(event) = self.volumes[volume].array.poll_event() {
            if let Some(event) = self.volumes[volume].notable(event) {
                self.health.note(Incident { at: self.now, volume, what: event.into() });
            }
        }
        while self.volumes[volume].array.poll_release().is_some() {}
        debug_assert!(self.volumes[volume].array.poll_effect().is_none(), "all effects were taken");
    }

    fn part_answered(&mut self, Completion { tag, result }: Completion) {
        let asked = &mut self.requests[tag.0 as usize];
        asked.left -= 1;
        asked.result = asked.result.and(result);
        if asked.left > 0 {
            return;
        }
        let (reads, length) = (asked.operation == Operation::Read, asked.length);
        match self.machine.as_mut().and_then(|machine| machine.channel.as_mut()) {
            Some(channel) if reads => {
                let (_, returned) = channel.carry(self.now, length);
                self.expect(returned, Next::Returned(tag.0 as u32));
            }
            _ => self.answer(tag),
        }
    }

    fn answer(&mut self, tag: Tag) {
        self.under_way -= 1;
        self.answers.push(Completion { tag, result: self.requests[tag.0 as usize].result });
    }

    /// An effect is handed out.
    fn begin(&mut self, volume: u16, effect: Effect) {
        let array = &mut self.volumes[usize::from(volume)].array;
        let length = match effect.action {
            Action::Xor | Action::XorInto | Action::Compare => {
                return array.complete(self.now, effect.id, Outcome::Done);
            }
            Action::Checksum => {
                let sectors: u64 = array.slices(effect.id).iter().map(|slice| slice.length.get()).sum();
                self.sums.resize(sectors as usize, 0);
                return array.complete(self.now, effect.id, Outcome::Checksums(&self.sums));
            }
            Action::Read { length, .. }
            | Action::Write { length, .. }
            | Action::ReadModifyWrite { length, .. }
            | Action::Float { length, .. } => length,
            Action::Zero { .. } | Action::Flush { .. } => Sectors::ZERO,
        };
        self.volumes[usize::from(volume)].together.begin(effect.id.job());
        match self.machine.as_mut().and_then(|machine| machine.processors.as_mut()) {
            Some((all, station)) if !all.access.is_nothing() => {
                let (_, issued) = station.take(self.now, all.access.of(length));
                let slot = self.issuing.iter().position(Option::is_none).unwrap_or_else(|| {
                    self.issuing.push(None);
                    self.issuing.len() - 1
                });
                self.issuing[slot] = Some((volume, effect));
                self.expect(issued, Next::Issued(slot as u32));
            }
            _ => self.access(volume, effect),
        }
    }

    /// An access comes to its member.
    fn access(&mut self, volume: u16, effect: Effect) {
        let member = effect.action.member().expect("computations are no accesses");
        let Volume { array, members, .. } = &mut self.volumes[usize::from(volume)];
        let drive = &mut members[member.as_usize()];
        let line = bus(&mut self.machine, drive);
        if let Some(begun) = drive.take(self.now, effect, line, |id| array.get().free_positions(id)) {
            self.follow(begun, volume, member.get());
        }
    }
}

/// The bus on which a drive hangs, if it does.
fn bus<'a>(machine: &'a mut Option<Box<Machine>>, drive: &Member) -> Option<&'a mut Line> {
    let machine = machine.as_mut()?;
    machine.strings.get_mut(usize::from(drive.string()?))
}

/// What a drive holds of the metadata that an access has read.
fn read_metadata<'a>(
    array: &Recorded,
    drive: &Member,
    effect: Effect,
    mut at: Sector,
    bytes: &'a mut Vec<u8>,
) -> Outcome<'a> {
    bytes.clear();
    for slice in array.slices(effect.id) {
        if slice.buffer == BufferId::METADATA {
            let start = bytes.len();
            bytes.resize(start + slice.length.bytes().as_usize(), 0);
            drive.metadata.read(at, &mut bytes[start..]);
        }
        at = at + slice.length;
    }
    if bytes.is_empty() { Outcome::Done } else { Outcome::Metadata(bytes) }
}

/// A drive keeps what an access has written of metadata, and nothing else in its places.
fn write_metadata(array: &Recorded, drive: &mut Member, effect: Effect, mut at: Sector) -> Outcome<'static> {
    for slice in array.slices(effect.id) {
        if slice.buffer == BufferId::METADATA {
            let start = slice.start.bytes().as_usize();
            let end = start + slice.length.bytes().as_usize();
            drive.metadata.write(at, &array.metadata(effect.id)[start..end]);
        } else {
            drive.metadata.forget(at, slice.length);
        }
        at = at + slice.length;
    }
    Outcome::Done
}
