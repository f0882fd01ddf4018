//! The vectors of x86-64.

use std::arch::x86_64::*;

use super::kernel::{Multiplication, Vector};
use super::tables::{HALVES, MATRICES};

macro_rules! vector {
    ($vector:ty, $features:literal, $zero:ident, $load:ident, $store:ident, $stream:ident, $xor:ident) => {
        impl Vector for $vector {
            const BYTES: usize = size_of::<Self>();

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn zero() -> Self {
                $zero()
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn load(from: *const u8) -> Self {
                // SAFETY: the caller's pointer is valid, and this load takes any alignment.
                unsafe { $load(from.cast()) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller's pointer is valid, and this store takes any alignment.
                unsafe { $store(to.cast(), self) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn stream(self, to: *mut u8) {
                // SAFETY: the caller's pointer is valid and aligned, and the caller will fence.
                unsafe { $stream(to.cast(), self) }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn fence() {
                #[allow(unused_unsafe, reason = "it has become safe after the oldest compiler")]
                // SAFETY: each processor with vectors has it.
                unsafe {
                    _mm_sfence();
                }
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn xor(self, other: Self) -> Self {
                $xor(self, other)
            }

            #[inline]
            #[target_feature(enable = $features)]
            unsafe fn prefetch(from: *const u8) {
                #[allow(unused_unsafe, reason = "it has become safe after the oldest compiler")]
                // SAFETY: a prefetch reads nothing that could be seen, at any address.
                unsafe {
                    _mm_prefetch::<_MM_HINT_T1>(from.cast())
                }
            }
        }
    };
}

vector!(
    __m512i,
    "avx512f",
    _mm512_setzero_si512,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_stream_si512,
    _mm512_xor_si512
);
vector!(
    __m256i,
    "avx2",
    _mm256_setzero_si256,
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_stream_si256,
    _mm256_xor_si256
);
vector!(
    __m128i,
    "sse2",
    _mm_setzero_si128,
    _mm_loadu_si128,
    _mm_storeu_si128,
    _mm_stream_si128,
    _mm_xor_si128
);

/// Matrices of GFNI on vectors of AVX-512.
pub(super) struct Gfni512;

impl Multiplication for Gfni512 {
    type Vector = __m512i;
    type Factor = __m512i;
    type Coefficient = __m512i;

    #[inline]
    #[target_feature(enable = "avx512f,gfni")]
    unsafe fn factor(vector: __m512i) -> __m512i {
        vector
    }

    #[inline]
    #[target_feature(enable = "avx512f,gfni")]
    unsafe fn coefficient(value: u8) -> __m512i {
        _mm512_set1_epi64(MATRICES[usize::from(value)].cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx512f,gfni")]
    unsafe fn product(factor: __m512i, coefficient: __m512i) -> __m512i {
        _mm512_gf2p8affine_epi64_epi8::<0>(factor, coefficient)
    }
}

/// Matrices of GFNI on vectors of AVX2.
pub(super) struct Gfni256;

impl Multiplication for Gfni256 {
    type Vector = __m256i;
    type Factor = __m256i;
    type Coefficient = __m256i;

    #[inline]
    #[target_feature(enable = "avx2,gfni")]
    unsafe fn factor(vector: __m256i) -> __m256i {
        vector
    }

    #[inline]
    #[target_feature(enable = "avx2,gfni")]
    unsafe fn coefficient(value: u8) -> __m256i {
        _mm256_set1_epi64x(MATRICES[usize::from(value)].cast_signed())
    }

    #[inline]
    #[target_feature(enable = "avx2,gfni")]
    unsafe fn product(factor: __m256i, coefficient: __m256i) -> __m256i {
        _mm256_gf2p8affine_epi64_epi8::<0>(factor, coefficient)
    }
}

/// Lookups of half bytes, 32 at a time.
pub(super) struct Avx2;

impl Multiplication for Avx2 {
    type Vector = __m256i;
    /// The low halves and the high halves.
    type Factor = [__m256i; 2];
    type Coefficient = [__m256i; 2];

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn factor(vector: __m256i) -> [__m256i; 2] {
        let low = _mm256_set1_epi8(15);
        [_mm256_and_si256(vector, low), _mm256_and_si256(_mm256_srli_epi64::<4>(vector), low)]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn coefficient(value: u8) -> [__m256i; 2] {
        let halves = &HALVES[usize::from(value)];
        // SAFETY: each table has 16 bytes.
        let [low, high] =
            [&halves.low, &halves.high].map(|table| unsafe { _mm_loadu_si128(table.as_ptr().cast()) });
        [_mm256_broadcastsi128_si256(low), _mm256_broadcastsi128_si256(high)]
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn product(factor: [__m256i; 2], coefficient: [__m256i; 2]) -> __m256i {
        let low = _mm256_shuffle_epi8(coefficient[0], factor[0]);
        _mm256_xor_si256(low, _mm256_shuffle_epi8(coefficient[1], factor[1]))
    }
}

/// Lookups of half bytes, 16 at a time.
pub(super) struct Ssse3;

impl Multiplication for Ssse3 {
    type Vector = __m128i;
    /// The low halves and the high halves.
    type Factor = [__m128i; 2];
    type Coefficient = [__m128i; 2];

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn factor(vector: __m128i) -> [__m128i; 2] {
        let low = _mm_set1_epi8(15);
        [_mm_and_si128(vector, low), _mm_and_si128(_mm_srli_epi64::<4>(vector), low)]
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn coefficient(value: u8) -> [__m128i; 2] {
        let halves = &HALVES[usize::from(value)];
        // SAFETY: each table has 16 bytes.
        [&halves.low, &halves.high].map(|table| unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
    }

    #[inline]
    #[target_feature(enable = "ssse3")]
    unsafe fn product(factor: [__m128i; 2], coefficient: [__m128i; 2]) -> __m128i {
        let low = _mm_shuffle_epi8(coefficient[0], factor[0]);
        _mm_xor_si128(low, _mm_shuffle_epi8(coefficient[1], factor[1]))
    }
}
