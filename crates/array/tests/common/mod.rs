//! The driver of the array's own tests: members are byte vectors, time is virtual, effects are
//! answered in a seeded random order, one at a time.
#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test uses a part of it")]

mod carry;
mod disk;
mod random;
mod setup;

use std::collections::BTreeMap;

use parlour_array::{
    Action, Array, Assembly, AssemblyError, Banks, BufferId, Candidate, Class, CommitLogContent, Effect,
    Event, Geometry, Identity, Image, MemberInfo, Mode, NewArray, Opening, Operation, Request, RequestError,
    SUPERBLOCK_BYTES, Superblock, Tag, create,
};
use parlour_units::{Instant, Member, Sector, Sectors, Slot};

pub use disk::Disk;
pub use random::{Random, payload};
pub use setup::Setup;

/// The default seed of all tests; each failure prints the one it ran with.
pub const SEED: u64 = 0x5041_524c_4f55_5221;

/// An array with its members.
pub struct World {
    pub array: Array,
    pub disks: Vec<Disk>,
    /// By number of a member: the index of its disk.
    pub numbers: Vec<usize>,
    pub setup: Setup,
    pub now: Instant,
    pub random: Random,
    pub memory: BTreeMap<usize, Vec<u8>>,
    pub pending: Vec<Effect>,
    pub caps: BTreeMap<u64, usize>,
    pub shuffle: bool,
    /// Answered requests: the result, and the data of a read.
    pub done: BTreeMap<u64, (Result<(), RequestError>, Vec<u8>)>,
    buffers: BTreeMap<u64, BufferId>,
    pub events: Vec<Event>,
    next_tag: u64,
    pub sessions: u64,
    pub handed_out: u64,
}

pub fn identity(number: u64) -> Identity {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Identity(bytes)
}

impl World {
    /// Creates an array on fresh members and opens it.
    pub fn new(setup: &Setup, seed: u64) -> World {
        let geometry = setup.geometry();
        // (A journal device is not longer than it needs to be.)
        let length = |slot: Slot| match geometry.is_for_journal(slot) {
            true => geometry.least_length(slot),
            false => Sectors::new(setup.member_length),
        };
        let devices = usize::from(setup.members + setup.log.journals);
        let member = |slot: Slot| (identity(u64::from(slot.get()) + 100), length(slot));
        let members: Vec<(Identity, Sectors)> = geometry.slots().take(devices).map(member).collect();
        let new = NewArray {
            array: identity(1),
            session: identity(2),
            members: members.clone(),
            name: "test".into(),
            created: 0,
            zeroed: setup.zeroed,
        };
        let mut random = Random(seed);
        let disk = |(image, (identity, length)): (Image, &(Identity, Sectors))| {
            let mut bytes = vec![0; length.bytes().as_usize()];
            if !setup.zeroed {
                bytes.iter_mut().for_each(|byte| *byte = random.next() as u8);
            }
            for (at, block) in image {
                let at = at.bytes() as usize;
                bytes[at..at + block.len()].copy_from_slice(&block);
            }
            Disk { bytes, identity: *identity, ..Disk::default() }
        };
        let disks: Vec<Disk> = create(&geometry, &new).into_iter().zip(&members).map(disk).collect();
        let numbers: Vec<usize> = (0..disks.len()).collect();
        World::open(setup, disks, numbers, random, 10, false).expect("a fresh array opens")
    }

    /// Opens the array on these `disks`, in this `order`.
    pub fn open(
        setup: &Setup,
        disks: Vec<Disk>,
        order: Vec<usize>,
        random: Random,
        sessions: u64,
        force: bool,
    ) -> Result<World, AssemblyError> {
        World::try_open(setup, disks, order, random, sessions, force, false).map_err(|(error, _)| error)
    }

