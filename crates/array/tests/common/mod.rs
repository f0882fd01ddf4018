//! The driver of the array's own tests: members are byte vectors, time is virtual, effects are
//! answered in a seeded random order, one at a time.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::collections::BTreeMap;

use parlour_array::organization::{Consistency, Copies, Organization};
use parlour_array::{
    Action, Array, Assembly, AssemblyError, Banks, BufferId, Candidate, Class, CommitLogContent, Completion,
    Creation, Cylinder, Effect, Event, Fault, Geometry, Identity, Image, LogCreation, MemberInfo, Mode,
    Modify, NewArray, Opening, Operation, Outcome, Request, RequestError, SUPERBLOCK_BYTES, Simulated, Slice,
    StoredGeometry, Superblock, Tag, Tuning, create,
};
use parlour_units::{Duration, Instant, Member, Sector, Sectors, Slot};

/// The default seed of all tests; each failure prints the one it ran with.
pub const SEED: u64 = 0x5041_524c_4f55_5221;

/// SplitMix64: small, seeded, good enough to choose what happens next.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// A member: its bytes and its faults.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    pub bytes: Vec<u8>,
    pub dead: bool,
    pub full: bool,
    /// The system has no memory for accesses to its data area.
    pub starved: bool,
    /// It has no room for metadata.
    pub cramped: bool,
    /// Sectors that cannot be read until they are written.
    pub unreadable: std::collections::BTreeSet<u64>,
    /// Sectors that cannot be read even after they were written.
    pub worn: std::collections::BTreeSet<u64>,
    /// The number of further reads of these sectors that fail.
    pub stutters: BTreeMap<u64, u32>,
    pub identity: Identity,
    pub writes: u64,
    /// The stable image, if there is a volatile cache, and the writes since (at, bytes, durable).
    pub stable: Option<Vec<u8>>,
    pub cache: Vec<(u64, Vec<u8>, bool)>,
    pub base: usize,
    pub flush_fails: bool,
    pub durable_writes_fail: Option<Fault>,
    /// It answers writes without carrying them out.
    pub drops: bool,
}

impl Disk {
    fn can_read(&self, at: Sector, length: Sectors) -> bool {
        let lost = |sector| self.unreadable.contains(&sector) || self.worn.contains(&sector);
        !(at.get()..(at + length).get()).any(lost)
    }

    /// Tries to read. Returns whether that succeeds.
    fn try_read(&mut self, at: Sector, length: Sectors) -> bool {
        let mut clear = true;
        for (_, left) in self.stutters.range_mut(at.get()..(at + length).get()) {
            clear &= *left == 0;
            *left = left.saturating_sub(1);
        }
        clear && self.can_read(at, length)
    }

    pub fn volatile(&mut self) {
        self.stable = Some(self.bytes.clone());
    }
    pub fn flush(&mut self, cap: usize) {
        if self.stable.is_none() {
            return;
        }
        let n = cap.saturating_sub(self.base).min(self.cache.len());
        for e in &mut self.cache[..n] {
            e.2 = true;
        }
        self.compact();
    }
    pub fn compact(&mut self) {
        let n = self.cache.iter().take_while(|e| e.2).count();
        let stable = self.stable.as_mut().unwrap();
        for (at, bytes, _) in self.cache.drain(..n) {
            let at = at as usize * 512;
            stable[at..at + bytes.len()].copy_from_slice(&bytes);
        }
        self.base += n;
    }
    /// A power cut: each sector of each write that is not flushed may be there or not.
    pub fn power_loss(&mut self, random: &mut Random, keep: u64) {
        let mut image = self.stable.take().unwrap();
        for (at, bytes, durable) in self.cache.drain(..) {
            for (i, sector) in bytes.chunks(512).enumerate() {
                if durable || random.below(4) < keep {
                    let at = (at as usize + i) * 512;
                    image[at..at + 512].copy_from_slice(sector);
                }
            }
        }
        self.base = 0;
        self.bytes = image;
        self.volatile();
    }
}

