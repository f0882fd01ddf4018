//! CRC-32C (Castagnoli), which protects superblocks, log segments and other metadata.
//!
//! It uses the processor's CRC instruction if there is one.

/// The CRC-32C of `bytes`. It is 0 for no bytes.
///
/// ```
/// assert_eq!(parlour_codec::checksum::crc32c(b"123456789"), 0xE306_9283);
/// ```
pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

/// The CRC-32C of the data with checksum `crc`, followed by `bytes`.
///
/// ```
/// use parlour_codec::checksum::{crc32c, crc32c_append};
/// assert_eq!(crc32c_append(crc32c(b"header"), b"payload"), crc32c(b"headerpayload"));
/// ```
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc, bytes)
}

/// The CRC-32C of the concatenation of `parts`, without copying them. It does not depend on the
/// cuts.
pub fn crc32c_of(parts: &[&[u8]]) -> u32 {
    parts.iter().fold(0, |crc, part| crc32c_append(crc, part))
}