    pub fn try_open(
        setup: &Setup,
        disks: Vec<Disk>,
        order: Vec<usize>,
        random: Random,
        sessions: u64,
        force: bool,
        read_only: bool,
    ) -> Result<World, (AssemblyError, Vec<Disk>)> {
        let candidates: Vec<Candidate> =
            order.iter().map(|index| candidate(&disks[*index], *index)).collect();
        let assembly = match Assembly::new(&candidates) {
            Ok(assembly) => assembly,
            Err(error) => return Err((error, disks)),
        };
        let info = |disk: &Disk| MemberInfo {
            identity: disk.identity,
            length: Sectors::new(disk.bytes.len() as u64 / 512),
            unmaps: true,
        };
        let members = assembly.slots.iter().map(|slot| slot.map(|c| info(&disks[order[c]]))).collect();
        let spares = assembly.spares.iter().map(|c| info(&disks[order[*c]])).collect();
        let mut numbers: Vec<usize> =
            assembly.slots.iter().map(|slot| slot.map_or(usize::MAX, |c| order[c])).collect();
        numbers.extend(assembly.spares.iter().map(|c| order[*c]));
        let geometry = assembly.geometry.clone();
        let read = |index: usize, at: Sector, length: Sectors| {
            let at = at.bytes() as usize;
            disks[index].bytes[at..at + length.bytes().as_usize()].to_vec()
        };
        let banks = |slot: &dyn Fn(usize) -> (Sector, Sectors)| -> Vec<Banks> {
            let bank_of = |disk: usize, (at, length): (Sector, Sectors)| {
                disks[disk].can_read(at, length).then(|| read(disk, at, length))
            };
            let own =
                |index: &Option<usize>| [0, 1].map(|bank| index.and_then(|c| bank_of(order[c], slot(bank))));
            assembly.slots.iter().map(own).collect()
        };
        let bitmaps = banks(&|bank| (geometry.bitmap_at(bank), geometry.bitmap_length()));
        let tables = match geometry.records_updates() {
            true => banks(&|bank| (geometry.table_at(bank), geometry.table_length())),
            false => Vec::new(),
        };
        let bad_block_logs = match geometry.bad_block_log_at(0) {
            Some((first, length)) => banks(&|bank| (first + length * bank as u64, length)),
            None => Vec::new(),
        };
        let (commit_log, length) = geometry.commit_log();
        let commits = assembly.slots.iter().map(|slot| match slot {
            Some(candidate) if !length.is_zero() => {
                let (disk, block) = (order[*candidate], geometry.block().get());
                let blocks = (0..length.get()).step_by(block as usize);
                let is_lost = |first: &u64| {
                    let first = commit_log.get() + first;
                    disks[disk].unreadable.range(first..first + block).next().is_some()
                };
                let gaps: Vec<(u64, u64)> = blocks.filter(is_lost).map(|first| (first, block)).collect();
                CommitLogContent::with_gaps(&assembly, &read(disk, commit_log, length), &gaps)
            }
            _ => CommitLogContent::default(),
        });
        let commits = commits.collect();
        let opening = Opening {
            assembly,
            members,
            spares,
            bitmaps,
            tables,
            bad_block_logs,
            commits,
            session: identity(1_000 + sessions),
            read_only,
            force,
            tuning: setup.tuning,
        };
        let opened = match setup.real {
            true => Array::open(Instant::ZERO, opening),
            false => Array::open_simulated(Instant::ZERO, opening, setup.simulated),
        };
        match opened {
            Ok(array) => {
                let mut world = World {
                    array,
                    disks,
                    numbers,
                    setup: setup.clone(),
                    now: Instant::ZERO,
                    random,
                    memory: BTreeMap::new(),
                    pending: Vec::new(),
                    caps: BTreeMap::new(),
                    shuffle: false,
                    done: BTreeMap::new(),
                    buffers: BTreeMap::new(),
                    events: Vec::new(),
                    next_tag: 0,
                    sessions: sessions + 1,
                    handed_out: 0,
                };
                world.drain();
                Ok(world)
            }
            Err(error) => Err((error, disks)),
        }
    }

    /// Stops the array properly, and opens it again from its members.
    pub fn restart(mut self) -> World {
        self.stop();
        self.reopen(false).expect("a stopped array opens")
    }

    pub fn stop(&mut self) {
        self.array.stop(self.now);
        self.drain();
        self.settle_until(|world| world.array.mode() == Mode::Stopped);
        assert_eq!(self.array.mode(), Mode::Stopped);
    }

