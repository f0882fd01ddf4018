//! The simulator's driver: turns effects into accesses to drives, and advances virtual time from
//! event to event.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parlour_array::record::Recorded;
use parlour_array::{
    Action, Class, Completion, Effect, Fault, LogStatus, Mode, Operation, Outcome, Request, RequestError, Tag,
};
use parlour_rivals::Rival;
use parlour_units::{Instant, Sector, Sectors};

use crate::controller::Controller;
use crate::health::{Deed, Health, HealthError, Incident, Rebuild, What};
use crate::log_tally::LogTally;
use crate::member::{Begun, Member, Serving};
use crate::opening::{OpeningError, assemble};
use crate::paths::{Line, Machine, PathError, Paths, Station};
use crate::volume::Volume;

/// Arrays, their drives, and the paths to them.
///
/// Hosts see the volumes as one address space, one after another. A request that crosses a border
/// between volumes is split there, and is answered when all its parts are. A flush goes to all
/// volumes.
#[derive(Debug)]
pub struct World {
    pub(crate) volumes: Vec<Volume>,
    machine: Option<Box<Machine>>,
    health: Health,
    now: Instant,
    /// The next events, by time; events with equal times keep the order in which they were
    /// scheduled.
    due: BinaryHeap<Reverse<(u64, u64, Next)>>,
    order: u64,
    /// By tag: the requests under way.
    requests: Vec<Asked>,
    under_way: usize,
    /// The answers, in order.
    answers: Vec<Completion>,
    /// Accesses that the processors are working on.
    issuing: Vec<Option<(u16, Effect)>>,
    /// A vector for the parts of a request, kept for its capacity.
    parts: Vec<Part>,
    /// Vectors for metadata that is read or written, kept for their capacity.
    bytes: Vec<u8>,
    sums: Vec<u64>,
}

/// A scheduled event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    /// A unit of a member of a volume completes its access.
    Done { volume: u16, member: u16, unit: u16 },
    /// The data that a unit has read may cross its bus.
    Crosses { volume: u16, member: u16, unit: u16 },
    /// An arm has waited for a turn of the platters.
    LetGo { volume: u16, member: u16, number: u32 },
    /// The processors have finished an access.
    Issued(u32),
    /// The processors have finished a request.
    Processed(u32),
    /// The channel has carried the data of a write.
    Brought(u32),
    /// The channel has carried the data of a read.
    Returned(u32),
}

/// A request under way.
#[derive(Clone, Copy, Debug)]
struct Asked {
    operation: Operation,
    at: Sector,
    length: Sectors,
    /// The number of parts that are not answered yet.
    left: u16,
    result: Result<(), RequestError>,
}

/// The part of a request for one volume.
#[derive(Clone, Copy, Debug)]
struct Part {
    volume: usize,
    at: Sector,
    length: Sectors,
}

impl World {
    /// A world with these volumes, and no paths.
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

    /// Adds paths between hosts and drives.
    ///
    /// # Errors
    /// A path is invalid, or a drive is on a path that does not exist.
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

    /// The volumes, in the order of the address space.
    pub fn volumes(&self) -> &[Volume] {
        &self.volumes
    }

    /// The capacity of all volumes.
    pub fn capacity(&self) -> Sectors {
        self.volumes.last().map_or(Sectors::ZERO, |last| last.end().from_start())
    }

    /// The parity logs of the volumes that have any.
    pub fn logs(&self) -> impl Iterator<Item = LogStatus> {
        self.volumes.iter().filter_map(|volume| volume.array()?.log_status())
    }

    /// The work of all parity logs since their arrays were opened; none without logs.
    pub fn log_tally(&self) -> Option<LogTally> {
        let arrays = self.volumes.iter().filter_map(Volume::array);
        let logged = arrays.filter(|array| array.log_status().is_some());
        logged.map(LogTally::of).reduce(LogTally::with)
    }

    /// What rivals have counted since [`measure_rivals`](World::measure_rivals): the volume, a name
    /// and a value.
    pub fn measured(&self) -> impl Iterator<Item = (usize, &'static str, f64)> {
        let rivals = self.volumes.iter().enumerate().filter_map(|(number, own)| Some((number, own.rival()?)));
        rivals.flat_map(|(number, rival)| {
            rival.measured().into_iter().map(move |(name, value)| (number, name, value))
        })
    }

