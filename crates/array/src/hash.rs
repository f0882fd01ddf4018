//! The hash function for numbers of stripes: one multiplication, with the same result in every run.
//!
//! The standard library's hasher resists keys that an attacker chooses, and needs randomness for
//! that. Here there are no more keys than jobs, or stripes of a region, and the order of a map is
//! never visible.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map by numbers of stripes.
pub(crate) type ByStripe<K, V> = HashMap<K, V, BuildHasherDefault<Multiply>>;

/// Multiplies by 2⁶⁴ divided by the golden ratio (Knuth, The Art of Computer Programming, section
/// 6.4).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        // The best bits are the upper ones, and hash tables use the bits at both ends.
        self.0.rotate_left(32)
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}
