//! Faults of single members that do not cost the member.

use parlour_array::{Geometry, SUPERBLOCK};
use parlour_units::{Sector, Sectors, Slot};

use super::Rig;
use crate::coverage::Fault;
use crate::script::What;

/// How many times slower than the others a slow member is.
const SLOW: u64 = 30;

impl Rig<'_> {
    /// A member has a fault, if the array promises to survive it.
    pub(crate) fn ail(&mut self, what: What) {
        match what {
            What::Latent(slot, sector) => self.latent_error(slot, sector),
            What::Metadata(slot, number) => self.metadata_error(slot, number),
            What::Silent(slot, silent) => self.arm(slot, silent),
            What::Damage(slot, damage) => self.damage(slot, damage),
            What::FlushesLie(slot) => self.begin_to_lie(slot),
            What::Transient(slot) => self.inject(slot, Fault::TransientError),
            What::Slow(slot) => self.inject(slot, Fault::SlowMember),
            What::FlushFails(slot) => self.inject(slot, Fault::FailedFlush),
            What::Starved(slot) => self.inject(slot, Fault::Starvation),
            What::FullEverywhere(slot) => self.inject(slot, Fault::OutOfAllSpace),
            What::Full(slot) => self.inject(slot, Fault::OutOfSpace),
            other => unreachable!("{other:?} is no fault of one member"),
        }
    }

    /// The disk in `slot`, if it is to have this fault now.
    fn target(&mut self, slot: u16, fault: Fault) -> Option<usize> {
        let disk = self.disk_at(slot)?;
        (!self.is_failed(slot) && self.dares(fault, slot)).then_some(disk)
    }

    fn inject(&mut self, slot: u16, fault: Fault) {
        let Some(disk) = self.target(slot, fault) else { return };
        let disk = self.world.disk_mut(disk);
        match fault {
            Fault::TransientError => disk.fail_next_read(),
            Fault::FailedFlush => disk.fail_next_flush(),
            Fault::SlowMember => disk.slow_down(SLOW),
            Fault::Starvation => disk.starve(),
            Fault::OutOfAllSpace => disk.fill_up(true),
            _ => disk.fill_up(false),
        }
    }

    fn latent_error(&mut self, slot: u16, sector: u64) {
        if self.geometry.is_for_journal(Slot::new(slot)) {
            return;
        }
        let Some(disk) = self.target(slot, Fault::LatentError) else { return };
        self.lose_sector(disk, self.geometry.data_start().get() + sector);
        // From now on, data that was read there must come from other members.
        self.member_excluded();
        self.defects.doubt(self.is_unsynced());
    }

    fn metadata_error(&mut self, slot: u16, number: u64) {
        let Some(disk) = self.target(slot, Fault::MetadataError) else { return };
        let sector = metadata_sector(&self.geometry, self.world.disk(disk).length(), number);
        self.lose_sector(disk, sector);
    }

    fn lose_sector(&mut self, disk: usize, sector: u64) {
        self.world.disk_mut(disk).lose_sector(sector);
        self.defects.add_read_error(disk, sector);
    }

    /// Notes the sectors that had a transient error.
    pub(crate) fn note_transient_errors(&mut self) {
        let errors = self.world.take_transient_errors();
        if !errors.is_empty() {
            errors.into_iter().for_each(|(disk, sector)| self.defects.add_read_error(disk, sector));
            self.defects.doubt(self.is_unsynced());
        }
    }

    /// Repairs what cannot be read, flushed or done for lack of memory.
    pub(crate) fn repair_errors(&mut self) {
        self.world.disks_mut().iter_mut().for_each(|disk| {
            disk.repair_reads();
            disk.repair_flushes();
        });
    }
}

/// A sector of a superblock, bitmap, table, bad-block log or commit log on a member of `length`.
fn metadata_sector(geometry: &Geometry, length: Sectors, number: u64) -> u64 {
    let bank = (number % 2) as usize;
    let superblock = (Geometry::superblocks_at(length)[bank], SUPERBLOCK);
    let areas = [
        Some(superblock),
        Some((geometry.bitmap_at(bank), geometry.bitmap_length())),
        geometry.records_updates().then(|| (geometry.table_at(bank), geometry.table_length())),
        geometry.bad_block_log_at(bank),
        Some(geometry.commit_log()).filter(|(_, length)| !length.is_zero()),
    ];
    let areas: Vec<(Sector, Sectors)> = areas.into_iter().flatten().collect();
    let (at, length) = areas[(number >> 8) as usize % areas.len()];
    at.get() + (number >> 16) % length.get()
}
