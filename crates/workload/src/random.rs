//! Pseudo-random numbers: the same for the same seed.

/// A generator (xoshiro256**, Blackman and Vigna), seeded by splitmix64.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// The generator for a seed.
    pub fn new(seed: u64) -> Random {
        let mut at = seed;
        let mut next = || {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = (at ^ at >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            mixed ^ mixed >> 31
        };
        Random { state: [next(), next(), next(), next()] }
    }

    /// Another generator, identified by a number. Both generators are independent.
    pub fn part(&self, number: u64) -> Random {
        let [a, b, c, d] = self.state;
        Random::new(
            a ^ b.rotate_left(16)
                ^ c.rotate_left(32)
                ^ d.rotate_left(48)
                ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93),
        )
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        let [a, b, c, d] = &mut self.state;
        let result = b.wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = *b << 17;
        *c ^= *a;
        *d ^= *b;
        *b ^= *c;
        *a ^= *d;
        *c ^= shifted;
        *d = d.rotate_left(45);
        result
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
    fn a_seed_says_all_and_parts_are_apart() {
        assert_eq!(Random::new(5).bits(), Random::new(5).bits());
        assert_ne!(Random::new(5).bits(), Random::new(6).bits());
        let random = Random::new(5);
        assert_eq!(random.part(1), random.part(1));
        assert_ne!(random.part(1), random.part(2));
    }
}
