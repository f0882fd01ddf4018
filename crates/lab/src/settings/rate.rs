//! Rates in files of settings: `"40MB"` per second.

use parlour_units::Bytes;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

/// Bytes per second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub Bytes);

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rate, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.strip_suffix("/s").unwrap_or(&text).parse().map(Rate).map_err(Error::custom)
    }
}
