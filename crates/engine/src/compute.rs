//! Arithmetic between buffers: check units, deltas and comparisons.
//!
//! All parts of a computation have the same length. Nothing is allocated. The functions panic if
//! parts overlap that must not, or if an access is filling a part: the plan is wrong, and would
//! corrupt a check unit.

use parlour_codec::sector::{SECTOR_BYTES, SectorKey};
use parlour_codec::sums::{add_sums, sums_of};
use parlour_codec::xor as codec;

use crate::memory::{Buffer, Memory, Part};
use crate::uring::Lease;

/// The number of sources that the codec combines in one pass; further passes add the rest.
const GROUP: usize = 16;

/// The greatest number of outputs of a sum: the check units of a stripe.
const OUTPUTS: usize = parlour_array::MOST_PARITIES as usize;

/// Sets each output to a sum of all sources over GF(2⁸), each times its coefficient: by output,
/// then by source. With `adds` the sums are added to the outputs.
///
/// # Panics
/// If there are no outputs or more than a stripe has parities, lengths differ, an output overlaps
/// another part, or there is not one coefficient for each pair.
pub fn sums(memory: &mut Memory, (outputs, sources): (&[Part], &[Part]), adds: bool, coefficients: &[u8]) {
    let count = outputs.len();
    assert!((1..=OUTPUTS).contains(&count), "a sum has an output for each parity at most");
    assert_eq!(coefficients.len(), count * sources.len(), "there is a coefficient for each pair");
    // While outputs are lent, a part that overlaps one is refused.
    let mut leases: [Option<Lease>; OUTPUTS] = std::array::from_fn(|index| {
        let output = outputs.get(index)?;
        assert_eq!(output.length, outputs[0].length, "outputs have one length");
        Some(memory.lend_mut(*output))
    });
    let mut adds = adds;
    // Zeroes do not change a sum.
    let mut rest = sources.iter().enumerate().filter(|(_, source)| {
        assert_eq!(source.length, outputs[0].length, "parts to be combined have one length");
        source.buffer != Buffer::Zeroes
    });
    loop {
        let (mut group, mut factors, mut filled) = ([&[][..]; GROUP], [0; GROUP * OUTPUTS], 0);
        let mut numbers = [0; GROUP];
        for (index, source) in rest.by_ref().take(GROUP) {
            (group[filled], numbers[filled]) = (memory.read(*source), index);
            filled += 1;
        }
        // (The first pass is needed without sources too: it sets outputs to zeroes.)
        if filled == 0 && adds {
            break;
        }
        let pairs =
            (0..count).flat_map(|output| numbers[..filled].iter().map(move |source| (output, *source)));
        for (factor, (output, source)) in factors.iter_mut().zip(pairs) {
            *factor = coefficients[output * sources.len() + source];
        }
        let mut bytes = leases.each_mut().map(|lease| match lease {
            Some(lease) => lease.bytes_mut(),
            None => &mut [],
        });
        let combine = if adds { add_sums } else { sums_of };
        combine(&mut bytes[..count], &group[..filled], &factors[..count * filled]);
        adds = true;
    }
    leases.into_iter().flatten().for_each(|lease| memory.give_back(lease));
}

/// Whether any part differs from the first.
///
/// # Panics
/// If there is no first part or lengths differ.
pub fn differs(memory: &Memory, parts: &[Part]) -> bool {
    let (first, others) = split(parts);
    others.iter().any(|other| differ(memory, first, *other))
}

/// Appends the checksum of each sector of all parts to `sums`, in the order of the parts.
///
/// # Panics
/// If a part is not a whole number of sectors.
pub fn checksums(memory: &Memory, parts: &[Part], key: &SectorKey, sums: &mut Vec<u64>) {
    for part in parts {
        match part.buffer {
            Buffer::Zeroes => sums.resize(sums.len() + part.length / SECTOR_BYTES, 0),
            _ => sums.extend(key.checksums(memory.read(*part))),
        }
    }
}

fn differ(memory: &Memory, a: Part, b: Part) -> bool {
    assert_eq!(a.length, b.length, "parts to be compared have one length");
    match (a.buffer, b.buffer) {
        (Buffer::Zeroes, Buffer::Zeroes) => false,
        // The zeroes have no memory of their full length to compare with.
        (Buffer::Zeroes, _) => !codec::is_zero(memory.read(b)),
        (_, Buffer::Zeroes) => !codec::is_zero(memory.read(a)),
        _ => codec::first_difference(memory.read(a), memory.read(b)).is_some(),
    }
}

fn split(parts: &[Part]) -> (Part, &[Part]) {
    let (first, others) = parts.split_first().expect("a computation names what it is about first");
    (*first, others)
}

#[cfg(test)]
mod tests {
    use super::*;
    use parlour_codec::galois;
    use parlour_units::Bytes;

    const LENGTH: usize = 4096;

