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

mod choice;
mod copied;
mod declustered;
mod drawn;
mod field;
mod placed;
mod regions;
mod rotated;
mod rule;
mod striped;

use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};
use serde::{Deserialize, Serialize};

pub use choice::LayoutChoice;
use placed::Placed;
pub(crate) use regions::Protection;
pub use regions::{RegionShape, Regions, ShapeRequest};
pub use rotated::Rotation;
use rule::{Facts, Shape};
pub(crate) use rule::{Room, Stripes};

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
    /// Room for a unit of a stripe that has lost one.
    Spare {
        /// The stripe.
        stripe: Stripe,
        /// The number of the spare place in the stripe.
        index: u16,
        /// The distance from the start of the spare place.
        offset: Sectors,
    },
    /// A region's parity log.
    Log {
        /// The region.
        region: Region,
        /// The sublog.
        sublog: u16,
        /// Which copy of it.
        copy: u16,
        /// The distance from the start of the sublog.
        offset: Sectors,
    },
    /// Nothing: the space that is left over after units and logs were placed.
    Unused,
}

/// A layout of units over members.
#[derive(Clone, Debug)]
pub struct Layout {
    facts: &'static Facts,
    kind: Kind,
    groups: u16,
    group_members: u16,
    unit: Sectors,
    data_units: u16,
    check_units: u16,
    /// Spare places of each stripe.
    spares: u16,
    group_stripes: u64,
    /// The number of consecutive stripes of a group that share a bit of the write-intent bitmap,
    /// and a parity log if there is one.
    region_stripes: u64,
    /// Whether the regions have logs.
    logged: bool,
}

#[derive(Clone, Debug)]
enum Kind {
    /// Row by row, all over the member.
    Rows(Placed),
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
    /// Units of a stripe, where stripes are narrower than a group.
    #[serde(default)]
    pub width: Option<u16>,
    /// Failure domains, to which members belong in turn. Each member is one by itself, if this is
    /// left open.
    #[serde(default)]
    pub domains: Option<u16>,
    /// Spare places of each stripe, where stripes are narrower than a group.
    #[serde(default)]
    pub spares: u16,
}

