//! Means and variances of times.

use parlour_units::Duration;

/// A mean and a variance, in ms and ms².
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Milliseconds.
    pub mean: f64,
    /// Square milliseconds.
    pub variance: f64,
}

impl Moments {
    /// The moments of a constant.
    pub fn fixed(mean: f64) -> Moments {
        Moments { mean, variance: 0.0 }
    }

    /// The standard deviation, in ms.
    pub fn deviation(&self) -> f64 {
        self.variance.sqrt()
    }

    /// The moments of a mixture of parts with weights that sum to 1.
    pub(crate) fn mixed(parts: impl Iterator<Item = (f64, Moments)>) -> Moments {
        let add = |(mean, square): (f64, f64), (weight, part): (f64, Moments)| {
            (mean + weight * part.mean, square + weight * (part.variance + part.mean * part.mean))
        };
        let (mean, square) = parts.fold((0.0, 0.0), add);
        Moments { mean, variance: (square - mean * mean).max(0.0) }
    }
}

/// A duration in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.nanoseconds() as f64 / 1e6
}
