//! The content of sectors. The bytes of a sector follow from the write and from the sector's
//! number, so that a mixture of two writes is not mistaken for either.

use parlour_codec::xor::is_zero;

pub(crate) const SECTOR: usize = 512;

/// The write to which a sector's content belongs. The first value is the initial content: zeroes.
pub(crate) type Value = u32;

pub(crate) const ZEROES: Value = 0;
/// The content of any write, or of none: nothing is promised.
pub(crate) const ANY: Value = Value::MAX - 1;
/// It cannot be read.
pub(crate) const LOST: Value = Value::MAX - 2;
/// The content of no known write.
pub(crate) const STRANGE: Value = Value::MAX;

/// Puts the content of `value` in `sector` into `bytes`.
pub(crate) fn put(value: Value, sector: u64, bytes: &mut [u8]) {
    if value == ZEROES {
        return bytes.fill(0);
    }
    for (chunk, word) in bytes.chunks_exact_mut(8).zip(words(value, sector)) {
        chunk.copy_from_slice(&word.to_le_bytes());
    }
}

/// Returns the value to which the content `bytes` of `sector` belongs.
pub(crate) fn of(sector: u64, bytes: &[u8]) -> Value {
    if is_zero(bytes) {
        return ZEROES;
    }
    let value = Value::from_le_bytes(bytes[..4].try_into().expect("four bytes"));
    let fits = |value| {
        let mut words = bytes.chunks_exact(8).zip(words(value, sector));
        words.all(|(chunk, word)| *chunk == word.to_le_bytes())
    };
    if value != ZEROES && fits(value) { value } else { STRANGE }
}

/// The words of a sector. The first word contains the value and the sector's number; the contents
/// of two different sectors or values differ in every word.
fn words(value: Value, sector: u64) -> impl Iterator<Item = u64> {
    let name = u64::from(value) | sector << 32;
    let mut word = name.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d;
    let rest = std::iter::repeat_with(move || {
        word = (word ^ word >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9).wrapping_add(1);
        word ^ word >> 32
    });
    std::iter::once(name).chain(rest)
}