    /// Opens the array from its living members, in another order; effects in flight are lost.
    pub fn reopen(self, force: bool) -> Result<World, AssemblyError> {
        let World { disks, setup, mut random, sessions, .. } = self;
        let mut order: Vec<usize> = (0..disks.len()).filter(|index| !disks[*index].dead).collect();
        let count = order.len() as u64;
        for index in (1..order.len()).rev() {
            order.swap(index, random.below(count) as usize % (index + 1));
        }
        World::open(&setup, disks, order, random, sessions, force)
    }

    pub fn capacity(&self) -> u64 {
        self.array.geometry().capacity().get()
    }

    /// Submits a request; returns its tag.
    pub fn submit(&mut self, operation: Operation, at: u64, length: u64, payload: Option<&[u8]>) -> u64 {
        let tag = self.next_tag;
        self.next_tag += 1;
        let needs = matches!(operation, Operation::Read | Operation::Write { .. });
        let buffer =
            needs.then(|| self.array.reserve(Sectors::new(length)).expect("tests stay within the budget"));
        if let (Some(buffer), Some(payload)) = (buffer, payload) {
            self.memory.insert(buffer.as_usize(), payload.to_vec());
        }
        let request =
            Request { tag: Tag(tag), operation, at: Sector::new(at), length: Sectors::new(length), buffer };
        if let Some(buffer) = buffer {
            self.buffers.insert(tag, buffer);
        }
        self.array.submit(self.now, request);
        self.drain();
        tag
    }

    pub fn write(&mut self, at: u64, payload: &[u8]) -> u64 {
        self.submit(Operation::Write { durable: false }, at, payload.len() as u64 / 512, Some(payload))
    }

    pub fn read(&mut self, at: u64, length: u64) -> u64 {
        self.submit(Operation::Read, at, length, None)
    }

    /// Submits a request, runs until it is answered, and returns the answer.
    pub fn do_now(
        &mut self,
        operation: Operation,
        at: u64,
        length: u64,
        payload: Option<&[u8]>,
    ) -> (Result<(), RequestError>, Vec<u8>) {
        let tag = self.submit(operation, at, length, payload);
        self.settle_until(|world| world.done.contains_key(&tag));
        self.done.remove(&tag).expect("it was answered")
    }

    pub fn read_now(&mut self, at: u64, length: u64) -> Result<Vec<u8>, RequestError> {
        let (result, bytes) = self.do_now(Operation::Read, at, length, None);
        result.map(|()| bytes)
    }

    pub fn write_now(&mut self, at: u64, payload: &[u8]) -> Result<(), RequestError> {
        self.do_now(Operation::Write { durable: false }, at, payload.len() as u64 / 512, Some(payload)).0
    }

    /// From now on the system has no memory for accesses to the members' data areas, or has memory
    /// again.
    pub fn starve(&mut self, starved: bool) {
        self.disks.iter_mut().for_each(|disk| disk.starved = starved);
    }

    /// Whether two pending effects are for the same place of two members.
    pub fn is_same_place(&self, one: usize, other: usize) -> bool {
        let range = |index: usize| self.pending[index].action.range();
        range(one).is_some() && range(one) == range(other)
    }

    pub fn all_volatile(&mut self) {
        for d in &mut self.disks {
            d.volatile();
        }
    }

    /// Cuts the power and opens the array again.
    pub fn crash(mut self, force: bool) -> Result<World, AssemblyError> {
        // Writes in flight may be done in part.
        for effect in std::mem::take(&mut self.pending) {
            if let Action::Write { member, at, .. } | Action::ReadModifyWrite { member, at, .. } =
                effect.action
            {
                let number = self.numbers[member.as_usize()];
                if number == usize::MAX || self.disks[number].dead || self.random.chance(2) {
                    continue;
                }
                let bytes: Vec<u8> = match effect.action {
                    Action::ReadModifyWrite { length, modify, .. } => {
                        if !self.disks[number].can_read(at, length) {
                            continue;
                        }
                        let from = at.bytes() as usize;
                        let read = &self.disks[number].bytes[from..from + length.bytes().as_usize()];
                        let read = read.to_vec();
                        self.modified(effect, modify, &read)
                    }
                    _ => self.gathered(effect),
                };
                for (i, sector) in bytes.chunks(512).enumerate() {
                    if self.random.chance(2) {
                        self.disks[number].note_write(at.get() + i as u64, sector, false);
                    }
                }
            }
        }
        let keep = self.random.below(5);
        let mut random = self.random.clone();
        for d in &mut self.disks {
            if d.stable.is_some() {
                d.power_loss(&mut random, keep);
            }
        }
        self.random = random;
        self.reopen(force)
    }

