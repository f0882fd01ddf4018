//! What places the units of a group of members: one of the rules, or bases.

use std::ops::Range;

use super::declustered::{self, Declustered, OfStripe};
use super::drawn::Bound;
use super::rule::{Placing, Rule, Shape};

/// What places the units of a group of members, where it is not regions.
#[derive(Clone, Debug)]
pub(super) enum Placed {
    ByRule(&'static dyn Rule, Shape),
    Declustered(Declustered, Shape),
}

/// The number of data units and of check units of a stripe, and of stripes on members of `rows`
/// units. (The shape has no stripes yet.) `None` for regions.
pub(super) fn counts(placing: Placing, shape: Shape, rows: u64) -> Option<(u64, u64, u64)> {
    match placing {
        Placing::Rule(rule) => {
            let (data, checks) = rule.units(shape);
            Some((data, checks, rule.stripes(shape, rows)))
        }
        Placing::Declustered => {
            let stripes = declustered::stripes(shape.members, shape.width + shape.spares, rows);
            Some((shape.width - shape.checks, shape.checks, stripes))
        }
        Placing::Regions => None,
    }
}

impl Placed {
    /// Places units of this shape; `None` for regions.
    pub(super) fn new(placing: Placing, shape: Shape) -> Option<Placed> {
        match placing {
            Placing::Rule(rule) => Some(Placed::ByRule(rule, shape)),
            Placing::Declustered => {
                let Shape { members, width, checks, tolerance, spares, domains, .. } = shape;
                let bound = Bound { domains: domains as usize, most: tolerance as usize };
                let of_stripe = OfStripe { data: width - checks, units: width, places: width + spares };
                Some(Placed::Declustered(Declustered::new(members, of_stripe, bound), shape))
            }
            Placing::Regions => None,
        }
    }

    /// The member and row of `unit` of `stripe`; or of a spare place, which are numbered on behind
    /// its units.
    pub(super) fn locate(&self, stripe: u64, unit: u64) -> (u64, u64) {
        match self {
            Placed::ByRule(rule, shape) => rule.locate(*shape, stripe, unit),
            Placed::Declustered(declustered, _) => declustered.locate(stripe, unit),
        }
    }

    /// The stripe and unit (or spare place) at `row` of `member`. The stripe may be past the last
    /// one.
    pub(super) fn occupant(&self, member: u64, row: u64) -> Option<(u64, u64)> {
        match self {
            Placed::ByRule(rule, shape) => rule.occupant(*shape, member, row),
            Placed::Declustered(declustered, _) => Some(declustered.occupant(member, row)),
        }
    }

    /// The members that may have units of the same stripes as `member`, itself included.
    pub(super) fn peers(&self, member: u64) -> Range<u64> {
        match self {
            Placed::ByRule(rule, shape) => rule.peers(*shape, member),
            Placed::Declustered(_, shape) => 0..shape.members,
        }
    }

    /// Whether `member` and `other` have units of the same stripes.
    pub(super) fn share_stripes(&self, member: u64, other: u64) -> bool {
        match self {
            Placed::ByRule(rule, shape) => rule.share_stripes(*shape, member, other),
            Placed::Declustered(..) => true,
        }
    }

    /// The number of stripes after which units are placed on the same members again; `None` if any
    /// units of a stripe are to be thought of as lost together.
    pub(super) fn period(&self) -> Option<u64> {
        match self {
            Placed::ByRule(rule, shape) => rule.period(*shape),
            Placed::Declustered(declustered, _) => Some(declustered.period()),
        }
    }

    /// Positions of a cylinder, and units in it; 0 without cylinders.
    pub(super) fn cylinder(&self) -> (u64, u64) {
        let (Placed::ByRule(_, shape) | Placed::Declustered(_, shape)) = self;
        shape.cylinder
    }
}