    /// Rivals count from now on.
    pub fn measure_rivals(&mut self) {
        let rivals = self.volumes.iter_mut().filter_map(|volume| volume.controller.rival_mut());
        rivals.for_each(Rival::forget);
    }

    /// The drives of all volumes.
    pub fn members(&self) -> impl Iterator<Item = &Member> {
        self.volumes.iter().flat_map(Volume::members)
    }

    /// The stations between hosts and drives: processors, the channel, strings.
    pub fn stations(&self) -> impl Iterator<Item = &Station> {
        self.machine.iter().flat_map(|machine| machine.stations())
    }

    /// The number of requests that are not answered yet.
    pub fn under_way(&self) -> usize {
        self.under_way
    }

    /// The virtual time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Submits a host's request. Returns false if an array has no memory for its payload now.
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

    /// Splits a request between volumes. The last volume gets a part beyond the end, and refuses
    /// it.
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

    /// Reserves memory for all parts, or for none.
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

    /// The processors, if there are any, have finished a request.
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

    /// The data of a write has arrived.
    fn brought(&mut self, tag: Tag) {
        let Asked { operation, at, length, .. } = self.requests[tag.0 as usize];
        let mut parts = Vec::new();
        self.cut(operation, at, length, &mut parts);
        self.hand_over(tag, &parts);
    }

    /// Submits a request to the arrays.
    fn hand_over(&mut self, tag: Tag, parts: &[Part]) {
        let operation = self.requests[tag.0 as usize].operation;
        for Part { volume, at, length } in parts.iter().copied() {
            let buffer = self.volumes[volume].buffer(tag.0);
            let request = Request { tag, operation, at, length, buffer };
            self.volumes[volume].controller.submit(self.now, request);
            self.drain(volume);
        }
    }

