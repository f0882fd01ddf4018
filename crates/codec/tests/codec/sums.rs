//! Tests sums of products against products of single bytes.

use parlour_codec::galois::{multiply_into, product};
use parlour_codec::sums::{add_sums, instructions, sums_of};
use parlour_codec::xor::{xor_into, xor_of};

/// A source with each byte at each place of a vector.
fn source(number: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at * (2 * number + 3) + (at >> 7) * 41 + number) as u8).collect()
}

fn sources(count: usize, length: usize) -> Vec<Vec<u8>> {
    (0..count).map(|number| source(number, length)).collect()
}

fn slices(sources: &[Vec<u8>]) -> Vec<&[u8]> {
    sources.iter().map(Vec::as_slice).collect()
}

#[test]
fn each_output_is_the_sum_of_products_in_its_row() {
    let (count, length) = (19, 5_000);
    let all = sources(count, length);
    for outputs in 0..=9 {
        let coefficients: Vec<u8> = (0..outputs * count).map(|pair| (pair * 29 % 251) as u8).collect();
        let mut sums = vec![vec![0x5a; length]; outputs];
        let mut added = vec![vec![0x5a; length]; outputs];
        let mut of: Vec<&mut [u8]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
        sums_of(&mut of, &slices(&all), &coefficients);
        let mut to: Vec<&mut [u8]> = added.iter_mut().map(Vec::as_mut_slice).collect();
        add_sums(&mut to, &slices(&all), &coefficients);
        for (o, row) in coefficients.chunks(count).enumerate() {
            for at in 0..length {
                let products = all.iter().zip(row).map(|(source, c)| product(source[at], *c));
                let sum = products.fold(0, |sum, product| sum ^ product);
                assert_eq!((sums[o][at], added[o][at]), (sum, sum ^ 0x5a), "output {o}, byte {at}");
            }
        }
    }
}

#[test]
fn a_row_of_ones_is_an_exclusive_or() {
    let all = sources(6, 10_001);
    let (mut xor, mut sum, mut other) = (vec![0; 10_001], vec![0; 10_001], vec![0; 10_001]);
    xor_of(&mut xor, &slices(&all));
    sums_of(&mut [&mut sum], &slices(&all), &[1; 6]);
    assert!(sum == xor);
    sums_of(&mut [&mut other, &mut sum], &slices(&all), &[7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1]);
    assert!(sum == xor);
    xor_into(&mut xor, &all[0]);
    multiply_into(&mut sum, &all[0], 1);
    assert!(sum == xor);
}

#[test]
fn a_source_with_coefficient_0_changes_nothing() {
    let all = sources(3, 777);
    let (mut with, mut without) = (vec![1; 777], vec![1; 777]);
    sums_of(&mut [&mut with], &slices(&all), &[9, 0, 200]);
    sums_of(&mut [&mut without], &[&all[0], &all[2]], &[9, 200]);
    assert!(with == without);
}

#[test]
fn a_delta_brings_check_units_from_old_to_new() {
    let (mut all, coefficients) = (sources(5, 4_096), [1, 1, 1, 1, 1, 1, 2, 4, 8, 16]);
    let (mut p, mut q) = (vec![0; 4_096], vec![0; 4_096]);
    sums_of(&mut [&mut p, &mut q], &slices(&all), &coefficients);
    let mut delta = source(77, 4_096);
    add_sums(&mut [&mut p, &mut q], &[&delta], &[1, 8]);
    xor_into(&mut delta, &all[3].clone());
    all[3] = delta;
    let (mut new_p, mut new_q) = (vec![0; 4_096], vec![0; 4_096]);
    sums_of(&mut [&mut new_p, &mut new_q], &slices(&all), &coefficients);
    assert!(p == new_p && q == new_q);
}

/// So much that the outputs are stored past the caches.
#[test]
fn large_sums_are_the_same_as_small_ones() {
    let (count, length) = (11, 1_600_003);
    let all = sources(count, length);
    let coefficients: Vec<u8> = (1..=2 * count as u8).collect();
    let mut large = vec![vec![0; length]; 2];
    let [p, q] = &mut large[..] else { unreachable!("there are two") };
    sums_of(&mut [p, q], &slices(&all), &coefficients);
    for at in (0..length).step_by(100_000) {
        let end = length.min(at + 100_000);
        let parts: Vec<&[u8]> = all.iter().map(|source| &source[at..end]).collect();
        let (mut p, mut q) = (vec![0; end - at], vec![0; end - at]);
        sums_of(&mut [&mut p, &mut q], &parts, &coefficients);
        assert!(large[0][at..end] == p && large[1][at..end] == q);
    }
}

#[test]
fn without_sources_outputs_are_zeros_and_additions_change_nothing() {
    let mut output = [7; 5];
    add_sums(&mut [&mut output], &[], &[]);
    assert_eq!(output, [7; 5]);
    sums_of(&mut [&mut output], &[], &[]);
    assert_eq!(output, [0; 5]);
    sums_of(&mut [], &[&[1, 2, 3]], &[]);
    sums_of(&mut [], &[], &[]);
    sums_of(&mut [&mut []], &[&[]], &[3]);
}

#[test]
fn the_instructions_have_a_name() {
    assert!(!instructions().is_empty());
}

#[test]
#[should_panic(expected = "must have one length")]
fn a_longer_source_is_refused() {
    sums_of(&mut [&mut [0; 4]], &[&[0; 4], &[0; 5]], &[1, 2]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn a_shorter_output_is_refused() {
    add_sums(&mut [&mut [0; 4], &mut [0; 3]], &[&[0; 4]], &[1, 2]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn outputs_of_unequal_lengths_are_refused_without_sources() {
    sums_of(&mut [&mut [0; 4], &mut [0; 3]], &[], &[]);
}

#[test]
#[should_panic(expected = "a coefficient for each")]
fn a_missing_coefficient_is_refused() {
    sums_of(&mut [&mut [0; 4]], &[&[0; 4], &[0; 4]], &[1]);
}

#[test]
#[should_panic(expected = "must have one length")]
fn multiply_into_refuses_unequal_lengths() {
    multiply_into(&mut [0; 4], &[0; 5], 2);
}
