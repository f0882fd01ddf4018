//! Floating data and parity (Menon and Kasson 1992; Stodolsky §4, figure 14): where in its cylinder
//! each unit is now.
//!
//! The layout gives each unit a *home*, and leaves a track's worth of positions of each cylinder
//! free. A small write puts a unit into whatever free position the heads reach first, and the
//! position that it leaves is free from then on. So a unit never leaves its cylinder, and the array
//! needs to know nothing of rotation: the driver, which does, chooses among
//! [`Array::free_positions`] when it begins an access, and says which it took
//! ([`Outcome::Placed`](crate::Outcome::Placed)).
//!
//! - A unit is moved only under the exclusive lock of its stripe, and from its position to one that
//!   is free when the driver answers.
//! - Reads take no lock: what they read is not written to before they are answered, though the unit
//!   be elsewhere by then.
//!
//! The map is kept in memory alone (the paper asks for fault-tolerant memory in the controller): an
//! array that floats is lost when it is stopped, and only simulations have one.

use std::collections::BTreeMap;

use parlour_units::{Member, Sector, Sectors, Slot};

use crate::geometry::Geometry;
use crate::layout::Location;
use crate::organization::Update;

/// Of a position: nothing is in it.
const NOTHING: u16 = u16::MAX;

/// Where units are. See the module.
#[derive(Debug)]
pub(crate) struct Floats {
    unit: Sectors,
    /// Positions of a cylinder, and the units that have their homes in the first of them.
    positions: u64,
    units: u64,
    cylinders: usize,
    data_start: Sector,
    /// By slot, then cylinder; none where all units are at home.
    bitmaps: Vec<Option<Cylinder>>,
    /// Positions that are being read, by member and where they begin.
    reading: BTreeMap<(Member, Sector), u32>,
}

/// Where the units of a cylinder are.
#[derive(Debug)]
struct Cylinder {
    /// By unit.
    position_of: Box<[u16]>,
    /// By position.
    unit_in: Box<[u16]>,
}

impl Cylinder {
    fn new(positions: u64, units: u64) -> Cylinder {
        let unit = |position: u64| if position < units { position as u16 } else { NOTHING };
        Cylinder { position_of: (0..units as u16).collect(), unit_in: (0..positions).map(unit).collect() }
    }
}

impl Floats {
    /// The map of a new array, if units float in it.
    pub(crate) fn new(geometry: &Geometry) -> Option<Floats> {
        let (positions, units) = geometry.layout().positions()?;
        let unit = geometry.layout().unit_length();
        let cylinders = Sectors::new(geometry.stored().layout.length) / (unit * positions);
        let count = cylinders as usize * usize::from(geometry.members());
        (geometry.organization().update == Update::Floating).then(|| Floats {
            unit,
            positions,
            units,
            cylinders: cylinders as usize,
            data_start: geometry.data_start(),
            bitmaps: std::iter::repeat_with(|| None).take(count).collect(),
            reading: BTreeMap::new(),
        })
    }

    /// Which map, which position, and how far into it.
    fn find(&self, location: Location) -> (usize, u64, Sectors) {
        let (position, offset) = (location.at.from_start() / self.unit, location.at.from_start() % self.unit);
        let map = location.slot.as_usize() * self.cylinders + (position / self.positions) as usize;
        (map, position % self.positions, offset)
    }

    /// `slot`, but in another position of its cylinder.
    fn in_position(&self, location: Location, from: u64, to: u64) -> Location {
        let first = location.at.from_start() - self.unit * from;
        Location { at: Sector::ZERO + first + self.unit * to, ..location }
    }

    /// Where what has its home at `home` is now.
    pub(crate) fn locate(&self, home: Location) -> Location {
        let (map, unit, _) = self.find(home);
        match &self.bitmaps[map] {
            Some(cylinder) => self.in_position(home, unit, cylinder.position_of[unit as usize].into()),
            None => home,
        }
    }

    /// The home of what is at `slot`; none where nothing is. The inverse of [`Floats::locate`].
    pub(crate) fn home(&self, location: Location) -> Option<Location> {
        let (map, position, _) = self.find(location);
        let unit = match &self.bitmaps[map] {
            Some(cylinder) => u64::from(cylinder.unit_in[position as usize]),
            None if position < self.units => position,
            None => NOTHING.into(),
        };
        (unit != u64::from(NOTHING)).then(|| self.in_position(location, position, unit))
    }

    /// The positions of the cylinder of `slot` into which the unit there may be moved, in their
    /// order: its own, where it has to stay.
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

    /// The same, as sectors of the member that stands in `slot`.
    pub(super) fn free_on(
        &self,
        slot: Slot,
        member: Member,
        at: Sector,
    ) -> impl Iterator<Item = Sector> + '_ {
        let location = self.in_data(slot, at);
        self.free(location, member).map(|location| self.data_start + location.at.from_start())
    }

    /// The unit that was at `from` of the member in `slot` is at `to` now.
    pub(super) fn moved_on(&mut self, slot: Slot, from: Sector, to: Sector) {
        self.moved(self.in_data(slot, from), self.in_data(slot, to));
    }

    /// Where in the data area a sector of the member in `slot` is.
    fn in_data(&self, slot: Slot, at: Sector) -> Location {
        Location { slot, at: Sector::ZERO + (at - self.data_start) }
    }

    /// The unit at `from` is at `to` now.
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

    /// A read begins: what it reads stays as it is.
    pub(crate) fn hold(&mut self, member: Member, at: Sector, length: Sectors) {
        for position in self.touched(at, length) {
            *self.reading.entry((member, position)).or_default() += 1;
        }
    }

    /// It is answered.
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
