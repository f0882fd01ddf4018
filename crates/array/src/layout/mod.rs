//! The layout: where each unit is placed, which units protect one another, and which unit is at a
//! given place.
//!
//! A *stripe* is `data_units` data units and `check_units` check units of one size. The data of an
//! array runs stripe after stripe: data unit `n` is unit `n % data_units` of stripe `n /
//! data_units`, in every layout. A mirror's stripe is one data unit and its copies; a nonredundant
//! stripe has no check unit. With several parity groups side by side, stripe `s` belongs to group
//! `s % groups`.
//!
//! Places here count from the start of a member's data area; [`Geometry`](crate::Geometry) knows
//! where the data area starts.

mod arrangement;
mod choice;
#[cfg(feature = "test-choices")]
mod mirrored;
mod regions;

use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};
use serde::{Deserialize, Serialize};

pub use arrangement::{Arrangement, Rotation};
pub use choice::LayoutChoice;
pub(crate) use choice::{Room, Stripes};
pub use regions::{RegionShape, Regions, ShapeRequest};

/// A sector of the data area of the member in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The slot.
    pub slot: Slot,
    /// The sector of the data area.
    pub at: Sector,
}

/// The content of a location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occupant {
    /// A unit of a stripe.
    Unit {
        /// The stripe.
        stripe: Stripe,
        /// The unit of the stripe.
        unit: Unit,
        /// The distance from the start of the unit.
        offset: Sectors,
    },
    /// A region's parity log.
    Log {
        /// The region.
        region: Region,
        /// The sublog.
        sublog: u16,
        /// The distance from the start of the sublog.
        offset: Sectors,
    },
    /// Nothing: the space that is left over after units and logs were placed.
    Unused,
}

/// A layout of units over members.
#[derive(Clone, Debug)]
pub struct Layout {
    kind: Kind,
    groups: u16,
    group_members: u16,
    unit: Sectors,
    data_units: u16,
    check_units: u16,
    group_stripes: u64,
    /// The number of consecutive stripes of a group that share a bit of the write-intent bitmap,
    /// and a parity log if there is one.
    region_stripes: u64,
    /// Whether the regions have logs.
    logged: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    Arranged(Arrangement),
    Regions(Regions),
}

/// The sizes from which a layout is made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LayoutRequest {
    /// Members in each parity group.
    pub group_members: u16,
    /// Groups side by side.
    pub groups: u16,
    /// The stripe unit, in sectors.
    pub unit: u64,
    /// Sectors of each member's data area.
    pub length: u64,
}

/// What else a layout is made from: what only some layouts have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Details {
    /// Copies of each unit.
    pub(crate) copies: u16,
    /// The regions' shape.
    pub(crate) regions: Option<RegionShape>,
    /// Whether updates are logged. If not, the room for logs stays unused.
    pub(crate) logged: bool,
    /// Positions and units of a cylinder.
    pub(crate) positions: Option<(u16, u16)>,
}

impl Layout {
    /// Places units as `choice` says.
    ///
    /// # Panics
    /// If `details` lack what the layout needs.
    pub(crate) fn new(choice: LayoutChoice, details: Details, request: LayoutRequest) -> Layout {
        match choice.arrangement(details.copies, details.positions) {
            Some(arrangement) => Layout::arranged(arrangement, request),
            None => {
                let shape = details.regions.expect("a layout in regions is kept with its regions");
                Layout::regions((shape, details.logged), request)
            }
        }
    }

    /// Places units on members by `arrangement`.
    pub(crate) fn arranged(arrangement: Arrangement, request: LayoutRequest) -> Layout {
        let unit = Sectors::new(request.unit);
        let rows = Sectors::new(request.length) / unit;
        let (data_units, check_units) = arrangement.units(request.group_members);
        let group_stripes = arrangement.stripes(request.group_members, rows);
        let total = group_stripes * u64::from(request.groups);
        Layout {
            kind: Kind::Arranged(arrangement),
            groups: request.groups,
            group_members: request.group_members,
            unit,
            data_units,
            check_units,
            group_stripes,
            region_stripes: dirty_granule(total, unit * u64::from(data_units)),
            logged: false,
        }
    }

    /// Places units region by region, each region with room for its log, which may be used
    /// (Stodolsky figures 8 and 9).
    fn regions((shape, logged): (RegionShape, bool), request: LayoutRequest) -> Layout {
        let regions = Regions::new(shape, request.group_members, Sectors::new(request.unit));
        Layout {
            groups: request.groups,
            group_members: request.group_members,
            unit: Sectors::new(request.unit),
            data_units: regions.data_units(),
            check_units: 1,
            group_stripes: u64::from(shape.regions) * u64::from(shape.stripes),
            region_stripes: u64::from(shape.stripes),
            kind: Kind::Regions(regions),
            logged,
        }
    }

    /// Data units in a stripe.
    pub fn data_units(&self) -> u16 {
        self.data_units
    }

    /// Check units in a stripe.
    pub fn check_units(&self) -> u16 {
        self.check_units
    }

