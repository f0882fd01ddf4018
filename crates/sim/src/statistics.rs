//! Means, how sure they are, and how what they are means of is distributed; in memory that does not grow.

use hdrhistogram::Histogram;
use parlour_units::Duration;

/// A mean with its 95% confidence interval, by the method of batch means.
///
/// Values that follow one another are alike, so their own scatter says too little of the mean's. Means of long batches are
/// nearly independent. Batches are doubled as values come, so that there are always between 20 and 40.
#[derive(Clone, Debug, Default)]
pub struct BatchMeans {
    /// Sums of batches that are full.
    full: Vec<f64>,
    /// Values of a batch, less one doubling: 2 to this power.
    doublings: u32,
    /// Of a batch that is not full.
    sum: f64,
    partial: u64,
    count: u64,
}

/// A mean, and the half width of its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of all values.
    pub mean: f64,
    /// The mean lies this far to either side in 95% of cases. Infinite while there are fewer than 20 batches.
    pub half_width: f64,
}

impl Estimate {
    /// The half width as a part of the mean.
    pub fn relative(&self) -> f64 {
        if self.mean == 0.0 { f64::INFINITY } else { self.half_width / self.mean.abs() }
    }

    /// Whether the interval contains a value.
    pub fn contains(&self, value: f64) -> bool {
        (value - self.mean).abs() <= self.half_width
    }
}

impl BatchMeans {
    const FEWEST: usize = 20;

    /// One more value.
    pub fn add(&mut self, value: f64) {
        self.sum += value;
        self.partial += 1;
        self.count += 1;
        if self.partial == 1 << self.doublings {
            self.full.push(self.sum);
            (self.sum, self.partial) = (0.0, 0);
            if self.full.len() == 2 * Self::FEWEST {
                self.full = self.full.chunks(2).map(|pair| pair[0] + pair[1]).collect();
                self.doublings += 1;
            }
        }
    }

    /// How many values there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, as sure as it is by now.
    pub fn estimate(&self) -> Estimate {
        let size = (1_u64 << self.doublings) as f64;
        let sum: f64 = self.full.iter().sum::<f64>() + self.sum;
        let mean = if self.count == 0 { 0.0 } else { sum / self.count as f64 };
        if self.full.len() < Self::FEWEST {
            return Estimate { mean, half_width: f64::INFINITY };
        }
        let batches = self.full.len() as f64;
        let center = self.full.iter().sum::<f64>() / batches / size;
        let square: f64 = self.full.iter().map(|sum| (sum / size - center).powi(2)).sum();
        let deviation = (square / (batches - 1.0)).sqrt();
        Estimate { mean, half_width: student(batches - 1.0) * deviation / batches.sqrt() }
    }
}

/// The 97.5% quantile of Student's distribution (the expansion of Cornish and Fisher; 0.01% off from 10 degrees of freedom on).
fn student(freedom: f64) -> f64 {
    let z: f64 = 1.959_963_984_540_054;
    let (cube, fifth, seventh) = (z.powi(3), z.powi(5), z.powi(7));
    z + (cube + z) / (4.0 * freedom)
        + (5.0 * fifth + 16.0 * cube + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * seventh + 19.0 * fifth + 17.0 * cube - 15.0 * z) / (384.0 * freedom.powi(3))
}

/// Times: mean and interval, deviation, quantiles to three digits.
#[derive(Clone, Debug)]
pub struct Times {
    means: BatchMeans,
    squares: f64,
    histogram: Histogram<u64>,
}

impl Default for Times {
    fn default() -> Times {
        // An hour, by three digits.
        let histogram = Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("these bounds can be had");
        Times { means: BatchMeans::default(), squares: 0.0, histogram }
    }
}

impl Times {
    /// One more.
    pub fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.means.add(seconds);
        self.squares += seconds * seconds;
        self.histogram.saturating_record(time.nanoseconds());
    }

    /// How many.
    pub fn count(&self) -> u64 {
        self.means.count()
    }

    /// The mean in seconds.
    pub fn mean(&self) -> Estimate {
        self.means.estimate()
    }

    /// The standard deviation in seconds.
    pub fn deviation(&self) -> f64 {
        let count = self.count().max(1) as f64;
        (self.squares / count - self.mean().mean.powi(2)).max(0.0).sqrt()
    }

    /// The time within which this part of all stays.
    pub fn quantile(&self, part: f64) -> Duration {
        Duration::from_nanoseconds(self.histogram.value_at_quantile(part))
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        Duration::from_nanoseconds(self.histogram.max())
    }
}

#[cfg(test)]
mod tests {
    use parlour_workload::random::Random;

    use super::*;

    #[test]
    fn student_is_what_tables_say() {
        for (freedom, quantile) in [(19.0, 2.093_024), (29.0, 2.045_230), (39.0, 2.022_691)] {
            assert!((student(freedom) - quantile).abs() < 1e-4, "{}", student(freedom));
        }
    }

    #[test]
    fn intervals_of_independent_values_hold_their_mean_as_often_as_they_say() {
        let holds = (0..1_000).filter(|seed| {
            let (mut means, mut random) = (BatchMeans::default(), Random::new(*seed));
            (0..5_000).for_each(|_| means.add(random.exponential(3.0)));
            means.estimate().contains(3.0)
        });
        let holds = holds.count();
        assert!((925..=970).contains(&holds), "{holds} of 1000");
    }

    #[test]
    fn few_values_say_nothing_sure() {
        let mut means = BatchMeans::default();
        (0..19).for_each(|value| means.add(f64::from(value)));
        assert_eq!(means.estimate().mean, 9.0);
        assert!(means.estimate().half_width.is_infinite());
    }

    #[test]
    fn times_have_moments_and_quantiles() {
        let mut times = Times::default();
        (1..=1_000).for_each(|milliseconds| times.add(Duration::from_millis(milliseconds)));
        assert!((times.mean().mean - 0.5005).abs() < 1e-9);
        assert!((times.deviation() - 0.288_675).abs() < 1e-4);
        assert!((times.quantile(0.9).as_secs_f64() - 0.9).abs() < 1e-3);
        assert!((times.longest().as_secs_f64() - 1.0).abs() < 1e-3);
    }
}
