//! When drives fail: a Weibull distribution of their lives.

/// The hours of a year: 365 days and a quarter.
pub(super) const HOURS_PER_YEAR: f64 = 8_766.0;

/// The lives of drives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Life {
    /// The scale of the distribution, in hours.
    scale: f64,
    /// Its shape: 1 for a constant rate, more for drives that wear out, less for drives that fail
    /// young.
    shape: f64,
}

impl Life {
    /// Lives of which the given part ends within the first year.
    pub(super) fn new(failures_per_year: f64, shape: f64) -> Life {
        let hazard = -(-failures_per_year).ln_1p();
        Life { scale: HOURS_PER_YEAR / hazard.powf(1.0 / shape), shape }
    }

    /// The mean life in hours, if failures come at a constant rate.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.shape == 1.0).then_some(self.scale)
    }

    /// The hazard of a drive of `age` over the next hours: the number of failures to be expected.
    pub(super) fn hazard(&self, age: f64, hours: f64) -> f64 {
        self.cumulative(age + hours) - self.cumulative(age)
    }

    /// The hours until the hazard from `age` on has reached `hazard`.
    pub(super) fn until(&self, age: f64, hazard: f64) -> f64 {
        if self.shape == 1.0 {
            return hazard * self.scale;
        }
        self.scale * (self.cumulative(age) + hazard).powf(1.0 / self.shape) - age
    }

    fn cumulative(&self, age: f64) -> f64 {
        if self.shape == 1.0 { age / self.scale } else { (age / self.scale).powf(self.shape) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_part_of_drives_fails_within_the_first_year_whatever_the_shape() {
        for shape in [0.7, 1.0, 3.0] {
            let life = Life::new(0.02, shape);
            let fails = 1.0 - (-life.hazard(0.0, HOURS_PER_YEAR)).exp();
            assert!((fails - 0.02).abs() < 1e-12, "{shape}: {fails}");
            let hours = life.until(1_000.0, 0.5);
            assert!((life.hazard(1_000.0, hours) - 0.5).abs() < 1e-9, "{shape}");
        }
    }
}
