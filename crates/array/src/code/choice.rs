//! The choice of a code, and all questions that are asked about it by name. No other module
//! compares codes. How units are computed is the [table's](super::Table) to say.

use serde::{Deserialize, Serialize};

use crate::layout::Stripes;
use crate::organization::RefusedCombination;

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
}

impl Code {
    /// All choices.
    pub const ALL: [Code; 3] = [Code::None, Code::Copy, Code::Xor];

    /// Checks that the code fits the stripes of a layout.
    pub(crate) fn check_on(self, stripes: Stripes) -> Result<(), RefusedCombination> {
        match (stripes, self) {
            (Stripes::Data, Code::None) => Ok(()),
            (Stripes::Data, _) => Err(RefusedCombination::NoCheckUnits),
            (_, Code::None) => Err(RefusedCombination::NoCode),
            (Stripes::OneDataUnit, Code::Xor) => Err(RefusedCombination::XorOfOne),
            (Stripes::ManyDataUnits, Code::Copy) => Err(RefusedCombination::CopyOfMany),
            (Stripes::OneDataUnit, Code::Copy) | (Stripes::ManyDataUnits, Code::Xor) => Ok(()),
        }
    }

    /// Whether check units are copies, which can answer reads.
    pub fn is_copy(self) -> bool {
        self == Code::Copy
    }

    /// Whether check units are computed from several data units. Then an array may have several
    /// parity groups.
    pub fn is_parity(self) -> bool {
        self == Code::Xor
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
