//! Times between requests: think times of processes, and gaps between arrivals.

use parlour_units::Duration;

use crate::random::Random;

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Constant.
    Fixed(Duration),
    /// Exponential with this mean: the arrivals of a Poisson process, or memoryless think times.
    Exponential(Duration),
    /// Normal. A negative value becomes zero.
    Normal {
        /// The mean.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
    /// Bursts of a Poisson process: several requests at once, with exponential times between
    /// bursts. As a gap between arrivals, most values are zero, and one is exponential with a
    /// probability of 1/size.
    Bursts {
        /// The mean number of requests in a burst (geometrically distributed).
        size: f64,
        /// The mean time from one burst to the next.
        gap: Duration,
    },
}

/// Why a delay is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum DelayError {
    /// A burst has less than one request.
    #[error("bursts of {0} requests: a burst has at least one, and finitely many")]
    NoBurst(f64),
    /// The gap is zero, so infinitely many requests would arrive at once.
    #[error("the gap between arrivals is nothing: infinitely many would come at once; make it longer")]
    NoGap,
}

impl Delay {
    /// Checks that it is valid.
    pub fn check(&self) -> Result<(), DelayError> {
        match *self {
            Delay::Bursts { size, .. } if !(size >= 1.0 && size.is_finite()) => {
                Err(DelayError::NoBurst(size))
            }
            _ => Ok(()),
        }
    }

    /// Checks that it is valid as a gap between arrivals.
    pub fn check_gap(&self) -> Result<(), DelayError> {
        self.check()?;
        if self.mean() == Duration::ZERO { Err(DelayError::NoGap) } else { Ok(()) }
    }

    /// Draws the next delay.
    pub fn draw(&self, random: &mut Random) -> Duration {
        let exponential = |random: &mut Random, mean: Duration| {
            Duration::from_nanoseconds(random.exponential(mean.nanoseconds() as f64).round() as u64)
        };
        match *self {
            Delay::Fixed(time) => time,
            Delay::Exponential(mean) => exponential(random, mean),
            Delay::Normal { mean, deviation } => {
                let drawn = random.normal(mean.nanoseconds() as f64, deviation.nanoseconds() as f64);
                Duration::from_nanoseconds(drawn.max(0.0).round() as u64)
            }
            Delay::Bursts { size, gap } => match random.happens(size.max(1.0).recip()) {
                true => exponential(random, gap),
                false => Duration::ZERO,
            },
        }
    }

    /// The mean. For a normal distribution, the mean without the limit at zero.
    pub fn mean(&self) -> Duration {
        match *self {
            Delay::Fixed(time) | Delay::Exponential(time) => time,
            Delay::Normal { mean, .. } => mean,
            Delay::Bursts { size, gap } => {
                Duration::from_nanoseconds((gap.nanoseconds() as f64 / size.max(1.0)).round() as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For a geometric number of arrivals at once, the variance of a count divided by its mean is
    /// twice the mean burst, minus one.
    #[test]
    fn bursts_scatter_as_they_should() {
        let delay = Delay::Bursts { size: 8.0, gap: Duration::from_millis(40) };
        let (mut random, mut counts) = (Random::new(9), vec![0.0_f64; 20_000]);
        let mut now = 0;
        loop {
            now += delay.draw(&mut random).nanoseconds();
            match counts.get_mut((now / 4_000_000_000) as usize) {
                Some(count) => *count += 1.0,
                None => break,
            }
        }
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        assert!(
            (mean / 800.0 - 1.0).abs() < 0.02 && (variance / mean / 15.0 - 1.0).abs() < 0.05,
            "{mean} {variance}"
        );
    }

    #[test]
    fn impossible_delays_are_refused() {
        let bursts = |size| Delay::Bursts { size, gap: Duration::from_millis(1) };
        assert_eq!(bursts(0.5).check(), Err(DelayError::NoBurst(0.5)));
        assert_eq!(bursts(2.0).check_gap(), Ok(()));
        assert_eq!(Delay::Fixed(Duration::ZERO).check(), Ok(()));
        assert_eq!(Delay::Fixed(Duration::ZERO).check_gap(), Err(DelayError::NoGap));
    }

    #[test]
    fn delays_have_their_means() {
        let ms = Duration::from_millis;
        for delay in [
            Delay::Fixed(ms(5)),
            Delay::Exponential(ms(5)),
            Delay::Normal { mean: ms(50), deviation: ms(10) },
            Delay::Bursts { size: 8.0, gap: ms(40) },
        ] {
            let mut random = Random::new(9);
            let sum: u64 = (0..200_000).map(|_| delay.draw(&mut random).nanoseconds()).sum();
            let mean = sum as f64 / 2e5;
            assert!((mean / delay.mean().nanoseconds() as f64 - 1.0).abs() < 0.02, "{delay:?}: {mean}");
        }
    }
}
