//! How long until the next request: think times of processes, gaps between arrivals.

use parlour_units::Duration;

use crate::random::Random;

/// A distribution of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// Always the same.
    Fixed(Duration),
    /// Exponential, with this mean: arrivals of a Poisson process, or think times without memory.
    Exponential(Duration),
    /// Normal; what is drawn below zero is zero.
    Normal {
        /// The mean.
        mean: Duration,
        /// The standard deviation.
        deviation: Duration,
    },
    /// So many at once, exponentially far apart.
    Bursts {
        /// How many, in the mean (geometrically distributed).
        size: f64,
        /// From one burst to the next, in the mean.
        gap: Duration,
    },
}

impl Delay {
    /// The next one.
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

    /// The mean of what is drawn. (Of a normal one as it would be without the end at zero.)
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
