//! Members in memory, with metadata but without payload: they keep only what the array itself
//! reads.

use std::collections::BTreeMap;

use parlour_array::organization::{Consistency, Organization};
use parlour_array::{
    Action, Array, Assembly, AssemblyError, Banks, BufferId, Candidate, Class, CommitLogContent, CommitPart,
    Creation, Effect, Geometry, Identity, LogCreation, MemberInfo, Mode, NewArray, Opening, Operation,
    Outcome, Part, Request, RequestError, SUPERBLOCK_BYTES, Superblock, Tag, Tuning, create,
};
use parlour_units::{Instant, Sector, Sectors};

use crate::seal::mend;

/// The arrays of the images: organization, members, consistency.
pub(crate) const ARRAYS: [(&str, u16, Consistency); 6] = [
    ("parity-logging", 4, Consistency::Bitmap),
    ("parity-logging", 5, Consistency::Bitmap),
    ("raid5", 3, Consistency::Bitmap),
    ("raid10", 4, Consistency::Bitmap),
    ("raid1", 2, Consistency::Bitmap),
    ("parity-logging", 4, Consistency::Journal),
];
/// The longest header of a commit log's entry that is changed.
const ENTRY: Sectors = Sectors::new(8);
/// The bytes of a sector.
const SECTOR: usize = 512;
/// The length of each member: 1 MiB of metadata, 1 MiB of data area, 1 MiB of tail.
const LENGTH: Sectors = Sectors::new(3 * 2_048);
/// The number of effects after which the array must have come to rest.
const PATIENCE: u32 = 100_000;

/// A member; only sectors that are not zero are stored.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) identity: Identity,
    pub(crate) length: Sectors,
    sectors: BTreeMap<u64, [u8; SECTOR]>,
}

impl Disk {
    /// Whether the whole access lies on the member.
    fn holds(&self, at: Sector, length: Sectors) -> bool {
        at.from_start() <= self.length && length <= self.length - at.from_start()
    }

    pub(crate) fn read(&self, at: Sector, length: Sectors) -> Vec<u8> {
        (at.get()..at.get() + length.get())
            .flat_map(|sector| self.sectors.get(&sector).copied().unwrap_or([0; SECTOR]))
            .collect()
    }

    pub(crate) fn write(&mut self, at: Sector, bytes: &[u8]) {
        for (sector, part) in (at.get()..).zip(bytes.chunks(SECTOR)) {
            let mut whole = [0; SECTOR];
            whole[..part.len()].copy_from_slice(part);
            self.sectors.insert(sector, whole);
        }
    }

    fn candidate(&self, name: usize) -> Candidate {
        let length = Sectors::new(SUPERBLOCK_BYTES as u64 / 512);
        let copies = match parlour_array::is_long_enough(self.length) {
            true => Geometry::superblocks_at(self.length).map(|at| self.read(at, length)),
            false => [self.read(Sector::ZERO, length), Vec::new()],
        };
        let superblock = Superblock::decode_copies(&copies[0], &copies[1]);
        Candidate { name: format!("disk {name}"), length: self.length, superblock }
    }
}

/// A structure of a member.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Structure {
    Superblock(usize),
    Bitmap(usize),
    Table(usize),
    /// A header of a log segment: region, segment, and whether it is the second of its two headers.
    Header(u32, u32, bool),
    /// An entry of a commit log: its ring, and the first sector in the ring.
    Entry(CommitPart, u64),
}

/// The members of an array, with its geometry.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) geometry: Geometry,
    pub(crate) disks: Vec<Disk>,
}

impl Image {
    /// A new array.
    pub(crate) fn create(name: &str, members: u16, consistency: Consistency) -> Image {
        let geometry = geometry(name, members, consistency);
        let identities: Vec<(Identity, Sectors)> =
            (0..members).map(|member| (Identity([member as u8 + 1; 16]), LENGTH)).collect();
        let new = NewArray {
            array: Identity([0xA0; 16]),
            session: Identity([0xB0; 16]),
            members: identities.clone(),
            name: "fuzzed".into(),
            created: 0,
            zeroed: true,
        };
        let disk = |(image, (identity, length)): (parlour_array::Image, (Identity, Sectors))| {
            let mut disk = Disk { identity, length, sectors: BTreeMap::new() };
            image.iter().for_each(|(at, block)| disk.write(*at, block));
            disk
        };
        let disks = create(&geometry, &new).into_iter().zip(identities).map(disk).collect();
        Image { geometry, disks }
    }

    /// Changes `structure` of a member from byte `from` on, and corrects its checksum if `seal` is
    /// set.
    pub(crate) fn change(
        &mut self,
        disk: usize,
        structure: Structure,
        from: usize,
        bytes: &[u8],
        seal: bool,
    ) {
        let Some((at, length)) = self.locate(structure) else { return };
        let disk = &mut self.disks[disk];
        let mut block = disk.read(at, length);
        for (slot, byte) in block.iter_mut().skip(from).zip(bytes) {
            *slot = *byte;
        }
        if seal {
            mend(&mut block);
        }
        disk.write(at, &block);
    }