    fn part(number: u32, start: usize) -> Part {
        Part { buffer: Buffer::Payload(number), start, length: LENGTH }
    }

    const ZEROES: Part = Part { buffer: Buffer::Zeroes, start: 0, length: LENGTH };

    /// Buffers 0 to `count`, each with two parts. Byte `i` of each part has a value that depends on
    /// the buffer, the part and `i`.
    fn filled(count: u32) -> Memory {
        let mut memory = Memory::new(Bytes::ZERO);
        for number in 0..count {
            memory.take(number, 2 * LENGTH);
            for start in [0, LENGTH] {
                for (index, byte) in memory.write(part(number, start)).iter_mut().enumerate() {
                    *byte = value(number, start, index);
                }
            }
        }
        memory
    }

    fn value(number: u32, start: usize, index: usize) -> u8 {
        (number as usize * 31 + start / 512 + index * 7 + index / 251) as u8
    }

    fn expected(sources: &[(u32, usize)]) -> Vec<u8> {
        (0..LENGTH).map(|i| sources.iter().fold(0, |sum, (n, start)| sum ^ value(*n, *start, i))).collect()
    }

    /// Sets the first part to the exclusive or of the others.
    fn xor(memory: &mut Memory, parts: &[Part]) {
        sums(memory, parts.split_at(1), false, &vec![1; parts.len() - 1]);
    }

    #[test]
    fn a_destination_becomes_the_sum_of_any_number_of_sources() {
        for count in [0, 1, 2, 15, 16, 17, 40] {
            let mut memory = filled(count + 1);
            let parts: Vec<Part> = (0..=count).map(|number| part(number, 0)).collect();
            xor(&mut memory, &parts);
            let sources: Vec<_> = (1..=count).map(|number| (number, 0)).collect();
            assert_eq!(memory.read(part(0, 0)), expected(&sources), "{count} sources");
        }
    }

    #[test]
    fn sources_may_lie_in_the_destinations_buffer() {
        let mut memory = filled(2);
        let sources = [part(0, 0), part(1, 0), ZEROES];
        sums(&mut memory, (&[part(0, LENGTH)], &sources), true, &[1, 1, 1]);
        assert_eq!(memory.read(part(0, LENGTH)), expected(&[(0, LENGTH), (0, 0), (1, 0)]));
    }

    #[test]
    fn any_number_of_sources_is_multiplied_and_summed_in_several_outputs() {
        let factor = |output: usize, source: usize| ((output * 91 + source * 7) % 256) as u8;
        for (outputs, count, adds) in [0, 1, 15, 16, 17, 40]
            .into_iter()
            .flat_map(|count| [(1, count, true), (4, count, false), (3, count, true)])
        {
            let mut memory = filled((outputs + count) as u32);
            let of =
                |from: usize, to: usize| (from..to).map(|number| part(number as u32, 0)).collect::<Vec<_>>();
            let (to, mut from) = (of(0, outputs), of(outputs, outputs + count));
            from.insert(count / 2, ZEROES);
            let number = |source: usize| source - usize::from(source > count / 2);
            let pairs = (0..outputs).flat_map(|output| (0..=count).map(move |source| (output, source)));
            let coefficients: Vec<u8> =
                pairs.map(|(output, source)| factor(output, number(source))).collect();
            sums(&mut memory, (&to, &from), adds, &coefficients);
            for output in 0..outputs {
                let at = |i: usize| {
                    let held = if adds { value(output as u32, 0, i) } else { 0 };
                    let terms = (0..count).map(|source| {
                        galois::product(factor(output, source), value((outputs + source) as u32, 0, i))
                    });
                    terms.fold(held, |sum, term| sum ^ term)
                };
                let sum: Vec<u8> = (0..LENGTH).map(at).collect();
                assert!(memory.read(part(output as u32, 0)) == sum, "{output} of {outputs}, {count} sources");
            }
        }
    }

    #[test]
    #[should_panic(expected = "in use by an access")]
    fn a_source_that_overlaps_the_destination_is_refused() {
        xor(&mut filled(1), &[part(0, 0), part(0, 512)]);
    }

    #[test]
    fn zeroes_are_a_source_of_any_length() {
        let mut memory = filled(1);
        xor(&mut memory, &[part(0, 0), ZEROES]);
        assert!(!differs(&memory, &[part(0, 0), ZEROES]));
        assert!(differs(&memory, &[part(0, LENGTH), ZEROES]));
        assert!(differs(&memory, &[ZEROES, part(0, 0), part(0, LENGTH)]));
    }

    #[test]
    fn every_part_is_compared_with_the_first() {
        let mut memory = filled(3);
        xor(&mut memory, &[part(0, 0), part(1, 0)]);
        assert!(!differs(&memory, &[part(0, 0), part(1, 0)]));
        assert!(differs(&memory, &[part(0, 0), part(1, 0), part(2, 0)]));
    }
}
