//! What a code is: its facts. The [choice](super::Code) has a row for each.

/// The facts about a code.
#[derive(Debug)]
pub(super) struct Scheme {
    /// The number of check units that are computed from several data units.
    pub(super) parities: u16,
    /// The coefficients, by check unit and then by data unit, for these numbers of data units and
    /// check units.
    pub(super) coefficients: fn(u16, u16) -> Vec<Vec<u8>>,
}

/// There are no check units.
pub(super) const NONE: Scheme = Scheme { parities: 0, coefficients: all_ones };

/// Each check unit is a copy of the only data unit.
pub(super) const COPY: Scheme = Scheme { parities: 0, coefficients: all_ones };

/// There is one check unit, the exclusive or of all data units.
pub(super) const XOR: Scheme = Scheme { parities: 1, coefficients: all_ones };

/// Each check unit is the exclusive or of all data units.
fn all_ones(data: u16, checks: u16) -> Vec<Vec<u8>> {
    vec![vec![1; data.into()]; checks.into()]
}
