//! Exclusive or of byte slices, and related comparisons.
//!
//! All slices of one call have the same length, of any size and alignment. Unequal lengths are a
//! programming error that would corrupt parity silently, so every function panics on them, in
//! release builds too.

/// `dst ^= src`.
///
/// # Panics
/// If the lengths differ.
pub fn xor_into(dst: &mut [u8], src: &[u8]) {
    combine(dst, &[src], Start::Kept);
}

/// `dst ^=` each of the sources.
///
/// # Panics
/// If a source's length differs from that of `dst`.
pub(crate) fn xor_all_into(dst: &mut [u8], sources: &[&[u8]]) {
    combine(dst, sources, Start::Kept);
}

/// Sets `dst` to the exclusive or of all `sources`. Without sources it is filled with zeros; one
/// source is copied.
///
/// # Panics
/// If a source's length differs from that of `dst`.
pub fn xor_of(dst: &mut [u8], sources: &[&[u8]]) {
    match sources {
        [] => dst.fill(0),
        [only] => {
            assert_same_length(dst.len(), only.len());
            dst.copy_from_slice(only);
        }
        many => combine(dst, many, Start::Zero),
    }
}

/// `dst = old ^ new`: the change of a write, and of its check unit.
///
/// # Panics
/// If the lengths differ.
pub fn delta(dst: &mut [u8], old: &[u8], new: &[u8]) {
    combine(dst, &[old, new], Start::Zero);
}

/// Whether every byte is zero; true for no bytes.
pub fn is_zero(bytes: &[u8]) -> bool {
    static ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| chunk == &ZEROS[..chunk.len()])
}

/// The index of the first byte in which `a` and `b` differ; `None` if they are equal.
///
/// # Panics
/// If the lengths differ.
pub fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    const CHUNK: usize = 512;
    assert_same_length(a.len(), b.len());
    // Whole chunks are compared by the C library's vectorised function; only the first different
    // chunk is searched.
    let chunk = a.chunks(CHUNK).zip(b.chunks(CHUNK)).position(|(x, y)| x != y)?;
    let start = chunk * CHUNK;
    let within = a[start..].iter().zip(&b[start..]).position(|(x, y)| x != y)?;
    Some(start + within)
}

/// The content of the destination before the sources are combined into it.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    /// Its own bytes are combined too.
    Kept,
    /// Its own bytes are ignored.
    Zero,
}

/// The part of the destination that is completed before the next one is begun. It stays in the
/// first-level cache while the groups of sources are added, and it is long enough for the
/// prefetcher to follow each source.
const TILE: usize = 4096;

/// The sources added per pass over a tile: enough that the tile's own memory traffic is small, and
/// few enough for the registers.
const GROUP: usize = 4;

/// The sources added at once if there are no more and the first-level cache may have them: a second
/// pass would then take longer than what registers cost.
const SHORT_GROUP: usize = 8;

/// The bytes that one step of the inner loop holds in registers: four vectors of AVX-512, or eight
/// of AVX2.
const BLOCK: usize = 256;

/// Combines `sources` into `dst`, with the widest instructions that the processor has.
fn combine(dst: &mut [u8], sources: &[&[u8]], start: Start) {
    for source in sources {
        assert_same_length(dst.len(), source.len());
    }
    // On Sapphire Rapids twice as fast as AVX2 in the first-level cache; on Zen 4 no faster.
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx512f") {
        // SAFETY: `combine_avx512` is unsafe to call only because it needs AVX-512, and the line
        // above found it.
        return unsafe { combine_avx512(dst, sources, start) };
    }
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: `combine_avx2` is unsafe to call only because it needs AVX2, and the line above
        // found it.
        return unsafe { combine_avx2(dst, sources, start) };
    }
    combine_tiles(dst, sources, start);
}

/// [`combine_tiles`] compiled for AVX-512.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn combine_avx512(dst: &mut [u8], sources: &[&[u8]], start: Start) {
    combine_tiles(dst, sources, start);
}

/// [`combine_tiles`] compiled for AVX2: loops over fixed blocks, which are as fast as intrinsics.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn combine_avx2(dst: &mut [u8], sources: &[&[u8]], start: Start) {
    combine_tiles(dst, sources, start);
}

