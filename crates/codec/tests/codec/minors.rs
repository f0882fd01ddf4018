//! Which coefficients correct as many lost units as there are check units: those with all square
//! minors other than zero. All minors are enumerated.
//!
//! Two check units are P and Q of RAID 6, with the rows 1 and gⁱ for data unit *i* (g = 2). The
//! tables here keep these as their first rows.

use parlour_codec::galois::{inverse, product};

/// Row by row.
type Matrix = Vec<Vec<u8>>;

fn power(exponent: i32) -> u8 {
    (0..exponent.rem_euclid(255)).fold(1, |power, _| product(power, 2))
}

/// Rows g^(e × i), for each e of `exponents`.
fn powers(exponents: &[i32], width: i32) -> Matrix {
    exponents.iter().map(|e| (0..width).map(|unit| power(e * unit)).collect()).collect()
}

/// The row of ones, and rows (1 + y) ÷ (g⁻ⁱ + y) with y = 0, g, g², …: a Cauchy matrix, and its
/// limit for y = ∞, each row scaled so that it begins with 1. That of y = 0 is gⁱ.
fn cauchy(checks: i32, width: i32) -> Matrix {
    let cell = |y: u8, unit: i32| product(1 ^ y, inverse(power(-unit) ^ y));
    let row = |y: u8| (0..width).map(|unit| cell(y, unit)).collect();
    let finite = (0..checks - 1).map(|number| if number == 0 { 0 } else { power(number) });
    std::iter::once(vec![1; width as usize]).chain(finite.map(row)).collect()
}

/// The number of columns, from the first one on, whose square minors are all other than zero.
fn width_without_zero_minors(matrix: &Matrix) -> usize {
    let products: Vec<[u8; 256]> = (0..=255).map(|a| std::array::from_fn(|b| product(a, b as u8))).collect();
    let inverses: Vec<u8> = (0..=255).map(inverse).collect();
    let field = Field { products, inverses };
    let checks = matrix.len();
    let subsets: Vec<Vec<usize>> =
        (1..1_usize << checks).map(|set| (0..checks).filter(|row| set >> row & 1 == 1).collect()).collect();
    // With each new column, only the minors that contain it are new.
    let is_sound = |column: usize| {
        subsets.iter().all(|rows| {
            let columns: Vec<Vec<u8>> =
                (0..=column).map(|column| rows.iter().map(|row| matrix[*row][column]).collect()).collect();
            field.are_independent(&columns[..column], &mut vec![], &columns[column])
        })
    };
    (0..matrix[0].len()).find(|column| !is_sound(*column)).unwrap_or(matrix[0].len())
}

struct Field {
    products: Vec<[u8; 256]>,
    inverses: Vec<u8>,
}

impl Field {
    /// Whether no choice of other columns, together with `basis`, makes a singular square matrix
    /// with `next`. The basis has been eliminated: each column with its pivot's row.
    fn are_independent(&self, others: &[Vec<u8>], basis: &mut Vec<(usize, Vec<u8>)>, next: &[u8]) -> bool {
        let mut rest = next.to_vec();
        for (pivot, column) in basis.iter() {
            let times = usize::from(rest[*pivot]);
            rest.iter_mut().zip(column).for_each(|(a, b)| *a ^= self.products[times][usize::from(*b)]);
        }
        let Some(pivot) = rest.iter().position(|value| *value != 0) else { return false };
        if basis.len() + 1 == rest.len() {
            return true;
        }
        let scale = usize::from(self.inverses[usize::from(rest[pivot])]);
        rest.iter_mut().for_each(|value| *value = self.products[scale][usize::from(*value)]);
        basis.push((pivot, rest));
        let is_sound = (0..others.len()).all(|at| self.are_independent(&others[..at], basis, &others[at]));
        basis.pop();
        is_sound
    }
}

#[test]
fn powers_of_g_are_enough_for_three_check_units_at_any_width() {
    assert_eq!(width_without_zero_minors(&powers(&[0, 1, 2], 255)), 255);
    assert_eq!(width_without_zero_minors(&powers(&[0, 1, -1], 255)), 255);
}

#[test]
fn powers_of_g_are_enough_for_four_check_units_only_in_narrow_stripes() {
    assert_eq!(width_without_zero_minors(&powers(&[0, 1, 2, 3], 64)), 21);
    assert_eq!(width_without_zero_minors(&powers(&[0, 1, -1, 2], 64)), 21);
}

#[test]
fn a_cauchy_matrix_that_begins_with_p_and_q_is_enough_for_four_check_units() {
    assert_eq!(cauchy(2, 64), powers(&[0, 1], 64));
    assert_eq!(width_without_zero_minors(&cauchy(3, 254)), 254);
    assert_eq!(width_without_zero_minors(&cauchy(4, 128)), 128);
}
