//! A simulated member: the content of its stable storage, the content of its cache, and its faults.
//!
//! A completed write is visible to all later reads. It survives a power cut if it was durable, or
//! if a flush that began after it has completed. Otherwise each of its sectors, independently,
//! holds the stable content or any version written since.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hasher};
use std::ops::Range;
use std::rc::Rc;

use parlour_array::Identity;
use parlour_codec::sector::SectorKey;
use parlour_units::{Sector, Sectors};

use crate::content::{SECTOR, SectorBytes};
use crate::random::Keyed;
use crate::silent::Silent;

const PAGE_SECTORS: u64 = 8;

/// A part of a member. Copies of the member share it until one of them is written.
#[derive(Clone, Debug)]
struct Page {
    sectors: [SectorBytes; PAGE_SECTORS as usize],
    digest: OnceCell<u64>,
}

impl Page {
    fn digest(&self, key: &SectorKey) -> u64 {
        *self.digest.get_or_init(|| {
            let mut hash = DefaultHasher::new();
            self.sectors.iter().for_each(|sector| hash.write_u64(key.checksum(sector.bytes())));
            hash.finish()
        })
    }
}

/// The bytes of a member. Sectors that were never written hold one repeated byte.
#[derive(Clone, Debug)]
struct Image {
    pages: Vec<Option<Rc<Page>>>,
    blank: SectorBytes,
}

impl Image {
    fn sector(&self, sector: u64) -> &SectorBytes {
        match &self.pages[(sector / PAGE_SECTORS) as usize] {
            Some(page) => &page.sectors[offset(sector)],
            None => &self.blank,
        }
    }

    /// The sectors of a page, for writing.
    fn page_mut(&mut self, page: u64) -> &mut [SectorBytes] {
        let blank = &self.blank;
        let fresh = || {
            let sectors = std::array::from_fn(|_| blank.clone());
            Rc::new(Page { sectors, digest: OnceCell::new() })
        };
        let page = Rc::make_mut(self.pages[page as usize].get_or_insert_with(fresh));
        page.digest.take();
        &mut page.sectors
    }
}

fn offset(sector: u64) -> usize {
    (sector % PAGE_SECTORS) as usize
}

/// The number of writes that no later flush makes durable.
const LOST: u64 = u64::MAX;

/// The content of a sector before a write that is not durable yet.
#[derive(Clone, Debug)]
struct Before {
    sector: u64,
    write: u64,
    bytes: SectorBytes,
}

/// The content of a write, by sector.
pub(crate) type Content = Vec<(u64, SectorBytes)>;

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
    pub(crate) identity: Identity,
    pub(crate) length: Sectors,
    image: Image,
    /// By page: the content before each write that is not durable, oldest first.
    before: BTreeMap<u64, Vec<Before>>,
    /// Vectors for such lists, kept for their capacity.
    spare: Vec<Vec<Before>>,
    /// The number of writes so far.
    writes: u64,
    /// Sectors that are unreadable until they are written.
    pub(crate) bad: BTreeSet<u64>,
    /// It never answers again.
    pub(crate) dead: bool,
    /// It does not answer until the array is opened again.
    pub(crate) mute: bool,
    /// It has no space for data.
    pub(crate) full: bool,
    /// The next read of data fails once.
    pub(crate) hiccup: bool,
    pub(crate) flushes: Flushes,
    /// The number of writes for which a lying flush was reported as done.
    lied: u64,
    /// Its next access fails because the system lacks a resource.
    pub(crate) starved: bool,
    /// It has no space for logs and metadata either.
    pub(crate) full_everywhere: bool,
    /// The silent fault of the next write of a kind.
    pub(crate) silent: Option<Silent>,
    /// Sectors with wrong content, and the right content.
    tainted: BTreeMap<u64, SectorBytes>,
    /// By part of the commit log: the sectors of the newest entry, and of entries that a crash may
    /// have cut off.
    pub(crate) newest: [Vec<Range<u64>>; 2],
    /// How many times slower than the others it is.
    pub(crate) slow: u64,
    /// It missed a session that has ended, so the array must not accept it as current.
    pub(crate) stale: bool,
}