/// Works tile by tile, group by group. Everything is inlined, so that it is compiled for its
/// caller's CPU features.
#[inline(always)]
fn combine_tiles(dst: &mut [u8], sources: &[&[u8]], start: Start) {
    if let [only] = sources {
        return combine_blocks(dst, [only], start);
    }
    let is_short = dst.len() <= TILE && sources.len() <= SHORT_GROUP;
    let group = if is_short { SHORT_GROUP } else { GROUP };
    for (index, tile) in dst.chunks_mut(TILE).enumerate() {
        let mut start = start;
        for group in sources.chunks(group) {
            combine_group(tile, group, index * TILE, start);
            start = Start::Kept;
        }
    }
}

/// Adds up to [`SHORT_GROUP`] sources, from `offset` on, to one tile.
#[inline(always)]
fn combine_group(tile: &mut [u8], group: &[&[u8]], offset: usize, start: Start) {
    let length = tile.len();
    match *group {
        [a] => combine_blocks(tile, [a].map(|s| &s[offset..][..length]), start),
        [a, b] => combine_blocks(tile, [a, b].map(|s| &s[offset..][..length]), start),
        [a, b, c] => combine_blocks(tile, [a, b, c].map(|s| &s[offset..][..length]), start),
        [a, b, c, d] => combine_blocks(tile, [a, b, c, d].map(|s| &s[offset..][..length]), start),
        [a, b, c, d, e] => combine_blocks(tile, [a, b, c, d, e].map(|s| &s[offset..][..length]), start),
        [a, b, c, d, e, f] => combine_blocks(tile, [a, b, c, d, e, f].map(|s| &s[offset..][..length]), start),
        [a, b, c, d, e, f, g] => {
            combine_blocks(tile, [a, b, c, d, e, f, g].map(|s| &s[offset..][..length]), start)
        }
        [a, b, c, d, e, f, g, h] => {
            combine_blocks(tile, [a, b, c, d, e, f, g, h].map(|s| &s[offset..][..length]), start)
        }
        _ => unreachable!("groups have 1 to {SHORT_GROUP} sources"),
    }
}

/// The inner loop: whole blocks through registers, then the remaining bytes.
#[inline(always)]
fn combine_blocks<const N: usize>(dst: &mut [u8], sources: [&[u8]; N], start: Start) {
    let (blocks, rest) = dst.as_chunks_mut::<BLOCK>();
    let source_blocks = sources.map(|s| &s.as_chunks::<BLOCK>().0[..blocks.len()]);
    let source_rests = sources.map(|s| &s.as_chunks::<BLOCK>().1[..rest.len()]);
    for (i, block) in blocks.iter_mut().enumerate() {
        let mut sum = if start == Start::Kept { *block } else { [0; BLOCK] };
        for source in &source_blocks {
            for (byte, added) in sum.iter_mut().zip(&source[i]) {
                *byte ^= added;
            }
        }
        *block = sum;
    }
    for (i, byte) in rest.iter_mut().enumerate() {
        let kept = if start == Start::Kept { *byte } else { 0 };
        *byte = source_rests.iter().fold(kept, |sum, source| sum ^ source[i]);
    }
}

/// The check of every function here.
#[track_caller]
fn assert_same_length(expected: usize, found: usize) {
    assert_eq!(expected, found, "slices to be combined or compared must have one length");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The loop of processors without AVX2. The tests in `tests/` run it only on these.
    #[test]
    fn the_portable_loop_equals_the_chosen_one() {
        let source = |seed: usize, length: usize| -> Vec<u8> {
            (0..length).map(|i| ((i * seed) >> 3) as u8).collect()
        };
        // Long units are combined in groups of sources, short ones at once.
        for length in [2 * TILE + BLOCK + 5, TILE, BLOCK + 5] {
            let sources: Vec<_> = (1..=SHORT_GROUP + 1).map(|seed| source(seed, length)).collect();
            let slices: Vec<&[u8]> = sources.iter().map(Vec::as_slice).collect();
            for count in 1..=slices.len() {
                for start in [Start::Kept, Start::Zero] {
                    let (mut portable, mut chosen) = (source(97, length), source(97, length));
                    combine_tiles(&mut portable, &slices[..count], start);
                    combine(&mut chosen, &slices[..count], start);
                    assert!(portable == chosen, "{count} sources of {length}");
                }
            }
        }
    }
}
