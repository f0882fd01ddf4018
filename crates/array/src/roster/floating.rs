//! Floating data and parity (Menon and Kasson 1992; Stodolsky §4, figure 14): the current position
//! of each unit in its cylinder.
//!
//! The layout gives each unit a *home*, and leaves a track's worth of positions of each cylinder
//! free. A small write puts a unit into the free position that the heads reach first; its former
//! position becomes free. So a unit never leaves its cylinder, and the array needs no knowledge of
//! rotation. The driver has this knowledge: when it begins an access it chooses among
//! [`Array::free_positions`](crate::Array::free_positions), and it reports its choice
//! ([`Outcome::Placed`](crate::Outcome::Placed)).
//!
//! - A unit is moved only under the exclusive lock of its stripe, and only to a position that is
//!   free when the driver answers.
//! - Reads take no lock. A position that is being read is not written to before the read is
//!   answered, even if the unit has moved meanwhile.
//!
//! The map is kept in memory only (the paper asks for fault-tolerant memory in the controller). An
//! array with floating units is lost when it is stopped, and only simulations use one.

use std::collections::BTreeMap;

use parlour_units::{Member, Sector, Sectors, Slot};

use crate::geometry::Geometry;
use crate::layout::Location;

/// Marks a position without a unit.
const NOTHING: u16 = u16::MAX;

/// The current positions of units. See the module.
#[derive(Debug)]
pub(crate) struct Floats {
    unit: Sectors,
    /// Positions of a cylinder, and the number of units, whose homes are the first of the
    /// positions.
    positions: u64,
    units: u64,
    cylinders: usize,
    data_start: Sector,
    /// By slot, then cylinder; `None` while all units are at home.
    bitmaps: Vec<Option<Cylinder>>,
    /// Positions that are being read, by member and first sector.
    reading: BTreeMap<(Member, Sector), u32>,
}

/// The positions of the units of a cylinder.
#[derive(Debug)]
struct Cylinder {
    /// By unit: its position.
    position_of: Box<[u16]>,
    /// By position: its unit.
    unit_in: Box<[u16]>,
}

impl Cylinder {
    fn new(positions: u64, units: u64) -> Cylinder {
        let unit = |position: u64| if position < units { position as u16 } else { NOTHING };
        Cylinder { position_of: (0..units as u16).collect(), unit_in: (0..positions).map(unit).collect() }
    }
}

impl Floats {
    /// The map of a new array, if its units float.
    pub(crate) fn new(geometry: &Geometry) -> Option<Floats> {
        let (positions, units) = geometry.layout().positions()?;
        let unit = geometry.layout().unit_length();
        let cylinders = Sectors::new(geometry.stored().layout.length) / (unit * positions);
        let count = cylinders as usize * usize::from(geometry.members());
        geometry.floats().then(|| Floats {
            unit,
            positions,
            units,
            cylinders: cylinders as usize,
            data_start: geometry.data_start(),
            bitmaps: std::iter::repeat_with(|| None).take(count).collect(),
            reading: BTreeMap::new(),
        })
    }

    /// The index of the cylinder's map, the position, and the distance from the start of the
    /// position.
    fn find(&self, location: Location) -> (usize, u64, Sectors) {
        let (position, offset) = (location.at.from_start() / self.unit, location.at.from_start() % self.unit);
        let map = location.slot.as_usize() * self.cylinders + (position / self.positions) as usize;
        (map, position % self.positions, offset)
    }

    /// The same place in another position of the cylinder.
    fn in_position(&self, location: Location, from: u64, to: u64) -> Location {
        let first = location.at.from_start() - self.unit * from;
        Location { at: Sector::ZERO + first + self.unit * to, ..location }
    }

    /// The current place of the sector with this home.
    pub(crate) fn locate(&self, home: Location) -> Location {
        let (map, unit, _) = self.find(home);
        match &self.bitmaps[map] {
            Some(cylinder) => self.in_position(home, unit, cylinder.position_of[unit as usize].into()),
            None => home,
        }
    }

