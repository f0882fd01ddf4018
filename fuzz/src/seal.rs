//! Corrects checksums, so that inputs reach the decoders behind them. `docs/format.md` documents
//! the positions of the checksums.

use parlour_codec::checksum::crc32c;

/// The position of each structure's checksum, by the first bytes of the structure.
const SEALS: [([u8; 8], usize); 5] =
    [(*b"PARLOUR\0", 12), (*b"PRLRDIRT", 8), (*b"PRLRAPPL", 8), (*b"PRLRSEGM", 8), (COMMIT_ENTRY, 8)];
/// A commit log's entry. It stores at byte 12, in sectors, the length that its checksum covers.
const COMMIT_ENTRY: [u8; 8] = *b"PRLRCMMT";

/// Corrects the checksum of `block`, if it begins like one of the structures.
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

/// Returns `start` followed by `rest`, cut or filled with zeroes to `length`, with a correct
/// checksum.
pub(crate) fn sealed(start: &[u8], rest: &[u8], length: usize) -> Vec<u8> {
    let mut block = [start, rest].concat();
    block.resize(length, 0);
    mend(&mut block);
    block
}
