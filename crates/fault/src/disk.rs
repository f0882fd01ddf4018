//! A member: what it has on stable storage, what is only in its cache, and what is wrong with it.
//!
//! A write that was answered is what is read from then on. It survives a power cut if it was asked to be durable, or if a
//! flush that began after it has completed; else each of its sectors, on its own, holds what was stable or any version
//! written since.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;

use parlour_array::Identity;
use parlour_codec::sector::SectorKey;
use parlour_units::{Sector, Sectors};

use crate::content::SECTOR;
use crate::random::Keyed;

const PAGE: usize = 4_096;
const PAGE_SECTORS: u64 = (PAGE / SECTOR) as u64;

/// A part of a member. Copies of the member share it until one of them is written there.
#[derive(Clone, Debug)]
struct Page {
    bytes: [u8; PAGE],
    digest: OnceCell<u64>,
}

impl Page {
    fn digest(&self, key: &SectorKey) -> u64 {
        *self.digest.get_or_init(|| {
            let mut hash = DefaultHasher::new();
            key.checksums(&self.bytes).for_each(|sum| hash.write_u64(sum));
            hash.finish()
        })
    }
}

/// The bytes of a member, those that were never written being one byte throughout.
#[derive(Clone, Debug)]
struct Image {
    pages: Vec<Option<Rc<Page>>>,
    blank: [u8; SECTOR],
}

impl Image {
    fn sector(&self, sector: u64) -> &[u8] {
        match &self.pages[(sector / PAGE_SECTORS) as usize] {
            Some(page) => &page.bytes[offset(sector)..][..SECTOR],
            None => &self.blank,
        }
    }

    /// Fills `bytes` with what stands from `sector` on, page by page.
    fn read(&self, sector: u64, bytes: &mut [u8]) {
        let (mut sector, mut bytes) = (sector, bytes);
        while !bytes.is_empty() {
            let from = offset(sector);
            let length = bytes.len().min(PAGE - from);
            let (part, rest) = std::mem::take(&mut bytes).split_at_mut(length);
            match &self.pages[(sector / PAGE_SECTORS) as usize] {
                Some(page) => part.copy_from_slice(&page.bytes[from..][..part.len()]),
                None => part.fill(self.blank[0]),
            }
            sector += (part.len() / SECTOR) as u64;
            bytes = rest;
        }
    }

    /// `length` bytes of one page, from `sector` on.
    fn part_mut(&mut self, sector: u64, length: usize) -> &mut [u8] {
        let fill = self.blank[0];
        let blank = || Rc::new(Page { bytes: [fill; PAGE], digest: OnceCell::new() });
        let page = Rc::make_mut(self.pages[(sector / PAGE_SECTORS) as usize].get_or_insert_with(blank));
        page.digest.take();
        &mut page.bytes[offset(sector)..][..length]
    }
}

fn offset(sector: u64) -> usize {
    (sector % PAGE_SECTORS) as usize * SECTOR
}

/// The name of writes that no flush covers any more.
const LOST: u64 = u64::MAX;

/// What stood in a sector of a page before a write that is not yet durable.
#[derive(Clone, Debug)]
struct Before {
    sector: u64,
    write: u64,
    bytes: Rc<[u8]>,
}

/// Memory of contents that nobody remembers any more.
#[derive(Clone, Debug, Default)]
struct Spare(Vec<Rc<[u8]>>);

impl Spare {
    /// A copy of `bytes`, one sector long.
    fn copy(&mut self, bytes: &[u8]) -> Rc<[u8]> {
        let Some(mut spare) = self.0.pop() else { return bytes.into() };
        match Rc::get_mut(&mut spare) {
            Some(old) => {
                old.copy_from_slice(bytes);
                spare
            }
            None => bytes.into(),
        }
    }
}

/// What a write puts where, sector by sector.
pub(crate) type Content = Vec<(u64, Rc<[u8]>)>;

/// How flushes of a member fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flushes {
    Work,
    /// The next one fails.
    Fail,
    /// It has failed; later ones seem to work, and make nothing durable that it should have.
    Failed,
}

