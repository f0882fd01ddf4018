//! Means with confidence intervals, and distributions, in constant memory.

use hdrhistogram::Histogram;
use parlour_units::{Duration, Instant};

/// A mean with its 95% confidence interval, by the method of batch means.
///
/// Successive values are correlated, so their variance underestimates that of the mean. The means
/// of long batches are nearly independent. The length of batches doubles as values arrive, so that
/// there are always between 20 and 40 batches.
#[derive(Clone, Debug, Default)]
pub struct BatchMeans {
    /// The sums of full batches.
    full: Vec<f64>,
    /// The number of values of a batch is 2 to this power.
    doublings: u32,
    /// The sum of the batch that is not full.
    sum: f64,
    partial: u64,
    count: u64,
}

/// A mean, and the half width of its 95% confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The mean of all values.
    pub mean: f64,
    /// In 95% of cases the true mean is within this distance of `mean`. Infinite while there are
    /// fewer than 20 batches.
    pub half_width: f64,
}

impl Estimate {
    /// The half width as a fraction of the mean.
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

    /// Adds a value.
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

    /// The number of values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean and its interval so far.
    pub fn estimate(&self) -> Estimate {
        let size = (1_u64 << self.doublings) as f64;
        let sum: f64 = self.full.iter().sum::<f64>() + self.sum;
        let mean = if self.count == 0 { 0.0 } else { sum / self.count as f64 };
        if self.full.len() < Self::FEWEST {
            return Estimate { mean, half_width: f64::INFINITY };
        }
        Estimate { mean, half_width: half_width(self.full.iter().map(|sum| sum / size)) }
    }
}

/// The 97.5% quantile of Student's distribution, by the expansion of Cornish and Fisher. The error
/// is below 0.01% from 10 degrees of freedom on.
fn student(freedom: f64) -> f64 {
    let z: f64 = 1.959_963_984_540_054;
    let (cube, fifth, seventh) = (z.powi(3), z.powi(5), z.powi(7));
    z + (cube + z) / (4.0 * freedom)
        + (5.0 * fifth + 16.0 * cube + 3.0 * z) / (96.0 * freedom.powi(2))
        + (3.0 * seventh + 19.0 * fifth + 17.0 * cube - 15.0 * z) / (384.0 * freedom.powi(3))
}

/// Statistics of times: mean and interval, standard deviation, quantiles to three digits.
#[derive(Clone, Debug, Default)]
pub struct Times {
    moments: Moments,
    /// None while there are no times, because it takes much memory.
    histogram: Option<Histogram<u32>>,
}

/// Statistics of times: mean and interval, standard deviation, minimum and maximum.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    means: BatchMeans,
    squares: f64,
    shortest: Duration,
    longest: Duration,
}

impl Default for Moments {
    fn default() -> Moments {
        let shortest = Duration::from_nanoseconds(u64::MAX);
        Moments { means: BatchMeans::default(), squares: 0.0, shortest, longest: Duration::ZERO }
    }
}

impl Moments {
    /// Adds a time.
    pub(crate) fn add(&mut self, time: Duration) {
        let seconds = time.as_secs_f64();
        self.means.add(seconds);
        self.squares += seconds * seconds;
        self.shortest = self.shortest.min(time);
        self.longest = self.longest.max(time);
    }

    pub(crate) fn count(&self) -> u64 {
        self.means.count()
    }

    pub(crate) fn mean(&self) -> Estimate {
        self.means.estimate()
    }

    /// Combines these moments with the distribution of all `parts` together.
    pub(crate) fn distributed<'a>(self, parts: impl IntoIterator<Item = &'a Times>) -> Times {
        let mut histogram: Option<Histogram<u32>> = None;
        for part in parts.into_iter().filter_map(|part| part.histogram.as_ref()) {
            match &mut histogram {
                Some(sum) => sum.add(part).expect("all histograms have the same bounds"),
                None => histogram = Some(part.clone()),
            }
        }
        Times { moments: self, histogram }
    }
}

impl Times {
    /// Adds a time.
    pub fn add(&mut self, time: Duration) {
        self.moments.add(time);
        // Up to an hour, with three digits.
        let new = || Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("these bounds can be had");
        self.histogram.get_or_insert_with(new).saturating_record(time.nanoseconds());
    }

    /// The number of times.
    pub fn count(&self) -> u64 {
        self.moments.count()
    }

    /// The mean in seconds.
    pub fn mean(&self) -> Estimate {
        self.moments.mean()
    }

    /// The standard deviation in seconds.
    pub fn deviation(&self) -> f64 {
        let count = self.count().max(1) as f64;
        (self.moments.squares / count - self.mean().mean.powi(2)).max(0.0).sqrt()
    }

