//! The choice of a code, and all questions that are asked about it by name. No other module
//! compares codes. How units are computed is the [table's](super::Table) to say.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::scheme::{self, Scheme};
use crate::layout::Stripes;
use crate::organization::RefusedCombination;
use crate::rows::rows;

/// How check units are computed from data units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Code {
    /// There are no check units.
    None,
    /// Each check unit is a copy of the only data unit.
    Copy,
    /// Each check unit is a sum of all data units over GF(2⁸); the first is their exclusive or.
    #[serde(alias = "xor")]
    ReedSolomon,
    /// Data units are in a grid, with the exclusive or of each row and each column.
    TwoDimensional,
    /// There are two check units, each the exclusive or of one half of the data units. Only for
    /// tests.
    #[cfg(feature = "test-choices")]
    Halves,
}

rows! {
    Code, scheme -> Scheme;
    None => scheme::NONE,
    Copy => scheme::COPY,
    ReedSolomon => super::reed_solomon::REED_SOLOMON,
    TwoDimensional => super::two_dimensional::TWO_DIMENSIONAL,
    #[cfg(feature = "test-choices")]
    Halves => super::halves::HALVES,
}

impl Code {
    /// The coefficients of `checks` check units over `data` data units, by check unit.
    pub(super) fn coefficients(self, data: u16, checks: u16) -> Vec<Vec<u8>> {
        (self.scheme().coefficients)(data, checks)
    }

    /// The least and the greatest number of check units.
    pub(crate) fn checks(self) -> RangeInclusive<u16> {
        self.scheme().checks.clone()
    }

    /// With so many check units: how many units can be computed from the others, whichever they
    /// are.
    pub(crate) fn tolerance(self, checks: u16) -> u16 {
        (self.scheme().tolerance)(checks)
    }

    /// With so many check units: the least and the greatest number of data units.
    pub(crate) fn data(self, checks: u16) -> RangeInclusive<u16> {
        (self.scheme().data)(checks)
    }

    /// Checks that the code fits the stripes of a layout.
    pub(crate) fn check_on(self, stripes: Stripes) -> Result<(), RefusedCombination> {
        match (stripes, self) {
            (Stripes::Data, Code::None) => Ok(()),
            (Stripes::Data, _) => Err(RefusedCombination::NoCheckUnits),
            (_, Code::None) => Err(RefusedCombination::NoCode),
            (Stripes::OneDataUnit, Code::Copy) => Ok(()),
            (Stripes::OneDataUnit, _) => Err(RefusedCombination::XorOfOne),
            (Stripes::ManyDataUnits, Code::Copy) => Err(RefusedCombination::CopyOfMany),
            (Stripes::ManyDataUnits, _) => Ok(()),
        }
    }

    /// Whether check units are copies, which can answer reads.
    pub fn is_copy(self) -> bool {
        self == Code::Copy
    }

    /// Whether check units are computed from several data units. Then an array may have several
    /// parity groups.
    pub fn is_parity(self) -> bool {
        self.scheme().is_parity
    }

    /// Whether check units are of rows and columns.
    pub(crate) fn is_two_dimensional(self) -> bool {
        self == Code::TwoDimensional
    }

    /// The number of which the number of members must be a multiple.
    pub(crate) fn members_of_a_set(self, checks: u16) -> u16 {
        if self.is_copy() { checks.saturating_add(1) } else { 1 }
    }

    /// The number that a superblock keeps for so many check units: with copies the number of
    /// copies, otherwise at least 1. (What stood there when one check unit was the most.)
    pub(crate) fn stored_checks(self, checks: u16) -> u16 {
        if self.is_parity() { checks } else { checks.saturating_add(1) }
    }

    /// The number of check units of which a superblock keeps this number.
    pub(crate) fn checks_stored(self, stored: u16) -> u16 {
        if self.is_parity() { stored } else { stored.saturating_sub(1) }
    }
}
