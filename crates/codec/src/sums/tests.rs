//! Tests all instructions that this processor has against the portable loop, and that one against
//! the definition.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::field::product;

/// Sums to compute, at addresses with these distances from a multiple of 64.
#[derive(Clone, Debug)]
struct Case {
    length: usize,
    sources: Vec<usize>,
    outputs: Vec<usize>,
    coefficients: Vec<u8>,
    start: Start,
    is_large: bool,
    seed: u64,
}

/// Lengths around blocks and tiles, and any other length.
fn length() -> impl Strategy<Value = usize> {
    prop_oneof![
        8 => 0..600_usize,
        4 => 4_000..4_200_usize,
        2 => 16_300..16_500_usize,
        2 => 32_700..32_900_usize,
        1 => 65_500..65_700_usize,
        1 => 131_000..131_200_usize,
        2 => 0..40_000_usize,
    ]
}

/// Aligned or not.
fn skew() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0), 1 => 0..64_usize]
}

fn coefficient() -> impl Strategy<Value = u8> {
    prop_oneof![1 => Just(0), 2 => Just(1), 4 => any::<u8>()]
}

/// Coefficients in rows, of which some are all ones.
fn rows(outputs: usize, sources: usize) -> impl Strategy<Value = Vec<u8>> {
    let row = prop_oneof![2 => vec(coefficient(), sources), 1 => Just(vec![1; sources])];
    vec(row, outputs).prop_map(|rows| rows.concat())
}

fn case(
    length: impl Strategy<Value = usize>,
    outputs: impl Strategy<Value = usize>,
) -> impl Strategy<Value = Case> {
    let start = prop_oneof![Just(Start::Zero), Just(Start::Kept)];
    (length, outputs, 0..20_usize, start, any::<bool>(), any::<u64>()).prop_flat_map(
        |(length, outputs, sources, start, is_large, seed)| {
            let skews = (vec(skew(), outputs), vec(skew(), sources));
            (skews, rows(outputs, sources)).prop_map(move |((outputs, sources), coefficients)| Case {
                length,
                sources,
                outputs,
                coefficients,
                start,
                is_large,
                seed,
            })
        },
    )
}

/// Bytes at an address, between others that must not change.
struct Cut {
    bytes: Vec<u8>,
    at: usize,
    length: usize,
}

impl Cut {
    fn new(skew: usize, length: usize, seed: &mut u64) -> Cut {
        let mut bytes = vec![0xa5; length + 192];
        let at = bytes.as_ptr().align_offset(64) + skew;
        bytes[at..][..length].fill_with(|| {
            *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (*seed >> 56) as u8
        });
        Cut { bytes, at, length }
    }

    fn slice(&self) -> &[u8] {
        &self.bytes[self.at..][..self.length]
    }

    fn has_kept_surroundings(&self) -> bool {
        let (before, rest) = self.bytes.split_at(self.at);
        before.iter().chain(&rest[self.length..]).all(|byte| *byte == 0xa5)
    }
}

impl Case {
    fn sources(&self) -> Vec<Cut> {
        let mut seed = self.seed;
        self.sources.iter().map(|skew| Cut::new(*skew, self.length, &mut seed)).collect()
    }

    fn outputs(&self) -> Vec<Cut> {
        let mut seed = !self.seed;
        self.outputs.iter().map(|skew| Cut::new(*skew, self.length, &mut seed)).collect()
    }

    /// The outputs, computed with these instructions.
    fn run(&self, instructions: Instructions) -> Vec<Cut> {
        let (sources, mut outputs) = (self.sources(), self.outputs());
        let sources: Vec<&[u8]> = sources.iter().map(Cut::slice).collect();
        let mut slices: Vec<&mut [u8]> =
            outputs.iter_mut().map(|cut| &mut cut.bytes[cut.at..][..cut.length]).collect();
        let Case { coefficients, start, is_large, .. } = self;
        combine(instructions, &mut slices, &sources, coefficients, *start, *is_large);
        outputs
    }

    /// The outputs, computed byte by byte.
    fn define(&self) -> Vec<Vec<u8>> {
        let (sources, outputs) = (self.sources(), self.outputs());
        let sum = |row: &[u8], old: u8, at: usize| {
            let start = if self.start == Start::Kept { old } else { 0 };
            let products = sources.iter().zip(row).map(|(source, &c)| product(source.slice()[at], c));
            products.fold(start, |sum, product| sum ^ product)
        };
        let row = |o: usize| &self.coefficients[o * sources.len()..][..sources.len()];
        let output = |(o, cut): (usize, &Cut)| -> Vec<u8> {
            cut.slice().iter().enumerate().map(|(at, &old)| sum(row(o), old, at)).collect()
        };
        outputs.iter().enumerate().map(output).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_portable_loop_equals_the_definition(case in case(0..5_000_usize, 0..6_usize)) {
        let outputs = case.run(Instructions::Portable);
        prop_assert!(outputs.iter().map(Cut::slice).eq(case.define()));
        prop_assert!(outputs.iter().all(Cut::has_kept_surroundings));
    }

    #[test]
    fn all_instructions_equal_the_portable_loop(case in case(length(), 0..10_usize)) {
        let portable = case.run(Instructions::Portable);
        for instructions in Instructions::found() {
            let outputs = case.run(instructions);
            prop_assert!(
                outputs.iter().map(Cut::slice).eq(portable.iter().map(Cut::slice)),
                "{instructions:?}"
            );
            prop_assert!(outputs.iter().all(Cut::has_kept_surroundings), "{instructions:?}");
        }
    }
}

#[test]
fn all_products_are_right_with_all_instructions() {
    let source: Vec<u8> = (0..=255).collect();
    for instructions in Instructions::found() {
        for coefficient in 0..=255 {
            let mut output = [0; 256];
            let outputs = &mut [&mut output[..]];
            combine(instructions, outputs, &[&source], &[coefficient], Start::Zero, false);
            assert!((0..=255).all(|byte| output[usize::from(byte)] == product(byte, coefficient)));
        }
    }
}
