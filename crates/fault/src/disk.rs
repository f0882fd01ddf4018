//! A simulated member: the content of its stable storage, the content of its cache, and its faults.
//!
//! A completed write is visible to all later reads. It survives a power cut if it was durable, or
//! if a flush that began after it has completed. Otherwise each of its sectors, independently,
//! holds the stable content or any version written since.

mod cache;
mod image;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use parlour_array::{
    EntryState, Geometry, Identity, SUPERBLOCK, SUPERBLOCK_BYTES, Superblock, SuperblockError,
};
use parlour_codec::sector::SectorKey;
use parlour_units::{Sector, Sectors};

use crate::area::Area;
use crate::content::{SECTOR, SectorBytes};
use crate::random::Keyed;
use crate::silent::Silent;
use cache::Cache;
pub(crate) use cache::{Content, Kept};
use image::{Image, page_of, sectors_of};

/// The behaviour of a member's flushes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushes {
    Work,
    /// The next flush fails.
    Fail,
    /// A flush has failed. Later flushes succeed, but do not make its writes durable.
    Failed,
    /// Flushes are reported as done but make nothing durable.
    Lie,
}

/// A simulated member.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    identity: Identity,
    length: Sectors,
    image: Image,
    cache: Cache,
    /// Sectors that are unreadable until they are written.
    bad: BTreeSet<u64>,
    /// It never answers again.
    dead: bool,
    /// It does not answer until the array is opened again.
    mute: bool,
    /// It has no space for data.
    full: bool,
    /// It has no space for logs and metadata either.
    full_everywhere: bool,
    /// The next read of data fails once.
    fails_once: bool,
    flushes: Flushes,
    /// The number of writes for which a lying flush was reported as done.
    lied: u64,
    /// Its next access fails because the system lacks a resource.
    starved: bool,
    /// An access has failed for lack of a resource, and the array may not know its consequences
    /// yet.
    weakened: bool,
    /// The silent fault of the next write of a kind.
    silent: Option<Silent>,
    /// Sectors with wrong content, and the right content.
    tainted: BTreeMap<u64, SectorBytes>,
    /// By part of the commit log: the sectors of the newest entry, and of entries that a crash may
    /// have cut off.
    newest: [Vec<Range<u64>>; 3],
    /// How many times slower than the others it is.
    slow: u64,
    /// It missed a session that has ended, so the array must not accept it as current.
    stale: bool,
}

/// What it is.
impl Disk {
    pub(crate) fn new(identity: Identity, length: Sectors, fill: u8) -> Disk {
        Disk {
            identity,
            length,
            image: Image::new(length, fill),
            cache: Cache::default(),
            bad: BTreeSet::new(),
            dead: false,
            mute: false,
            full: false,
            full_everywhere: false,
            fails_once: false,
            flushes: Flushes::Work,
            lied: 0,
            starved: false,
            weakened: false,
            silent: None,
            tainted: BTreeMap::new(),
            newest: Default::default(),
            slow: 1,
            stale: false,
        }
    }

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    pub(crate) fn length(&self) -> Sectors {
        self.length
    }

    /// The member is shorter than it was.
    pub(crate) fn truncate(&mut self, shorter: Sectors) {
        self.length = self.length - shorter;
    }

    /// It is to be used as a new member. Its superblocks are wiped, as a driver does: until the
    /// array writes new ones, it must not be taken for the old member.
    pub(crate) fn become_new(&mut self, identity: Identity) {
        self.wipe_superblocks();
        self.identity = identity;
        self.catch_up();
        self.forget_taints();
    }

    pub(crate) fn wipe_superblocks(&mut self) {
        let copies = Geometry::superblocks_at(self.length);
        copies.iter().for_each(|at| self.write(*at, &[0; SUPERBLOCK_BYTES], true));
    }

    /// The superblock that a driver finds on it.
    pub(crate) fn superblock(&self) -> Result<Superblock, SuperblockError> {
        let block = |at: Sector| self.try_read(at, SUPERBLOCK).unwrap_or_default();
        let [first, second] = Geometry::superblocks_at(self.length).map(block);
        Superblock::decode_copies(&first, &second)
    }

    /// Whether its own superblock says that it holds all data of its slot.
    pub(crate) fn calls_itself_active(&self) -> bool {
        self.superblock().is_ok_and(|superblock| {
            let mut table = superblock.table.iter();
            table.any(|entry| entry.member == superblock.member && entry.state == EntryState::Active)
        })
    }

