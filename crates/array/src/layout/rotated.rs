//! Layouts with one check unit in each stripe, which moves from member to member.

use serde::{Deserialize, Serialize};

use super::rule::{Facts, Room, Rule, Shape, Stripes};

/// Where the parity of each stripe is placed, and where its data starts (Lee and Katz 1991).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rotation {
    /// All parity on the last member (RAID level 4).
    Dedicated,
    /// Parity moves left from the last member; data fills the others from the first.
    LeftAsymmetric,
    /// Parity moves left from the last member; data starts after it (Stodolsky figure 1, RAID level
    /// 5).
    LeftSymmetric,
    /// Parity moves right from the first member; data fills the others from the first (Chen figure
    /// 1c).
    RightAsymmetric,
    /// Parity moves right from the first member; data starts after it.
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

/// The parity rotates in this way, or is on the last member.
const fn parity(rotation: &'static Rotation) -> Facts {
    Facts { least_placeable: 2, ..Facts::new(Stripes::ManyDataUnits { checks: 1 }, rotation) }
}

/// The parity rotates, like left-symmetric, from cylinder to cylinder. A cylinder holds only data
/// or only parity, and has free positions (Stodolsky §4, figure 14).
pub(super) const CYLINDERS: Facts = Facts {
    room: Room::Positions,
    least_placeable: 3,
    ..Facts::new(Stripes::ManyDataUnits { checks: 1 }, &Cylinders)
};

impl Rotation {
    fn parity_member(self, members: u64, row: u64) -> u64 {
        match self {
            Rotation::Dedicated => members - 1,
            Rotation::LeftAsymmetric | Rotation::LeftSymmetric => members - 1 - row % members,
            Rotation::RightAsymmetric | Rotation::RightSymmetric => row % members,
        }
    }

    /// The member of `unit` in this row.
    fn member(self, members: u64, row: u64, unit: u64) -> u64 {
        let parity = self.parity_member(members, row);
        if unit == members - 1 {
            parity
        } else if self.starts_after_parity() {
            (parity + 1 + unit) % members
        } else {
            unit + u64::from(unit >= parity)
        }
    }

    /// The unit of `member` in this row: the inverse of [`Rotation::member`].
    fn unit(self, members: u64, row: u64, member: u64) -> u64 {
        let parity = self.parity_member(members, row);
        if member == parity {
            members - 1
        } else if self.starts_after_parity() {
            (member + members - parity - 1) % members
        } else {
            member - u64::from(member > parity)
        }
    }

    fn starts_after_parity(self) -> bool {
        matches!(self, Rotation::LeftSymmetric | Rotation::RightSymmetric)
    }
}

impl Rule for Rotation {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (shape.members - 1, 1)
    }

    fn stripes(&self, _shape: Shape, rows: u64) -> u64 {
        rows
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        (self.member(shape.members, stripe, unit), stripe)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        Some((row, self.unit(shape.members, row, member)))
    }

    fn period(&self, shape: Shape) -> Option<u64> {
        Some(shape.members)
    }
}

#[derive(Debug)]
struct Cylinders;

impl Rule for Cylinders {
    fn units(&self, shape: Shape) -> (u64, u64) {
        (shape.members - 1, 1)
    }

    fn stripes(&self, shape: Shape, rows: u64) -> u64 {
        let (positions, units) = shape.cylinder;
        rows / positions * units
    }

    fn locate(&self, shape: Shape, stripe: u64, unit: u64) -> (u64, u64) {
        let (positions, units) = shape.cylinder;
        let (cylinder, index) = (stripe / units, stripe % units);
        (Rotation::LeftSymmetric.member(shape.members, cylinder, unit), cylinder * positions + index)
    }

    fn occupant(&self, shape: Shape, member: u64, row: u64) -> Option<(u64, u64)> {
        let (positions, units) = shape.cylinder;
        let (cylinder, index) = (row / positions, row % positions);
        let unit = Rotation::LeftSymmetric.unit(shape.members, cylinder, member);
        (index < units).then_some((cylinder * units + index, unit))
    }
}
