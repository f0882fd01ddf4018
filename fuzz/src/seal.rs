//! Checksums mended, so that decoders are reached behind them. `docs/format.md` says where they
//! stand.

use parlour_codec::checksum::crc32c;

/// Where the checksum of each structure stands, by how the structure begins.
const SEALS: [([u8; 8], usize); 5] =
    [(*b"PARLOUR\0", 12), (*b"PRLRDIRT", 8), (*b"PRLRAPPL", 8), (*b"PRLRSEGM", 8), (COMMIT_ENTRY, 8)];
/// What says itself, in sectors at byte 12, how much of it the checksum is of.
const COMMIT_ENTRY: [u8; 8] = *b"PRLRCMMT";

/// Makes the checksum of `block` fit, if it begins as one of the structures.
pub(crate) fn mend(mut block: &mut [u8]) {
    let Some((magic, at)) = SEALS.iter().find(|(magic, _)| block.starts_with(magic)) else { return };
    if *magic == COMMIT_ENTRY {
        let sectors = u32::from_le_bytes(block[12..16].try_into().expect("four bytes"));
        let length = block.len().min(sectors as usize * 512);
        block = &mut block[..length];
    }
    if block.len() >= at + 4 {
        block[*at..at + 4].fill(0);
        let checksum = crc32c(block);
        block[*at..at + 4].copy_from_slice(&checksum.to_le_bytes());
    }
}

/// `start`, then what the fuzzer says, cut and filled with zeroes to `length`, and sealed.
pub(crate) fn sealed(start: &[u8], rest: &[u8], length: usize) -> Vec<u8> {
    let mut block = [start, rest].concat();
    block.resize(length, 0);
    mend(&mut block);
    block
}
