//! A run: plays the events of a script one after another, and checks every answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::DefaultHasher;

use parlour_array::organization::{Consistency, NamedOrganization};
use parlour_array::{
    Event as Told, FailureCause, Geometry, Mode, NewArray, Operation, Repair, RequestError, SUPERBLOCK,
    Superblock, create,
};
use parlour_units::{Duration, Instant, Region, Sector, Sectors, Slot, Stripe};

use crate::content::Value;
use crate::coverage::{Coverage, Fault, State};
use crate::damage::Damage;
use crate::disk::{Disk, Flushes};
use crate::identity::{self, identity};
use crate::oracle::{Oracle, Range, Written};
use crate::promises::Promises;
use crate::random::mix;
use crate::script::{Ask, Event, Return, Script, What};
use crate::trace::Trace;
use crate::violation::Violation;
use crate::world::{Answer, Shelf, World};

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The organization. It is drawn if none is given.
    pub organization: Option<NamedOrganization>,
    /// The consistency of arrays with logs. It is drawn if none is given.
    pub consistency: Option<Consistency>,
    /// The approximate number of hosts' requests.
    pub requests: u64,
    /// Inject more faults than the fault tolerance allows. The array may then report lost data, but
    /// it must not return wrong data.
    pub beyond: bool,
    /// Include all effects and events in the digest: a run takes half as long again.
    pub digest_effects: bool,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { organization: None, consistency: None, requests: 240, beyond: false, digest_effects: false }
    }
}

/// A request that is not answered yet.
#[derive(Debug)]
struct Open {
    ask: Ask,
    range: Range,
    /// The tick with which the oracle identifies it.
    name: u64,
    since: Instant,
    event: u64,
}

/// The longest time of a request in virtual time, with any faults of members.
const PATIENCE: Duration = Duration::from_secs(600);
/// The most steps without progress of virtual time.
const STANDSTILL: u32 = 1_000_000;
/// The identity of a former member that is used as a new one is increased by a multiple of this.
const RENAMED: usize = 1_000;
/// The array is read in ranges of this many sectors.
const LONG_READ: u64 = 512;
/// The number of the event to which these reads belong.
const READING: u64 = u64::MAX >> 2;

/// A run, described in the module's documentation.
pub(crate) struct Run<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) script: &'a Script,
    pub(crate) geometry: Geometry,
    pub(crate) promises: Promises,
    pub(crate) world: World,
    oracle: Oracle,
    open: BTreeMap<u64, Open>,
    /// Requests that wait for memory for their payload.
    waiting: VecDeque<(u64, Ask, Range)>,
    next_tag: u64,
    /// The way in which the array returns after a stop.
    stopping: Option<(bool, Return)>,
    /// The new session is not recorded yet.
    pub(crate) opening: bool,
    /// A disk that is left out of this session.
    returning: Option<usize>,
    /// The array may report a member as older, or a log as damaged: there was a crash while a
    /// member was missing, or a sequence number was reported as implausible.
    pub(crate) behind: bool,
    /// Sectors that were unreadable since full redundancy was last restored: disk and sector.
    pub(crate) scars: Vec<(usize, u64)>,
    /// Copies of members.
    clones: Clones,
    /// Damage that is done before the array is opened again: slots, their disks, and the damage.
    pub(crate) rotting_at_rest: Vec<(u16, usize, Damage)>,
    /// Columns of stripes with wrong parity, which a scrub must find.
    pub(crate) polluted: BTreeSet<(Stripe, u64)>,
    /// The entries of the array's bad-block log: stripes, and columns in sectors.
    pub(crate) given_up: BTreeSet<(Stripe, u64)>,
    /// There was a crash while there were scars.
    pub(crate) unsure: bool,
    /// The disks at the end of an earlier session.
    images: Vec<Disk>,
    /// The number of times that a former member was used as a new one.
    renamed: usize,
    /// A scrub must find a mismatch.
    pub(crate) rotting: bool,
    /// How far the clock of events is behind virtual time.
    offset: Duration,
    pub(crate) trace: Trace,
    pub(crate) requests: u64,
    pub(crate) coverage: Coverage,
    pub(crate) digest: u64,
    /// The array has reported that it lost more than its fault tolerance.
    pub(crate) lost: bool,
    /// Records the moments at which the run may be cut off.
    watch: Watch,
}

