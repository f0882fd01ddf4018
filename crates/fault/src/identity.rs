//! Identities of arrays, members and sessions: numbers, so that a trace is readable.

use parlour_array::Identity;

/// The array under test.
pub(crate) const ARRAY: u64 = 1;
/// Another array, whose members are used by mistake.
pub(crate) const OTHER_ARRAY: u64 = 2;
/// The session of the creation.
pub(crate) const FIRST_SESSION: u64 = 3;

pub(crate) fn identity(number: u64) -> Identity {
    let mut bytes = [7; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Identity(bytes)
}

/// The identity of disk `index`.
pub(crate) fn member(index: usize) -> Identity {
    identity(100 + index as u64)
}
