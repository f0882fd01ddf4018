//! Layouts without check units.

use super::rule::{Facts, Rule, Shape, Stripes};

/// One member after another (simple volumes).
pub(super) const CONCATENATED: Facts = Facts::new(Stripes::Data, &Concatenated);

/// Unit by unit over all members (RAID level 0).
pub(super) const STRIPED: Facts = Facts::new(Stripes::Data, &Striped);

#[derive(Debug)]
struct Concatenated;

impl Rule for Concatenated {
    fn units(&self, _shape: Shape) -> (u64, u64) {
        (1, 0)
    }

    fn stripes(&self, shape: Shape, rows: u64) -> u64 {
        rows * shape.members
    }

    fn locate(&self, shape: Shape, stripe: u64, _unit: u64) -> (u64, u64) {
        let rows = shape.stripes / shape.members;
        (stripe / rows, stripe % rows)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        let rows = shape.stripes / shape.members;
        (row < rows).then_some((member * rows + row, 0))
    }
}

#[derive(Debug)]
struct Striped;

impl Rule for Striped {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (shape.members, 0)
    }

    fn stripes(&self, _shape: Shape, rows: u64) -> u64 {
        rows
    }

    fn locate(&self, _shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        (unit, stripe)
    }

    fn occupant(&self, _shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        Some((row, member))
    }
}
