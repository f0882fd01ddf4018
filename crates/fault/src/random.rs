//! Random numbers from a seed: a generator for numbers that are drawn in order, and a keyed hash
//! for numbers that must not change when another event is removed from a script.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// What SplitMix64 adds to its state before it mixes it.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// The mixing of SplitMix64, without the step before it: each bit of `z` changes about half of the
/// result's bits.
pub(crate) fn mix(z: u64) -> u64 {
    SplitMix64::seed_from_u64(z.wrapping_sub(STEP)).next_u64()
}

/// A sequence of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(SplitMix64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(SplitMix64::seed_from_u64(mix(seed ^ 0x5041_524c_4f55_5221)))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub(crate) fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    /// An index into `weights`. Its probability is proportional to its weight.
    pub(crate) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut left = self.below(weights.iter().sum::<u64>().max(1));
        for (index, weight) in weights.iter().enumerate() {
            if left < *weight {
                return index;
            }
            left -= weight;
        }
        0
    }
}

/// Random numbers by name, independent of the order in which they are drawn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed(u64);

impl Keyed {
    pub(crate) fn new(seed: u64) -> Keyed {
        Keyed(mix(seed ^ 0x6b65_7965_6420_6861))
    }

    pub(crate) fn of(self, name: &[u64]) -> u64 {
        name.iter().fold(self.0, |hash, part| mix(hash.wrapping_add(STEP) ^ part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seeds that are written down replay the same scripts.
    #[test]
    fn a_seed_gives_the_same_numbers_forever() {
        let mut random = Random::new(1);
        let drawn = [(); 3].map(|()| random.next());
        assert_eq!(drawn, [0x21a6_1f00_0b14_dbea, 0x1ab6_f9c3_27d3_6680, 0xa2b3_f30d_9059_1241]);
        assert_eq!(Keyed::new(1).of(&[2, 3]), 0x1ead_48dd_c4cb_98a0);
    }
}