    /// The time within which a fraction `part` of all times lies.
    pub fn quantile(&self, part: f64) -> Duration {
        let value = self.histogram.as_ref().map_or(0, |histogram| histogram.value_at_quantile(part));
        Duration::from_nanoseconds(value)
    }

    /// The shortest time; zero if there is none.
    pub fn shortest(&self) -> Duration {
        self.moments.shortest.min(self.moments.longest)
    }

    /// The longest.
    pub fn longest(&self) -> Duration {
        self.moments.longest
    }
}

/// Rates per second, with 95% confidence intervals. The time is cut into windows that are nearly
/// independent. The length of windows doubles as time passes, so that there are always between 20
/// and 40 windows.
#[derive(Clone, Debug)]
pub(crate) struct Rates<const N: usize> {
    began: Instant,
    width: Duration,
    /// When the last window ends.
    ends: Instant,
    windows: Vec<[u64; N]>,
}

impl<const N: usize> Rates<N> {
    const MOST: usize = 40;

    /// Without any amounts.
    pub(crate) fn new(began: Instant) -> Rates<N> {
        let width = Duration::from_nanoseconds(1_024);
        Rates { began, width, ends: began + width, windows: vec![[0; N]] }
    }

    /// Adds these amounts.
    pub(crate) fn add(&mut self, now: Instant, amounts: [u64; N]) {
        self.advance(now);
        let last = self.windows.len() - 1;
        self.windows[last].iter_mut().zip(amounts).for_each(|(sum, amount)| *sum += amount);
    }

    fn advance(&mut self, now: Instant) {
        while now >= self.ends {
            if self.windows.len() == Self::MOST {
                let pair = |pair: &[[u64; N]]| std::array::from_fn(|index| pair[0][index] + pair[1][index]);
                self.windows = self.windows.chunks(2).map(pair).collect();
                self.width = self.width * 2;
            }
            self.windows.push([0; N]);
            self.ends = self.ends + self.width;
        }
    }

    /// The rate per second so far, of the value that `amount` computes from the amounts.
    pub(crate) fn estimate(&mut self, now: Instant, amount: impl Fn(&[u64; N]) -> u64) -> Estimate {
        self.advance(now);
        let span = now.since(self.began).as_secs_f64();
        let sum: u64 = self.windows.iter().map(&amount).sum();
        let mean = if span > 0.0 { sum as f64 / span } else { 0.0 };
        let full = self.windows.len() - 1;
        if full < Self::MOST / 2 {
            return Estimate { mean, half_width: f64::INFINITY };
        }
        let each = self.windows[..full].iter().map(|window| amount(window) as f64 / self.width.as_secs_f64());
        Estimate { mean, half_width: half_width(each) }
    }
}

/// The half width of the interval of the mean of independent values.
fn half_width(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let count = values.clone().count() as f64;
    let center = values.clone().sum::<f64>() / count;
    let square: f64 = values.map(|value| (value - center).powi(2)).sum();
    student(count - 1.0) * (square / (count - 1.0) / count).sqrt()
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

    /// Tested with a Poisson process.
    #[test]
    fn intervals_of_rates_hold_them_as_often_as_they_say() {
        let holds = (0..1_000).filter(|seed| {
            let (mut now, mut random) = (Instant::ZERO, Random::new(*seed));
            let mut rates = Rates::new(now);
            for _ in 0..2_000 {
                now = now + Duration::from_nanoseconds(random.exponential(1e6) as u64);
                rates.add(now, [1, 512]);
            }
            let [requests, bytes] = [0, 1].map(|index| rates.estimate(now, |amounts| amounts[index]));
            assert!((bytes.mean / requests.mean - 512.0).abs() < 1e-6);
            requests.contains(1e3)
        });
        let holds = holds.count();
        assert!((925..=975).contains(&holds), "{holds} of 1000");
    }

    #[test]
    fn rates_are_over_all_time_and_idle_times_count() {
        let second = |seconds| Instant::ZERO + Duration::from_secs(seconds);
        let mut rates = Rates::new(Instant::ZERO);
        rates.add(second(1), [3]);
        rates.add(second(1_000), [1]);
        assert_eq!(rates.estimate(second(2_000), |amounts| amounts[0]).mean, 0.002);
    }

    #[test]
    fn times_have_moments_and_quantiles() {
        let mut times = Times::default();
        (1..=1_000).for_each(|milliseconds| times.add(Duration::from_millis(milliseconds)));
        assert!((times.mean().mean - 0.5005).abs() < 1e-9);
        assert!((times.deviation() - 0.288_675).abs() < 1e-4);
        assert!((times.quantile(0.9).as_secs_f64() - 0.9).abs() < 1e-3);
        assert_eq!(times.longest(), Duration::from_secs(1));
        assert_eq!(times.shortest(), Duration::from_millis(1));
        assert_eq!(Times::default().shortest(), Duration::ZERO);
    }
}
