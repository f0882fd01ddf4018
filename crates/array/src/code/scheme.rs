//! What a code is: its facts. The [choice](super::Code) has a row for each.

use std::ops::RangeInclusive;

/// The facts about a code.
#[derive(Debug)]
pub(super) struct Scheme {
    /// Whether check units are computed from several data units.
    pub(super) is_parity: bool,
    /// The least and the greatest number of check units.
    pub(super) checks: RangeInclusive<u16>,
    /// Whether it is maximum distance separable: any so many units as there are check units can be
    /// computed from the others. If not, the table of coefficients is searched for the number.
    pub(super) is_mds: bool,
    /// The coefficients, by check unit and then by data unit, for these numbers of data units and
    /// check units.
    pub(super) coefficients: fn(u16, u16) -> Vec<Vec<u8>>,
}

/// There are no check units.
pub(super) const NONE: Scheme =
    Scheme { is_parity: false, checks: 0..=0, is_mds: true, coefficients: all_ones };

/// Each check unit is a copy of the only data unit.
pub(super) const COPY: Scheme =
    Scheme { is_parity: false, checks: 1..=63, is_mds: true, coefficients: all_ones };

/// Each coefficient is 1.
fn all_ones(data: u16, checks: u16) -> Vec<Vec<u8>> {
    vec![vec![1; data.into()]; checks.into()]
}
