//! Arithmetic between buffers: check units, deltas and comparisons.
//!
//! The first part is the destination or the reference, the others are the sources. All parts have
//! the same length. Nothing is allocated. The functions panic if parts overlap that must not, or if
//! an access is filling a part: the plan is wrong, and would corrupt a check unit.

use parlour_codec::galois::multiply_into;
use parlour_codec::sector::{SECTOR_BYTES, SectorKey};
use parlour_codec::xor as codec;

use crate::memory::{Buffer, Memory, Part};

/// The number of sources that the codec combines in one pass; a second pass adds the rest.
const GROUP: usize = 16;

/// Sets the first part to the exclusive or of the others. Without others it is zeroed; one other
/// part is copied.
///
/// # Panics
/// If there is no first part, lengths differ, or the first overlaps another.
pub fn xor(memory: &mut Memory, parts: &[Part]) {
    combine(memory, parts, codec::xor_of, codec::xor_into);
}

/// Adds each of the other parts, times `coefficient`, to the first part: over GF(2⁸), so that with
/// 1 they are XORed into it.
///
/// # Panics
/// As [`xor()`].
pub fn accumulate(memory: &mut Memory, parts: &[Part], coefficient: u8) {
    let add = |destination: &mut [u8], source: &[u8]| multiply_into(destination, source, coefficient);
    let add_all = |destination: &mut [u8], sources: &[&[u8]]| {
        sources.iter().for_each(|source| add(destination, source));
    };
    combine(memory, parts, add_all, add);
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

/// Applies `first` to the destination and the first group of sources, then `rest` to each of the
/// remaining sources.
fn combine(
    memory: &mut Memory,
    parts: &[Part],
    first: impl FnOnce(&mut [u8], &[&[u8]]),
    rest: impl Fn(&mut [u8], &[u8]),
) {
    let (destination, sources) = split(parts);
    // While the destination is lent, a source that overlaps it is refused.
    let mut lease = memory.lend_mut(destination);
    let bytes = lease.bytes_mut();
    let mut group: [&[u8]; GROUP] = [&[]; GROUP];
    let mut filled = 0;
    // Zeroes do not change the result.
    let mut sources = sources.iter().filter(|source| {
        assert_eq!(source.length, destination.length, "parts to be combined have one length");
        source.buffer != Buffer::Zeroes
    });
    for (slot, source) in group.iter_mut().zip(sources.by_ref()) {
        *slot = memory.read(*source);
        filled += 1;
    }
    first(bytes, &group[..filled]);
    for source in sources {
        rest(bytes, memory.read(*source));
    }
    memory.give_back(lease);
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
        accumulate(&mut memory, &[part(0, LENGTH), part(0, 0), part(1, 0), ZEROES], 1);
        assert_eq!(memory.read(part(0, LENGTH)), expected(&[(0, LENGTH), (0, 0), (1, 0)]));
    }

    #[test]
    fn any_number_of_sources_is_multiplied_and_added() {
        for count in [0, 1, 15, 16, 17, 40] {
            let mut memory = filled(count + 1);
            let parts: Vec<Part> = (0..=count).map(|number| part(number, 0)).collect();
            accumulate(&mut memory, &parts, 0x1d);
            let sources: Vec<_> = (1..=count).map(|number| (number, 0)).collect();
            let sums = expected(&sources).into_iter().zip(expected(&[(0, 0)]));
            // Multiplication distributes over addition.
            let sums: Vec<u8> = sums.map(|(sum, before)| before ^ galois::product(0x1d, sum)).collect();
            assert_eq!(memory.read(part(0, 0)), sums, "{count} sources");
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
