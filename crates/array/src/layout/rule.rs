//! What a layout is: its facts, and the rule that places units. Each layout is a file that ends in
//! its [`Facts`]; the [choice](super::LayoutChoice) has a row for it.

use std::fmt::Debug;
use std::ops::Range;

/// Which units a stripe consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stripes {
    /// Data units only.
    Data,
    /// One data unit, and check units.
    OneDataUnit,
    /// Several data units, and check units.
    ManyDataUnits,
}

/// What else members have room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Nothing but units.
    Units,
    /// A log for each region.
    Logs,
    /// Free positions to which units can be moved.
    Positions,
}

/// The facts about a layout.
#[derive(Debug)]
pub(super) struct Facts {
    /// Which units a stripe consists of.
    pub(super) stripes: Stripes,
    /// What else members have room for.
    pub(super) room: Room,
    /// The least number of members of a group with which units can be placed at all. Check units
    /// beyond the first need a member each in addition.
    pub(super) least_placeable: u16,
    /// Whether copies are in a later section of the members.
    pub(super) copies_are_far: bool,
    /// What places units.
    pub(super) placing: Placing,
}

/// What places the units of a layout.
#[derive(Clone, Copy, Debug)]
pub(super) enum Placing {
    /// One rule for the whole member.
    Rule(&'static dyn Rule),
    /// Translates of bases, for stripes that are narrower than a group.
    Declustered,
    /// Regions, which have [a rule of their own](super::Regions).
    Regions,
}

impl Facts {
    /// A layout with `stripes` and nothing else.
    pub(super) const fn new(stripes: Stripes, rule: &'static dyn Rule) -> Facts {
        Facts {
            stripes,
            room: Room::Units,
            least_placeable: 1,
            copies_are_far: false,
            placing: Placing::Rule(rule),
        }
    }
}

/// The sizes that a rule knows of a group of members.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Members of the group.
    pub(super) members: u64,
    /// Stripes of the group.
    pub(super) stripes: u64,
    /// Check units of a stripe.
    pub(super) checks: u64,
    /// How many units of a stripe may be lost, whichever they are.
    pub(super) tolerance: u64,
    /// Units of a stripe where it is narrower than the group; 0 elsewhere.
    pub(super) width: u64,
    /// Spare places of a stripe.
    pub(super) spares: u64,
    /// Failure domains, to which members belong in turn.
    pub(super) domains: u64,
    /// Positions of a cylinder, and units in it; 0 without cylinders.
    pub(super) cylinder: (u64, u64),
}

impl Shape {
    /// Where check units are copies: copies of each unit, the first included.
    pub(super) fn copies(self) -> u64 {
        self.checks + 1
    }
}

/// A rule that places the units of stripes on the members of a group. Rows count units from the
/// start of a member's data area; members count within their group.
pub(super) trait Rule: Debug + Sync {
    /// The number of data units and of check units of a stripe. (The shape has no stripes yet.)
    fn units(&self, shape: Shape) -> (u64, u64);

    /// The number of stripes on members of `rows` units each. (The shape has no stripes yet.)
    fn stripes(&self, shape: Shape, rows: u64) -> u64;

    /// The member and row of `unit` of `stripe`.
    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64);

    /// The stripe and unit at `row` of `member`: the inverse of [`Rule::locate`]. The stripe may be
    /// past the last one.
    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)>;

    /// The members that may have units of the same stripes as `member`, itself included.
    fn peers(&self, shape: Shape, _member: u64) -> Range<u64> {
        0..shape.members
    }

    /// Whether `member` and `other` have units of the same stripes.
    fn share_stripes(&self, shape: Shape, member: u64, other: u64) -> bool {
        self.peers(shape, member).contains(&other)
    }

    /// The number of stripes after which units are placed on the same members again; `None` if any
    /// units of a stripe are to be thought of as lost together.
    fn period(&self, _shape: Shape) -> Option<u64> {
        None
    }
}