    /// A session has ended without it.
    pub(crate) fn miss_a_session(&mut self) {
        self.stale = true;
    }

    /// Whether it missed a session, so that the array must not accept it as current.
    pub(crate) fn is_stale(&self) -> bool {
        self.stale
    }

    /// It is a member again, and will be rebuilt.
    pub(crate) fn catch_up(&mut self) {
        (self.stale, self.flushes) = (false, Flushes::Work);
    }
}

/// Whether it answers.
impl Disk {
    /// It never answers again.
    pub(crate) fn die(&mut self) {
        self.dead = true;
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    /// It was lost, and is present again.
    pub(crate) fn revive(&mut self) {
        self.dead = false;
    }

    /// It does not answer until the array is opened again.
    pub(crate) fn hang(&mut self) {
        self.mute = true;
    }

    pub(crate) fn hangs(&self) -> bool {
        self.mute
    }

    /// Whether accesses fail because the member does not answer.
    pub(crate) fn answers_not(&self) -> bool {
        self.dead || self.mute
    }

    /// Accesses take `times` as long.
    pub(crate) fn slow_down(&mut self, times: u64) {
        self.slow = times;
    }

    /// How many times slower than the others it is.
    pub(crate) fn slowness(&self) -> u64 {
        self.slow
    }

    /// The array was closed. What would have happened to later accesses does not happen.
    pub(crate) fn begin_anew(&mut self) {
        (self.mute, self.silent) = (false, None);
        (self.starved, self.weakened) = (false, false);
        self.flushes = Flushes::Work;
        self.slow = 1;
    }
}

/// Faults that are reported.
impl Disk {
    /// Whether an access to it has failed or will fail although it answers.
    pub(crate) fn ails(&self) -> bool {
        self.fails_once || self.ails_in_writing()
    }

    /// The same, without reads that fail once.
    pub(crate) fn ails_in_writing(&self) -> bool {
        self.is_starved() || self.flushes != Flushes::Work || self.is_silently_wrong()
    }

    /// A sector becomes unreadable until it is written.
    pub(crate) fn lose_sector(&mut self, sector: u64) {
        self.bad.insert(sector);
    }

    /// The unreadable sectors from `first` on.
    pub(crate) fn unreadable_from(&self, first: u64) -> impl Iterator<Item = u64> + '_ {
        self.bad.range(first..).copied()
    }

    /// Whether all of a range of sectors can be read.
    pub(crate) fn can_read(&self, at: Sector, length: Sectors) -> bool {
        self.bad.range(at.get()..(at + length).get()).next().is_none()
    }

    /// Whether each of its sectors can be read.
    pub(crate) fn can_read_all(&self) -> bool {
        self.bad.is_empty()
    }

    /// The next read of data fails once.
    pub(crate) fn fail_next_read(&mut self) {
        self.fails_once = true;
    }

    pub(crate) fn fails_next_read(&self) -> bool {
        self.fails_once
    }

    /// Whether this read of data fails.
    pub(crate) fn take_failed_read(&mut self) -> bool {
        std::mem::take(&mut self.fails_once)
    }

    /// Everything can be read again.
    pub(crate) fn repair_reads(&mut self) {
        self.bad.clear();
        self.fails_once = false;
    }

    /// The system lacks a resource for its next access.
    pub(crate) fn starve(&mut self) {
        self.starved = true;
    }

    /// Whether the system lacks a resource for this access.
    pub(crate) fn take_starvation(&mut self) -> bool {
        self.weakened |= self.starved;
        std::mem::take(&mut self.starved)
    }

    /// Whether the system lacks a resource, and the array has not told what that means.
    pub(crate) fn is_starved(&self) -> bool {
        self.starved || self.weakened
    }

    /// The array has told what the lack of a resource means.
    pub(crate) fn lack_is_known(&mut self) {
        self.weakened = false;
    }

    /// It has no more space for data; nor for logs and metadata, if `everywhere`.
    pub(crate) fn fill_up(&mut self, everywhere: bool) {
        self.full = true;
        self.full_everywhere |= everywhere;
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    /// Whether it has no space: for data, or for logs and metadata.
    pub(crate) fn has_no_room(&self, for_data: bool) -> bool {
        self.full && (for_data || self.full_everywhere)
    }

    /// Gives it space again.
    pub(crate) fn make_room(&mut self) {
        (self.full, self.full_everywhere) = (false, false);
    }
}

/// Reads and writes.
impl Disk {
    /// Fills `bytes` from `at`, even if the sectors are unreadable.
    pub(crate) fn read(&self, at: Sector, bytes: &mut [u8]) {
        for (sector, bytes) in (at.get()..).zip(bytes.chunks_exact_mut(SECTOR)) {
            bytes.copy_from_slice(self.image.sector(sector).bytes());
        }
    }

