//! The observer of a run, and what is reported to it.

use crate::world::World;

/// Watches a run. It is called regularly: after every 64th answer.
pub trait Watch {
    /// Whether the array is warm, after the conditions of [`WarmUp`](super::WarmUp) are met.
    fn is_ready(&mut self, _world: &mut World) -> bool {
        true
    }

    /// The measurement begins.
    fn begins(&mut self, _world: &mut World) {}

    /// Whether the measurement is over, whatever its precision.
    fn is_over(&mut self, _world: &mut World) -> bool {
        false
    }

    /// Reports the progress of the run after a fixed number of steps. Returns whether the run
    /// continues; if not, the report contains what was measured so far. The answer does not change
    /// the figures of a run that continues.
    fn goes_on(&mut self, _progress: &Progress) -> bool {
        true
    }
}

/// The progress of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Answered requests, including those of the warm-up.
    pub answered: u64,
    /// The estimated number of answered requests at the end of the measurement: the half width of
    /// an interval shrinks with the square root of their number. None while there is no estimate.
    pub expected: Option<u64>,
    /// The half width of the interval of the mean response time, as a fraction of the mean.
    /// Infinite while too few requests are answered.
    pub precision: f64,
    /// The required precision.
    pub wanted: f64,
}

/// No watcher.
impl Watch for () {}