/// A member.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    pub(crate) identity: Identity,
    pub(crate) length: Sectors,
    image: Image,
    /// By page: what stood there before each write that is not durable, oldest first.
    before: BTreeMap<u64, Vec<Before>>,
    spare: Spare,
    /// Writes so far.
    writes: u64,
    /// Sectors that cannot be read until they are written.
    pub(crate) bad: BTreeSet<u64>,
    /// It answers nothing any more.
    pub(crate) dead: bool,
    /// It answers nothing until the array is opened again.
    pub(crate) mute: bool,
    /// It has no room for data.
    pub(crate) full: bool,
    /// The next read of data fails, once.
    pub(crate) hiccup: bool,
    pub(crate) flushes: Flushes,
    /// How many times slower than others.
    pub(crate) slow: u64,
    /// It was left out of a session that came to its end: nobody may believe it.
    pub(crate) stale: bool,
}

impl Disk {
    pub(crate) fn new(identity: Identity, length: Sectors, fill: u8) -> Disk {
        let pages = length.get().div_ceil(PAGE_SECTORS) as usize;
        Disk {
            identity,
            length,
            image: Image { pages: (0..pages).map(|_| None).collect(), blank: [fill; SECTOR] },
            before: BTreeMap::new(),
            spare: Spare::default(),
            writes: 0,
            bad: BTreeSet::new(),
            dead: false,
            mute: false,
            full: false,
            hiccup: false,
            flushes: Flushes::Work,
            slow: 1,
            stale: false,
        }
    }

    /// Whether accesses fail because the member is silent.
    pub(crate) fn answers_not(&self) -> bool {
        self.dead || self.mute
    }

    /// Whether an access to it will fail though it answers, or has failed.
    pub(crate) fn ails(&self) -> bool {
        self.hiccup || self.flushes != Flushes::Work
    }

    /// Whether all of a run of sectors can be read.
    pub(crate) fn can_read(&self, at: Sector, length: Sectors) -> bool {
        self.bad.range(at.get()..(at + length).get()).next().is_none()
    }

    /// Reads `bytes` from `at`, whether or not it can be read.
    pub(crate) fn read(&self, at: Sector, bytes: &mut [u8]) {
        self.image.read(at.get(), bytes);
    }

    /// What a driver reads before the array is put together, if it can.
    pub(crate) fn try_read(&self, at: Sector, length: Sectors) -> Option<Vec<u8>> {
        let mut bytes = vec![0; length.bytes().as_usize()];
        self.read(at, &mut bytes);
        self.can_read(at, length).then_some(bytes)
    }

    /// The content of one sector, whether or not it can be read.
    pub(crate) fn sector(&self, sector: u64) -> &[u8] {
        self.image.sector(sector)
    }

    pub(crate) fn write(&mut self, at: Sector, bytes: &[u8], durable: bool) {
        self.begin_write();
        self.put_all(at, bytes, durable);
    }

    pub(crate) fn zero(&mut self, at: Sector, length: Sectors) {
        self.begin_write();
        self.put_zeroes(at, length, false);
    }

    /// What is put from here on is part of another write.
    pub(crate) fn begin_write(&mut self) {
        self.writes += 1;
    }

    /// A part of a write.
    pub(crate) fn put_all(&mut self, at: Sector, bytes: &[u8], durable: bool) {
        let (mut sector, mut bytes) = (at.get(), bytes);
        while !bytes.is_empty() {
            let (part, rest) = bytes.split_at(bytes.len().min(PAGE - offset(sector)));
            self.put(sector, part, durable);
            sector += (part.len() / SECTOR) as u64;
            bytes = rest;
        }
    }

    /// The same, of zeroes.
    pub(crate) fn put_zeroes(&mut self, at: Sector, length: Sectors, durable: bool) {
        let (mut sector, end) = (at.get(), (at + length).get());
        while sector < end {
            let sectors = (end - sector).min(PAGE_SECTORS - sector % PAGE_SECTORS);
            self.put(sector, &[0; PAGE][..sectors as usize * SECTOR], durable);
            sector += sectors;
        }
    }