    /// What a driver reads before the array is assembled; none if it is unreadable.
    pub(crate) fn try_read(&self, at: Sector, length: Sectors) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length.bytes().as_usize()];
        self.read(at, &mut bytes);
        self.can_read(at, length).then_some(bytes)
    }

    /// Whether another disk has the same content in some sectors.
    pub(crate) fn holds_the_same(&self, other: &Disk, mut sectors: Range<u64>) -> bool {
        sectors.all(|sector| self.sector(sector) == other.sector(sector))
    }

    /// The content of one sector, even if it is unreadable.
    pub(crate) fn sector(&self, sector: u64) -> &SectorBytes {
        self.image.sector(sector)
    }

    pub(crate) fn write(&mut self, at: Sector, bytes: &[u8], durable: bool) {
        self.begin_write();
        self.put_all(at, SectorBytes::of(bytes), durable);
    }

    /// Writes one sector.
    pub(crate) fn write_one(&mut self, sector: u64, bytes: SectorBytes, durable: bool) {
        self.begin_write();
        self.put_all(Sector::new(sector), [bytes], durable);
    }

    pub(crate) fn zero(&mut self, at: Sector, length: Sectors) {
        self.begin_write();
        self.put_zeroes(at, length, false);
    }

    /// Begins a new write: later calls of `put_all` and `put_zeroes` belong to it.
    pub(crate) fn begin_write(&mut self) {
        self.cache.begin_write();
    }

    /// Writes a part of the current write.
    pub(crate) fn put_all(&mut self, at: Sector, new: impl IntoIterator<Item = SectorBytes>, durable: bool) {
        let (mut sector, mut new) = (at.get(), new.into_iter().peekable());
        while new.peek().is_some() {
            sector = self.put(sector, &mut new, durable);
        }
    }

    /// Writes zeroes as a part of the current write.
    pub(crate) fn put_zeroes(&mut self, at: Sector, length: Sectors, durable: bool) {
        let zeroes = std::iter::repeat_n(SectorBytes::filled(0), length.get() as usize);
        self.put_all(at, zeroes, durable);
    }

    /// Writes sectors of one page from `new`, until `new` or the page ends. Returns the sector
    /// after the last one.
    fn put(&mut self, first: u64, new: &mut impl Iterator<Item = SectorBytes>, durable: bool) -> u64 {
        if !self.tainted.is_empty() {
            // An overwritten sector counts as if its content had been right: no power cut brings
            // the wrong content back.
            self.heal(first..sectors_of(page_of(first)).end);
        }
        let slots = self.image.rest_of_page(first).iter_mut();
        let replaced = slots.zip(new).map(|(slot, new)| std::mem::replace(slot, new));
        let end = if durable {
            let end = first + replaced.count() as u64;
            self.cache.settle(first..end);
            end
        } else {
            self.cache.keep(first, replaced)
        };
        if !self.bad.is_empty() {
            self.bad.retain(|bad| !(first..end).contains(bad));
        }
        end
    }

    /// A hash of all its content.
    pub(crate) fn digest(&self, key: &SectorKey) -> u64 {
        self.image.digest(key)
    }
}

/// Flushes, and what power cuts leave.
impl Disk {
    pub(crate) fn flushes(&self) -> Flushes {
        self.flushes
    }

    /// The next flush fails.
    pub(crate) fn fail_next_flush(&mut self) {
        self.flushes = Flushes::Fail;
    }

    /// From now on flushes are reported as done but make nothing durable.
    pub(crate) fn lie(&mut self) {
        self.flushes = Flushes::Lie;
    }

    /// The number of writes that a flush covers if it begins now.
    pub(crate) fn written(&self) -> u64 {
        self.cache.written()
    }

    /// A flush that covers the first `writes` writes has completed.
    pub(crate) fn flushed(&mut self, writes: u64) {
        self.cache.flushed(writes);
    }

    /// A flush of all writes so far has completed.
    pub(crate) fn flushed_all(&mut self) {
        self.flushed(self.written());
    }

    /// A flush that covers the first `writes` writes is reported as done.
    pub(crate) fn flush_answered(&mut self, writes: u64) {
        match self.flushes {
            Flushes::Lie => self.lied = self.lied.max(writes),
            _ => self.flushed(writes),
        }
    }