    fn locate(&self, structure: Structure) -> Option<(Sector, Sectors)> {
        let geometry = &self.geometry;
        Some(match structure {
            Structure::Superblock(copy) => {
                let length = Sectors::new(SUPERBLOCK_BYTES as u64 / 512);
                (Geometry::superblocks_at(LENGTH)[copy], length)
            }
            Structure::Bitmap(bank) => (geometry.bitmap_at(bank), geometry.bitmap_length()),
            Structure::Table(bank) => (geometry.table_at(bank), geometry.table_length()),
            Structure::Header(region, segment, second) => {
                let logs = geometry.layout().logs()?;
                let region = parlour_units::Region::new(region % geometry.layout().region_count());
                let location = geometry.log_segment_at(region, segment % logs.segments(), 0)?;
                let header = geometry.log_header_length()?;
                let last = Sectors::new(logs.shape().segment) - header;
                let copy = if second { last } else { Sectors::ZERO };
                (geometry.data_start() + (location.at + copy).from_start(), header)
            }
            Structure::Entry(part, sector) => {
                let (start, length) = geometry.commit_part(part);
                let at = Sectors::new(sector.checked_rem(length.get())?);
                (start + at, ENTRY.min(length - at))
            }
        })
    }
}

fn geometry(name: &str, members: u16, consistency: Consistency) -> Geometry {
    let row = Organization::named(name).expect("a known organization");
    let checks = row.checks.of(members);
    Geometry::create(&Creation {
        organization: row.organization,
        checks,
        members,
        groups: 1,
        width: None,
        domains: None,
        spares: 0,
        unit: Sectors::new(16),
        block: Sectors::new(1),
        member_length: LENGTH,
        log: LogCreation {
            segment: Some(Sectors::new(32)),
            regions: Some(u32::from(members)),
            ..LogCreation::default()
        },
        consistency,
    })
    .expect("a possible array")
}

/// The options for opening an image.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct How {
    pub(crate) read_only: bool,
    pub(crate) force: bool,
}

/// An open array and its members.
pub(crate) struct World {
    pub(crate) array: Array,
    pub(crate) disks: Vec<Disk>,
    /// The disk of each of the array's member numbers.
    numbers: Vec<Option<usize>>,
    now: Instant,
    pending: Vec<Effect>,
    /// The unanswered requests, with their buffers.
    asked: BTreeMap<u64, Option<BufferId>>,
    next_tag: u64,
    effects: u32,
}

impl World {
    /// Assembles an array from the readable metadata on `disks`, as a driver does, and opens it.
    pub(crate) fn open(disks: Vec<Disk>, how: How) -> Result<World, AssemblyError> {
        let candidates: Vec<Candidate> =
            disks.iter().enumerate().map(|(index, disk)| disk.candidate(index)).collect();
        let assembly = Assembly::new(&candidates)?;
        let geometry = assembly.geometry.clone();
        let info = |index: usize| MemberInfo {
            identity: disks[index].identity,
            length: disks[index].length,
            unmaps: true,
        };
        let members = assembly.slots.iter().map(|slot| slot.map(info)).collect();
        let usable = |index: &usize| disks[*index].length >= geometry.least_member_length();
        let spares: Vec<usize> = assembly.spares.iter().copied().filter(usable).collect();
        let numbers = assembly.slots.iter().copied().chain(spares.iter().map(|spare| Some(*spare))).collect();
        // Sectors beyond a member's end cannot be read.
        let read = |first: Sector, length: Sectors| -> Vec<Banks> {
            let bank = |slot: &Option<usize>, bank: u64| {
                let (disk, at) = (&disks[(*slot)?], first + length * bank);
                disk.holds(at, length).then(|| disk.read(at, length))
            };
            assembly.slots.iter().map(|slot| [0, 1].map(|number| bank(slot, number))).collect()
        };
        let bitmaps = read(geometry.bitmap_at(0), geometry.bitmap_length());
        let tables = match geometry.layout().logs() {
            Some(_) => read(geometry.table_at(0), geometry.table_length()),
            None => Vec::new(),
        };
        let bad_block_logs =
            geometry.bad_block_log_at(0).map_or_else(Vec::new, |(at, length)| read(at, length));
        let (at, length) = geometry.commit_log();
        let commits = assembly.slots.iter().map(|slot| match slot.map(|index| &disks[index]) {
            Some(disk) if !length.is_zero() && disk.holds(at, length) => {
                CommitLogContent::of(&assembly, &disk.read(at, length))
            }
            _ => CommitLogContent::default(),
        });
        let commits = commits.collect();
        let opening = Opening {
            members,
            spares: spares.iter().map(|spare| info(*spare)).collect(),
            bitmaps,
            tables,
            bad_block_logs,
            commits,
            session: Identity([0xC0; 16]),
            read_only: how.read_only,
            force: how.force,
            tuning: Tuning { slice: Sectors::new(16), ..Tuning::default() },
            assembly,
        };
        let array = Array::open(Instant::ZERO, opening)?;
        let mut world = World {
            array,
            disks,
            numbers,
            now: Instant::ZERO,
            pending: Vec::new(),
            asked: BTreeMap::new(),
            next_tag: 0,
            effects: 0,
        };
        world.drain();
        Ok(world)
    }

