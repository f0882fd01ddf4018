//! The choice of a code, and all questions that are asked about it by name. No other module
//! compares codes. How units are computed is the [table's](super::Table) to say.

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
    /// There is one check unit, the exclusive or of all data units.
    Xor,
    /// There are two check units, each the exclusive or of one half of the data units. Only for
    /// tests.
    #[cfg(feature = "test-choices")]
    Halves,
}

rows! {
    Code, scheme -> Scheme;
    None => scheme::NONE,
    Copy => scheme::COPY,
    Xor => scheme::XOR,
    #[cfg(feature = "test-choices")]
    Halves => super::halves::HALVES,
}

impl Code {
    /// The coefficients of `checks` check units over `data` data units, by check unit.
    pub(super) fn coefficients(self, data: u16, checks: u16) -> Vec<Vec<u8>> {
        (self.scheme().coefficients)(data, checks)
    }

    /// The number of check units that are computed from several data units.
    fn parities(self) -> u16 {
        self.scheme().parities
    }

    /// Checks that the code fits the stripes of a layout.
    pub(crate) fn check_on(self, stripes: Stripes) -> Result<(), RefusedCombination> {
        match (stripes, self) {
            (Stripes::Data, Code::None) => Ok(()),
            (Stripes::Data, _) => Err(RefusedCombination::NoCheckUnits),
            (_, Code::None) => Err(RefusedCombination::NoCode),
            (Stripes::OneDataUnit, Code::Copy) => Ok(()),
            (Stripes::OneDataUnit, _) => Err(RefusedCombination::XorOfOne),
            (Stripes::ManyDataUnits { .. }, Code::Copy) => Err(RefusedCombination::CopyOfMany),
            (Stripes::ManyDataUnits { checks }, _) if checks == self.parities() => Ok(()),
            (Stripes::ManyDataUnits { .. }, _) => Err(RefusedCombination::CheckUnits),
        }
    }

    /// Whether check units are copies, which can answer reads.
    pub fn is_copy(self) -> bool {
        self == Code::Copy
    }

    /// Whether check units are computed from several data units. Then an array may have several
    /// parity groups.
    pub fn is_parity(self) -> bool {
        self.parities() > 0
    }

    /// The least number of copies of each unit, the first included, that makes sense.
    pub(crate) fn least_copies(self) -> u16 {
        if self.is_copy() { 2 } else { 0 }
    }

    /// The number of which the number of members must be a multiple.
    pub(crate) fn members_of_a_set(self, copies: u16) -> u16 {
        if self.is_copy() { copies } else { 1 }
    }
}