    /// A new, empty disk; returns its index and its description for the array.
    pub fn new_disk(&mut self) -> (usize, MemberInfo) {
        let index = self.disks.len();
        let identity = identity(500 + index as u64);
        let bytes = vec![0x55; self.setup.member_length as usize * 512];
        let mut disk = Disk { bytes, identity, ..Disk::default() };
        if self.disks[0].stable.is_some() {
            disk.volatile();
        }
        self.disks.push(disk);
        let length = Sectors::new(self.setup.member_length);
        (index, MemberInfo { identity, length, unmaps: true })
    }

    /// Puts a new disk into `slot`.
    pub fn replace(&mut self, slot: u16) {
        let (index, mut info) = self.new_disk();
        if self.array.geometry().is_for_journal(Slot::new(slot)) {
            info.length = self.array.geometry().least_length(Slot::new(slot));
            self.disks[index].bytes.truncate(info.length.bytes().as_usize());
        }
        let member = self.array.replace(self.now, Slot::new(slot), info).expect("it can be replaced");
        assert_eq!(member.as_usize(), self.numbers.len());
        self.numbers.push(index);
        self.drain();
    }

    pub fn add_spare(&mut self) {
        let (index, info) = self.new_disk();
        let member = self.array.add_spare(self.now, info).expect("it fits");
        assert_eq!(member.as_usize(), self.numbers.len());
        self.numbers.push(index);
        self.drain();
    }

    /// Whether `member` is a journal device.
    pub fn is_journal(&self, member: Member) -> bool {
        self.array.status().journals.iter().any(|journal| journal.member == Some(member.get()))
    }

    /// The disk of the member in `slot`.
    pub fn disk_at(&mut self, slot: u16) -> &mut Disk {
        let member =
            self.array.status().slot(slot).and_then(|slot| slot.member).expect("a member stands there");
        &mut self.disks[self.numbers[usize::from(member)]]
    }

    /// Runs a scrub to its end; returns its report.
    pub fn scrub(&mut self, repair: parlour_array::Repair) -> parlour_array::ScrubReport {
        self.array.scrub(self.now, repair).expect("a scrub can start");
        self.drain();
        // (Its accesses say so at less cost than the status.)
        let goes_on = |world: &World| world.pending.iter().any(|effect| effect.class == Class::Scrub);
        self.settle_until(|world| !goes_on(world) && world.array.status().scrub.is_none());
        self.array.status().last_scrub.expect("a scrub has run")
    }
}

/// The disk as a candidate, as a driver reads it.
pub fn candidate(disk: &Disk, index: usize) -> Candidate {
    let length = Sectors::new(disk.bytes.len() as u64 / 512);
    let read = |at: Sector| {
        let at = at.bytes() as usize;
        disk.bytes[at..at + SUPERBLOCK_BYTES].to_vec()
    };
    let [first, second] = Geometry::superblocks_at(length).map(read);
    Candidate {
        name: format!("disk {index}"),
        length,
        superblock: Superblock::decode_copies(&first, &second),
    }
}

/// Held by a test that plants bugs: they affect the whole process, so one plants them at a time.
#[cfg(feature = "planted-bugs")]
#[allow(clippy::disallowed_types, reason = "the array has no threads, its tests do")]
pub fn alone() -> std::sync::MutexGuard<'static, ()> {
    static PLANTING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    PLANTING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Plants each of the bugs, in the whole process, and checks that one of the tests fails.
#[cfg(feature = "planted-bugs")]
pub fn find_each(bugs: &[parlour_array::Bug], tests: &[fn()]) {
    let _alone = alone();
    let mut missed: Vec<parlour_array::Bug> = Vec::new();
    for bug in bugs {
        parlour_array::plant(Some(*bug));
        let found = tests.iter().position(|test| std::panic::catch_unwind(*test).is_err());
        parlour_array::plant(None);
        println!("{bug:?}: {found:?}");
        missed.extend(found.is_none().then_some(*bug));
    }
    assert!(missed.is_empty(), "not found: {missed:?}");
}