    /// Puts `new`, which is within a page, at `sector`.
    fn put(&mut self, sector: u64, new: &[u8], durable: bool) {
        let (write, page) = (self.writes, sector / PAGE_SECTORS);
        let sectors = sector..sector + (new.len() / SECTOR) as u64;
        if !self.bad.is_empty() {
            self.bad.retain(|bad| !sectors.contains(bad));
        }
        let old = self.image.part_mut(sector, new.len());
        if !durable {
            let versions = self.before.entry(page).or_default();
            for (sector, old) in sectors.zip(old.chunks_exact(SECTOR)) {
                versions.push(Before { sector, write, bytes: self.spare.copy(old) });
            }
        } else if let Some(versions) = self.before.get_mut(&page) {
            forget(versions, &mut self.spare, |version| sectors.contains(&version.sector));
        }
        old.copy_from_slice(new);
    }

    /// What a flush that begins now covers.
    pub(crate) fn written(&self) -> u64 {
        self.writes
    }

    /// A flush is done that covers the first `writes` writes.
    pub(crate) fn flushed(&mut self, writes: u64) {
        let spare = &mut self.spare;
        self.before.retain(|_, versions| {
            // What was written over what was lost is durable.
            let lost = versions.iter().any(|version| version.write == LOST);
            let covered = versions.iter().filter(|version| lost && version.write <= writes);
            let covered: BTreeSet<u64> = covered.map(|version| version.sector).collect();
            let over = |version: &Before| match version.write {
                LOST => covered.contains(&version.sector),
                write => write <= writes,
            };
            forget(versions, spare, over);
            !versions.is_empty()
        });
    }

    /// A flush has failed: no later one makes durable what this one should have.
    pub(crate) fn flush_failed(&mut self) {
        self.flushes = Flushes::Failed;
        self.before.values_mut().flatten().for_each(|version| version.write = LOST);
    }

    /// By sector: what stood there before each write that is not durable, oldest first.
    fn versions(&self) -> BTreeMap<u64, Vec<&Before>> {
        let mut sectors: BTreeMap<u64, Vec<&Before>> = BTreeMap::new();
        for version in self.before.values().flatten() {
            sectors.entry(version.sector).or_default().push(version);
        }
        sectors
    }

    /// The writes that are not durable, oldest first.
    pub(crate) fn unflushed(&self) -> Vec<Content> {
        let mut writes: BTreeMap<u64, Content> = BTreeMap::new();
        for (sector, versions) in self.versions() {
            // What stood there before a write is what the one before it has written.
            let later = versions.iter().skip(1).map(|before| before.bytes.clone());
            let contents = later.chain([self.image.sector(sector).into()]);
            for (before, content) in versions.iter().zip(contents) {
                writes.entry(before.write).or_default().push((sector, content));
            }
        }
        writes.into_values().collect()
    }

    /// The member without what is not durable.
    pub(crate) fn stable(&self) -> Disk {
        let mut disk = self.clone();
        disk.power_cut(Keyed::new(0), Kept::Nothing);
        disk
    }

    /// A number for all that it holds.
    pub(crate) fn digest(&self, key: &SectorKey) -> u64 {
        let mut hash = DefaultHasher::new();
        for (index, page) in self.image.pages.iter().enumerate() {
            if let Some(page) = page {
                hash.write_u64(index as u64);
                hash.write_u64(page.digest(key));
            }
        }
        hash.finish()
    }

    /// Power is pulled. `key` says what is left of each sector that was not flushed.
    pub(crate) fn power_cut(&mut self, key: Keyed, kept: Kept) {
        let mut left: Vec<(u64, Rc<[u8]>)> = Vec::new();
        for (sector, versions) in self.versions() {
            let drawn = key.of(&[sector]);
            let index = match kept {
                Kept::Nothing => 0,
                Kept::All => versions.len(),
                Kept::Some => (drawn % (versions.len() as u64 + 1)) as usize,
            };
            left.extend(versions.get(index).map(|version| (sector, version.bytes.clone())));
        }
        self.before.clear();
        for (sector, bytes) in left {
            self.image.part_mut(sector, SECTOR).copy_from_slice(&bytes);
        }
    }
}

/// Removes what `is_over` from `versions`, keeping its memory.
fn forget(versions: &mut Vec<Before>, spare: &mut Spare, is_over: impl Fn(&Before) -> bool) {
    let over = versions.extract_if(.., |version| is_over(version));
    spare.0.extend(over.map(|version| version.bytes));
}

/// What a power cut leaves of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    Nothing,
    All,
    Some,
}

