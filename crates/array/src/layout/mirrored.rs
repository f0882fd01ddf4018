//! A layout for tests: the units of each stripe from the last member to the first, of which two are
//! check units.

use super::rule::{Facts, Rule, Shape, Stripes};

/// Two check units in each stripe, on the first members.
pub(super) const MIRRORED: Facts =
    Facts { least_placeable: 4, ..Facts::new(Stripes::ManyDataUnits { checks: 2 }, &Mirrored) };

#[derive(Debug)]
struct Mirrored;

impl Rule for Mirrored {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (shape.members - 2, 2)
    }

    fn stripes(&self, _shape: Shape, rows: u64) -> u64 {
        rows
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        (shape.members - 1 - unit, stripe)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        Some((row, shape.members - 1 - member))
    }

    fn period(&self, _shape: Shape) -> Option<u64> {
        Some(1)
    }
}
