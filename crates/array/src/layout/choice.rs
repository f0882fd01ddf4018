//! The choice of a layout, and all questions that are asked about it before units are placed. No
//! other module compares layouts by name.

use serde::{Deserialize, Serialize};

use super::rotated::Rotation;
use super::rule::{Facts, Room, Stripes};
use super::{copied, declustered, regions, rotated, striped};
use crate::rows::rows;

/// Where units are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LayoutChoice {
    /// One member after another.
    Concatenated,
    /// Striped over all members.
    Striped,
    /// Copies on neighbouring members.
    Neighbours,
    /// The second half (third, …) of the members repeats the first.
    Shadows,
    /// Data units and check units in each stripe.
    Parity(Rotation),
    /// Regions, each with parity and a log.
    Regions,
    /// Striped over all members; copies on the next member, in a later section of it.
    Far,
    /// One check unit in each stripe; there are cylinders of data and cylinders of parity, each
    /// with one track's worth of free positions.
    Cylinders,
    /// Data units and check units in each stripe, which is narrower than its group of members.
    Declustered,
}

rows! {
    LayoutChoice, facts -> Facts;
    Concatenated => striped::CONCATENATED,
    Striped => striped::STRIPED,
    Neighbours => copied::NEIGHBOURS,
    Shadows => copied::SHADOWS,
    Parity(Rotation::Dedicated) => rotated::DEDICATED,
    Parity(Rotation::LeftAsymmetric) => rotated::LEFT_ASYMMETRIC,
    Parity(Rotation::LeftSymmetric) => rotated::LEFT_SYMMETRIC,
    Parity(Rotation::RightAsymmetric) => rotated::RIGHT_ASYMMETRIC,
    Parity(Rotation::RightSymmetric) => rotated::RIGHT_SYMMETRIC,
    Regions => regions::REGIONS,
    Far => copied::FAR,
    Cylinders => rotated::CYLINDERS,
    Declustered => declustered::DECLUSTERED,
}

impl LayoutChoice {
    /// Which units a stripe consists of.
    pub(crate) fn stripes(self) -> Stripes {
        self.facts().stripes
    }

    /// What else members have room for.
    pub(crate) fn room(self) -> Room {
        self.facts().room
    }

    /// Whether each stripe is one data unit and its copies.
    pub fn is_copied(self) -> bool {
        self.stripes() == Stripes::OneDataUnit
    }

    /// Whether units are placed region by region. Then a geometry needs the regions' shape.
    pub fn is_in_regions(self) -> bool {
        self.room() == Room::Logs
    }

    /// Whether units are placed cylinder by cylinder. Then a geometry needs the members' cylinders.
    pub fn is_in_cylinders(self) -> bool {
        self.room() == Room::Positions
    }

    /// Whether stripes are narrower than a group of members. Then a geometry needs their width.
    pub fn is_declustered(self) -> bool {
        self == LayoutChoice::Declustered
    }

    /// The least number of members of a group in a new array with this many check units in each
    /// stripe over at least so many data units, and this many copies of a log if there are logs.
    pub(crate) fn least_members(self, checks: u16, data: u16, log_copies: u16) -> u16 {
        match (self.stripes(), self.room()) {
            (Stripes::Data, _) => 1,
            (Stripes::OneDataUnit, _) => checks.saturating_add(1).max(2),
            (Stripes::ManyDataUnits, Room::Logs) => checks.saturating_add(log_copies).saturating_add(data),
            (Stripes::ManyDataUnits, Room::Units | Room::Positions) => checks.saturating_add(data.max(2)),
        }
    }

    /// The least number of members of a group with which units can be placed at all. It is smaller
    /// than the one for new arrays: arrays that exist are read, even if no such array would be
    /// created. (Regions have a limit of their own, which depends on their sublogs.)
    pub(crate) fn least_placeable(self, checks: u16) -> u16 {
        let further = match self.stripes() {
            Stripes::Data | Stripes::OneDataUnit => 0,
            Stripes::ManyDataUnits => checks.saturating_sub(1),
        };
        self.facts().least_placeable.saturating_add(further)
    }

    /// The least number of units for which a member needs room.
    pub(crate) fn least_rows(self, checks: u16, width: Option<u16>) -> u16 {
        if self.copies_are_far() { checks.saturating_add(1) } else { width.unwrap_or(1) }
    }

    /// Whether copies are in a later section of the members.
    pub(crate) fn copies_are_far(self) -> bool {
        self.facts().copies_are_far
    }

    /// How parity rotates over the members; `None` if it does not, or if the layout fixes it.
    pub fn rotation(self) -> Option<Rotation> {
        match self {
            LayoutChoice::Parity(Rotation::Dedicated) => None,
            LayoutChoice::Parity(rotation) => Some(rotation),
            _ => None,
        }
    }

    /// The same layout with another rotation, if its parity rotates.
    #[must_use]
    pub fn rotated(self, rotation: Rotation) -> Option<LayoutChoice> {
        self.rotation().map(|_| LayoutChoice::Parity(rotation))
    }

    /// The layout with the same stripes over more members, if parity rotates.
    #[must_use]
    pub fn declustered(self) -> Option<LayoutChoice> {
        self.moves_parity().then_some(LayoutChoice::Declustered)
    }

    /// Whether parity is on all members in turn, and members have room for nothing else.
    fn moves_parity(self) -> bool {
        self.rotation().is_some() || self.is_declustered()
    }

    /// Whether both are the same layout, apart from how parity moves over the members.
    pub(crate) fn is_alike(self, other: LayoutChoice) -> bool {
        self == other || self.moves_parity() && other.moves_parity()
    }
}