impl Kept {
    pub(crate) fn draw(number: u64) -> Kept {
        match number % 4 {
            0 => Kept::Nothing,
            1 => Kept::All,
            _ => Kept::Some,
        }
    }

    /// Whether a sector of a write in flight has landed.
    pub(crate) fn lands(self, drawn: u64) -> bool {
        match self {
            Kept::Nothing => false,
            Kept::All => true,
            Kept::Some => drawn & 1 == 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk() -> Disk {
        Disk::new(Identity([1; 16]), Sectors::new(64), 0)
    }

    fn first(disk: &Disk) -> u8 {
        disk.sector(3)[0]
    }

    #[test]
    fn a_flush_keeps_what_was_answered_before_it_began_and_no_more() {
        let mut disk = disk();
        disk.write(Sector::new(3), &[1; SECTOR], false);
        let covered = disk.written();
        disk.write(Sector::new(3), &[2; SECTOR], false);
        disk.flushed(covered);
        assert_eq!(first(&disk), 2);
        disk.power_cut(Keyed::new(1), Kept::Nothing);
        assert_eq!(first(&disk), 1);
    }

    #[test]
    fn what_a_failed_flush_was_to_keep_is_kept_by_no_later_one_until_it_is_written_anew() {
        let mut disk = disk();
        disk.write(Sector::new(3), &[1; SECTOR], false);
        disk.flush_failed();
        disk.flushed(disk.written());
        let mut cut = disk.clone();
        cut.power_cut(Keyed::new(1), Kept::Nothing);
        assert_eq!((first(&disk), first(&cut)), (1, 0));
        disk.write(Sector::new(3), &[2; SECTOR], false);
        disk.flushed(disk.written());
        disk.power_cut(Keyed::new(1), Kept::Nothing);
        assert_eq!(first(&disk), 2);
    }

    #[test]
    fn a_durable_write_leaves_nothing_older_to_come_back() {
        let mut disk = disk();
        disk.write(Sector::new(3), &[1; SECTOR], false);
        disk.write(Sector::new(3), &[2; SECTOR], true);
        disk.power_cut(Keyed::new(1), Kept::Nothing);
        assert_eq!(first(&disk), 2);
    }

    #[test]
    fn any_version_since_the_last_flush_may_be_left() {
        let mut seen = BTreeSet::new();
        for seed in 0..40 {
            let mut disk = disk();
            (1..=3).for_each(|byte| disk.write(Sector::new(3), &[byte; SECTOR], false));
            disk.power_cut(Keyed::new(seed), Kept::Some);
            seen.insert(first(&disk));
        }
        assert_eq!(seen, BTreeSet::from([0, 1, 2, 3]));
    }

    #[test]
    fn what_is_stable_and_what_is_not_flushed_make_up_what_is_read() {
        let mut disk = disk();
        disk.write(Sector::new(2), &[1; 2 * SECTOR], true);
        disk.write(Sector::new(3), &[2; 2 * SECTOR], false);
        disk.write(Sector::new(3), &[3; SECTOR], false);
        let (mut stable, unflushed) = (disk.stable(), disk.unflushed());
        assert_eq!([2, 3, 4].map(|sector| stable.sector(sector)[0]), [1, 1, 0]);
        let bytes: Vec<Vec<(u64, u8)>> = unflushed
            .iter()
            .map(|write| write.iter().map(|(sector, bytes)| (*sector, bytes[0])).collect())
            .collect();
        assert_eq!(bytes, [vec![(3, 2), (4, 2)], vec![(3, 3)]]);
        let key = SectorKey::new([1; 16]);
        assert_ne!(stable.digest(&key), disk.digest(&key));
        for (sector, bytes) in unflushed.iter().flatten() {
            stable.write(Sector::new(*sector), bytes, true);
        }
        assert_eq!(stable.digest(&key), disk.digest(&key));
    }

    #[test]
    fn a_bad_sector_can_be_read_again_when_it_was_written() {
        let mut disk = disk();
        disk.bad.insert(3);
        assert!(!disk.can_read(Sector::new(0), Sectors::new(8)));
        disk.write(Sector::new(3), &[1; SECTOR], false);
        assert!(disk.can_read(Sector::new(0), Sectors::new(8)));
    }
}
