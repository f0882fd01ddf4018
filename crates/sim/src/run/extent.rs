//! How long a run lasts: its warm-up and its measurement.

use parlour_units::Duration;

/// The extent of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// The warm-up, which is not counted.
    pub warm_up: WarmUp,
    /// The least number of counted requests.
    pub least: u64,
    /// The most counted requests.
    pub most: u64,
    /// The most simulated time that is counted.
    pub longest: Option<Duration>,
    /// The measurement may end when the half width of the interval of the mean response time is at
    /// most this fraction of the mean; for sources with tasks, also that of the task time.
    pub precision: f64,
    /// For an open load: if more of its requests than this are under way at once, it is reported as
    /// unstable.
    pub backlog: usize,
}

/// The warm-up. All of these conditions must be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarmUp {
    /// The number of answered requests.
    pub requests: u64,
    /// Simulated time.
    pub time: Duration,
    /// The number of reintegrations of each region that is written.
    pub reintegrations: u64,
    /// The number of requests after which the warm-up fails.
    pub most: u64,
}

impl Default for Measure {
    /// Up to a million requests, until the mean is known to 1%.
    fn default() -> Measure {
        Measure {
            warm_up: WarmUp::default(),
            least: 10_000,
            most: 1_000_000,
            longest: None,
            precision: 0.01,
            backlog: 10_000,
        }
    }
}

impl Default for WarmUp {
    /// No warm-up.
    fn default() -> WarmUp {
        WarmUp { requests: 0, time: Duration::ZERO, reintegrations: 0, most: u64::MAX }
    }
}
