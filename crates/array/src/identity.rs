//! Identities of arrays, members and sessions: 128 random bits, chosen by the driver.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// 128 random bits, printed as a UUID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Identity(pub [u8; 16]);

impl Identity {
    /// The short form of a session's identity in a member table: its first eight bytes.
    pub(crate) fn short(self) -> u64 {
        let (first, _) = self.0.split_at(8);
        u64::from_le_bytes(first.try_into().expect("an identity has sixteen bytes"))
    }

    /// The identity of nothing.
    pub const NONE: Identity = Identity([0; 16]);
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Uuid::from_bytes(self.0), f)
    }
}

/// A text that is not an identity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not an identity: 32 hexadecimal digits, with or without dashes")]
pub struct ParseIdentityError(String);

impl FromStr for Identity {
    type Err = ParseIdentityError;

    fn from_str(text: &str) -> Result<Identity, ParseIdentityError> {
        let uuid = Uuid::try_parse(text).map_err(|_| ParseIdentityError(text.into()))?;
        Ok(Identity(uuid.into_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_parsed_with_or_without_dashes() {
        let identity = Identity(*b"\x00\x01\x0a\xffsome array\x80\x7f");
        let text = "00010aff-736f-6d65-2061-72726179807f";
        assert_eq!(identity.to_string(), text);
        for text in [text.to_owned(), text.replace('-', ""), text.to_uppercase()] {
            assert_eq!(text.parse(), Ok(identity), "{text}");
        }
        assert_eq!(Identity::NONE.to_string(), "00000000-0000-0000-0000-000000000000");
    }

    #[test]
    fn what_is_not_an_identity_is_refused_with_its_text() {
        for text in ["", "00010aff", "00010aff-736f-6d65-2061-72726179807g", "x"] {
            let refused = text.parse::<Identity>().expect_err("it is none").to_string();
            assert!(refused.starts_with(&format!("'{text}' is not an identity")), "{refused}");
        }
    }
}
