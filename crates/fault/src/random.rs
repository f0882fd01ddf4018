//! Random numbers from a seed: a generator for numbers that are drawn in order, and a keyed hash
//! for numbers that must not change when another event is removed from a script.

/// The last step of SplitMix64: each bit of `z` changes about half of the result's bits.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A sequence of random numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(mix(seed ^ 0x5041_524c_4f55_5221))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
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
        name.iter().fold(self.0, |hash, part| mix(hash.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ part))
    }
}
