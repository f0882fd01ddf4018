//! Finite fields of few elements.
//!
//! An element is a number: its digits in base p are the coefficients of a polynomial over the
//! numbers modulo p. The field is defined by the first polynomial of which `x` generates all
//! elements but zero.

/// A finite field.
pub(super) struct Field {
    radix: usize,
    digits: u32,
    /// The powers of `x`.
    powers: Vec<usize>,
    /// The inverse: of which power an element is; zero's place is not used.
    logarithms: Vec<usize>,
}

impl Field {
    /// The field with `size` elements; `None` if `size` is no power of a prime.
    pub(super) fn of(size: usize) -> Option<Field> {
        let radix = (2..=size).find(|divisor| size.is_multiple_of(*divisor))?;
        let digits = size.ilog(radix);
        if radix.pow(digits) != size {
            return None;
        }
        let powers =
            (1..size).map(|reduced| powers(radix, digits, reduced)).find(|it| it.len() == size - 1)?;
        let mut logarithms = vec![0; size];
        powers.iter().enumerate().for_each(|(power, element)| logarithms[*element] = power);
        Some(Field { radix, digits, powers, logarithms })
    }

    /// The number of elements.
    pub(super) fn size(&self) -> usize {
        self.logarithms.len()
    }

    /// The prime of which the size is a power.
    pub(super) fn radix(&self) -> usize {
        self.radix
    }

    /// Which power of it.
    pub(super) fn digits(&self) -> u32 {
        self.digits
    }

    /// All elements: the powers of `x`, then zero.
    pub(super) fn element(&self, number: usize) -> usize {
        self.powers.get(number).copied().unwrap_or(0)
    }

    /// `element` times a power of `x`.
    pub(super) fn times_power(&self, element: usize, power: usize) -> usize {
        match element {
            0 => 0,
            _ => self.powers[(self.logarithms[element] + power) % self.powers.len()],
        }
    }
}

/// The powers of `x` from the first one on until one of them is 1 again or zero, where `x` to the
/// power of `digits` is `reduced`.
fn powers(radix: usize, digits: u32, reduced: usize) -> Vec<usize> {
    let size = radix.pow(digits);
    let digit = |of: usize, digit: u32| of / radix.pow(digit) % radix;
    let times_x = |element: usize| {
        let (shifted, top) = (element * radix % size, element * radix / size);
        let sum = |at: u32| (digit(shifted, at) + top * digit(reduced, at)) % radix * radix.pow(at);
        (0..digits).map(sum).sum()
    };
    let mut powers = vec![1];
    let mut next = times_x(1);
    while next > 1 && powers.len() < size {
        powers.push(next);
        next = times_x(next);
    }
    powers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_field_for_each_power_of_a_prime_and_no_other() {
        let sizes: Vec<usize> = (0..=64).filter(|size| Field::of(*size).is_some()).collect();
        let of_primes = [
            2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19, 23, 25, 27, 29, 31, 32, 37, 41, 43, 47, 49, 53, 59, 61,
            64,
        ];
        assert_eq!(sizes, of_primes);
    }

    /// Multiplication distributes over addition, digit by digit.
    #[test]
    fn a_product_of_a_sum_is_the_sum_of_the_products() {
        for size in [7, 8, 9, 16, 25, 27] {
            let field = Field::of(size).expect("a field");
            let group = super::super::declustered::Group { radix: field.radix(), digits: field.digits() };
            for (a, b) in (0..size).flat_map(|a| (0..size).map(move |b| (a, b))) {
                for power in 0..size - 1 {
                    let of = |element| field.times_power(element, power);
                    assert_eq!(of(group.add(a, b)), group.add(of(a), of(b)), "{size}: {a}, {b}, {power}");
                }
            }
        }
    }
}