impl Disk {
    pub(crate) fn new(identity: Identity, length: Sectors, fill: u8) -> Disk {
        let pages = length.get().div_ceil(PAGE_SECTORS) as usize;
        let blank = SectorBytes::filled(fill);
        Disk {
            identity,
            length,
            image: Image { pages: vec![None; pages], blank },
            before: BTreeMap::new(),
            spare: Vec::new(),
            writes: 0,
            bad: BTreeSet::new(),
            dead: false,
            mute: false,
            full: false,
            hiccup: false,
            flushes: Flushes::Work,
            lied: 0,
            starved: false,
            full_everywhere: false,
            silent: None,
            tainted: BTreeMap::new(),
            newest: [Vec::new(), Vec::new()],
            slow: 1,
            stale: false,
        }
    }

    /// Whether it has no space: for data, or for logs and metadata.
    pub(crate) fn has_no_room(&self, for_data: bool) -> bool {
        self.full && (for_data || self.full_everywhere)
    }

    /// Gives it space again.
    pub(crate) fn make_room(&mut self) {
        (self.full, self.full_everywhere) = (false, false);
    }

    /// Whether accesses fail because the member does not answer.
    pub(crate) fn answers_not(&self) -> bool {
        self.dead || self.mute
    }

    /// Whether an access to it has failed or will fail although it answers.
    pub(crate) fn ails(&self) -> bool {
        self.hiccup || self.starved || self.flushes != Flushes::Work || self.is_silently_wrong()
    }

