//! Pseudo-random numbers, and payload made of them.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// Pseudo-random numbers that choose what happens next: the state of a SplitMix64.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        let mut numbers = SplitMix64::seed_from_u64(self.0);
        let next = numbers.next_u64();
        self.0 = u64::from_le_bytes(numbers.state());
        next
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

/// Payload of `length` sectors; no two payloads are equal.
pub fn payload(random: &mut Random, length: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length as usize * 512);
    while bytes.len() < length as usize * 512 {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes
}
