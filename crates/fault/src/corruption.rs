//! Carries out silent faults: the member gets wrong content, and remembers the right one.

use std::ops::Range;

use parlour_array::Geometry;
use parlour_units::{Sector, Sectors, Slot};

use crate::area::Area;
use crate::content::SectorBytes;
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::silent::{How, Silent};

/// The silent fault of a write that is being carried out.
#[derive(Debug)]
pub(crate) struct Corruption {
    silent: Silent,
    slot: Slot,
    at: Sector,
    length: Sectors,
    /// The content before the write.
    before: Vec<SectorBytes>,
}

impl Corruption {
    /// The silent fault of a write to `at` of the member in `slot`, if it is to have one.
    pub(crate) fn of_write(
        disk: &mut Disk,
        geometry: &Geometry,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> Option<Corruption> {
        let silent = disk.take_silent(Area::of(geometry, disk.length(), slot, at, length))?;
        Some(Corruption { silent, slot, at, length, before: content(disk, at, length) })
    }

    /// The fault, for the statistics.
    pub(crate) fn fault(&self) -> Fault {
        self.silent.how.fault()
    }

    /// Applies the fault after the write was carried out. Returns the sectors with wrong content.
    pub(crate) fn apply(self, disk: &mut Disk, geometry: &Geometry) -> Vec<u64> {
        let Corruption { silent: Silent { how, area, number }, slot, at, length, before } = self;
        if how == How::Rotten {
            let sector = at.get() + (number >> 32) % length.get();
            let rotten = disk.sector(sector).with_flipped_bit(number);
            disk.taint(sector, rotten);
            return vec![sector];
        }
        let written = content(disk, at, length);
        let mut wrong = taint_all(disk, at, before);
        if how == How::Misdirected
            && let Some(there) = area.elsewhere(geometry, slot, length, number)
        {
            wrong.extend(taint_all(disk, there, written));
        }
        wrong
    }
}

fn taint_all(disk: &mut Disk, at: Sector, contents: Vec<SectorBytes>) -> Vec<u64> {
    let mut wrong = Vec::new();
    for (sector, content) in (at.get()..).zip(contents) {
        if *disk.sector(sector) != content {
            disk.taint(sector, content);
            wrong.push(sector);
        }
    }
    wrong
}

fn content(disk: &Disk, at: Sector, length: Sectors) -> Vec<SectorBytes> {
    let sectors: Range<u64> = at.get()..(at + length).get();
    sectors.map(|sector| disk.sector(sector).clone()).collect()
}