    /// The home of the sector at `location`; `None` if the position is free. The inverse of
    /// [`Floats::locate`].
    pub(crate) fn home(&self, location: Location) -> Option<Location> {
        let (map, position, _) = self.find(location);
        let unit = match &self.bitmaps[map] {
            Some(cylinder) => u64::from(cylinder.unit_in[position as usize]),
            None if position < self.units => position,
            None => NOTHING.into(),
        };
        (unit != u64::from(NOTHING)).then(|| self.in_position(location, position, unit))
    }

    /// The positions to which the unit at `location` may be moved, in order; only its own, if it
    /// has to stay.
    fn free(&self, location: Location, member: Member) -> impl Iterator<Item = Location> + '_ {
        let (map, from, _) = self.find(location);
        let is_free = move |position: u64| match &self.bitmaps[map] {
            Some(cylinder) => cylinder.unit_in[position as usize] == NOTHING,
            None => position >= self.units,
        };
        let positions = (0..self.positions).filter(move |position| is_free(*position));
        let locations = positions.map(move |position| self.in_position(location, from, position));
        let mut free =
            locations.filter(move |location| !self.reading.contains_key(&(member, location.at))).peekable();
        let stays = free.peek().is_none().then_some(location);
        free.chain(stays)
    }

    /// The same, as sectors of the member in `slot`.
    pub(super) fn free_on(
        &self,
        slot: Slot,
        member: Member,
        at: Sector,
    ) -> impl Iterator<Item = Sector> + '_ {
        let location = self.in_data(slot, at);
        self.free(location, member).map(|location| self.data_start + location.at.from_start())
    }

    /// The unit of the member in `slot` was moved from sector `from` to sector `to`.
    pub(super) fn moved_on(&mut self, slot: Slot, from: Sector, to: Sector) {
        self.moved(self.in_data(slot, from), self.in_data(slot, to));
    }

    /// The place in the data area of a sector of the member in `slot`.
    fn in_data(&self, slot: Slot, at: Sector) -> Location {
        Location { slot, at: Sector::ZERO + (at - self.data_start) }
    }

    /// The unit at `from` was moved to `to`.
    fn moved(&mut self, from: Location, to: Location) {
        if from == to {
            return;
        }
        let ((map, old, _), (other, new, offset)) = (self.find(from), self.find(to));
        let cylinder = self.bitmaps[map].get_or_insert_with(|| Cylinder::new(self.positions, self.units));
        let unit = std::mem::replace(&mut cylinder.unit_in[old as usize], NOTHING);
        let target = &mut cylinder.unit_in[new as usize];
        let possible = map == other && offset.is_zero() && unit != NOTHING && *target == NOTHING;
        assert!(possible, "a unit goes from its position to a free one of the same cylinder");
        *target = unit;
        cylinder.position_of[usize::from(unit)] = new as u16;
    }

    /// The positions that an access of a member touches.
    fn touched(&self, at: Sector, length: Sectors) -> impl Iterator<Item = Sector> + use<> {
        let (start, unit) = (self.data_start, self.unit);
        let first = at.max(start) - start;
        let end = (at + length).max(start) - start;
        let positions = first / unit..end.get().div_ceil(unit.get());
        positions.map(move |position| Sector::ZERO + unit * position)
    }

    /// A read begins: the positions that it reads must not be written meanwhile.
    pub(crate) fn hold(&mut self, member: Member, at: Sector, length: Sectors) {
        for position in self.touched(at, length) {
            *self.reading.entry((member, position)).or_default() += 1;
        }
    }

    /// The read is answered.
    pub(crate) fn let_go(&mut self, member: Member, at: Sector, length: Sectors) {
        for position in self.touched(at, length) {
            let count = self.reading.get_mut(&(member, position)).expect("what is let go was held");
            *count -= 1;
            if *count == 0 {
                self.reading.remove(&(member, position));
            }
        }
    }
}
