//! Turns of both, and what they give.

use std::hint::black_box;

use parlour_codec::sums;

use crate::cases::Case;
use crate::isal::Isal;
use crate::memory::{Units, seconds};

/// What a case has given: medians over the runs. Rates are in gigabytes of sources a second.
pub(crate) struct Rates {
    pub(crate) ours: f64,
    pub(crate) isal: f64,
    /// Our rate divided by that of ISA-L.
    pub(crate) of_isal: f64,
    /// Our rate divided by that of reading the sources, one after the other.
    pub(crate) of_read: f64,
}

/// The bytes of sources of a turn, if they are in the caches: a turn takes about a millisecond.
const TURN: usize = 32 << 20;

/// Measures a case with units of so many bytes.
pub(crate) fn measure(isal: &Isal, case: &Case, unit: usize, runs: u16) -> Rates {
    let mut units = Units::new(case.sources() + case.outputs, unit);
    let (sources, mut outputs) = units.split(case.sources(), case.outputs);
    compare(isal, case, &mut outputs, &sources);
    let bytes = unit * case.sources();
    let times = (TURN / bytes).max(1);
    let turn = |work: &mut dyn FnMut()| {
        let seconds = seconds(|| (0..times).for_each(|_| work()));
        (bytes * times) as f64 / seconds / 1e9
    };
    let (mut ours, mut theirs, mut reads) = (vec![], vec![], vec![]);
    for _ in 0..runs {
        ours.push(turn(&mut || compute(case, black_box(&mut outputs), black_box(&sources))));
        let mut call = isal.prepare(case.function, &mut outputs, &sources, &case.coefficients);
        theirs.push(turn(&mut || call.run()));
        reads.push(turn(&mut || sources.iter().for_each(|source| read(source))));
    }
    Rates {
        of_isal: median(ratios(&ours, &theirs)),
        of_read: median(ratios(&ours, &reads)),
        ours: median(ours),
        isal: median(theirs),
    }
}

fn compute(case: &Case, outputs: &mut [&mut [u8]], sources: &[&[u8]]) {
    if case.adds() {
        sums::add_sums(outputs, sources, &case.coefficients);
    } else {
        sums::sums_of(outputs, sources, &case.coefficients);
    }
}

/// Reads all bytes, in eight sums that do not wait for each other.
fn read(source: &[u8]) {
    let (lines, _) = source.as_chunks::<64>();
    let add = |mut sums: [u64; 8], line: &[u8; 64]| {
        let (words, _) = line.as_chunks::<8>();
        sums.iter_mut().zip(words).for_each(|(sum, word)| *sum ^= u64::from_ne_bytes(*word));
        sums
    };
    black_box(lines.iter().fold([0; 8], add));
}

/// Checks that both compute the same.
fn compare(isal: &Isal, case: &Case, outputs: &mut [&mut [u8]], sources: &[&[u8]]) {
    let copy = |outputs: &[&mut [u8]]| outputs.iter().map(|output| output.to_vec()).collect::<Vec<_>>();
    let old = copy(outputs);
    compute(case, outputs, sources);
    let ours = copy(outputs);
    outputs.iter_mut().zip(&old).for_each(|(output, old)| output.copy_from_slice(old));
    isal.prepare(case.function, outputs, sources, &case.coefficients).run();
    assert!(copy(outputs) == ours, "{} of {} differs", case.operation.name(), case.code.name());
}

fn ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a / b).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values[values.len() / 2]
}