    /// All units of a stripe, data units first.
    pub fn units(&self) -> impl DoubleEndedIterator<Item = Unit> + use<> {
        (0..self.data_units + self.check_units).map(Unit::new)
    }

    /// Whether `unit` holds hosts' data.
    pub fn is_data(&self, unit: Unit) -> bool {
        unit.get() < self.data_units
    }

    /// The stripe unit.
    pub fn unit_length(&self) -> Sectors {
        self.unit
    }

    /// Stripes in the array.
    pub fn stripes(&self) -> u64 {
        self.group_stripes * u64::from(self.groups)
    }

    /// Data of one stripe.
    pub fn stripe_data(&self) -> Sectors {
        self.unit * u64::from(self.data_units)
    }

    /// Data of the array.
    pub fn capacity(&self) -> Sectors {
        self.stripe_data() * self.stripes()
    }

    /// The number of members in all groups.
    pub fn members(&self) -> u16 {
        self.group_members * self.groups
    }

    /// With far copies: the length of a member's first section, which holds the first copies. A
    /// section of the same length follows for each further copy.
    pub(crate) fn section(&self) -> Option<Sectors> {
        match self.kind {
            Kind::Arranged(Arrangement::Far { .. }) => {
                Some(self.unit * (self.group_stripes / u64::from(self.group_members)))
            }
            _ => None,
        }
    }

    /// With floating units: the number of positions in a cylinder, and of units in it.
    pub(crate) fn positions(&self) -> Option<(u64, u64)> {
        match self.kind {
            Kind::Arranged(Arrangement::Cylinders { positions, units }) => {
                Some((positions.into(), units.into()))
            }
            _ => None,
        }
    }

    /// The slots that may hold units of the same stripes as `slot`, itself included.
    pub fn peers(&self, slot: Slot) -> std::ops::Range<u16> {
        let width = match self.kind {
            Kind::Arranged(Arrangement::Neighbours { copies } | Arrangement::Far { copies }) => copies,
            Kind::Arranged(_) | Kind::Regions(_) => self.group_members,
        };
        let first = slot.get() / width * width;
        first..first + width
    }

    /// Whether `slot` and `other` hold units of the same stripes.
    pub fn share_stripes(&self, slot: Slot, other: Slot) -> bool {
        match self.kind {
            Kind::Arranged(Arrangement::Shadows { copies }) => {
                let sets = self.members() / copies;
                slot.get() % sets == other.get() % sets
            }
            _ => self.peers(slot).contains(&other.get()),
        }
    }

    /// The parity groups.
    pub fn groups(&self) -> u16 {
        self.groups
    }

    /// The members of the group of `stripe`.
    pub fn group_of(&self, stripe: Stripe) -> std::ops::Range<u16> {
        let group = (stripe.get() % u64::from(self.groups)) as u16;
        group * self.group_members..(group + 1) * self.group_members
    }

    /// The regions and their logs, if there are logs.
    pub fn logs(&self) -> Option<&Regions> {
        match &self.kind {
            Kind::Regions(regions) => self.logged.then_some(regions),
            Kind::Arranged(_) => None,
        }
    }

    /// The location of `unit` of `stripe`.
    pub fn locate(&self, stripe: Stripe, unit: Unit) -> Location {
        debug_assert!(stripe.get() < self.stripes());
        let groups = u64::from(self.groups);
        let (group, row) = ((stripe.get() % groups) as u16, stripe.get() / groups);
        let (slot, at) = match &self.kind {
            Kind::Arranged(arrangement) => {
                let (slot, row) = arrangement.locate(self.group_members, self.group_stripes, row, unit);
                (slot, self.unit * row)
            }
            Kind::Regions(regions) => regions.locate(row, unit),
        };
        Location { slot: Slot::new(group * self.group_members + slot), at: Sector::ZERO + at }
    }

    /// The content of `location`.
    pub fn occupant(&self, location: Location) -> Occupant {
        let group = location.slot.get() / self.group_members;
        let slot = location.slot.get() % self.group_members;
        let offset = location.at.from_start();
        let in_group = |row: u64| Stripe::new(row * u64::from(self.groups) + u64::from(group));
        match &self.kind {
            Kind::Arranged(arrangement) => {
                match arrangement.occupant(self.group_members, self.group_stripes, slot, offset / self.unit) {
                    Some((row, unit)) => {
                        Occupant::Unit { stripe: in_group(row), unit, offset: offset % self.unit }
                    }
                    None => Occupant::Unused,
                }
            }
            Kind::Regions(regions) => match regions.occupant(slot, offset) {
                regions::Found::Unit { row, unit, offset } => {
                    Occupant::Unit { stripe: in_group(row), unit, offset }
                }
                regions::Found::Log { .. } if !self.logged => Occupant::Unused,
                regions::Found::Log { region, sublog, offset } => Occupant::Log {
                    region: Region::new(region * u32::from(self.groups) + u32::from(group)),
                    sublog,
                    offset,
                },
                regions::Found::Unused => Occupant::Unused,
            },
        }
    }

