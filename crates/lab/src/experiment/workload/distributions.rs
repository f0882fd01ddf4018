//! The distributions of times, sizes and positions in an experiment file.

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
    /// The same time for each request.
    Fixed(Time),
    /// Random times.
    Drawn(DrawnDelay),
}

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnDelay {
    /// Exponential; the mean.
    Exponential(Time),
    /// Normal; mean and standard deviation.
    Normal(Time, Time),
    /// Bursts; the mean number of requests of a burst, and the mean time from one burst to the
    /// next.
    Bursts(f64, Time),
}

/// A size, or a distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a size such as \"4KiB\", or { exponential = \"6KiB\" }, { normal = [\"512KiB\", \"128KiB\"] }, { uniform = [\"1MiB\", \"3MiB\"] } or { mix = [[\"4KiB\", 3], [\"24KiB\", 1]] }"
)]
pub enum SizeSetting {
    /// The same size for each request.
    Fixed(settings::Size),
    /// Random sizes.
    Drawn(DrawnSize),
}

/// A distribution of sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DrawnSize {
    /// Exponential; the mean.
    Exponential(settings::Size),
    /// Normal; mean and standard deviation.
    Normal(settings::Size, settings::Size),
    /// Uniform; least and most.
    Uniform(settings::Size, settings::Size),
    /// Sizes with their weights.
    Mix(Vec<(settings::Size, f64)>),
}

/// The positions of requests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PlaceSetting {
    /// Uniform over the whole space.
    Uniform,
    /// Aligned to the request's own size, but at most to this.
    Natural(settings::Size),
    /// Positions that touch as few parts of stripes as possible: the stripe unit, and the number of
    /// units of a stripe.
    Striped(settings::Size, u64),
    /// Some units of each group are hot: the stripe unit, the units of a group, the number of hot
    /// ones, and the fraction of requests that go to them.
    HotUnits(settings::Size, u64, u64, f64),
    /// The first fraction of requests goes to the second fraction of positions.
    Hot(f64, f64),
    /// Uniform between these two fractions of the space.
    Within(f64, f64),
    /// A Zipf distribution with this exponent.
    Zipf(f64),
    /// Runs of this number of sequential requests.
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

    /// The largest possible size, if there is a limit.
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
