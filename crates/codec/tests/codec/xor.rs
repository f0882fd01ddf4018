//! Tests the exclusive or against a loop over bytes, at odd lengths and alignments.

use parlour_codec::xor::{delta, first_difference, is_zero, xor_into, xor_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

/// Longer than two tiles, so that tiles, groups, blocks and rests all occur.
const LONGEST: usize = 10_000;

/// Lengths around the sizes at which the code takes another path, and any other length.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![0..300_usize, 4000..4200_usize, 8000..8400_usize, 0..LONGEST]
}

/// Several slices of one length, each cut from its own buffer at its own alignment.
#[derive(Clone, Debug)]
struct Cuts {
    buffers: Vec<(usize, Vec<u8>)>,
    length: usize,
}

impl Cuts {
    fn slices(&self) -> Vec<&[u8]> {
        self.buffers.iter().map(|(skew, bytes)| &bytes[*skew..][..self.length]).collect()
    }
}

fn cuts(count: impl Strategy<Value = usize>) -> impl Strategy<Value = Cuts> {
    (length(), count).prop_flat_map(|(length, count)| {
        let buffer =
            (0..64_usize, any::<u64>()).prop_map(move |(skew, seed)| (skew, noise(skew + length, seed)));
        vec(buffer, count).prop_map(move |buffers| Cuts { buffers, length })
    })
}

/// Pseudo-random bytes: faster to make than with proptest, and not worth shrinking.
fn noise(length: usize, mut seed: u64) -> Vec<u8> {
    let step = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 56) as u8
    };
    std::iter::repeat_with(step).take(length).collect()
}

fn naive_xor_of(length: usize, sources: &[&[u8]]) -> Vec<u8> {
    (0..length).map(|i| sources.iter().fold(0, |sum, source| sum ^ source[i])).collect()
}

/// A destination with old bytes at an odd address, and bytes on both sides that must not change.
struct Destination {
    bytes: Vec<u8>,
    skew: usize,
    length: usize,
}

impl Destination {
    const OLD: u8 = 0xA5;

    fn new(skew: usize, length: usize) -> Self {
        Self { bytes: vec![Self::OLD; skew + length + 64], skew, length }
    }

    fn slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.skew..][..self.length]
    }

    fn surroundings_untouched(&self) -> bool {
        let (before, rest) = self.bytes.split_at(self.skew);
        before.iter().chain(&rest[self.length..]).all(|&byte| byte == Self::OLD)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn xor_of_equals_the_byte_loop(cuts in cuts(0..=30_usize), skew in 0..64_usize) {
        let mut dst = Destination::new(skew, cuts.length);
        xor_of(dst.slice(), &cuts.slices());
        prop_assert!(dst.slice() == naive_xor_of(cuts.length, &cuts.slices()));
        prop_assert!(dst.surroundings_untouched());
    }

    #[test]
    fn xor_into_adds_and_then_takes_away(cuts in cuts(Just(2)), skew in 0..64_usize) {
        let [kept, added] = cuts.slices()[..] else { unreachable!("two were asked for") };
        let mut dst = Destination::new(skew, cuts.length);
        dst.slice().copy_from_slice(kept);
        xor_into(dst.slice(), added);
        prop_assert!(dst.slice() == naive_xor_of(cuts.length, &[kept, added]));
        xor_into(dst.slice(), added);
        prop_assert!(dst.slice() == kept);
        prop_assert!(dst.surroundings_untouched());
    }

    #[test]
    fn delta_brings_parity_from_old_to_new(cuts in cuts(Just(3)), skew in 0..64_usize) {
        let [old, new, other] = cuts.slices()[..] else { unreachable!("three were asked for") };
        let mut change = Destination::new(skew, cuts.length);
        delta(change.slice(), old, new);
        prop_assert!(change.surroundings_untouched());
        let mut parity = naive_xor_of(cuts.length, &[old, other]);
        xor_into(&mut parity, change.slice());
        prop_assert!(parity == naive_xor_of(cuts.length, &[new, other]));
    }

    #[test]
    fn is_zero_sees_a_single_bit_anywhere(
        length in length(),
        skew in 0..64_usize,
        at in any::<Index>(),
        bit in 0..8_u32,
    ) {
        let mut bytes = vec![0_u8; skew + length];
        prop_assert!(is_zero(&bytes[skew..]));
        if length > 0 {
            bytes[skew + at.index(length)] = 1_u8 << bit;
            prop_assert!(!is_zero(&bytes[skew..]));
        }
    }

    #[test]
    fn first_difference_is_the_first_of_several(cuts in cuts(Just(1)), changed in vec(any::<Index>(), 0..4)) {
        let a = cuts.slices()[0];
        let mut b = a.to_vec();
        let changes = if a.is_empty() { &[] } else { &changed[..] };
        let changes: Vec<usize> = changes.iter().map(|change| change.index(a.len())).collect();
        for &at in &changes {
            b[at] = !a[at];
        }
        prop_assert_eq!(first_difference(a, &b), changes.iter().min().copied());
    }
}

#[test]
fn no_sources_give_zeros_and_one_gives_a_copy() {
    let mut dst = [7; 5];
    xor_of(&mut dst, &[b"abcde"]);
    assert_eq!(&dst, b"abcde");
    xor_of(&mut dst, &[]);
    assert_eq!(dst, [0; 5]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn xor_into_refuses_a_longer_source() {
    xor_into(&mut [0; 4], &[0; 5]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn xor_of_refuses_a_shorter_only_source() {
    xor_of(&mut [0; 4], &[&[0; 3]]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn xor_of_refuses_one_wrong_source_among_many() {
    xor_of(&mut [0; 4], &[&[0; 4], &[0; 4], &[0; 4], &[0; 4], &[0; 5]]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn delta_refuses_unequal_lengths() {
    delta(&mut [0; 4], &[0; 4], &[0; 3]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn first_difference_refuses_unequal_lengths() {
    first_difference(&[0; 4], &[0; 5]);
}
