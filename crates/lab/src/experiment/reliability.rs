//! `[reliability]`: what is assumed of drives, of those who replace them, and of scrubs.

use serde::{Deserialize, Serialize};

use super::tables::{as_several, one_or_several};
use crate::settings::{Size, Time};

/// The `[reliability]` table.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ReliabilitySettings {
    /// The part of new drives that fail within their first year.
    pub failures_per_year: Option<f64>,
    /// The shape of the Weibull distribution of drives' lives; 1 is a constant rate.
    pub shape: Option<f64>,
    /// How much more frequent failures are while an array is not whole.
    pub while_degraded: Option<f64>,
    /// Sectors of a drive that become unreadable in a year.
    pub unreadable_per_year: Option<f64>,
    /// The time from one scrub to the next.
    pub scrub: Option<Time>,
    /// The time of a rebuild. By default it is simulated.
    pub rebuild: Option<Time>,
    /// How much of each drive is used where the rebuild is simulated. The rest is taken to be
    /// rebuilt at the same rate.
    pub rebuild_sample: Option<Size>,
    /// Spares in their places.
    pub spares: Option<u32>,
    /// The time until a new drive arrives.
    pub replacement: Option<Time>,
    /// Drives that may fail together.
    #[serde(deserialize_with = "one_or_several", serialize_with = "as_several")]
    pub together: Vec<TogetherSettings>,
    /// The years that the array serves.
    pub years: Option<f64>,
    /// The wanted half width of the interval, as a part of the mean.
    pub precision: Option<f64>,
    /// The largest number of lives that are drawn.
    pub at_most: Option<u32>,
}

/// Drives that share what may fail: power, a cable, a shelf.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct TogetherSettings {
    /// Their slots.
    pub members: Vec<u16>,
    /// How often in a year.
    pub per_year: f64,
}