    /// Whether all of a range of sectors can be read.
    pub(crate) fn can_read(&self, at: Sector, length: Sectors) -> bool {
        self.bad.range(at.get()..(at + length).get()).next().is_none()
    }

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
        self.writes += 1;
    }

    /// Writes a part of the current write.
    pub(crate) fn put_all(&mut self, at: Sector, new: impl IntoIterator<Item = SectorBytes>, durable: bool) {
        let (mut sector, mut new) = (at.get(), new.into_iter().peekable());
        while new.peek().is_some() {
            let end = (sector / PAGE_SECTORS + 1) * PAGE_SECTORS;
            sector = self.put(sector..end, &mut new, durable);
        }
    }

    /// Writes zeroes as a part of the current write.
    pub(crate) fn put_zeroes(&mut self, at: Sector, length: Sectors, durable: bool) {
        let zeroes = std::iter::repeat_n(SectorBytes::filled(0), length.get() as usize);
        self.put_all(at, zeroes, durable);
    }

    /// Writes sectors of one page from `new`, until `new` ends. Returns the sector after the last
    /// one.
    fn put(
        &mut self,
        sectors: Range<u64>,
        new: &mut impl Iterator<Item = SectorBytes>,
        durable: bool,
    ) -> u64 {
        let (write, page, first) = (self.writes, sectors.start / PAGE_SECTORS, sectors.start);
        if !self.tainted.is_empty() {
            // An overwritten sector counts as if its content had been right: no power cut brings
            // the wrong content back.
            self.heal(sectors.start..sectors.end);
        }
        let slots = &mut self.image.page_mut(page)[offset(first)..];
        let replaced = slots.iter_mut().zip(new).map(|(slot, new)| std::mem::replace(slot, new));
        let mut end = first;
        if durable {
            end += replaced.count() as u64;
            if let Some(versions) = self.before.get_mut(&page) {
                versions.retain(|version| !(first..end).contains(&version.sector));
            }
        } else {
            let spare = &mut self.spare;
            let versions = self.before.entry(page).or_insert_with(|| spare.pop().unwrap_or_default());
            for bytes in replaced {
                versions.push(Before { sector: end, write, bytes });
                end += 1;
            }
        }
        if !self.bad.is_empty() {
            self.bad.retain(|bad| !(first..end).contains(bad));
        }
        end
    }

    /// Gives a sector the wrong content `bytes`.
    pub(crate) fn taint(&mut self, sector: u64, bytes: SectorBytes) {
        let page = self.image.page_mut(sector / PAGE_SECTORS);
        let good = std::mem::replace(&mut page[offset(sector)], bytes);
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

    /// Restores the right content of these sectors.
    pub(crate) fn heal(&mut self, sectors: Range<u64>) {
        let tainted: Vec<u64> = self.tainted.range(sectors).map(|(sector, _)| *sector).collect();
        for sector in tainted {
            if let Some(good) = self.tainted.remove(&sector) {
                self.image.page_mut(sector / PAGE_SECTORS)[offset(sector)] = good;
            }
        }
    }

    /// Heals the sectors of which nothing is promised after a crash, so that wrong content there is
    /// not tested: writes that were not made durable, and the newest entries of the commit logs,
    /// which no other metadata refers to.
    pub(crate) fn heal_what_is_cut_off(&mut self, power: bool) {
        let newest: Vec<Range<u64>> = self.newest.iter().flatten().cloned().collect();
        newest.into_iter().for_each(|sectors| self.heal(sectors));
        if power && !self.tainted.is_empty() {
            let sectors: Vec<u64> = self.before.values().flatten().map(|version| version.sector).collect();
            sectors.into_iter().for_each(|sector| self.heal(sector..sector + 1));
        }
    }

    /// The number of writes that a flush covers if it begins now.
    pub(crate) fn written(&self) -> u64 {
        self.writes
    }

    /// A flush that covers the first `writes` writes has completed.
    pub(crate) fn flushed(&mut self, writes: u64) {
        let spare = &mut self.spare;
        self.before.retain(|_, versions| {
            // A durable write over a lost write makes the sector durable.
            let lost = versions.iter().any(|version| version.write == LOST);
            let covered = versions.iter().filter(|version| lost && version.write <= writes);
            let covered: BTreeSet<u64> = covered.map(|version| version.sector).collect();
            let over = |version: &Before| match version.write {
                LOST => covered.contains(&version.sector),
                write => write <= writes,
            };
            versions.retain(|version| !over(version));
            if versions.is_empty() {
                spare.push(std::mem::take(versions));
                return false;
            }
            true
        });
    }

    /// A flush that covers the first `writes` writes is reported as done.
    pub(crate) fn flush_answered(&mut self, writes: u64) {
        match self.flushes {
            Flushes::Lie => self.lied = self.lied.max(writes),
            _ => self.flushed(writes),
        }
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

    /// A flush has failed: no later flush makes its writes durable.
    pub(crate) fn flush_failed(&mut self) {
        self.flushes = Flushes::Failed;
        self.before.values_mut().flatten().for_each(|version| version.write = LOST);
    }

    /// By sector: the content before each write that is not durable, oldest first.
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
            // The content before a write is what the previous write wrote.
            let later = versions.iter().skip(1).map(|before| before.bytes.clone());
            let contents = later.chain([self.image.sector(sector).clone()]);
            for (before, content) in versions.iter().zip(contents) {
                writes.entry(before.write).or_default().push((sector, content));
            }
        }
        writes.into_values().collect()
    }

    /// The member with only its durable content.
    pub(crate) fn stable(&self) -> Disk {
        let mut disk = self.clone();
        disk.power_cut(Keyed::new(0), Kept::Nothing);
        disk
    }

    /// A hash of all its content.
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

    /// Power fails. `key` determines what is left of each sector that was not flushed.
    pub(crate) fn power_cut(&mut self, key: Keyed, kept: Kept) {
        for (page, versions) in std::mem::take(&mut self.before) {
            let first = page * PAGE_SECTORS;
            for sector in first..first + PAGE_SECTORS {
                let of_sector = || versions.iter().filter(|version| version.sector == sector);
                let count = of_sector().count();
                if count == 0 {
                    continue;
                }
                let index = match kept {
                    Kept::Nothing => 0,
                    Kept::All => count,
                    Kept::Some => (key.of(&[sector]) % (count as u64 + 1)) as usize,
                };
                if let Some(version) = of_sector().nth(index) {
                    self.image.page_mut(page)[offset(sector)] = version.bytes.clone();
                }
            }
        }
    }
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

    /// Whether a sector of a write in flight is written.
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
        disk.sector(3).bytes()[0]
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
        assert_eq!([2, 3, 4].map(|sector| stable.sector(sector).bytes()[0]), [1, 1, 0]);
        let bytes: Vec<Vec<(u64, u8)>> = unflushed
            .iter()
            .map(|write| write.iter().map(|(sector, bytes)| (*sector, bytes.bytes()[0])).collect())
            .collect();
        assert_eq!(bytes, [vec![(3, 2), (4, 2)], vec![(3, 3)]]);
        let key = SectorKey::new([1; 16]);
        assert_ne!(stable.digest(&key), disk.digest(&key));
        for (sector, bytes) in unflushed.iter().flatten() {
            stable.write_one(*sector, bytes.clone(), true);
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
