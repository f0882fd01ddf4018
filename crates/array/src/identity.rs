//! Identities of arrays, members and sessions: 128 random bits, chosen by the driver.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// 128 random bits, printed as a UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity(pub [u8; 16]);

impl Identity {
    /// The identity of nothing.
    pub const NONE: Identity = Identity([0; 16]);
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            if matches!(index, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// A text that is not an identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an identity: 32 hexadecimal digits, with or without dashes")]
pub struct ParseIdentityError(String);

impl FromStr for Identity {
    type Err = ParseIdentityError;

    fn from_str(text: &str) -> Result<Identity, ParseIdentityError> {
        let bad = || ParseIdentityError(text.into());
        let digits: Vec<u32> = text
            .chars()
            .filter(|c| *c != '-')
            .map(|c| c.to_digit(16))
            .collect::<Option<_>>()
            .ok_or_else(bad)?;
        if digits.len() != 32 {
            return Err(bad());
        }
        let mut identity = Identity::NONE;
        for (byte, pair) in identity.0.iter_mut().zip(digits.chunks(2)) {
            *byte = (pair[0] * 16 + pair[1]) as u8;
        }
        Ok(identity)
    }
}
