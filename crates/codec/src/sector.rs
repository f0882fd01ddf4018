//! Keyed 64-bit checksums of sectors, linear under exclusive or.
//!
//! A checksum is the inner product of the sector's 64 words with 64 key words in GF(2⁶⁴). Two
//! different sectors have the same checksum with probability 2⁻⁶⁴ over the keys. The checksum is
//! linear: the checksum of old ⊕ new is the checksum of old ⊕ the checksum of new. So one pair of
//! checksums identifies both sides of a write and protects the difference between them.

use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The bytes of a sector.
pub const SECTOR_BYTES: usize = 512;

/// The 64-bit words of a sector.
const WORDS: usize = SECTOR_BYTES / 8;

/// The key of an array's checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectorKey {
    words: [u64; WORDS],
}

impl SectorKey {
    /// The key that is derived from an array's identity: numbers of the SplitMix64 sequence.
    pub fn new(identity: [u8; 16]) -> SectorKey {
        let (low, high) = identity.split_at(8);
        let word = |half: &[u8]| u64::from_le_bytes(half.try_into().expect("half of sixteen bytes"));
        let first = SplitMix64::seed_from_u64(word(low)).next_u64();
        let mut numbers = SplitMix64::seed_from_u64(first ^ word(high));
        SectorKey { words: std::array::from_fn(|_| numbers.next_u64()) }
    }

    /// The checksum of each sector of `bytes`, in order.
    ///
    /// # Panics
    /// If `bytes` is not a whole number of sectors.
    pub fn checksums<'a>(&'a self, bytes: &'a [u8]) -> impl Iterator<Item = u64> + 'a {
        let (sectors, rest) = bytes.as_chunks::<SECTOR_BYTES>();
        assert!(rest.is_empty(), "checksums are of whole sectors");
        sectors.iter().map(|sector| self.checksum(sector))
    }

    /// The checksum of one sector. That of zeroes is 0.
    pub fn checksum(&self, sector: &[u8; SECTOR_BYTES]) -> u64 {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("pclmulqdq") {
            // SAFETY: `product_pclmul` is unsafe to call only because it needs PCLMULQDQ, and the
            // line above found it.
            return reduce(unsafe { product_pclmul(sector, &self.words) });
        }
        reduce(product(sector, &self.words))
    }
}

/// A digest of sectors with these checksums, in their order. It is 0 if all sectors are zero.
pub fn digest(checksums: impl IntoIterator<Item = u64>) -> u32 {
    let mix = |mixed: u64, sum: u64| (mixed.rotate_left(5) ^ sum).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (checksums.into_iter().fold(0, mix) >> 32) as u32
}

/// The inner product before reduction, on any processor.
fn product(sector: &[u8; SECTOR_BYTES], key: &[u64; WORDS]) -> u128 {
    let (words, _) = sector.as_chunks::<8>();
    words.iter().zip(key).fold(0, |sum, (word, key)| sum ^ multiply(u64::from_le_bytes(*word), *key))
}

/// The product of two polynomials over GF(2).
fn multiply(a: u64, b: u64) -> u128 {
    (0..64).filter(|bit| b >> bit & 1 == 1).fold(0, |sum, bit| sum ^ u128::from(a) << bit)
}

/// The inner product before reduction, two words per step.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse2,pclmulqdq")]
fn product_pclmul(sector: &[u8; SECTOR_BYTES], key: &[u64; WORDS]) -> u128 {
    use std::arch::x86_64::{
        __m128i, _mm_clmulepi64_si128, _mm_set_epi64x, _mm_setzero_si128, _mm_storeu_si128, _mm_xor_si128,
    };
    let (words, _) = sector.as_chunks::<8>();
    let pair = |low: u64, high: u64| _mm_set_epi64x(high.cast_signed(), low.cast_signed());
    let mut sum = _mm_setzero_si128();
    for (words, key) in words.chunks_exact(2).zip(key.chunks_exact(2)) {
        let data = pair(u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1]));
        let key = pair(key[0], key[1]);
        let low = _mm_clmulepi64_si128::<0x00>(data, key);
        let high = _mm_clmulepi64_si128::<0x11>(data, key);
        sum = _mm_xor_si128(sum, _mm_xor_si128(low, high));
    }
    let mut out = 0u128;
    // SAFETY: the destination is sixteen bytes of this function, and the store needs no alignment.
    unsafe { _mm_storeu_si128((&raw mut out).cast::<__m128i>(), sum) };
    out
}

/// The product modulo the field's polynomial, x⁶⁴ + x⁴ + x³ + x + 1.
fn reduce(product: u128) -> u64 {
    // The upper half times the polynomial has at most 68 bits, so its own upper half is folded in
    // once more.
    let fold = |high: u64| {
        let high = u128::from(high);
        high ^ high << 1 ^ high << 3 ^ high << 4
    };
    let first = fold((product >> 64) as u64);
    let second = fold((first >> 64) as u64);
    product as u64 ^ first as u64 ^ second as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The field's polynomial without its highest term.
    const POLYNOMIAL: u64 = 0b1_1011;

    /// Checksums on members of existing arrays depend on it.
    #[test]
    fn an_identity_has_the_same_key_forever() {
        let key = SectorKey::new(*b"some array's own");
        assert_eq!(key.words[..2], [0xd514_22a1_870a_6830, 0xe060_74da_67ff_66a5]);
        assert_eq!(key.words[WORDS - 1], 0x6d7f_ed6e_d330_22ac);
    }

    #[test]
    fn the_portable_product_equals_the_chosen_one() {
        let key = SectorKey::new(*b"some array's own");
        let mut numbers = SplitMix64::seed_from_u64(7);
        for _ in 0..64 {
            let mut sector = [0; SECTOR_BYTES];
            numbers.fill_bytes(&mut sector);
            assert_eq!(reduce(product(&sector, &key.words)), key.checksum(&sector));
        }
    }

    #[test]
    fn a_digest_knows_each_sector_and_their_order() {
        let whole = digest([1, 2, 3]);
        for other in [digest([1, 2]), digest([2, 1, 3]), digest([1, 2, 4]), digest([0, 0, 0]), digest([])] {
            assert_ne!(whole, other);
        }
        assert_eq!(digest([0; 8]), 0);
    }

    #[test]
    fn the_field_has_its_polynomial() {
        // x⁶³ · x = x⁶⁴ = x⁴ + x³ + x + 1.
        assert_eq!(reduce(multiply(1 << 63, 2)), POLYNOMIAL);
        // x⁶³ · x⁶³ = x¹²⁶, which takes both folds: checked by 63 single multiplications with x.
        let by_x = |value: u64| reduce(multiply(value, 2));
        let expected = (0..63).fold(1u64 << 63, |value, _| by_x(value));
        assert_eq!(reduce(multiply(1 << 63, 1 << 63)), expected);
    }
}
