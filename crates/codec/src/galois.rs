//! Arithmetic in GF(2⁸), the field of 256 elements: bytes as polynomials, modulo
//! x⁸ + x⁴ + x³ + x² + 1 (0x11d), as RAID 6 uses it (H. P. Anvin, *The mathematics of RAID-6*).
//! Addition is exclusive or.

const MODULUS: u8 = 0x1d;

/// The product of two elements.
pub const fn product(mut a: u8, mut b: u8) -> u8 {
    let mut sum = 0;
    while b != 0 {
        if b & 1 == 1 {
            sum ^= a;
        }
        let carries = a & 0x80 != 0;
        a <<= 1;
        if carries {
            a ^= MODULUS;
        }
        b >>= 1;
    }
    sum
}

/// The element whose product with `a` is 1; 0 for 0, which has none.
pub const fn inverse(a: u8) -> u8 {
    // The 255 others are a group: a²⁵⁴ = a⁻¹.
    let (mut power, mut exponent) = (a, 1);
    while exponent < 254 {
        power = product(power, a);
        exponent += 1;
    }
    power
}

/// `dst += factor × src`, byte by byte.
///
/// # Panics
/// If the lengths differ.
pub fn multiply_into(dst: &mut [u8], src: &[u8], factor: u8) {
    assert_eq!(dst.len(), src.len(), "slices that are combined have one length");
    match factor {
        0 => {}
        1 => crate::xor::xor_into(dst, src),
        _ => {
            // A byte is the sum of its halves, and so are the products.
            let low: [u8; 16] = std::array::from_fn(|half| product(factor, half as u8));
            let high: [u8; 16] = std::array::from_fn(|half| product(factor, (half as u8) << 4));
            for (sum, byte) in dst.iter_mut().zip(src) {
                *sum ^= low[usize::from(byte & 15)] ^ high[usize::from(byte >> 4)];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_but_0_has_an_inverse() {
        assert!((1..=255).all(|a| product(a, inverse(a)) == 1));
        assert_eq!(inverse(0), 0);
    }

    #[test]
    fn two_is_a_generator() {
        let mut power = 1;
        let order = (1..).find(|_| {
            power = product(power, 2);
            power == 1
        });
        assert_eq!(order, Some(255));
    }

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