impl<'a> Run<'a> {
    /// Creates an array on new members.
    pub(crate) fn new(script: &'a Script, limits: &'a Limits, trace: Trace) -> Result<Run<'a>, Violation> {
        let options = &script.options;
        let geometry = options.geometry();
        let mut shelf = Shelf::new(fresh_disks(script, identity::ARRAY), script.seed, trace.clone());
        shelf.asked = limits.digest_effects.then(DefaultHasher::new);
        shelf.gives_up = script.gives_up();
        let order: Vec<usize> = (0..shelf.disks.len()).collect();
        let refused = |error: &dyn std::fmt::Display| Violation::Opening(error.to_string());
        let assembly = shelf.assemble(&order).map_err(|error| refused(&error))?;
        let world = World::open(shelf, &assembly, &order, options.tuning, false)
            .map_err(|refusal| refused(&refusal.error))?;
        let promises = Promises::of(options.creation.consistency);
        let mut oracle = Oracle::new(geometry.capacity().get(), Value::fill(options.fill), promises);
        oracle.doubts_stay = limits.beyond;
        let mut run = Run::around(script, limits, world, oracle, trace);
        run.world.drain()?;
        run.collect()?;
        Ok(run)
    }

    /// A run with an array that was just opened.
    fn around(script: &'a Script, limits: &'a Limits, world: World, oracle: Oracle, trace: Trace) -> Run<'a> {
        let options = &script.options;
        Run {
            limits,
            script,
            geometry: options.geometry(),
            promises: Promises::of(options.creation.consistency),
            world,
            oracle,
            open: BTreeMap::new(),
            waiting: VecDeque::new(),
            next_tag: 0,
            stopping: None,
            opening: true,
            returning: None,
            behind: false,
            scars: Vec::new(),
            clones: Clones::default(),
            rotting_at_rest: Vec::new(),
            polluted: BTreeSet::new(),
            given_up: BTreeSet::new(),
            unsure: false,
            images: Vec::new(),
            renamed: 0,
            rotting: false,
            offset: Duration::ZERO,
            trace,
            requests: 0,
            coverage: Coverage::default(),
            digest: script.seed,
            lost: false,
            watch: Watch::default(),
        }
    }

    /// Plays all events, and then restores full redundancy and does all checks.
    pub(crate) fn play(&mut self) -> Result<(), Violation> {
        self.play_events(&self.script.events)?;
        if self.lost {
            return Ok(());
        }
        self.standing_still(|run| {
            run.make_whole()?;
            run.verify()
        })
    }

    pub(crate) fn play_events(&mut self, events: &[Event]) -> Result<(), Violation> {
        for event in events {
            self.advance(event)?;
            self.trace.note(self.world.now(), || format!("{event}"));
            self.happen(event)?;
            if self.lost {
                return Ok(());
            }
        }
        Ok(())
    }

    // Time.

    /// Plays everything that happens before `event`.
    fn advance(&mut self, event: &Event) -> Result<(), Violation> {
        let until = Instant::ZERO + event.at + self.offset;
        let (mut last, mut still) = (self.world.now(), 0);
        while self.world.next_time().is_some_and(|next| next <= until) && !self.lost {
            self.step()?;
            still = if self.world.now() == last { still + 1 } else { 0 };
            last = self.world.now();
            if still > STANDSTILL {
                return Err(Violation::Stuck("time stands still".into()));
            }
        }
        self.world.shelf.now = self.world.now().max(until);
        match self.open.values().next().filter(|open| self.world.now().since(open.since) > PATIENCE) {
            Some(open) => Err(Violation::Unanswered(self.told(open))),
            None => Ok(()),
        }
    }

    fn step(&mut self) -> Result<(), Violation> {
        self.world.step()?;
        self.collect()?;
        self.count_step()
    }

    /// Does something that takes virtual time without advancing the clock of events.
    fn standing_still(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let before = self.world.now();
        let result = act(self);
        self.offset = self.offset + self.world.now().since(before);
        result
    }

    /// Continues until `done`.
    pub(crate) fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) -> Result<(), Violation> {
        let began = self.world.now();
        while !done(self) && !self.lost {
            if self.world.next_time().is_none() {
                return Err(Violation::Stuck(format!("{what}: {}", self.situation())));
            }
            self.step()?;
            if self.world.now().since(began) > PATIENCE * 4 {
                return Err(Violation::Stuck(format!("{what} after long: {}", self.situation())));
            }
        }
        Ok(())
    }

    /// Lets the array come to rest: no access or request is under way, and rebuild, resync and
    /// scrub have ended as far as possible.
    pub(crate) fn settle(&mut self) -> Result<(), Violation> {
        self.until("the array does not come to rest", |run| {
            !run.world.is_busy() && run.open.is_empty() && run.waiting.is_empty() && run.is_done()
        })
    }

    fn is_done(&self) -> bool {
        let serving = self.world.array.mode() == Mode::Serving;
        (!serving || !self.world.array.is_maintaining()) && self.stopping.is_none()
    }

    fn situation(&self) -> String {
        let status = self.world.array.status();
        let states: Vec<&str> = status.members.iter().map(|member| member.state).collect();
        let open: Vec<String> = self.open.values().take(3).map(|open| self.told(open)).collect();
        format!(
            "mode {}, members {states:?}, rebuild {:?}, resync {:?}, scrub {:?}, log {:?}, waiting {open:?}",
            status.mode, status.rebuild, status.resync, status.scrub, status.log
        )
    }

    fn told(&self, open: &Open) -> String {
        format!("request #{} ({} {} at {})", open.event, open.ask, open.range.length, open.range.at)
    }

    // Hosts.

    fn host(&mut self, event: u64, ask: Ask, range: Range) -> Result<u64, Violation> {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.requests += 1;
        self.offer(tag, event, ask, range)?;
        Ok(tag)
    }

    /// Submits a request, or queues it until there is memory.
    fn offer(&mut self, tag: u64, event: u64, ask: Ask, range: Range) -> Result<(), Violation> {
        let operation = operation(ask);
        if !self.world.reserve(tag, operation, range.length) {
            self.waiting.push_back((event, ask, range));
            return Ok(());
        }
        let value = Value::written(event);
        let name = match ask {
            Ask::Read => self.oracle.read_begins(),
            Ask::Write { .. } => self.oracle.write_begins(range, value),
            Ask::Zero { .. } | Ask::Trim => self.oracle.write_begins(range, Value::ZERO),
            Ask::Flush => self.oracle.flush_begins(),
        };
        let since = self.world.now();
        self.open.insert(tag, Open { ask, range, name, since, event });
        self.world.submit(tag, operation, range, value)?;
        self.collect()
    }

    /// Processes the array's answers and events.
    fn collect(&mut self) -> Result<(), Violation> {
        if self.lost {
            return Ok(());
        }
        self.opening &= self.world.records();
        if let Some(disk) = self.returning.take_if(|_| !self.opening) {
            self.world.shelf.disks[disk].stale = true;
        }
        (0..std::mem::take(&mut self.world.landed_late)).for_each(|_| self.meet(Fault::LateWrite));
        if !self.world.hiccups.is_empty() {
            self.scars.append(&mut self.world.hiccups);
            self.unsure |= self.is_unsynced();
        }
        self.note_silenced();
        let answers = std::mem::take(&mut self.world.answers);
        let any = !answers.is_empty();
        for answer in answers {
            self.answered(answer)?;
        }
        for told in std::mem::take(&mut self.world.events) {
            self.hear(told)?;
        }
        if any {
            for (event, ask, range) in std::mem::take(&mut self.waiting) {
                let tag = self.next_tag;
                self.next_tag += 1;
                self.offer(tag, event, ask, range)?;
            }
        }
        // One of these answers or events may have ended the array.
        if self.lost {
            return Ok(());
        }
        match self.world.array.mode() {
            Mode::Stopped => self.stopped()?,
            Mode::Halted if !self.world.is_busy() => self.halted()?,
            _ => {}
        }
        self.look();
        Ok(())
    }

    fn answered(&mut self, Answer { tag, result, sectors }: Answer) -> Result<(), Violation> {
        let Some(open) = self.open.remove(&tag) else {
            return Err(Violation::seam(format!("request {tag} is answered, and was not asked")));
        };
        self.digest =
            mix(self.digest ^ mix(tag ^ self.world.now().nanoseconds() << 16)) ^ u64::from(result.is_ok());
        self.trace.note(self.world.now(), || format!("host: {} is answered: {result:?}", self.told(&open)));
        let Open { ask, range, name, .. } = open;
        match ask {
            Ask::Read if result.is_ok() => {
                self.oracle.read_ends(range, name, &sectors, self.is_not_copied())?;
                self.world.reuse(sectors);
            }
            Ask::Read => self.oracle.read_fails(name),
            Ask::Write { durable } | Ask::Zero { durable, .. } => {
                let written = match (result.is_ok(), durable) {
                    (false, _) => Written::Perhaps,
                    (true, false) => Written::Done,
                    (true, true) => Written::Durably,
                };
                self.oracle.write_ends(range, name, written);
            }
            Ask::Trim => self.oracle.write_ends(range, name, Written::Perhaps),
            Ask::Flush if result.is_ok() => self.oracle.flush_ends(name),
            Ask::Flush => {}
        }
        match result {
            Err(error) if !self.may_fail(&open, error) => {
                Err(Violation::Error { request: self.told(&open), error: error.to_string() })
            }
            _ => Ok(()),
        }
    }

    fn may_fail(&self, open: &Open, error: RequestError) -> bool {
        match error {
            RequestError::Stopping => matches!(self.world.array.mode(), Mode::Stopping | Mode::Stopped),
            RequestError::NoSpace => self.world.array.status().counters.out_of_space,
            RequestError::NotFast => matches!(open.ask, Ask::Zero { fast_only: true, .. }),
            RequestError::Lost => {
                let durable = match open.ask {
                    Ask::Write { durable } | Ask::Zero { durable, .. } => durable,
                    Ask::Flush => true,
                    Ask::Read | Ask::Trim => false,
                };
                self.may_be_lost(open.range.at, open.range.length, durable)
            }
            RequestError::ReadOnly
            | RequestError::Superseded
            | RequestError::BeyondEnd
            | RequestError::Misaligned
            | RequestError::BadBuffer => false,
        }
    }

    fn hear(&mut self, told: Told) -> Result<(), Violation> {
        match told {
            Told::MemberFailed { slot, cause } => {
                self.member_excluded();
                // The member was excluded at an arbitrary moment, and unsynced parity may be the
                // only other source of its data.
                let chosen = cause != FailureCause::Unfaithful && !self.limits.beyond;
                if cause == FailureCause::Older {
                    self.must_be_damaged(&told)?;
                }
                if !chosen && self.is_unsynced() && self.geometry.keeps_parity() {
                    let regions = self.geometry.layout().region_count();
                    forgive(&mut self.oracle, &self.geometry, &[slot], (0..regions).map(Region::new));
                }
                Ok(())
            }
            Told::BadBlocksRecorded { slot, at, length, .. } => self.listed(slot, at, length),
            // A sequence number may be reported as implausible although it is right: see
            // docs/reliability.md. The consequences are not checked.
            Told::Implausible { .. } => {
                self.behind = true;
                Ok(())
            }
            Told::CommitLogDamaged { .. } | Told::LogDamaged { .. } | Told::BlockDamaged { .. } => {
                self.must_be_damaged(&told)
            }
            Told::ScrubDone(report)
                if report.mismatches > 0
                    && !self.rotting
                    && self.polluted.is_empty()
                    && !self.limits.beyond =>
            {
                Err(Violation::Scrub {
                    mismatches: report.mismatches,
                    unreadable: report.unreadable,
                    skipped: report.skipped,
                })
            }
            _ => Ok(()),
        }
    }

    // Events.

    fn happen(&mut self, event: &Event) -> Result<(), Violation> {
        if self.lost {
            return Ok(());
        }
        match event.what {
            What::Host(ask, range) => self.host(event.number, ask, range).map(|_| ()),
            What::Crash { power, read } => {
                let power = power || self.forgets_failed_flush();
                self.meet(if power { Fault::PowerCut } else { Fault::Kill });
                self.crash(power)?;
                if read { self.standing_still(Self::read_all) } else { Ok(()) }
            }
            What::Stop { power, back } => self.stop(power, back),
            What::Lose(fault, slot) => self.lose(fault, slot),
            What::Replace(slot) => self.replace(slot),
            What::Back(slot) => self.come_back(slot).map(drop),
            What::Spare => self.add_spare(),
            What::Latent(slot, sector) => {
                self.scar(slot, sector);
                Ok(())
            }
            What::Metadata(slot, number) => {
                self.scar_metadata(slot, number);
                Ok(())
            }
            What::Transient(slot)
            | What::Slow(slot)
            | What::Full(slot)
            | What::FlushFails(slot)
            | What::FlushesLie(slot)
            | What::Starved(slot)
            | What::FullEverywhere(slot) => {
                self.ail(event.what, slot);
                Ok(())
            }
            What::Silent(slot, silent) => {
                self.arm(slot, silent);
                Ok(())
            }
            What::Damage(slot, damage) => {
                self.damage(slot, damage);
                Ok(())
            }
            What::Rival(number) => self.standing_still(|run| run.rival(event.number, number)),
            What::Clone(slot) => self.copy_member(slot),
            What::PutClone(number) => {
                self.clones.put = Some(number);
                Ok(())
            }
            What::Scrub { repair } => self.scrub(repair),
            What::Rot(number) => self.standing_still(|run| run.rot(number)),
            What::Rest { heal } => self.standing_still(|run| {
                if heal {
                    run.make_whole()?;
                }
                run.settle()?;
                run.verify()
            }),
            What::Quiet => self.standing_still(Self::settle),
            What::Watch => {
                self.begin_watch();
                Ok(())
            }
        }
    }

    /// Whether a kill would make the array forget that a flush failed. The writes before that flush
    /// may be lost at any later time, although flushes of the next session succeed. So only the
    /// promises for a power cut apply.
    fn forgets_failed_flush(&self) -> bool {
        let disks = &self.world.shelf.disks;
        let failed = |disk: &usize| disks[*disk].flushes == Flushes::Failed;
        self.standing().iter().any(failed)
            || self.world.records() && (0..disks.len()).any(|disk| failed(&disk))
    }

    /// Counts a fault in the array's current state.
    pub(crate) fn meet(&mut self, fault: Fault) {
        let status = self.world.array.status();
        let busy = !self.open.is_empty();
        let state = State::of(&status, self.world.array.mode(), self.opening, busy);
        self.coverage.note(fault, state);
    }

    /// Counts the fault and returns true, if the array promises to survive it or `beyond` is set.
    fn dares(&mut self, fault: Fault, slot: u16) -> bool {
        // If a flush fails on a member that must be kept, it is unknown what is durable.
        let dares = match self.limits.beyond {
            true if fault == Fault::FailedFlush => false,
            // Copies on members without space may differ, and the copy that was read may not
            // remain.
            true if fault.is_of_space() && self.geometry.keeps_copies() => self.survives(fault, slot),
            true => true,
            false => self.survives(fault, slot),
        };
        if dares {
            self.meet(fault);
        }
        dares
    }

    pub(crate) fn disk_at(&self, slot: u16) -> Option<usize> {
        let member = self.world.array.member_at(Slot::new(slot))?;
        self.world.disk_of(member.get())
    }

    fn stop(&mut self, power: bool, back: Return) -> Result<(), Violation> {
        if self.stopping.is_some() {
            return Ok(());
        }
        self.meet(Fault::Stop);
        self.begin_stop(power, back)
    }

    pub(crate) fn begin_stop(&mut self, power: bool, back: Return) -> Result<(), Violation> {
        self.stopping = Some((power, back));
        self.world.array.stop(self.world.now());
        self.world.drain()?;
        self.collect()
    }

    fn lose(&mut self, fault: Fault, slot: u16) -> Result<(), Violation> {
        let Some(disk) = self.disk_at(slot) else { return Ok(()) };
        if self.is_failed(slot) || !self.dares(fault, slot) {
            return Ok(());
        }
        self.member_excluded();
        match fault {
            Fault::Death => self.world.shelf.disks[disk].dead = true,
            Fault::Hang => self.world.shelf.disks[disk].mute = true,
            _ => {
                // An array that is being stopped refuses.
                let _refused = self.world.array.fail(self.world.now(), Slot::new(slot));
                self.world.drain()?;
                self.collect()?;
            }
        }
        Ok(())
    }

    /// Data that was read from one member may not be on the others.
    fn member_excluded(&mut self) {
        self.oracle.member_excluded(self.is_not_copied());
    }

    /// Whether there are copies that are not yet equal to the first one.
    fn is_not_copied(&self) -> bool {
        self.geometry.keeps_copies() && self.is_unsynced()
    }

    /// Whether there are copies that are equal to the first one, but perhaps not on stable storage.
    /// After a power cut they are updated again, unless the first copy is lost before.
    fn may_be_uncopied(&self) -> bool {
        let copies = self.geometry.keeps_copies();
        copies && self.geometry.fault_tolerance() > 0 && self.world.array.status().dirty_regions > 0
    }

    pub(crate) fn is_failed(&self, slot: u16) -> bool {
        self.world.array.status().members[usize::from(slot)].state == "failed"
    }

    fn replace(&mut self, slot: u16) -> Result<(), Violation> {
        let serving = self.world.array.mode() == Mode::Serving;
        if self.geometry.fault_tolerance() == 0 || !serving || !self.dares(Fault::Replacement, slot) {
            return Ok(());
        }
        self.put_new(slot)
    }

    /// A missing member of `slot` returns, if the array knows it and allows it. Returns whether it
    /// did.
    fn come_back(&mut self, slot: u16) -> Result<bool, Violation> {
        let returning = |disk: &usize| self.may_return(&self.world.shelf.disks[*disk], slot);
        let Some(disk) = self.former_members().find(returning) else { return Ok(false) };
        let image = self.images.get(disk).filter(|image| !image.is_silently_wrong());
        if image.is_some_and(|image| self.may_return(image, slot)) {
            self.world.shelf.disks[disk] = self.images[disk].clone();
        }
        let rebuilds = self.world.array.status().rebuild.is_some();
        if self.world.array.mode() != Mode::Serving || rebuilds {
            return Ok(false);
        }
        self.meet(Fault::Comeback);
        let info = self.world.info(disk);
        let taken = self.world.array.replace(self.world.now(), Slot::new(slot), info);
        let member = taken.map_err(|_| Violation::seam("a member that may return is refused"))?;
        (self.world.shelf.disks[disk].stale, self.world.shelf.disks[disk].flushes) = (false, Flushes::Work);
        self.world.introduce(member, disk)?;
        self.world.drain()?;
        self.collect()?;
        Ok(true)
    }

    fn may_return(&self, disk: &Disk, slot: u16) -> bool {
        let read = |at: Sector| disk.try_read(at, SUPERBLOCK).unwrap_or_default();
        let [first, second] = Geometry::superblocks_at(disk.length).map(read);
        let superblock = Superblock::decode_copies(&first, &second).ok();
        let read = |bank| disk.try_read(self.geometry.bitmap_at(bank), self.geometry.bitmap_length());
        let bitmaps = [0, 1].map(read);
        superblock.and_then(|own| self.world.array.may_return(&own, &bitmaps)) == Some(Slot::new(slot))
    }

    /// Keeps images of the disks, which may later be used as returning members.
    pub(crate) fn keep_images(&mut self, shelf: &Shelf) {
        if self.script.has_returns() && self.images.is_empty() {
            self.images.clone_from(&shelf.disks);
        }
    }

    /// A new member takes `slot`, or its old member returns, if the array allows it.
    pub(crate) fn put_new(&mut self, slot: u16) -> Result<(), Violation> {
        if self.script.has_returns() && self.come_back(slot)? {
            return Ok(());
        }
        let disk = self.new_disk();
        let info = self.world.info(disk);
        match self.world.array.replace(self.world.now(), Slot::new(slot), info) {
            Ok(member) => self.world.introduce(member, disk)?,
            Err(_refused) => self.world.shelf.disks[disk].dead = true,
        }
        self.world.drain()?;
        self.collect()
    }

    fn add_spare(&mut self) -> Result<(), Violation> {
        let spares = self.world.array.status().spares.len();
        let serving = self.world.array.mode() == Mode::Serving;
        if self.geometry.fault_tolerance() == 0 || !serving || spares > 0 {
            return Ok(());
        }
        self.meet(Fault::Spare);
        let disk = self.new_disk();
        let info = self.world.info(disk);
        match self.world.array.add_spare(self.world.now(), info) {
            Ok(member) => self.world.introduce(member, disk)?,
            Err(_refused) => self.world.shelf.disks[disk].dead = true,
        }
        self.world.drain()?;
        self.collect()
    }

    /// A disk that is not in use in this array and has old content; in some seeds a former member
    /// with all its old content.
    fn new_disk(&mut self) -> usize {
        let index = self.world.shelf.disks.len();
        let length = self.script.options.creation.member_length;
        let former = self.former_members().next();
        if let Some(former) = former.filter(|_| self.script.has_more()) {
            let disk = &mut self.world.shelf.disks[former];
            // The superblocks are wiped, as a driver does: until the array writes new ones, the
            // disk must not be taken for its old member.
            let blank = [0; parlour_array::SUPERBLOCK_BYTES];
            Geometry::superblocks_at(disk.length).iter().for_each(|at| disk.write(*at, &blank, true));
            self.renamed += 1;
            disk.identity = identity::member(index + RENAMED * self.renamed);
            (disk.stale, disk.flushes) = (false, Flushes::Work);
            disk.forget_taints();
            return former;
        }
        self.world.shelf.disks.push(Disk::new(identity::member(index), length, 0x33));
        index
    }

    /// Disks that work and are former members.
    fn former_members(&self) -> impl Iterator<Item = usize> + '_ {
        let standing = self.standing();
        let length = self.script.options.creation.member_length;
        let free = move |index: &usize| {
            let disk = &self.world.shelf.disks[*index];
            let works = !disk.answers_not() && !disk.full && disk.length == length && disk.bad.is_empty();
            works
                && !standing.contains(index)
                && self.returning != Some(*index)
                && !self.world.is_in_use(*index)
        };
        (0..self.world.shelf.disks.len()).filter(free)
    }

    fn scar(&mut self, slot: u16, sector: u64) {
        let Some(disk) = self.disk_at(slot) else { return };
        if self.is_failed(slot) || !self.dares(Fault::LatentError, slot) {
            return;
        }
        let sector = self.geometry.data_start().get() + sector;
        self.world.shelf.disks[disk].bad.insert(sector);
        self.scars.push((disk, sector));
        // From now on, data that was read there must come from other members.
        self.member_excluded();
        self.unsure |= self.is_unsynced();
    }

    fn scar_metadata(&mut self, slot: u16, number: u64) {
        let Some(disk) = self.disk_at(slot) else { return };
        if self.is_failed(slot) || !self.dares(Fault::MetadataError, slot) {
            return;
        }
        let sector = metadata_sector(&self.geometry, self.world.shelf.disks[disk].length, number);
        self.world.shelf.disks[disk].bad.insert(sector);
        self.scars.push((disk, sector));
    }

    fn ail(&mut self, what: What, slot: u16) {
        let Some(disk) = self.disk_at(slot) else { return };
        let fault = match what {
            What::Transient(_) => Fault::TransientError,
            What::Slow(_) => Fault::SlowMember,
            What::FlushFails(_) => Fault::FailedFlush,
            What::FlushesLie(_) => Fault::LyingFlush,
            What::Starved(_) => Fault::Starvation,
            What::FullEverywhere(_) => Fault::OutOfAllSpace,
            _ => Fault::OutOfSpace,
        };
        if fault == Fault::LyingFlush {
            return self.begin_to_lie(disk, slot);
        }
        if self.is_failed(slot) || !self.dares(fault, slot) {
            return;
        }
        let disk = &mut self.world.shelf.disks[disk];
        match fault {
            Fault::TransientError => disk.hiccup = true,
            Fault::FailedFlush => disk.flushes = Flushes::Fail,
            Fault::SlowMember => disk.slow = 30,
            Fault::Starvation => disk.starved = true,
            Fault::OutOfAllSpace => (disk.full, disk.full_everywhere) = (true, true),
            _ => disk.full = true,
        }
    }

    fn scrub(&mut self, repair: bool) -> Result<(), Violation> {
        let copies = self.geometry.keeps_copies();
        let how = match (repair, copies) {
            (false, _) => Repair::Nothing,
            (true, false) => Repair::ParityFromData,
            (true, true) => Repair::Majority,
        };
        // Refused if there is nothing to compare or a scrub is running.
        if self.world.array.scrub(self.world.now(), how).is_ok() {
            self.meet(if repair { Fault::RepairingScrub } else { Fault::Scrub });
        }
        self.world.drain()?;
        self.collect()
    }

    /// Reads the whole array.
    pub(crate) fn read_all(&mut self) -> Result<(), Violation> {
        let capacity = self.geometry.capacity().get();
        let mut at = 0;
        while at < capacity && !self.lost {
            if !matches!(self.world.array.mode(), Mode::Serving | Mode::ReadOnly) {
                return Ok(());
            }
            let length = LONG_READ.min(capacity - at);
            let tag = self.host(READING, Ask::Read, Range { at, length })?;
            self.until("a read of all", |run| !run.open.contains_key(&tag) && run.waiting.is_empty())?;
            at += length;
        }
        Ok(())
    }
}