/// The parameters of an array under test.
#[derive(Clone, Debug)]
pub struct Setup {
    pub organization: Organization,
    pub copies: u16,
    pub members: u16,
    pub groups: u16,
    pub unit: u64,
    pub block: u64,
    pub member_length: u64,
    pub log: LogCreation,
    pub cylinder: Cylinder,
    pub tuning: Tuning,
    pub simulated: Simulated,
    /// Whether it is opened like an array on real members.
    pub real: bool,
    pub zeroed: bool,
    pub consistency: Consistency,
    /// The length of the commit logs, if not the default.
    pub commit_log: Option<Sectors>,
}

impl Setup {
    pub fn named(name: &str, members: u16) -> Setup {
        let row = Organization::named(name).expect("a known organization");
        let copies = match row.copies {
            Copies::One => 1,
            Copies::Two => 2,
            Copies::Members => members,
        };
        Setup {
            organization: row.organization,
            copies,
            members,
            groups: 1,
            unit: 16,
            block: 1,
            member_length: 10 * 2_048,
            log: LogCreation {
                segment: Some(Sectors::new(32)),
                sublogs: None,
                ratio: None,
                regions: Some(u32::from(members)),
                track: None,
            },
            cylinder: Cylinder { track: 48, tracks: 4 },
            tuning: Tuning { slice: Sectors::new(16), ..Tuning::default() },
            simulated: Simulated::default(),
            real: false,
            zeroed: true,
            consistency: Consistency::Bitmap,
            commit_log: None,
        }
    }

    /// Parity logging with `journal`.
    pub fn logged(members: u16) -> Setup {
        Setup { consistency: Consistency::Journal, ..Setup::named("parity-logging", members) }
    }

