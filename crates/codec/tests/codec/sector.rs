//! Tests that sector checksums are linear, keyed, and sensitive to each bit.

use parlour_codec::sector::{SECTOR_BYTES, SectorKey};
use parlour_codec::xor;
use proptest::prelude::*;

fn sector() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), SECTOR_BYTES)
}

fn one(key: &SectorKey, bytes: &[u8]) -> u64 {
    key.checksums(bytes).next().expect("one sector has one checksum")
}

proptest! {
    #[test]
    fn the_checksum_of_a_difference_is_the_difference_of_the_checksums(
        identity: [u8; 16], old in sector(), new in sector(),
    ) {
        let key = SectorKey::new(identity);
        let mut difference = vec![0; SECTOR_BYTES];
        xor::delta(&mut difference, &old, &new);
        prop_assert_eq!(one(&key, &difference), one(&key, &old) ^ one(&key, &new));
    }

    #[test]
    fn a_flipped_bit_and_another_key_are_noticed(bytes in sector(), bit in 0..SECTOR_BYTES * 8) {
        let key = SectorKey::new([1; 16]);
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        prop_assert_ne!(one(&key, &bytes), one(&key, &flipped));
        prop_assert_ne!(one(&key, &flipped), one(&SectorKey::new([2; 16]), &flipped));
    }
}

#[test]
fn zeroes_have_the_checksum_zero() {
    let key = SectorKey::new([9; 16]);
    assert_eq!(key.checksums(&[0; 3 * SECTOR_BYTES]).collect::<Vec<_>>(), [0, 0, 0]);
}

#[test]
fn the_checksum_is_part_of_the_format() {
    let key = SectorKey::new(*b"0123456789abcdef");
    let bytes: Vec<u8> = (0..SECTOR_BYTES).map(|byte| byte as u8).collect();
    assert_eq!(format!("{:016x}", one(&key, &bytes)), "41b8fac6a7ed19c8");
}
