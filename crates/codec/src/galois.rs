//! Arithmetic in GF(2⁸), the field of 256 elements: bytes as polynomials, modulo
//! x⁸ + x⁴ + x³ + x² + 1 (0x11d), as RAID 6 uses it (H. P. Anvin, *The mathematics of RAID-6*).
//! Addition is exclusive or.

pub use crate::field::{inverse, product};
use crate::sums;

/// `dst += factor × src`, byte by byte.
///
/// # Panics
/// If the lengths differ.
pub fn multiply_into(dst: &mut [u8], src: &[u8], factor: u8) {
    sums::add_sums(&mut [dst], &[src], &[factor]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_multiplied_byte_by_byte() {
        let src: Vec<u8> = (0..=255).collect();
        for factor in 0..=255 {
            let mut dst = vec![0xa5; src.len()];
            multiply_into(&mut dst, &src, factor);
            assert!(
                dst.iter().zip(&src).all(|(sum, byte)| *sum == 0xa5 ^ product(factor, *byte)),
                "{factor}"
            );
        }
    }
}