    pub fn geometry(&self) -> Geometry {
        let creation = Creation {
            organization: self.organization,
            copies: self.copies,
            members: self.members,
            groups: self.groups,
            unit: Sectors::new(self.unit),
            block: Sectors::new(self.block),
            member_length: Sectors::new(self.member_length),
            log: self.log,
            consistency: self.consistency,
        };
        let geometry = Geometry::create_on(&creation, self.cylinder).expect("a possible array");
        let stored = *geometry.stored();
        let commit_log = self.commit_log.map_or(stored.commit_log, Sectors::get);
        let intent_log = self.commit_log.map_or(stored.intent_log, |length| length.get() / 4);
        Geometry::from_stored(StoredGeometry { commit_log, intent_log, ..stored })
    }
}

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
        let members: Vec<(Identity, Sectors)> = (0..setup.members)
            .map(|m| (identity(u64::from(m) + 100), Sectors::new(setup.member_length)))
            .collect();
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
            let own = |index: &Option<usize>| {
                [0, 1].map(|bank| index.map(|c| read(order[c], slot(bank).0, slot(bank).1)))
            };
            assembly.slots.iter().map(own).collect()
        };
        let bitmaps = banks(&|bank| (geometry.bitmap_at(bank), geometry.bitmap_length()));
        let tables = match geometry.layout().logs() {
            Some(_) => banks(&|bank| (geometry.table_at(bank), geometry.table_length())),
            None => Vec::new(),
        };
        let bad_block_logs = match geometry.bad_block_log_at(0) {
            Some((first, length)) => banks(&|bank| (first + length * bank as u64, length)),
            None => Vec::new(),
        };
        let (commit_log, length) = geometry.commit_log();
        let commits = assembly.slots.iter().map(|slot| match slot {
            Some(candidate) if !length.is_zero() => {
                CommitLogContent::of(&assembly, &read(order[*candidate], commit_log, length))
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

    /// The slot of a member that stands.
    pub fn slot_of(&self, member: Member) -> Option<Slot> {
        let members = self.array.status().members;
        let of = members.iter().find(|status| status.member == Some(member.get()))?;
        (of.state != "failed").then(|| Slot::new(of.slot))
    }

    /// Drains all outputs of the array.
    pub fn drain(&mut self) {
        loop {
            let mut any = false;
            while let Some(effect) = self.array.poll_effect() {
                self.handed_out += 1;
                any = true;
                if let Action::Flush { member } = effect.action {
                    let number = self.numbers[member.as_usize()];
                    if number != usize::MAX {
                        let d = &self.disks[number];
                        self.caps.insert(effect.id.get(), d.base + d.cache.len());
                    }
                }
                match effect.action {
                    _ if self.shuffle => self.pending.push(effect),
                    // Computations are done in the order in which they are handed out.
                    Action::Xor | Action::Accumulate { .. } | Action::Compare | Action::Checksum => {
                        self.compute(effect)
                    }
                    _ => self.pending.push(effect),
                }
            }
            while let Some(Completion { tag: Tag(tag), result }) = self.array.poll_completion() {
                let buffer = self.buffers.remove(&tag);
                let bytes = buffer
                    .and_then(|buffer| self.memory.get(&buffer.as_usize()).cloned())
                    .unwrap_or_default();
                assert!(self.done.insert(tag, (result, bytes)).is_none(), "a request is answered once");
                if let Some(buffer) = buffer {
                    self.array.release(buffer);
                }
            }
            while let Some(event) = self.array.poll_event() {
                self.events.push(event);
            }
            while let Some(buffer) = self.array.poll_release() {
                self.memory.remove(&buffer.as_usize());
            }
            if !any {
                return;
            }
        }
    }

    /// Answers one pending effect, chosen at random. Returns `false` if there is none.
    pub fn step(&mut self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let index = self.random.below(self.pending.len() as u64) as usize;
        self.step_at(index);
        true
    }

    pub fn step_at(&mut self, index: usize) {
        let effect = self.pending.swap_remove(index);
        self.now = self.now + Duration::from_nanoseconds(1 + self.random.below(1_000_000));
        if matches!(
            effect.action,
            Action::Xor | Action::Accumulate { .. } | Action::Compare | Action::Checksum
        ) {
            self.compute(effect);
        } else {
            self.access(effect);
        }
        self.drain();
    }

    /// Runs until nothing is pending and no timeout is near.
    pub fn settle(&mut self) {
        self.settle_until(|_| false);
    }

    pub fn settle_until(&mut self, done: impl Fn(&World) -> bool) {
        for _ in 0..5_000_000u64 {
            if done(self) {
                return;
            }
            if !self.step() {
                let Some(due) = self.array.poll_timeout() else { return };
                self.now = self.now.max(due);
                self.array.handle_timeout(self.now);
                self.drain();
            }
        }
        panic!("the array does not come to rest: {:?}", self.array.status());
    }

    fn access(&mut self, effect: Effect) {
        let slices = self.array.slices(effect.id).to_vec();
        let (member, number) = match effect.action {
            Action::Read { member, .. }
            | Action::Write { member, .. }
            | Action::ReadModifyWrite { member, .. }
            | Action::Float { member, .. }
            | Action::Zero { member, .. }
            | Action::Flush { member } => (member, self.numbers[member.as_usize()]),
            _ => unreachable!("computations are not pending"),
        };
        assert_ne!(number, usize::MAX, "an effect for {member}, which is not there");
        if self.disks[number].dead {
            return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
        }
        let of_data = effect.class != Class::Metadata && self.is_of_data(effect.action);
        if self.disks[number].starved && of_data {
            return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
        }
        let of_metadata = effect.class == Class::Metadata && matches!(effect.action, Action::Write { .. });
        if self.disks[number].cramped && of_metadata {
            return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
        }
        match effect.action {
            Action::Read { at, length, .. } => {
                if !self.disks[number].try_read(at, length) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Unreadable));
                }
                let at = at.bytes() as usize;
                let bytes = self.disks[number].bytes[at..at + length.bytes().as_usize()].to_vec();
                let metadata = self.fill(&slices, &bytes);
                match metadata {
                    Some(bytes) => self.array.complete(self.now, effect.id, Outcome::Metadata(&bytes)),
                    None => self.array.complete(self.now, effect.id, Outcome::Done),
                }
            }
            Action::Write { at, length, durable, .. } => {
                // (Space for metadata is reserved when an array is created.)
                if self.disks[number].full && effect.class != Class::Metadata {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
                }
                if let Some(fault) = self.disks[number].durable_writes_fail.filter(|_| durable) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(fault));
                }
                let bytes: Vec<u8> = slices.iter().flat_map(|slice| self.bytes_of(effect, *slice)).collect();
                assert_eq!(bytes.len(), length.bytes().as_usize(), "slices are as long as the access");
                self.put(number, at, &bytes, durable);
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            Action::ReadModifyWrite { at, length, modify, durable, .. } => {
                if !self.disks[number].can_read(at, length) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Unreadable));
                }
                let from = at.bytes() as usize;
                let read = self.disks[number].bytes[from..from + length.bytes().as_usize()].to_vec();
                let written = self.modified(effect, modify, &read);
                self.put(number, at, &written, durable);
                assert_eq!(self.fill(&slices[..1], &read), None, "what is read is payload");
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            Action::Float { at, length, modify, durable, .. } => {
                if self.disks[number].full {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
                }
                if !self.disks[number].can_read(at, length) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Unreadable));
                }
                let from = at.bytes() as usize;
                let read = self.disks[number].bytes[from..from + length.bytes().as_usize()].to_vec();
                let written = self.modified(effect, modify, &read);
                assert_eq!(self.fill(&slices[..1], &read), None, "what is read is payload");
                let free: Vec<Sector> = self.array.free_positions(effect.id).collect();
                let position = free[self.random.below(free.len() as u64) as usize];
                self.put(number, position, &written, durable);
                self.array.complete(self.now, effect.id, Outcome::Placed(position));
            }
            Action::Zero { at, length, .. } => {
                self.put(number, at, &vec![0; length.bytes().as_usize()], false);
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            _ => {
                if self.disks[number].flush_fails {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
                }
                let cap = self.caps.remove(&effect.id.get()).unwrap_or(0);
                self.disks[number].flush(cap);
                self.array.complete(self.now, effect.id, Outcome::Done)
            }
        }
    }

    /// The data that a read-modify-write writes after it has read `read`.
    fn modified(&mut self, effect: Effect, modify: Modify, read: &[u8]) -> Vec<u8> {
        let slices = self.array.slices(effect.id).to_vec();
        assert_eq!(slices.len(), 2, "one for what is read, one for what is to be written");
        let mut written = self.bytes_of(effect, slices[1]);
        if modify == Modify::Xor {
            written.iter_mut().zip(read).for_each(|(new, old)| *new ^= old);
        }
        written
    }

    fn put(&mut self, number: usize, at: Sector, bytes: &[u8], durable: bool) {
        let disk = &mut self.disks[number];
        if disk.drops {
            return;
        }
        if disk.stable.is_some() {
            disk.cache.push((at.get(), bytes.to_vec(), durable));
            disk.compact();
        }
        disk.writes += 1;
        for sector in 0..bytes.len() as u64 / 512 {
            disk.unreadable.remove(&(at.get() + sector));
            disk.stutters.remove(&(at.get() + sector));
        }
        let at = at.bytes() as usize;
        disk.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Distributes data that was read to slices; returns the part that is metadata.
    fn fill(&mut self, slices: &[Slice], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut at = 0;
        let mut metadata = None;
        for slice in slices {
            let length = slice.length.bytes().as_usize();
            let part = &bytes[at..at + length];
            if slice.buffer == BufferId::METADATA {
                metadata.get_or_insert_with(Vec::new).extend_from_slice(part);
            } else {
                let start = slice.start.bytes().as_usize();
                self.buffer(slice.buffer)[start..start + length].copy_from_slice(part);
            }
            at += length;
        }
        metadata
    }

    fn buffer(&mut self, buffer: BufferId) -> &mut Vec<u8> {
        let length = self.array.buffer_length(buffer).bytes().as_usize();
        let memory = self.memory.entry(buffer.as_usize()).or_insert_with(|| vec![0xEE; length]);
        assert!(memory.len() <= length);
        memory.resize(length, 0xEE);
        memory
    }

    fn bytes_of(&mut self, effect: Effect, slice: Slice) -> Vec<u8> {
        let (start, length) = (slice.start.bytes().as_usize(), slice.length.bytes().as_usize());
        match slice.buffer {
            BufferId::ZEROES => vec![0; length],
            BufferId::METADATA => self.array.metadata(effect.id)[start..start + length].to_vec(),
            buffer => self.buffer(buffer)[start..start + length].to_vec(),
        }
    }

    fn compute(&mut self, effect: Effect) {
        let slices = self.array.slices(effect.id).to_vec();
        if effect.action == Action::Checksum {
            let bytes: Vec<u8> = slices.iter().flat_map(|slice| self.bytes_of(effect, *slice)).collect();
            let sums: Vec<u64> = self.array.sector_key().checksums(&bytes).collect();
            return self.array.complete(self.now, effect.id, Outcome::Checksums(&sums));
        }
        let sources: Vec<Vec<u8>> = slices[1..].iter().map(|slice| self.bytes_of(effect, *slice)).collect();
        let length = slices[0].length.bytes().as_usize();
        let mut result = match effect.action {
            Action::Xor => vec![0; length],
            _ => self.bytes_of(effect, slices[0]),
        };
        if effect.action == Action::Compare {
            let same = sources.iter().all(|source| *source == result);
            let outcome = if same { Outcome::Done } else { Outcome::Differs };
            return self.array.complete(self.now, effect.id, outcome);
        }
        for source in &sources {
            result.iter_mut().zip(source).for_each(|(a, b)| *a ^= b);
        }
        let start = slices[0].start.bytes().as_usize();
        self.buffer(slices[0].buffer)[start..start + length].copy_from_slice(&result);
        self.array.complete(self.now, effect.id, Outcome::Done);
    }

    /// Whether it reads or writes the data area.
    fn is_of_data(&self, action: Action) -> bool {
        match action {
            Action::Read { at, .. }
            | Action::Write { at, .. }
            | Action::ReadModifyWrite { at, .. }
            | Action::Float { at, .. }
            | Action::Zero { at, .. } => at >= self.array.geometry().data_start(),
            _ => false,
        }
    }

    /// From now on the system has no memory for accesses to the members' data areas, or has memory
    /// again.
    pub fn starve(&mut self, starved: bool) {
        self.disks.iter_mut().for_each(|disk| disk.starved = starved);
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
                let slices = self.array.slices(effect.id).to_vec();
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
                    _ => slices.iter().flat_map(|slice| self.bytes_of(effect, *slice)).collect(),
                };
                for (i, sector) in bytes.chunks(512).enumerate() {
                    if self.random.chance(2) {
                        let d = &mut self.disks[number];
                        if d.stable.is_some() {
                            d.cache.push((at.get() + i as u64, sector.to_vec(), false));
                        }
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
        let (index, info) = self.new_disk();
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

    /// The disk of the member in `slot`.
    pub fn disk_at(&mut self, slot: u16) -> &mut Disk {
        let member = self.array.status().members[usize::from(slot)].member.expect("a member stands there");
        &mut self.disks[self.numbers[usize::from(member)]]
    }

    /// Runs a scrub to its end; returns its report.
    pub fn scrub(&mut self, repair: parlour_array::Repair) -> parlour_array::ScrubReport {
        self.array.scrub(self.now, repair).expect("a scrub can start");
        self.drain();
        self.settle_until(|world| world.array.status().scrub.is_none());
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

/// Payload of `length` sectors; no two payloads are equal.
pub fn payload(random: &mut Random, length: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length as usize * 512);
    while bytes.len() < length as usize * 512 {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes
}

/// Plants each of the bugs, in the whole process, and checks that one of the tests fails.
#[cfg(feature = "planted-bugs")]
pub fn find_each(bugs: &[parlour_array::Bug], tests: &[fn()]) {
    for bug in bugs {
        parlour_array::plant(Some(*bug));
        let found = tests.iter().position(|test| std::panic::catch_unwind(*test).is_err());
        parlour_array::plant(None);
        println!("{bug:?}: {found:?}");
        assert!(found.is_some(), "{bug:?} is not found");
    }
}
