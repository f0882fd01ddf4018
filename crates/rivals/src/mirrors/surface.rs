//! Where masters and slaves are on a disk.
//!
//! Each cylinder has masters on its first tracks, and places for slaves on the others. So wherever
//! the heads are, places for slaves are near, and masters in their order are on neighbouring
//! tracks.

use std::ops::Range;

use parlour_units::{Sector, Sectors};

use super::free::Free;
use crate::refused::Refused;

/// The cylinders of a disk: all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cylinders {
    /// The sectors of a track.
    pub track: Sectors,
    /// The tracks of a cylinder.
    pub tracks: u16,
}

/// How a disk is divided.
#[derive(Clone, Copy, Debug)]
pub(super) struct Surface {
    unit: Sectors,
    /// The length of a cylinder, and where places for slaves begin in it.
    cylinder: Sectors,
    slaves: Sectors,
    /// Masters of a cylinder, and places for slaves.
    masters: u64,
    places: u32,
    cylinders: u32,
}

impl Surface {
    /// A disk of this length. `master_tracks` are the tracks of a cylinder for masters.
    pub(super) fn new(
        unit: Sectors,
        Cylinders { track, tracks }: Cylinders,
        master_tracks: u16,
        length: Sectors,
    ) -> Result<Surface, Refused> {
        let refused = Err(Refused::Tracks { masters: master_tracks, tracks });
        if master_tracks == 0 || master_tracks > tracks {
            return refused;
        }
        let (cylinder, slaves) = (track * tracks.into(), track * master_tracks.into());
        if unit.is_zero() || unit > slaves {
            return Err(Refused::Unit { unit, length: slaves });
        }
        let (masters, places, cylinders) = (slaves / unit, (cylinder - slaves) / unit, length / cylinder);
        if cylinders == 0 {
            return Err(Refused::Short { length, needs: cylinder });
        }
        // Slaves are as many as masters, and two places of a cylinder are left.
        if places < masters + 2 {
            return refused;
        }
        if cylinders * places > u32::MAX.into() {
            return Err(Refused::Units(cylinders * places));
        }
        let (places, cylinders) = (places as u32, cylinders as u32);
        Ok(Surface { unit, cylinder, slaves, masters, places, cylinders })
    }

    /// The masters of a disk.
    pub(super) fn masters(&self) -> u64 {
        self.masters * u64::from(self.cylinders)
    }

    /// The places for slaves of a disk.
    pub(super) fn all_places(&self) -> u32 {
        self.places * self.cylinders
    }

    /// All places for slaves, free.
    pub(super) fn all_free(&self) -> Free {
        Free::new(self.cylinders, self.places)
    }

    /// The places of a disk that are left when all slaves have one.
    pub(super) fn spare(&self) -> usize {
        self.all_places() as usize - self.masters() as usize
    }

    /// The place of the master with this index.
    pub(super) fn master(&self, index: u64) -> Sector {
        Sector::ZERO + self.cylinder * (index / self.masters) + self.unit * (index % self.masters)
    }

    /// The first of these masters, and all that follow it without a gap.
    pub(super) fn run(&self, masters: &Range<u64>) -> Range<u64> {
        let end = (masters.start / self.masters + 1) * self.masters;
        masters.start..masters.end.min(end)
    }

    /// The sector at which a place for a slave begins.
    pub(super) fn slave(&self, place: u32) -> Sector {
        let (cylinder, number) = (place / self.places, place % self.places);
        Sector::ZERO + self.cylinder * cylinder.into() + self.slaves + self.unit * number.into()
    }

    /// The place for a slave that begins at a sector.
    pub(super) fn place_at(&self, at: Sector) -> u32 {
        let (cylinder, rest) = (at.from_start() / self.cylinder, at.from_start() % self.cylinder);
        cylinder as u32 * self.places + ((rest - self.slaves) / self.unit) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masters_and_slaves_do_not_overlap() {
        let of = Cylinders { track: Sectors::new(48), tracks: 14 };
        let surface = Surface::new(Sectors::new(4), of, 6, Sectors::new(48 * 14 * 3 + 5)).unwrap();
        assert_eq!((surface.masters(), surface.places, surface.cylinders), (216, 96, 3));
        let masters = (0..216).map(|index| surface.master(index).get());
        let slaves = (0..288).map(|place| surface.slave(place).get());
        let mut all: Vec<u64> = masters.chain(slaves).collect();
        all.sort_unstable();
        assert_eq!(all, (0..504).map(|number| number * 4).collect::<Vec<_>>());
        assert!((0..288).all(|place| surface.place_at(surface.slave(place)) == place));
        assert_eq!(surface.run(&(70..200)), 70..72);
        assert_eq!(surface.run(&(72..100)), 72..100);
    }

    #[test]
    fn slaves_need_more_room_than_masters() {
        let of = Cylinders { track: Sectors::new(48), tracks: 14 };
        let with = |masters| Surface::new(Sectors::new(4), of, masters, Sectors::new(48 * 14)).is_ok();
        assert_eq!([0, 1, 6, 7, 14, 20].map(with), [false, true, true, false, false, false]);
    }
}
