//! Pseudo-random numbers: the same for the same seed.

use rand_xoshiro::Xoshiro256StarStar;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// A generator (xoshiro256**, seeded by SplitMix64; Blackman and Vigna). The draws are ours: a
/// crate's may differ from version to version, and simulations of the same seed have the same
/// figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random(Xoshiro256StarStar);

impl Random {
    /// The generator for a seed.
    pub fn new(seed: u64) -> Random {
        Random(Xoshiro256StarStar::seed_from_u64(seed))
    }

    /// Another generator, identified by a number. Both generators are independent.
    pub fn part(&self, number: u64) -> Random {
        let state = self.0.state();
        let (words, _) = state.as_chunks::<8>();
        let turned = (0..).step_by(16).zip(words);
        let mixed = turned.fold(0, |mixed, (bits, word)| mixed ^ u64::from_le_bytes(*word).rotate_left(bits));
        Random::new(mixed ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform whole number below `bound`, which is positive (Lemire's method).
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below zero");
        loop {
            let wide = u128::from(self.bits()) * u128::from(bound);
            let low = wide as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }

    /// A uniform number, at least 0 and below 1.
    pub fn part_of_one(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether an event of this probability occurs.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.part_of_one() < probability
    }

    /// A number from the exponential distribution with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * (1.0 - self.part_of_one()).ln()
    }

    /// A number from the normal distribution (Marsaglia's polar method).
    pub fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        loop {
            let (x, y) = (2.0 * self.part_of_one() - 1.0, 2.0 * self.part_of_one() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return mean + deviation * x * (-2.0 * square.ln() / square).sqrt();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean and standard deviation of 200,000 numbers.
    fn moments(mut draw: impl FnMut(&mut Random) -> f64) -> (f64, f64) {
        let mut random = Random::new(1);
        let drawn: Vec<f64> = (0..200_000).map(|_| draw(&mut random)).collect();
        let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
        (mean, variance.sqrt())
    }

    #[test]
    fn distributions_have_their_moments() {
        let near = |found: (f64, f64), mean: f64, deviation: f64| {
            let scale = mean.abs().max(deviation);
            assert!(
                (found.0 - mean).abs() < 0.01 * scale && (found.1 - deviation).abs() < 0.01 * scale,
                "{found:?}"
            );
        };
        near(moments(Random::part_of_one), 0.5, 12_f64.sqrt().recip());
        near(moments(|random| random.exponential(3.0)), 3.0, 3.0);
        near(moments(|random| random.normal(-1.0, 4.0)), -1.0, 4.0);
        near(moments(|random| random.below(7) as f64), 3.0, 2.0);
        near(moments(|random| f64::from(u8::from(random.happens(0.2)))), 0.2, 0.4);
    }

    #[test]
    fn a_seed_gives_the_same_numbers_forever() {
        let mut random = Random::new(5);
        let mut part = random.part(1);
        let drawn = |random: &mut Random| [(); 3].map(|()| random.bits());
        assert_eq!(drawn(&mut random), [0x49d5_5178_ca54_cf69, 0x9a22_115a_4d26_24dc, 0xa648_b1cc_f0bb_bbae]);
        assert_eq!(drawn(&mut part), [0x6e68_b816_1a92_6099, 0xb68c_7135_4223_a932, 0xa2a5_bbc8_8957_56dc]);
    }

    #[test]
    fn a_seed_says_all_and_parts_are_apart() {
        assert_eq!(Random::new(5).bits(), Random::new(5).bits());
        assert_ne!(Random::new(5).bits(), Random::new(6).bits());
        let random = Random::new(5);
        assert_eq!(random.part(1), random.part(1));
        assert_ne!(random.part(1), random.part(2));
    }
}
