//! Sums of products over GF(2⁸), several at a time: the arithmetic of codes with check units.
//!
//! All slices of one call have the same length, of any size and alignment. As in
//! [`xor`](mod@crate::xor), every function panics on unequal lengths, in release builds too.

mod instructions;
mod kernel;
#[cfg(target_arch = "aarch64")]
mod neon;
mod pass;
mod portable;
mod tables;
#[cfg(test)]
mod tests;
#[cfg(target_arch = "x86_64")]
mod x86;

use instructions::Instructions;
use pass::{OUTPUTS, Pass, Start};

use crate::xor;

/// Sets each output to the sum of all sources times their coefficients:
/// `outputs[o] = Σ coefficients[o × sources + s] × sources[s]`. Without sources, the outputs are
/// filled with zeros.
///
/// # Panics
/// If lengths differ, or if there is not one coefficient for each pair of an output and a source.
pub fn sums_of(outputs: &mut [&mut [u8]], sources: &[&[u8]], coefficients: &[u8]) {
    compute(outputs, sources, coefficients, Start::Zero);
}

/// Adds such sums to the outputs: `outputs[o] += Σ coefficients[o × sources + s] × sources[s]`.
///
/// # Panics
/// As [`sums_of`].
pub fn add_sums(outputs: &mut [&mut [u8]], sources: &[&[u8]], coefficients: &[u8]) {
    compute(outputs, sources, coefficients, Start::Kept);
}

/// The name of the instructions that are used on this processor.
pub fn instructions() -> &'static str {
    best().name()
}

fn best() -> Instructions {
    Instructions::found().next().expect("the portable ones are always found")
}

/// From so many bytes on, outputs and sources are taken as being in memory, and outputs are stored
/// past the caches. That was measured on a processor with 32 MiB of third-level cache: 8 MiB are as
/// fast either way, and 16 MiB are a quarter faster so. Smaller outputs may still be read soon.
const LARGE: usize = 16 << 20;

fn compute(outputs: &mut [&mut [u8]], sources: &[&[u8]], coefficients: &[u8], start: Start) {
    let length = sources.first().map_or(0, |source| source.len());
    let is_large = (outputs.len() + sources.len()).saturating_mul(length) >= LARGE;
    let is_xor = || coefficients.len() == sources.len() && coefficients.iter().all(|value| *value == 1);
    match (outputs, start) {
        // These are as fast as a pass in long units, and a tenth faster in short ones.
        ([output], Start::Kept) if is_xor() => xor::xor_all_into(output, sources),
        ([output], Start::Zero) if !is_large && is_xor() => xor::xor_of(output, sources),
        (outputs, _) => combine(best(), outputs, sources, coefficients, start, is_large),
    }
}

/// The part of the sources that all outputs are computed from before the next one is begun, if one
/// pass is not enough for them.
const TILE: usize = 16 << 10;

/// Computes the sums with these instructions, pass by pass.
fn combine(
    instructions: Instructions,
    outputs: &mut [&mut [u8]],
    sources: &[&[u8]],
    coefficients: &[u8],
    start: Start,
    is_large: bool,
) {
    let length = check(outputs, sources, coefficients);
    if sources.is_empty() {
        if start == Start::Zero {
            outputs.iter_mut().for_each(|output| output.fill(0));
        }
    } else if outputs.len() > OUTPUTS {
        for at in (0..length).step_by(TILE) {
            let span = at..length.min(at + TILE);
            let rows = coefficients.chunks(OUTPUTS * sources.len());
            for (outputs, coefficients) in outputs.chunks_mut(OUTPUTS).zip(rows) {
                let span = span.clone();
                let mut pass = Pass { outputs, sources, coefficients, span, start, is_large };
                // SAFETY: the sources have the checked length.
                unsafe { instructions.run(&mut pass) };
            }
        }
    } else if !outputs.is_empty() {
        let mut pass = Pass { outputs, sources, coefficients, span: 0..length, start, is_large };
        // SAFETY: as above.
        unsafe { instructions.run(&mut pass) };
    }
}

/// Checks a call, and returns the length of its slices.
fn check(outputs: &[&mut [u8]], sources: &[&[u8]], coefficients: &[u8]) -> usize {
    let pairs = outputs.len() * sources.len();
    assert_eq!(coefficients.len(), pairs, "there must be a coefficient for each output and source");
    let first = outputs.first().map(|output| output.len()).or(sources.first().map(|source| source.len()));
    let length = first.unwrap_or(0);
    let is_equal = outputs.iter().all(|output| output.len() == length)
        && sources.iter().all(|source| source.len() == length);
    assert!(is_equal, "slices to be combined must have one length");
    length
}
