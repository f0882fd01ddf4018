//! The elements of GF(2⁸), one at a time. All else computes with tables that are made from them.

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
}
