//! A dirty map, as `docs/format.md` draws it.

use parlour_array::Identity;
use parlour_codec::checksum::crc32c;

use super::MapSummary;

const MAGIC: &[u8] = b"PRLRDIRT";
const CHECKSUM: std::ops::Range<usize> = 8..12;
const REGIONS: std::ops::Range<usize> = 12..16;
const ARRAY: std::ops::Range<usize> = 16..32;
const SEQUENCE: std::ops::Range<usize> = 32..40;
const BITS_AT: usize = 64;

/// What the map in `block` says, if it is one of `array` and whole.
pub(super) fn summary(at: u64, block: &[u8], array: Identity, regions: u32) -> Option<MapSummary> {
    let bits = regions.div_ceil(8) as usize;
    let dirty = block.get(BITS_AT..BITS_AT + bits)?;
    let resync = block.get(BITS_AT + bits..BITS_AT + 2 * bits)?;
    let ours = block.starts_with(MAGIC)
        && block[REGIONS] == regions.to_le_bytes()
        && block[ARRAY] == array.0
        && is_whole(block);
    let sequence = u64::from_le_bytes(block[SEQUENCE].try_into().ok()?);
    ours.then(|| MapSummary { at, sequence, regions, dirty: count(dirty), resync: count(resync) })
}

fn is_whole(block: &[u8]) -> bool {
    let mut copy = block.to_vec();
    copy[CHECKSUM].fill(0);
    block[CHECKSUM] == crc32c(&copy).to_le_bytes()
}

fn count(bits: &[u8]) -> u32 {
    bits.iter().map(|byte| byte.count_ones()).sum()
}
