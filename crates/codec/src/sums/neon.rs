//! The vectors of AArch64.

use std::arch::aarch64::*;

use super::kernel::{Multiplication, Vector};
use super::tables::HALVES;

impl Vector for uint8x16_t {
    const BYTES: usize = size_of::<Self>();

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn zero() -> Self {
        vdupq_n_u8(0)
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's pointer is valid.
        unsafe { vld1q_u8(from) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's pointer is valid.
        unsafe { vst1q_u8(to, self) }
    }

    /// The compiler has no function for such a store.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn stream(self, to: *mut u8) {
        // SAFETY: the caller's pointer is valid.
        unsafe { vst1q_u8(to, self) }
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn fence() {}

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn xor(self, other: Self) -> Self {
        veorq_u8(self, other)
    }

    /// The compiler has no stable function for it.
    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn prefetch(_: *const u8) {}
}

/// Lookups of half bytes, 16 at a time.
pub(super) struct Neon;

impl Multiplication for Neon {
    type Vector = uint8x16_t;
    /// The low halves and the high halves.
    type Factor = [uint8x16_t; 2];
    type Coefficient = [uint8x16_t; 2];

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn factor(vector: uint8x16_t) -> [uint8x16_t; 2] {
        [vandq_u8(vector, vdupq_n_u8(15)), vshrq_n_u8::<4>(vector)]
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn coefficient(value: u8) -> [uint8x16_t; 2] {
        let halves = &HALVES[usize::from(value)];
        // SAFETY: each table has 16 bytes.
        [&halves.low, &halves.high].map(|table| unsafe { vld1q_u8(table.as_ptr()) })
    }

    #[inline]
    #[target_feature(enable = "neon")]
    unsafe fn product(factor: [uint8x16_t; 2], coefficient: [uint8x16_t; 2]) -> uint8x16_t {
        veorq_u8(vqtbl1q_u8(coefficient[0], factor[0]), vqtbl1q_u8(coefficient[1], factor[1]))
    }
}