    /// Takes the answers since the last call.
    pub fn answers(&mut self) -> std::vec::Drain<'_, Completion> {
        self.answers.drain(..)
    }

    /// The time of the next event without a new request.
    pub fn next_time(&self) -> Option<Instant> {
        let due = self.due.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at));
        let timeouts = self.volumes.iter().filter_map(|volume| volume.controller.poll_timeout());
        let timeout = timeouts.min().map(|timeout| timeout.max(self.now));
        let planned = self.health.next_time().map(|planned| planned.max(self.now));
        [due, timeout, planned].into_iter().flatten().min()
    }

    /// Sets the time to `time`, which must not be after the next event.
    pub fn advance(&mut self, time: Instant) {
        self.now = self.now.max(time);
    }

    /// Processes the next event, or advances to `end` if that is earlier. Returns whether there was
    /// an event.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(time) = self.next_time().filter(|time| *time <= end) else {
            self.now = end;
            return false;
        };
        self.step_to(time);
        true
    }

    /// Processes the event at `time`, which is the time of the [next event](World::next_time).
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
                    |volume: &Volume| volume.controller.poll_timeout().is_some_and(|timeout| timeout <= time);
                if let Some(volume) = self.volumes.iter().position(is_due) {
                    self.volumes[volume].controller.handle_timeout(time);
                    self.drain(volume);
                }
            }
        }
    }

    /// Plans an action on a volume. If it cannot be carried out then, this is reported in
    /// [`World::incidents`].
    pub fn plan(&mut self, at: Instant, volume: usize, deed: Deed) {
        self.health.plan(at, volume, deed);
    }

    /// The incidents so far, in order.
    pub fn incidents(&self) -> &[Incident] {
        self.health.incidents()
    }

    /// Rebuilds that are done or running, in the order in which they began.
    pub fn rebuilds(&self) -> Vec<Rebuild> {
        self.health.rebuilds()
    }

    /// Carries out an action on a volume now.
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

    /// Carries out the next planned action.
    fn carry_out_planned(&mut self) {
        let Some((volume, deed)) = self.health.take_planned() else { return };
        if let Err(error) = self.carry_out(volume, deed) {
            self.health.note(Incident { at: self.now, volume, what: What::NotDone(error) });
        }
    }

    /// Stops an array cleanly, and opens it again from its members' metadata. Meanwhile time passes
    /// for the other arrays.
    ///
    /// # Errors
    /// It cannot be stopped, or not be opened again.
    pub fn restart(&mut self, volume: usize) -> Result<(), OpeningError> {
        let now = self.now;
        let Some(array) = self.volumes[volume].controller.recorded_mut() else {
            return Err(OpeningError::Rival(self.volumes[volume].name.clone()));
        };
        array.stop(now);
        self.drain(volume);
        while self.volumes[volume].array().is_some_and(|array| array.mode() != Mode::Stopped) {
            let Some(next) = self.next_time() else {
                return Err(OpeningError::Stuck(self.volumes[volume].name.clone()));
            };
            self.step(next);
        }
        let own = &mut self.volumes[volume];
        let status = own.array().expect("it was stopped").status();
        let standing = status.slots().filter_map(|member| member.member).chain(status.spares.iter().copied());
        let mut members: Vec<Option<Member>> =
            std::mem::take(&mut own.members).into_iter().map(Some).collect();
        let drives = standing.filter_map(|number| members[usize::from(number)].take()).collect();
        own.sessions += 1;
        let (array, members) = assemble(&own.name, drives, own.sessions, own.settings, None)?;
        (own.controller, own.members) = (array.into(), members);
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
            Next::LetGo { volume, member, number } => self.let_go(volume, member, number),
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

    /// A unit of a member has completed its access: reports it to the array.
    fn finish(&mut self, volume: u16, member: u16, unit: u16) {
        let Volume { controller, members, together, .. } = &mut self.volumes[usize::from(volume)];
        let drive = &mut members[usize::from(member)];
        let serving = drive.done(self.now, unit);
        let effect = serving.effect;
        together.end(effect.id.job(), member, self.now, members);
        let drive = &mut members[usize::from(member)];
        let outcome = outcome(controller, drive, &serving, &mut self.bytes);
        let read = matches!((effect.action, &outcome), (Action::Read { .. }, Outcome::Done));
        let holds = read && has_units(effect) && controller.is_written_next(effect.id);
        // Reported before the next access begins, because that may float, and depends on the
        // current positions of units.
        controller.complete(self.now, effect.id, outcome);
        match holds.then(|| drive.hold(self.now, effect)).flatten() {
            Some((number, until)) => self.expect(until, Next::LetGo { volume, member, number }),
            None => self.go_on(volume, member, unit),
        }
    }

    /// A free unit of a member takes the next access from the queue.
    fn go_on(&mut self, volume: u16, member: u16, unit: u16) {
        let Volume { controller, members, .. } = &mut self.volumes[usize::from(volume)];
        let drive = &mut members[usize::from(member)];
        let line = bus(&mut self.machine, drive);
        let places = |effect: &Effect, cylinder| controller.places(effect, cylinder);
        if let Some(next) = drive.go_on(self.now, unit, line, places) {
            self.follow(next, volume, member);
        }
    }

    /// An arm has waited for a turn of the platters.
    fn let_go(&mut self, volume: u16, member: u16, number: u32) {
        let members = &mut self.volumes[usize::from(volume)].members;
        // (A drive without mechanics does not wait, and one with has one unit.)
        let waits = members.get_mut(usize::from(member)).is_some_and(|drive| drive.let_go(self.now, number));
        if waits {
            self.go_on(volume, member, 0);
            self.drain(usize::from(volume));
        }
    }

    /// Polls the array until it has nothing more to do. One pass is enough: the outcomes that are
    /// reported during it (completed computations, released memory) cause no further effects.
    pub(crate) fn drain(&mut self, volume: usize) {
        while let Some(effect) = self.volumes[volume].controller.poll_effect() {
            self.begin(volume as u16, effect);
        }
        while let Some(completion) = self.volumes[volume].controller.poll_completion() {
            self.volumes[volume].answered(&completion);
            self.part_answered(completion);
        }
        while let Some(event) = self.volumes[volume].controller.poll_event() {
            if let Some(event) = self.volumes[volume].notable(event) {
                self.health.note(Incident { at: self.now, volume, what: event.into() });
            }
        }
        while self.volumes[volume].controller.poll_release().is_some() {}
        debug_assert!(self.volumes[volume].controller.poll_effect().is_none(), "all effects were taken");
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

    /// Begins an effect.
    fn begin(&mut self, volume: u16, effect: Effect) {
        let controller = &mut self.volumes[usize::from(volume)].controller;
        let length = match effect.action {
            Action::Sum { .. } | Action::Compare => {
                return controller.complete(self.now, effect.id, Outcome::Done);
            }
            Action::Checksum => {
                self.sums.resize(controller.parts_length(effect.id).get() as usize, 0);
                return controller.complete(self.now, effect.id, Outcome::Checksums(&self.sums));
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

    /// An access arrives at its member.
    fn access(&mut self, volume: u16, effect: Effect) {
        let member = effect.action.member().expect("computations are no accesses");
        let Volume { controller, members, .. } = &mut self.volumes[usize::from(volume)];
        let drive = &mut members[member.as_usize()];
        let line = bus(&mut self.machine, drive);
        let places = |effect: &Effect, cylinder| controller.places(effect, cylinder);
        if let Some(begun) = drive.take(self.now, effect, line, places) {
            self.follow(begun, volume, member.get());
        }
    }
}

/// The bus of a drive, if it is on one.
fn bus<'a>(machine: &'a mut Option<Box<Machine>>, drive: &Member) -> Option<&'a mut Line> {
    let machine = machine.as_mut()?;
    machine.strings.get_mut(usize::from(drive.string()?))
}

/// Whether an access is for units: there is no metadata among them.
fn has_units(effect: Effect) -> bool {
    !matches!(effect.class, Class::Metadata | Class::Log)
}

/// The outcome of an access that a drive has completed.
fn outcome<'a>(
    controller: &Controller,
    drive: &mut Member,
    serving: &Serving,
    bytes: &'a mut Vec<u8>,
) -> Outcome<'a> {
    let Serving { effect, placed, .. } = *serving;
    match (effect.action, placed, controller.recorded()) {
        _ if drive.is_dead() => Outcome::Failed(Fault::Gone),
        (_, Some(placed), _) => Outcome::Placed(placed),
        (Action::Float { .. }, ..) | (.., None) => Outcome::Done,
        (.., Some(array)) if has_units(effect) => {
            debug_assert!(array.parts(effect.id).all(|part| part.metadata().is_none()));
            Outcome::Done
        }
        (Action::Read { at, .. }, _, Some(array)) => read_metadata(array, drive, effect, at, bytes),
        (Action::Write { at, .. }, _, Some(array)) => write_metadata(array, drive, effect, at),
        (Action::Zero { at, length, .. } | Action::ReadModifyWrite { at, length, .. }, ..) => {
            drive.metadata.forget(at, length);
            Outcome::Done
        }
        _ => Outcome::Done,
    }
}

/// The metadata that an access reads from a drive.
fn read_metadata<'a>(
    array: &Recorded,
    drive: &Member,
    effect: Effect,
    mut at: Sector,
    bytes: &'a mut Vec<u8>,
) -> Outcome<'a> {
    bytes.clear();
    for part in array.parts(effect.id) {
        if let Some(room) = part.metadata() {
            let start = bytes.len();
            bytes.resize(start + room.len(), 0);
            drive.metadata.read(at, &mut bytes[start..]);
        }
        at = at + part.length();
    }
    if bytes.is_empty() { Outcome::Done } else { Outcome::Metadata(bytes) }
}

/// Stores the metadata that an access writes, and removes what its other parts overwrite.
fn write_metadata(array: &Recorded, drive: &mut Member, effect: Effect, mut at: Sector) -> Outcome<'static> {
    for part in array.parts(effect.id) {
        match part.metadata() {
            Some(bytes) => drive.metadata.write(at, bytes),
            None => drive.metadata.forget(at, part.length()),
        }
        at = at + part.length();
    }
    Outcome::Done
}