    /// The number of regions in the array: bits of its write-intent bitmap and, with parity
    /// logging, logs.
    pub fn region_count(&self) -> u32 {
        let count = match self.kind {
            Kind::Arranged(_) => self.stripes().div_ceil(self.region_stripes),
            Kind::Regions(_) => self.stripes() / self.region_stripes,
        };
        u32::try_from(count).expect("regions are counted in 32 bits")
    }

    /// The region of `stripe`, and the stripe's number in it.
    pub fn region_of(&self, stripe: Stripe) -> (Region, u64) {
        let groups = u64::from(self.groups);
        let (region, index) = match self.kind {
            Kind::Arranged(_) => (stripe.get() / self.region_stripes, stripe.get() % self.region_stripes),
            Kind::Regions(_) => {
                let row = stripe.get() / groups;
                (row / self.region_stripes * groups + stripe.get() % groups, row % self.region_stripes)
            }
        };
        (Region::new(region as u32), index)
    }

    /// The regions beside that of `stripe`, itself included (one in each group if there are logs),
    /// and the stripe at which the next regions begin.
    pub(crate) fn regions_beside(&self, stripe: Stripe) -> (std::ops::Range<u32>, u64) {
        let side_by_side = match self.kind {
            Kind::Arranged(_) => 1,
            Kind::Regions(_) => u64::from(self.groups),
        };
        let row = stripe.get() / (self.region_stripes * side_by_side);
        let end = ((row + 1) * self.region_stripes * side_by_side).min(self.stripes());
        let first = (row * side_by_side) as u32;
        (first..first + side_by_side as u32, end)
    }

    /// The stripe with number `index` of `region`: the inverse of [`Layout::region_of`]. `None`
    /// past the region's end.
    pub fn stripe_in(&self, region: Region, index: u64) -> Option<Stripe> {
        let groups = u64::from(self.groups);
        if index >= self.region_stripes {
            return None;
        }
        let stripe = match self.kind {
            Kind::Arranged(_) => u64::from(region.get()) * self.region_stripes + index,
            Kind::Regions(_) => {
                let (row, group) = (u64::from(region.get()) / groups, u64::from(region.get()) % groups);
                (row * self.region_stripes + index) * groups + group
            }
        };
        (stripe < self.stripes()).then_some(Stripe::new(stripe))
    }

    /// Whether `slot` holds data of `region`, not only its log or parity.
    pub fn region_has_data_on(&self, region: Region, slot: Slot) -> bool {
        let Kind::Regions(regions) = &self.kind else { return true };
        let groups = u32::from(self.groups);
        let in_group = slot.get() / self.group_members == (region.get() % groups) as u16;
        in_group && regions.has_data(region.get() / groups, slot.get() % self.group_members)
    }

    /// Whether each stripe of a region has a unit in each slot that holds data of the region.
    pub(crate) fn regions_are_whole(&self) -> bool {
        match &self.kind {
            // With several sublogs, a member is left out of each stripe.
            Kind::Regions(regions) => regions.shape().sublogs == 1,
            // A region is of consecutive stripes, which belong to the groups in turn.
            Kind::Arranged(_) => self.groups == 1,
        }
    }

    /// Stripes that show all ways in which units are placed; `None` if any units of a stripe are to
    /// be thought of as lost together.
    pub(crate) fn samples(&self) -> Option<impl Iterator<Item = Stripe>> {
        let Kind::Arranged(arrangement) = &self.kind else { return None };
        let period = arrangement.period()? * u64::from(self.groups);
        Some((0..period.min(self.stripes())).map(Stripe::new))
    }

    /// The greatest number of stripes in a region.
    pub fn region_stripes(&self) -> u64 {
        self.region_stripes
    }

    /// Where `sublog` of `region` starts. `None` if the layout has no logs.
    pub fn sublog_at(&self, region: Region, sublog: u16) -> Option<Location> {
        let groups = u32::from(self.groups);
        let (slot, at) = self.logs()?.sublog(region.get() / groups, sublog);
        let group = (region.get() % groups) as u16;
        Some(Location { slot: Slot::new(group * self.group_members + slot), at: Sector::ZERO + at })
    }

    /// The slot that holds `sublog` of `region`.
    pub fn sublog_slot(&self, region: Region, sublog: u16) -> Option<Slot> {
        self.sublog_at(region, sublog).map(|location| location.slot)
    }

    /// The slot whose commit log has `region`'s records and intents. It is always the same one, so
    /// that they become durable in order.
    pub fn commit_slot(&self, region: Region) -> Option<Slot> {
        let sublogs = u32::from(self.logs()?.shape().sublogs);
        self.sublog_slot(region, (region.get() % sublogs) as u16)
    }
}

/// The greatest number of regions of the write-intent bitmap, so that the bitmap stays small.
const DIRTY_REGIONS: u64 = 16_384;
/// The least data of a region of the write-intent bitmap (4 MiB), so that sequential writers mark
/// few regions.
const DIRTY_DATA: Sectors = Sectors::new(8_192);

fn dirty_granule(stripes: u64, stripe_data: Sectors) -> u64 {
    let by_count = stripes.div_ceil(DIRTY_REGIONS);
    let by_size = DIRTY_DATA.get().div_ceil(stripe_data.get());
    by_count.max(by_size).max(1)
}
