//! Tests CRC-32C against the bit-by-bit definition and published values.

use parlour_codec::checksum::{crc32c, crc32c_append, crc32c_of};
use proptest::collection::vec;
use proptest::prelude::*;

/// The definition: reflected polynomial 0x82F63B78, ones at both ends.
fn bit_by_bit(bytes: &[u8]) -> u32 {
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ 0x82F6_3B78 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, &byte| (0..8).fold(crc ^ u32::from(byte), step))
}

/// The examples of RFC 3720, appendix B.4.
#[test]
fn published_examples_hold() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    assert_eq!(crc32c(&[0; 32]), 0x8A91_36AA);
    assert_eq!(crc32c(&[0xFF; 32]), 0x62A8_AB43);
    assert_eq!(crc32c(&ascending), 0x46DD_794E);
    assert_eq!(crc32c(&descending), 0x113F_DB5C);
    assert_eq!(crc32c(&[]), 0);
}

proptest! {
    #[test]
    fn equals_the_definition(bytes in vec(any::<u8>(), 0..3000), skew in 0..64_usize) {
        let cut = &bytes[skew.min(bytes.len())..];
        prop_assert_eq!(crc32c(cut), bit_by_bit(cut));
    }

    #[test]
    fn however_it_is_cut(parts in vec(vec(any::<u8>(), 0..500), 0..8)) {
        let whole = crc32c(&parts.concat());
        let slices: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
        prop_assert_eq!(crc32c_of(&slices), whole);
        prop_assert_eq!(slices.iter().fold(0, |crc, part| crc32c_append(crc, part)), whole);
    }
}
