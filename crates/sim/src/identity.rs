//! Identities of members, arrays and sessions: numbers in order, not random.

use parlour_array::Identity;

/// The kind of an identity. Within a kind, the number distinguishes identities.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Member = 1,
    Array = 2,
    Session = 3,
}

/// The identity with this number.
pub(crate) fn identity(kind: Kind, number: u64) -> Identity {
    let mut bytes = [kind as u8; 16];
    bytes[..8].copy_from_slice(&number.to_le_bytes());
    Identity(bytes)
}