    /// Submits a request, if the array has memory for it.
    pub(crate) fn submit(&mut self, operation: Operation, at: u64, length: u64) {
        let (at, length) = (Sector::new(at), Sectors::new(length));
        let carries = matches!(operation, Operation::Read | Operation::Write { .. }) && !length.is_zero();
        let buffer = match carries {
            true => match self.array.reserve(length) {
                None => return,
                buffer => buffer,
            },
            false => None,
        };
        let tag = self.next_tag;
        self.next_tag += 1;
        self.asked.insert(tag, buffer);
        self.array.submit(self.now, Request { tag: Tag(tag), operation, at, length, buffer });
        self.drain();
    }

    /// Carries out one pending effect, or lets time pass if there is none.
    pub(crate) fn step(&mut self, which: usize) {
        if self.pending.is_empty() {
            return self.pass_time();
        }
        let effect = self.pending.swap_remove(which % self.pending.len());
        self.carry_out(effect);
        self.drain();
    }

    /// Whether there is no pending effect.
    pub(crate) fn is_idle(&self) -> bool {
        self.pending.is_empty()
    }

    /// Carries out all pending effects.
    pub(crate) fn settle(&mut self) {
        while !self.pending.is_empty() && self.effects <= PATIENCE {
            self.step(0);
        }
    }

    fn pass_time(&mut self) {
        self.effects += 1;
        if let Some(due) = self.array.poll_timeout() {
            self.now = self.now.max(due);
            self.array.handle_timeout(self.now);
            self.drain();
        }
    }

    /// Stops the array and carries out all effects. Returns whether it came to rest in time.
    pub(crate) fn stop(&mut self) -> bool {
        self.array.stop(self.now);
        self.drain();
        while self.array.mode() != Mode::Stopped || !self.pending.is_empty() {
            if self.effects > PATIENCE {
                return false;
            }
            assert!(
                !self.pending.is_empty() || self.array.poll_timeout().is_some(),
                "the array stands still"
            );
            self.step(0);
        }
        assert!(self.asked.is_empty(), "every request is answered before the array is stopped");
        true
    }

    fn drain(&mut self) {
        loop {
            while let Some(completion) = self.array.poll_completion() {
                let buffer = self.asked.remove(&completion.tag.0).expect("a request is answered once");
                if let Some(buffer) = buffer {
                    self.array.release(buffer);
                }
                assert_ne!(completion.result, Err(RequestError::BadBuffer), "it was as long as the request");
            }
            while self.array.poll_event().is_some() {}
            while self.array.poll_release().is_some() {}
            let Some(effect) = self.array.poll_effect() else { return };
            self.effects += 1;
            match effect.action {
                Action::Checksum => {
                    let sectors = self.array.parts_length(effect.id).get();
                    // Reintegrated parity changes sometimes; hosts write only zeroes.
                    let sum = if effect.class == Class::Log { u64::from(self.effects % 2) } else { 0 };
                    let sums = vec![sum; sectors as usize];
                    self.array.complete(self.now, effect.id, Outcome::Checksums(&sums));
                }
                Action::Sum { .. } | Action::Compare => {
                    self.array.complete(self.now, effect.id, Outcome::Done);
                }
                _ => self.pending.push(effect),
            }
        }
    }

    fn carry_out(&mut self, effect: Effect) {
        let (member, at, length) = match effect.action {
            Action::Read { member, at, length }
            | Action::Write { member, at, length, .. }
            | Action::Zero { member, at, length } => (member, at, length),
            Action::Flush { .. } => return self.array.complete(self.now, effect.id, Outcome::Done),
            action => unreachable!("{action:?} is not pending"),
        };
        let number = self.numbers[member.as_usize()].expect("effects go to members that are there");
        assert!(self.disks[number].holds(at, length), "{effect:?} goes beyond the end of its member");
        let zeroes = matches!(effect.action, Action::Zero { .. });
        let whole = self.array.parts_length(effect.id) == length;
        assert!(zeroes || whole, "parts are as long as the access");
        let (mut at, mut read) = (at, Vec::new());
        for part in self.array.parts(effect.id).filter(|_| !zeroes) {
            match (effect.action, part) {
                (Action::Read { .. }, Part::Metadata(_)) => {
                    read.extend(self.disks[number].read(at, part.length()));
                }
                (_, Part::Metadata(bytes)) => self.disks[number].write(at, bytes),
                _ => {}
            }
            at = at + part.length();
        }
        let outcome = if read.is_empty() { Outcome::Done } else { Outcome::Metadata(&read) };
        self.array.complete(self.now, effect.id, outcome);
    }
}
