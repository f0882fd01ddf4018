//! What a code is: its facts. The [choice](super::Code) has a row for each.

use std::ops::RangeInclusive;

/// The facts about a code.
#[derive(Debug)]
pub(super) struct Scheme {
    /// Whether check units are computed from several data units.
    pub(super) is_parity: bool,
    /// The least and the greatest number of check units.
    pub(super) checks: RangeInclusive<u16>,
    /// With so many check units: how many units can be computed from the others, whichever they
    /// are.
    pub(super) tolerance: fn(u16) -> u16,
    /// With so many check units: the least and the greatest number of data units.
    pub(super) data: fn(u16) -> RangeInclusive<u16>,
    /// The coefficients, by check unit and then by data unit, for these numbers of data units and
    /// check units.
    pub(super) coefficients: fn(u16, u16) -> Vec<Vec<u8>>,
}

/// There are no check units.
pub(super) const NONE: Scheme =
    Scheme { is_parity: false, checks: 0..=0, tolerance: as_many, data: any, coefficients: all_ones };

/// Each check unit is a copy of the only data unit.
pub(super) const COPY: Scheme =
    Scheme { is_parity: false, checks: 1..=63, tolerance: as_many, data: any, coefficients: all_ones };

/// As many units as there are check units: the code is maximum distance separable.
pub(super) fn as_many(checks: u16) -> u16 {
    checks
}

/// Any number of data units. (Layouts limit it.)
pub(super) fn any(_checks: u16) -> RangeInclusive<u16> {
    1..=u16::MAX
}

/// Each coefficient is 1.
fn all_ones(data: u16, checks: u16) -> Vec<Vec<u8>> {
    vec![vec![1; data.into()]; checks.into()]
}