/// What else a layout is made from: what only some layouts have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Details {
    /// Check units of a stripe.
    pub(crate) checks: u16,
    /// How many units of a stripe may be lost, whichever they are.
    pub(crate) tolerance: u16,
    /// The regions' shape.
    pub(crate) regions: Option<RegionShape>,
    /// Copies of each region's log.
    pub(crate) log_copies: u16,
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
        let facts = choice.facts();
        let rows = Rows::of(facts, details, request);
        let placed = rows.as_ref().and_then(|rows| Placed::new(facts.placing, rows.shape));
        match rows.zip(placed) {
            Some((rows, placed)) => Layout::in_rows(facts, rows, placed, request),
            None => Layout::regions(facts, details, request),
        }
    }

    /// The number of regions of such an array, if they have no shape of their own. It is known
    /// before any unit is placed.
    pub(crate) fn count_regions(
        choice: LayoutChoice,
        details: Details,
        request: LayoutRequest,
    ) -> Option<u32> {
        let rows = Rows::of(choice.facts(), details, request)?;
        let stripes = rows.shape.stripes * u64::from(request.groups);
        Some(regions_of(stripes, rows.region_stripes))
    }

    /// Places units row by row.
    fn in_rows(facts: &'static Facts, rows: Rows, placed: Placed, request: LayoutRequest) -> Layout {
        Layout {
            facts,
            kind: Kind::Rows(placed),
            groups: request.groups,
            group_members: request.group_members,
            unit: Sectors::new(request.unit),
            data_units: rows.data_units,
            check_units: rows.check_units,
            spares: request.spares,
            group_stripes: rows.shape.stripes,
            region_stripes: rows.region_stripes,
            logged: false,
        }
    }

    /// Places units region by region, each region with room for its log, which may be used
    /// (Stodolsky figures 8 and 9).
    fn regions(facts: &'static Facts, details: Details, request: LayoutRequest) -> Layout {
        let shape = details.regions.expect("a layout in regions is kept with its regions");
        let check_units = details.checks;
        let unit = Sectors::new(request.unit);
        let stripes = Protection { checks: check_units, log_copies: details.log_copies };
        let regions = Regions::new(shape, request.group_members, stripes, unit);
        Layout {
            facts,
            groups: request.groups,
            group_members: request.group_members,
            unit,
            data_units: regions.data_units(),
            check_units,
            spares: 0,
            group_stripes: u64::from(shape.regions) * u64::from(shape.stripes),
            region_stripes: u64::from(shape.stripes),
            kind: Kind::Regions(regions),
            logged: details.logged,
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

    /// The check units of a stripe.
    pub fn checks(&self) -> impl DoubleEndedIterator<Item = Unit> + Clone + use<> {
        (self.data_units..self.data_units + self.check_units).map(Unit::new)
    }

    /// Units in a stripe.
    pub fn width(&self) -> u16 {
        self.data_units + self.check_units
    }

    /// All units of a stripe, data units first.
    pub fn units(&self) -> impl DoubleEndedIterator<Item = Unit> + use<> {
        (0..self.width()).map(Unit::new)
    }

    /// Spare places of each stripe: room for units of members that failed.
    pub fn spares(&self) -> u16 {
        self.spares
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
        let rows = self.group_stripes / u64::from(self.group_members);
        self.facts.copies_are_far.then_some(self.unit * rows)
    }

    /// With floating units: the number of positions in a cylinder, and of units in it.
    pub(crate) fn positions(&self) -> Option<(u64, u64)> {
        match self.kind {
            Kind::Rows(ref placed) if self.facts.room == Room::Positions => Some(placed.cylinder()),
            _ => None,
        }
    }

    /// The slots that may hold units of the same stripes as `slot`, itself included.
    pub fn peers(&self, slot: Slot) -> std::ops::Range<u16> {
        let (group, member) = self.in_group(slot);
        let peers = match &self.kind {
            Kind::Rows(placed) => placed.peers(member.into()),
            Kind::Regions(_) => 0..self.group_members.into(),
        };
        let first = group * self.group_members;
        first + peers.start as u16..first + peers.end as u16
    }

    /// Whether `slot` and `other` hold units of the same stripes.
    pub fn share_stripes(&self, slot: Slot, other: Slot) -> bool {
        let ((group, member), (other_group, other_member)) = (self.in_group(slot), self.in_group(other));
        let share = match &self.kind {
            Kind::Rows(placed) => placed.share_stripes(member.into(), other_member.into()),
            Kind::Regions(_) => true,
        };
        group == other_group && share
    }

    /// The group of a slot, and its number in it.
    fn in_group(&self, slot: Slot) -> (u16, u16) {
        (slot.get() / self.group_members, slot.get() % self.group_members)
    }

    /// The parity group whose units the member in `slot` holds.
    pub(crate) fn group_of_slot(&self, slot: Slot) -> u16 {
        self.in_group(slot).0
    }

    /// The slot of a member of a group.
    fn slot_in(&self, group: u16, member: u16) -> Slot {
        Slot::new(group * self.group_members + member)
    }

    /// With logs: the group of a region, and its number in it.
    fn region_in_group(&self, region: Region) -> (u16, u32) {
        let groups = u32::from(self.groups);
        ((region.get() % groups) as u16, region.get() / groups)
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
            Kind::Rows(_) => None,
        }
    }

    /// The location of a spare place of `stripe`.
    ///
    /// # Panics
    /// If the stripe has no spare place with this number.
    pub fn spare(&self, stripe: Stripe, index: u16) -> Location {
        assert!(index < self.spares, "a stripe has {} spare places", self.spares);
        self.locate(stripe, Unit::new(self.width() + index))
    }

    /// The location of `unit` of `stripe`.
    pub fn locate(&self, stripe: Stripe, unit: Unit) -> Location {
        debug_assert!(stripe.get() < self.stripes());
        let groups = u64::from(self.groups);
        let (group, row) = ((stripe.get() % groups) as u16, stripe.get() / groups);
        let (member, at) = match &self.kind {
            Kind::Rows(placed) => {
                let (member, row) = placed.locate(row, unit.get().into());
                (member as u16, self.unit * row)
            }
            Kind::Regions(regions) => regions.locate(row, unit),
        };
        Location { slot: self.slot_in(group, member), at: Sector::ZERO + at }
    }

    /// The content of `location`.
    pub fn occupant(&self, location: Location) -> Occupant {
        let (group, member) = self.in_group(location.slot);
        let offset = location.at.from_start();
        let in_group = |row: u64| Stripe::new(row * u64::from(self.groups) + u64::from(group));
        match &self.kind {
            Kind::Rows(placed) => match placed.occupant(member.into(), offset / self.unit) {
                Some((row, place)) if row < self.group_stripes => {
                    let (stripe, offset) = (in_group(row), offset % self.unit);
                    match (place as u16).checked_sub(self.width()) {
                        None => Occupant::Unit { stripe, unit: Unit::new(place as u16), offset },
                        Some(index) => Occupant::Spare { stripe, index, offset },
                    }
                }
                _ => Occupant::Unused,
            },
            Kind::Regions(regions) => match regions.occupant(member, offset) {
                regions::Found::Unit { row, unit, offset } => {
                    Occupant::Unit { stripe: in_group(row), unit, offset }
                }
                regions::Found::Log { .. } if !self.logged => Occupant::Unused,
                regions::Found::Log { region, sublog, copy, offset } => Occupant::Log {
                    region: Region::new(region * u32::from(self.groups) + u32::from(group)),
                    sublog,
                    copy,
                    offset,
                },
                regions::Found::Unused => Occupant::Unused,
            },
        }
    }

    /// The number of regions in the array: bits of its write-intent bitmap and, with parity
    /// logging, logs.
    pub fn region_count(&self) -> u32 {
        regions_of(self.stripes(), self.region_stripes)
    }

    /// The region of `stripe`, and the stripe's number in it.
    pub fn region_of(&self, stripe: Stripe) -> (Region, u64) {
        let groups = u64::from(self.groups);
        let (region, index) = match self.kind {
            Kind::Rows(_) => (stripe.get() / self.region_stripes, stripe.get() % self.region_stripes),
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
            Kind::Rows(_) => 1,
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
            Kind::Rows(_) => u64::from(region.get()) * self.region_stripes + index,
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
        let (group, region) = self.region_in_group(region);
        let (group_of_slot, member) = self.in_group(slot);
        group == group_of_slot && regions.has_data(region, member)
    }

    /// Stripes that show all ways in which units are placed; `None` if any units of a stripe are to
    /// be thought of as lost together.
    pub(crate) fn samples(&self) -> Option<impl Iterator<Item = Stripe>> {
        let Kind::Rows(placed) = &self.kind else { return None };
        let period = placed.period()? * u64::from(self.groups);
        Some((0..period.min(self.stripes())).map(Stripe::new))
    }

    /// The greatest number of units and spare places of a stripe on members of one of so many
    /// failure domains.
    pub(crate) fn most_in_a_domain(&self, domains: u16) -> u16 {
        // (All rules begin anew after a few stripes for each member.)
        let stripes = self.stripes().min(u64::from(self.members()) * 8);
        let of_stripe = |stripe: u64| {
            let mut counts = vec![0; usize::from(domains)];
            let places = (0..self.width() + self.spares).map(Unit::new);
            let slots = places.map(|place| self.locate(Stripe::new(stripe), place).slot);
            slots.for_each(|slot| counts[slot.as_usize() % usize::from(domains)] += 1);
            counts.into_iter().max().unwrap_or(0)
        };
        (0..stripes).map(of_stripe).max().unwrap_or(0)
    }

    /// Stripes of `region` that show all ways in which its units are placed.
    pub(crate) fn samples_in(&self, region: Region) -> impl Iterator<Item = Stripe> {
        let period = match &self.kind {
            Kind::Rows(placed) => placed.period().map(|period| period * u64::from(self.groups)),
            Kind::Regions(regions) => Some(regions.period()),
        };
        (0..period.unwrap_or(u64::MAX)).map_while(move |index| self.stripe_in(region, index))
    }

    /// The greatest number of stripes in a region.
    pub fn region_stripes(&self) -> u64 {
        self.region_stripes
    }

    /// Where a copy of `sublog` of `region` starts. `None` if the layout has no logs.
    pub fn sublog_at(&self, region: Region, sublog: u16, copy: u16) -> Option<Location> {
        let (group, in_group) = self.region_in_group(region);
        let (member, at) = self.logs()?.sublog(in_group, sublog, copy);
        Some(Location { slot: self.slot_in(group, member), at: Sector::ZERO + at })
    }

    /// The slot that holds a copy of `sublog` of `region`.
    pub fn sublog_slot(&self, region: Region, sublog: u16, copy: u16) -> Option<Slot> {
        let (group, in_group) = self.region_in_group(region);
        Some(self.slot_in(group, self.logs()?.sublog_member(in_group, sublog, copy)))
    }
}

/// The greatest number of regions of the write-intent bitmap, so that the bitmap stays small.
const DIRTY_REGIONS: u64 = 16_384;
/// The least data of a region of the write-intent bitmap (4 MiB), so that sequential writers mark
/// few regions.
const DIRTY_DATA: Sectors = Sectors::new(8_192);

/// (Regions with a shape of their own are whole.)
fn regions_of(stripes: u64, region_stripes: u64) -> u32 {
    u32::try_from(stripes.div_ceil(region_stripes)).expect("regions are counted in 32 bits")
}

/// The sizes of a layout in rows.
struct Rows {
    shape: Shape,
    data_units: u16,
    check_units: u16,
    region_stripes: u64,
}

impl Rows {
    /// `None` for regions.
    fn of(facts: &Facts, details: Details, request: LayoutRequest) -> Option<Rows> {
        let unit = Sectors::new(request.unit);
        let (positions, units) = match facts.room {
            Room::Positions => details.positions.expect("a layout in cylinders is kept with them"),
            Room::Units | Room::Logs => (0, 0),
        };
        let shape = Shape {
            members: request.group_members.into(),
            stripes: 0,
            checks: details.checks.into(),
            tolerance: details.tolerance.into(),
            width: request.width.unwrap_or(0).into(),
            spares: request.spares.into(),
            domains: request.domains.unwrap_or(request.group_members).into(),
            cylinder: (positions.into(), units.into()),
        };
        let (data, checks, stripes) =
            placed::counts(facts.placing, shape, Sectors::new(request.length) / unit)?;
        let total = stripes * u64::from(request.groups);
        Some(Rows {
            shape: Shape { stripes, ..shape },
            data_units: data as u16,
            check_units: checks as u16,
            region_stripes: dirty_granule(total, unit * data),
        })
    }
}

fn dirty_granule(stripes: u64, stripe_data: Sectors) -> u64 {
    let by_count = stripes.div_ceil(DIRTY_REGIONS);
    let by_size = DIRTY_DATA.get().div_ceil(stripe_data.get());
    by_count.max(by_size).max(1)
}
