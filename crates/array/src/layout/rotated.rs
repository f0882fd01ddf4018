//! Layouts with check units in each stripe, which move from member to member.

use serde::{Deserialize, Serialize};

use super::rule::{Facts, Room, Rule, Shape, Stripes};

/// Where the check units of each stripe are placed, and where its data starts (Lee and Katz 1991).
/// With several check units, each further one is on the next member, as in Linux md.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// All check units on the last members (RAID level 4).
    Dedicated,
    /// Check units move left from the last member; data fills the others from the first.
    LeftAsymmetric,
    /// Check units move left from the last member; data starts after them (Stodolsky figure 1, RAID
    /// level 5).
    LeftSymmetric,
    /// Check units move right from the first member; data fills the others from the first (Chen
    /// figure 1c).
    RightAsymmetric,
    /// Check units move right from the first member; data starts after them.
    RightSymmetric,
}

/// [`Rotation::Dedicated`]
pub(super) const DEDICATED: Facts = parity(&Rotation::Dedicated);
/// [`Rotation::LeftAsymmetric`]
pub(super) const LEFT_ASYMMETRIC: Facts = parity(&Rotation::LeftAsymmetric);
/// [`Rotation::LeftSymmetric`]
pub(super) const LEFT_SYMMETRIC: Facts = parity(&Rotation::LeftSymmetric);
/// [`Rotation::RightAsymmetric`]
pub(super) const RIGHT_ASYMMETRIC: Facts = parity(&Rotation::RightAsymmetric);
/// [`Rotation::RightSymmetric`]
pub(super) const RIGHT_SYMMETRIC: Facts = parity(&Rotation::RightSymmetric);

/// Check units rotate in this way, or are on the last members.
const fn parity(rotation: &'static Rotation) -> Facts {
    Facts { least_placeable: 2, ..Facts::new(Stripes::ManyDataUnits, rotation) }
}

/// The parity rotates, like left-symmetric, from cylinder to cylinder. A cylinder holds only data
/// or only parity, and has free positions (Stodolsky §4, figure 14).
pub(super) const CYLINDERS: Facts =
    Facts { room: Room::Positions, least_placeable: 3, ..Facts::new(Stripes::ManyDataUnits, &Cylinders) };

impl Rotation {
    /// The member of the first check unit in this row.
    fn first_check(self, Shape { members, checks, .. }: Shape, row: u64) -> u64 {
        match self {
            Rotation::Dedicated => members - checks,
            Rotation::LeftAsymmetric | Rotation::LeftSymmetric => members - 1 - row % members,
            Rotation::RightAsymmetric | Rotation::RightSymmetric => row % members,
        }
    }

    /// The member of `unit` in this row.
    fn member(self, shape: Shape, row: u64, unit: u64) -> u64 {
        let Shape { members, checks, .. } = shape;
        let (first, data) = (self.first_check(shape, row), members - checks);
        if unit >= data {
            (first + unit - data) % members
        } else if self.starts_after_checks() {
            (first + checks + unit) % members
        } else {
            // Check units past the last member continue on the first ones.
            let wrapped = (first + checks).saturating_sub(members);
            let member = wrapped + unit;
            if member < first { member } else { member + checks }
        }
    }

    /// The unit of `member` in this row: the inverse of [`Rotation::member`].
    fn unit(self, shape: Shape, row: u64, member: u64) -> u64 {
        let Shape { members, checks, .. } = shape;
        let (first, data) = (self.first_check(shape, row), members - checks);
        let behind = (member + members - first) % members;
        if behind < checks {
            data + behind
        } else if self.starts_after_checks() {
            behind - checks
        } else {
            let wrapped = (first + checks).saturating_sub(members);
            if member < first { member - wrapped } else { member - checks }
        }
    }

    fn starts_after_checks(self) -> bool {
        matches!(self, Rotation::LeftSymmetric | Rotation::RightSymmetric)
    }
}

impl Rule for Rotation {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (shape.members - shape.checks, shape.checks)
    }

    fn stripes(&self, _shape: Shape, rows: u64) -> u64 {
        rows
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        (self.member(shape, stripe, unit), stripe)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        Some((row, self.unit(shape, row, member)))
    }

    fn period(&self, shape: Shape) -> Option<u64> {
        Some(shape.members)
    }
}

#[derive(Debug)]
struct Cylinders;

impl Rule for Cylinders {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (shape.members - shape.checks, shape.checks)
    }

    fn stripes(&self, shape: Shape, rows: u64) -> u64 {
        let (positions, units) = shape.cylinder;
        rows / positions * units
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        let (positions, units) = shape.cylinder;
        let (cylinder, index) = (stripe / units, stripe % units);
        (Rotation::LeftSymmetric.member(shape, cylinder, unit), cylinder * positions + index)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        let (positions, units) = shape.cylinder;
        let (cylinder, index) = (row / positions, row % positions);
        let unit = Rotation::LeftSymmetric.unit(shape, cylinder, member);
        (index < units).then_some((cylinder * units + index, unit))
    }
}
