//! Distributions of times, sizes and places, as files say them.

use parlour_units::Sectors;
use parlour_workload::delay::Delay;
use parlour_workload::place::Place;
use parlour_workload::size;
use serde::{Deserialize, Serialize};

use crate::settings::{self, Time};

/// A time, or a distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a time such as \"30ms\", or { exponential = \"30ms\" }, { normal = [\"30ms\", \"5ms\"] } or { bursts = [8, \"100ms\"] }"
)]
pub enum DelaySetting {
    /// Always the same.
    Fixed(Time),
    /// Drawn.
    Drawn(DrawnDelay),
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnDelay {
    /// Its mean.
    Exponential(Time),
    /// Mean and standard deviation.
    Normal(Time, Time),
    /// How many at once in the mean, and the mean time from one burst to the next.
    Bursts(f64, Time),
}

/// A size, or a distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a size such as \"4KiB\", or { exponential = \"6KiB\" }, { normal = [\"512KiB\", \"128KiB\"] }, { uniform = [\"1MiB\", \"3MiB\"] } or { mix = [[\"4KiB\", 3], [\"24KiB\", 1]] }"
)]
pub enum SizeSetting {
    /// Always the same.
    Fixed(settings::Size),
    /// Drawn.
    Drawn(DrawnSize),
}

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnSize {
    /// Its mean.
    Exponential(settings::Size),
    /// Mean and standard deviation.
    Normal(settings::Size, settings::Size),
    /// From, to.
    Uniform(settings::Size, settings::Size),
    /// Sizes with their weights.
    Mix(Vec<(settings::Size, f64)>),
}

/// Where requests go.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceSetting {
    /// Anywhere.
    Uniform,
    /// Aligned to their own size, at the most to this.
    Natural(settings::Size),
    /// As few parts of stripes as can be: the stripe unit, and how many of them a stripe has.
    Striped(settings::Size, u64),
    /// The stripe unit, of so many units, so many hot ones, and the part of requests that goes
    /// there.
    HotUnits(settings::Size, u64, u64, f64),
    /// So large a part of requests to so large a part of places.
    Hot(f64, f64),
    /// From this part of all places to that.
    Within(f64, f64),
    /// With this exponent.
    Zipf(f64),
    /// So many requests in a row.
    Run(u64),
}

impl DelaySetting {
    pub(super) fn delay(self) -> Delay {
        match self {
            DelaySetting::Fixed(time) => Delay::Fixed(time.0),
            DelaySetting::Drawn(DrawnDelay::Exponential(mean)) => Delay::Exponential(mean.0),
            DelaySetting::Drawn(DrawnDelay::Normal(mean, deviation)) => {
                Delay::Normal { mean: mean.0, deviation: deviation.0 }
            }
            DelaySetting::Drawn(DrawnDelay::Bursts(size, gap)) => Delay::Bursts { size, gap: gap.0 },
        }
    }
}

impl SizeSetting {
    pub(super) fn size(&self) -> size::Size {
        let sectors = |size: settings::Size| size.sectors().get() as f64;
        match self {
            SizeSetting::Fixed(size) => size::Size::Fixed(sectors(*size)),
            SizeSetting::Drawn(DrawnSize::Exponential(mean)) => size::Size::Exponential(sectors(*mean)),
            SizeSetting::Drawn(DrawnSize::Normal(mean, deviation)) => {
                size::Size::Normal { mean: sectors(*mean), deviation: sectors(*deviation) }
            }
            SizeSetting::Drawn(DrawnSize::Uniform(from, to)) => {
                size::Size::Uniform(sectors(*from), sectors(*to))
            }
            SizeSetting::Drawn(DrawnSize::Mix(sizes)) => {
                size::Size::Mix(sizes.iter().map(|(size, weight)| (sectors(*size), *weight)).collect())
            }
        }
    }

    /// The largest there is, if there is one.
    pub(super) fn most(&self) -> Option<Sectors> {
        match self {
            SizeSetting::Fixed(size) | SizeSetting::Drawn(DrawnSize::Uniform(_, size)) => {
                Some(size.sectors())
            }
            SizeSetting::Drawn(DrawnSize::Mix(sizes)) => sizes.iter().map(|(size, _)| size.sectors()).max(),
            SizeSetting::Drawn(_) => None,
        }
    }
}

impl PlaceSetting {
    pub(super) fn place(self) -> Place {
        match self {
            PlaceSetting::Uniform => Place::Uniform,
            PlaceSetting::Natural(stripe) => Place::Natural { stripe: stripe.sectors() },
            PlaceSetting::Striped(unit, units) => Place::Striped { unit: unit.sectors(), units },
            PlaceSetting::HotUnits(unit, period, hot, requests) => {
                Place::HotUnits { unit: unit.sectors(), period, hot, requests }
            }
            PlaceSetting::Hot(requests, places) => Place::Hot { requests, places },
            PlaceSetting::Within(from, to) => Place::Within(from, to),
            PlaceSetting::Zipf(exponent) => Place::Zipf(exponent),
            PlaceSetting::Run(length) => Place::Runs { length },
        }
    }
}
