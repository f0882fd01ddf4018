//! Layouts of one data unit and its copies in each stripe.

use std::ops::Range;

use super::rule::{Facts, Rule, Shape, Stripes};

/// Each unit and its copies on neighbouring members (Stodolsky figure 1, RAID level 1).
pub(super) const NEIGHBOURS: Facts = Facts::new(Stripes::OneDataUnit, &Neighbours);

/// Striped over the first members; the later members repeat the whole (Chen figure 1b).
pub(super) const SHADOWS: Facts = Facts::new(Stripes::OneDataUnit, &Shadows);

/// Striped over all members. A later section of each member repeats the whole, moved by one member
/// within sets of as many members as there are copies. So a stream reads the first section of all
/// members at once and skips nothing (Molnar's bandwidth-oriented layout; md's far copies in far
/// sets).
pub(super) const FAR: Facts = Facts { copies_are_far: true, ..Facts::new(Stripes::OneDataUnit, &Far) };

/// The members of the set of as many members as there are copies that `member` is in.
fn set_of(shape: Shape, member: u64) -> Range<u64> {
    let first = member / shape.copies() * shape.copies();
    first..first + shape.copies()
}

#[derive(Debug)]
struct Neighbours;

impl Rule for Neighbours {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (1, shape.checks)
    }

    fn stripes(&self, shape: Shape, rows: u64) -> u64 {
        rows * (shape.members / shape.copies())
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        let sets = shape.members / shape.copies();
        (stripe % sets * shape.copies() + unit, stripe / sets)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        let sets = shape.members / shape.copies();
        Some((row * sets + member / shape.copies(), member % shape.copies()))
    }

    fn peers(&self, shape: Shape, member: u64) -> Range<u64> {
        set_of(shape, member)
    }
}

#[derive(Debug)]
struct Shadows;

impl Rule for Shadows {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (1, shape.checks)
    }

    fn stripes(&self, shape: Shape, rows: u64) -> u64 {
        rows * (shape.members / shape.copies())
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        let sets = shape.members / shape.copies();
        (unit * sets + stripe % sets, stripe / sets)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        let sets = shape.members / shape.copies();
        Some((row * sets + member % sets, member / sets))
    }

    fn share_stripes(&self, shape: Shape, member: u64, other: u64) -> bool {
        let sets = shape.members / shape.copies();
        member % sets == other % sets
    }
}

#[derive(Debug)]
struct Far;

impl Rule for Far {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (1, shape.checks)
    }

    fn stripes(&self, shape: Shape, rows: u64) -> u64 {
        rows / shape.copies() * shape.members
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        let set = set_of(shape, stripe % shape.members);
        let member = set.start + (stripe % shape.members + unit) % shape.copies();
        (member, stripe / shape.members + shape.stripes / shape.members * unit)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        let section = shape.stripes / shape.members;
        let copy = row / section;
        if copy >= shape.copies() {
            return None;
        }
        let column = set_of(shape, member).start + (member + shape.copies() - copy) % shape.copies();
        Some((row % section * shape.members + column, copy))
    }

    fn peers(&self, shape: Shape, member: u64) -> Range<u64> {
        set_of(shape, member)
    }
}