/// A sector of a superblock, bitmap, table, bad-block log or commit log on a member of `length`.
fn metadata_sector(geometry: &Geometry, length: Sectors, number: u64) -> u64 {
    let bank = (number % 2) as usize;
    let superblock = (Geometry::superblocks_at(length)[bank], SUPERBLOCK);
    let areas = [
        Some(superblock),
        Some((geometry.bitmap_at(bank), geometry.bitmap_length())),
        geometry.layout().logs().map(|_| (geometry.table_at(bank), geometry.table_length())),
        geometry.bad_block_log_at(bank),
        Some(geometry.commit_log()).filter(|(_, length)| !length.is_zero()),
    ];
    let areas: Vec<(Sector, Sectors)> = areas.into_iter().flatten().collect();
    let (at, length) = areas[(number >> 8) as usize % areas.len()];
    at.get() + (number >> 16) % length.get()
}

/// The array's members after creation.
pub(crate) fn fresh_disks(script: &Script, array: u64) -> Vec<Disk> {
    let options = &script.options;
    let geometry = options.geometry();
    let length = options.creation.member_length;
    let names = |index: usize| match array {
        identity::ARRAY => identity::member(index),
        other => identity(other << 32 | index as u64),
    };
    let members: Vec<_> = (0..usize::from(options.creation.members)).map(|m| (names(m), length)).collect();
    let new = NewArray {
        array: identity(array),
        session: identity(identity::FIRST_SESSION),
        members: members.clone(),
        name: "torture".into(),
        created: 0,
        zeroed: options.fill == 0,
    };
    let images = create(&geometry, &new).into_iter().zip(members);
    let disk = |(image, (identity, length)): (parlour_array::Image, (_, Sectors))| {
        let mut disk = Disk::new(identity, length, options.fill);
        image.into_iter().for_each(|(at, block)| disk.write(at, &block, true));
        disk
    };
    images.map(disk).collect()
}

