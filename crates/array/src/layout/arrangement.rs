//! The layouts with one rule for the whole member: concatenated, striped, copied, rotated parity.
//!
//! Rows count units from the start of a member's data area; members count within their group.

use parlour_units::Unit;
use serde::{Deserialize, Serialize};

use crate::planted::{Bug, is_planted};

/// How a stripe's units are placed on the members of its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrangement {
    /// One member after another (simple volumes).
    Concatenated,
    /// Unit by unit over all members (RAID level 0).
    Striped,
    /// Each unit and its copies on neighbouring members (Stodolsky figure 1, RAID level 1).
    Neighbours {
        /// Copies of each unit, the first included.
        copies: u16,
    },
    /// Striped over the first members; the later members repeat the whole (Chen figure 1b).
    Shadows {
        /// Copies of each unit, the first included.
        copies: u16,
    },
    /// Striped over all members. A later section of each member repeats the whole, moved by one
    /// member within sets of as many members as there are copies. So a stream reads the first
    /// section of all members at once and skips nothing (Molnar's bandwidth-oriented layout; md's
    /// far copies in far sets).
    Far {
        /// Copies of each unit, the first included.
        copies: u16,
    },
    /// One check unit a stripe, on the last member or rotated.
    Parity(Rotation),
    /// The parity rotates, like left-symmetric, from cylinder to cylinder. A cylinder holds only
    /// data or only parity, and has free positions (Stodolsky §4, figure 14).
    Cylinders {
        /// Positions for units in a cylinder.
        positions: u16,
        /// Units in a cylinder.
        units: u16,
    },
    /// Units from the last member to the first, of which two are check units. Only for tests.
    #[cfg(feature = "test-choices")]
    Mirrored,
}

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

impl Rotation {
    fn parity_member(self, members: u64, row: u64) -> u64 {
        if self != Rotation::Dedicated && is_planted(Bug::ParityRotatesAstray) {
            return (row + 1) % members;
        }
        match self {
            Rotation::Dedicated => members - 1,
            Rotation::LeftAsymmetric | Rotation::LeftSymmetric => members - 1 - row % members,
            Rotation::RightAsymmetric | Rotation::RightSymmetric => row % members,
        }
    }

    /// The member of `unit` in this row.
    fn locate(self, members: u64, row: u64, unit: u64) -> u64 {
        let parity = self.parity_member(members, row);
        if unit == members - 1 {
            parity
        } else if self.starts_after_parity() {
            (parity + 1 + unit) % members
        } else {
            unit + u64::from(unit >= parity)
        }
    }

    /// The unit of `member` in this row: the inverse of [`Rotation::locate`].
    fn occupant(self, members: u64, row: u64, member: u64) -> u64 {
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

impl Arrangement {
    /// The number of data units and of check units of a stripe over `members`.
    pub(crate) fn units(self, members: u16) -> (u16, u16) {
        match self {
            Arrangement::Concatenated => (1, 0),
            Arrangement::Striped => (members, 0),
            Arrangement::Neighbours { copies }
            | Arrangement::Shadows { copies }
            | Arrangement::Far { copies } => (1, copies - 1),
            Arrangement::Parity(_) | Arrangement::Cylinders { .. } => (members - 1, 1),
            #[cfg(feature = "test-choices")]
            Arrangement::Mirrored => super::mirrored::units(members),
        }
    }

    /// The number of stripes of a group after which units are placed on the same members again;
    /// `None` if any units of a stripe are to be thought of as lost together.
    pub(crate) fn period(self) -> Option<u64> {
        match self {
            #[cfg(feature = "test-choices")]
            Arrangement::Mirrored => Some(1),
            _ => None,
        }
    }

    /// The number of stripes on `members` of `rows` units each.
    pub(crate) fn stripes(self, members: u16, rows: u64) -> u64 {
        match self {
            Arrangement::Concatenated => rows * u64::from(members),
            Arrangement::Striped | Arrangement::Parity(_) => rows,
            #[cfg(feature = "test-choices")]
            Arrangement::Mirrored => rows,
            Arrangement::Neighbours { copies } | Arrangement::Shadows { copies } => {
                rows * u64::from(members / copies)
            }
            Arrangement::Far { copies } => rows / u64::from(copies) * u64::from(members),
            Arrangement::Cylinders { positions, units } => rows / u64::from(positions) * u64::from(units),
        }
    }

    /// The member and row of `unit` of `stripe`; the array has `stripes` stripes.
    pub(crate) fn locate(self, members: u16, stripes: u64, stripe: u64, unit: Unit) -> (u16, u64) {
        let n = u64::from(members);
        let u = u64::from(unit.get());
        let (member, row) = match self {
            Arrangement::Concatenated => {
                let rows = stripes / n;
                (stripe / rows, stripe % rows)
            }
            Arrangement::Striped => (u, stripe),
            Arrangement::Neighbours { copies } => {
                let sets = n / u64::from(copies);
                (stripe % sets * u64::from(copies) + u, stripe / sets)
            }
            Arrangement::Shadows { copies } => {
                let sets = n / u64::from(copies);
                (u * sets + stripe % sets, stripe / sets)
            }
            Arrangement::Far { copies } => {
                let (c, column) = (u64::from(copies), stripe % n);
                let member = column / c * c + (column + u) % c;
                (member, stripe / n + stripes / n * u)
            }
            Arrangement::Parity(rotation) => (rotation.locate(n, stripe, u), stripe),
            #[cfg(feature = "test-choices")]
            Arrangement::Mirrored => (super::mirrored::other(n, u), stripe),
            Arrangement::Cylinders { positions, units } => {
                let (cylinder, index) = (stripe / u64::from(units), stripe % u64::from(units));
                (Rotation::LeftSymmetric.locate(n, cylinder, u), cylinder * u64::from(positions) + index)
            }
        };
        (member as u16, row)
    }

    /// The stripe and unit at `row` of `member`: the inverse of [`Arrangement::locate`].
    pub(crate) fn occupant(self, members: u16, stripes: u64, member: u16, row: u64) -> Option<(u64, Unit)> {
        let n = u64::from(members);
        let m = u64::from(member);
        let (stripe, unit) = match self {
            Arrangement::Concatenated => {
                let rows = stripes / n;
                if row >= rows {
                    return None;
                }
                (m * rows + row, 0)
            }
            Arrangement::Striped => (row, m),
            Arrangement::Neighbours { copies } => {
                let c = u64::from(copies);
                (row * (n / c) + m / c, m % c)
            }
            Arrangement::Shadows { copies } => {
                let sets = n / u64::from(copies);
                (row * sets + m % sets, m / sets)
            }
            Arrangement::Far { copies } => {
                let (c, section) = (u64::from(copies), stripes / n);
                let copy = row / section;
                if copy >= c {
                    return None;
                }
                let column = m / c * c + (m + c - copy) % c;
                (row % section * n + column, copy)
            }
            Arrangement::Parity(rotation) => (row, rotation.occupant(n, row, m)),
            #[cfg(feature = "test-choices")]
            Arrangement::Mirrored => (row, super::mirrored::other(n, m)),
            Arrangement::Cylinders { positions, units } => {
                let (cylinder, index) = (row / u64::from(positions), row % u64::from(positions));
                if index >= u64::from(units) {
                    return None;
                }
                (cylinder * u64::from(units) + index, Rotation::LeftSymmetric.occupant(n, cylinder, m))
            }
        };
        (stripe < stripes).then_some((stripe, Unit::new(unit as u16)))
    }
}