    /// A flush has failed: no later flush makes its writes durable.
    pub(crate) fn flush_failed(&mut self) {
        self.flushes = Flushes::Failed;
        self.cache.flush_failed();
    }

    /// Makes all lying flushes true: their writes become durable.
    pub(crate) fn make_true(&mut self) {
        let lied = std::mem::take(&mut self.lied);
        if lied > 0 {
            self.flushed(lied);
        }
    }

    /// Whether a flush was reported as done without making its writes durable.
    pub(crate) fn has_lied(&self) -> bool {
        self.lied > 0
    }

    /// Flushes work again, and the system has what accesses need.
    pub(crate) fn repair_flushes(&mut self) {
        (self.flushes, self.starved, self.weakened) = (Flushes::Work, false, false);
        self.make_true();
    }

    /// The writes that are not durable, oldest first.
    pub(crate) fn unflushed(&self) -> Vec<Content> {
        self.cache.unflushed(&self.image)
    }

    /// The member with only its durable content.
    pub(crate) fn stable(&self) -> Disk {
        let mut disk = self.clone();
        disk.power_cut(Keyed::new(0), Kept::Nothing);
        disk
    }

    /// Power fails. `key` determines what is left of each sector that was not flushed.
    pub(crate) fn power_cut(&mut self, key: Keyed, kept: Kept) {
        self.cache.power_cut(&mut self.image, key, kept);
    }
}

/// Silent faults.
impl Disk {
    /// The next write of a kind has this silent fault.
    pub(crate) fn arm(&mut self, silent: Silent) {
        self.silent = Some(silent);
    }

    /// Whether a write of some kind has a silent fault.
    pub(crate) fn is_armed(&self) -> bool {
        self.silent.is_some()
    }

    /// Whether a write to `area` has one.
    pub(crate) fn is_armed_for(&self, area: Area) -> bool {
        self.silent.as_ref().is_some_and(|silent| silent.area == area)
    }

    pub(crate) fn disarm(&mut self) {
        self.silent = None;
    }

    /// The silent fault of a write to `area`, if it is to have one.
    pub(crate) fn take_silent(&mut self, area: Option<Area>) -> Option<Silent> {
        self.silent.take_if(|silent| Some(silent.area) == area)
    }

    /// Gives a sector the wrong content `bytes`.
    pub(crate) fn taint(&mut self, sector: u64, bytes: SectorBytes) {
        let good = self.image.replace(sector, bytes);
        self.tainted.entry(sector).or_insert(good);
    }

    /// Whether some sector has wrong content, or a silent fault is armed.
    pub(crate) fn is_silently_wrong(&self) -> bool {
        self.silent.is_some() || !self.tainted.is_empty()
    }

    /// Accepts all current content as right.
    pub(crate) fn forget_taints(&mut self) {
        self.silent = None;
        self.tainted.clear();
    }

    /// Restores the right content of all sectors.
    pub(crate) fn heal_all(&mut self) {
        self.heal(0..u64::MAX);
    }

    fn heal(&mut self, sectors: Range<u64>) {
        let tainted: Vec<u64> = self.tainted.range(sectors).map(|(sector, _)| *sector).collect();
        for sector in tainted {
            if let Some(good) = self.tainted.remove(&sector) {
                self.image.replace(sector, good);
            }
        }
    }

    /// Heals the sectors of which nothing is promised after a crash, so that wrong content there is
    /// not tested: writes that were not made durable, and the newest entries of the commit log,
    /// which no other metadata refers to.
    pub(crate) fn heal_what_is_cut_off(&mut self, power: bool) {
        let newest: Vec<Range<u64>> = self.newest.iter().flatten().cloned().collect();
        newest.into_iter().for_each(|sectors| self.heal(sectors));
        if power && !self.tainted.is_empty() {
            self.cache.sectors().into_iter().for_each(|sector| self.heal(sector..sector + 1));
        }
    }

    /// The newest entry in a part of the commit log is in `sectors`.
    pub(crate) fn entry_written(&mut self, part: usize, sectors: Range<u64>) {
        self.newest[part].clear();
        self.newest[part].push(sectors);
    }

    /// An entry in a part of the commit log was cut off.
    pub(crate) fn entry_cut_off(&mut self, part: usize, sectors: Range<u64>) {
        self.newest[part].push(sectors);
    }

    /// The sectors of the newest complete entry in a part of the commit log.
    pub(crate) fn newest_entry(&self, part: usize) -> Option<&Range<u64>> {
        self.newest[part].first()
    }
}

#[cfg(test)]
mod tests;