/// Allows any content of the data that `slots` hold in `regions`.
fn forgive(oracle: &mut Oracle, geometry: &Geometry, slots: &[Slot], regions: impl Iterator<Item = Region>) {
    let layout = geometry.layout();
    let unit_length = layout.unit_length().get();
    for region in regions {
        for stripe in (0..).map_while(|index| layout.stripe_in(region, index)) {
            let lost = layout
                .units()
                .filter(|unit| layout.is_data(*unit) && slots.contains(&layout.locate(stripe, *unit).slot));
            for unit in lost {
                let number = stripe.get() * u64::from(layout.data_units()) + u64::from(unit.get());
                let first = number * unit_length;
                (first..first + unit_length).for_each(|sector| oracle.forgive(sector));
            }
        }
    }
}

fn operation(ask: Ask) -> Operation {
    match ask {
        Ask::Read => Operation::Read,
        Ask::Write { durable } => Operation::Write { durable },
        Ask::Zero { may_unmap, fast_only, durable } => {
            Operation::WriteZeroes { may_unmap, fast_only, durable }
        }
        Ask::Trim => Operation::Trim,
        Ask::Flush => Operation::Flush,
    }
}

mod clones;
mod cut;
mod reopen;
mod rival;
mod silence;

use clones::Clones;
use cut::Watch;
pub(crate) use cut::{Moment, Seen, Wreck};
