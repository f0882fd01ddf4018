//! Means of independent draws, with intervals.

/// The standard errors on either side of a mean that enclose 95%.
const QUANTILE: f64 = 1.96;

/// A mean and half the width of its 95% confidence interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its interval; infinite (null in JSON) if nothing was seen.
    pub interval: f64,
}

impl Estimate {
    /// The same in another unit.
    pub(super) fn times(self, factor: f64) -> Estimate {
        Estimate { mean: self.mean * factor, interval: self.interval * factor }
    }

    /// Half the interval's width as a part of the mean; infinite without a mean.
    pub(super) fn relative(self) -> f64 {
        if self.mean > 0.0 { self.interval / self.mean } else { f64::INFINITY }
    }
}

/// Sums of what was drawn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draws {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Draws {
    pub(super) fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    pub(super) fn estimate(&self) -> Estimate {
        let mean = self.sum / self.count;
        if self.count < 2.0 || self.squares == 0.0 {
            return Estimate { mean, interval: f64::INFINITY };
        }
        let variance = (self.squares / self.count - mean * mean).max(0.0) / (self.count - 1.0);
        Estimate { mean, interval: QUANTILE * variance.sqrt() }
    }
}
