//! Names of members, arrays and sessions, in the order in which they come: nothing here is random.

use parlour_array::Identity;

/// What names are for: the number tells one from others of its kind.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Member = 1,
    Array = 2,
    Session = 3,
}

/// The name of this number.
pub(crate) fn identity(kind: Kind, number: u64) -> Identity {
    let mut bytes = [kind as u8; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Identity(bytes)
}
