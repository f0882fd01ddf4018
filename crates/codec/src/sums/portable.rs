//! The sums for processors without the instructions that are used elsewhere, and the bytes at the
//! end that fill no vector.

use std::ops::Range;

use super::tables::HALVES;

/// The part of an output that is completed before the next one is begun. It stays in the
/// first-level cache meanwhile.
const TILE: usize = 4096;

/// Adds the sums to the bytes `span` of the outputs. The coefficients are in rows, one for each
/// output.
pub(super) fn add(outputs: &mut [&mut [u8]], sources: &[&[u8]], coefficients: &[u8], span: Range<usize>) {
    for at in span.clone().step_by(TILE) {
        let tile = at..span.end.min(at + TILE);
        for (output, row) in outputs.iter_mut().zip(coefficients.chunks_exact(sources.len())) {
            for (source, coefficient) in sources.iter().zip(row) {
                add_product(&mut output[tile.clone()], &source[tile.clone()], *coefficient);
            }
        }
    }
}

fn add_product(sums: &mut [u8], source: &[u8], coefficient: u8) {
    match coefficient {
        0 => {}
        1 => sums.iter_mut().zip(source).for_each(|(sum, byte)| *sum ^= byte),
        _ => {
            let halves = &HALVES[usize::from(coefficient)];
            for (sum, byte) in sums.iter_mut().zip(source) {
                *sum ^= halves.low[usize::from(byte & 15)] ^ halves.high[usize::from(byte >> 4)];
            }
        }
    }
}
