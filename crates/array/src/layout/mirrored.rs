//! A layout for tests: the units of each stripe from the last member to the first, of which two are
//! check units.

/// The number of data units and of check units of a stripe over `members`.
pub(super) fn units(members: u16) -> (u16, u16) {
    (members - 2, 2)
}

/// The member of a unit, or the unit of a member.
pub(super) fn other(members: u64, unit: u64) -> u64 {
    members - 1 - unit
}
