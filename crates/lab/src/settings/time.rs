//! Times in files of settings: `"12.5ms"`.

use parlour_units::Duration;
use serde::de::{Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};

/// A time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time(pub Duration);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Time).map_err(Error::custom)
    }
}
