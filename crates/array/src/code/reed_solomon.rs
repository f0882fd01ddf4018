//! Reed-Solomon codes with one to four check units.
//!
//! The first check unit is the exclusive or of all data units: P of RAID 5 and 6. The second is Q
//! of RAID 6, the sum of gⁱ × data unit *i* with g = 2, so that its bytes are those that Linux md
//! writes. Both are rows of a Cauchy matrix, whose square minors are all other than zero: any so
//! many units as there are check units can be computed from the others. The third and the fourth
//! check unit are further rows of it. (Powers of g with other exponents would do for three check
//! units at any width, but for four only in stripes of 21 data units: the test of minors in
//! `parlour-codec` enumerates both.)

use parlour_codec::galois::{inverse, product};

use super::scheme::{Scheme, any, as_many};

/// The greatest number of check units that are computed from several data units.
pub const MOST_PARITIES: u16 = 4;

/// One to four check units, of which the first are P and Q.
pub(super) const REED_SOLOMON: Scheme =
    Scheme { is_parity: true, checks: 1..=MOST_PARITIES, tolerance: as_many, data: any, coefficients };

/// The row of ones, and rows (1 + y) ÷ (g⁻ⁱ + y) with y = 0, g, g²: a Cauchy matrix, and its limit
/// for y = ∞, each row scaled so that it begins with 1. That of y = 0 is gⁱ.
fn coefficients(data: u16, checks: u16) -> Vec<Vec<u8>> {
    let powers: Vec<u8> = std::iter::successors(Some(1), |power| Some(product(*power, 2)))
        .take(usize::from(data.max(checks)))
        .collect();
    let cell = |y: u8, power: u8| product(1 ^ y, inverse(inverse(power) ^ y));
    let row = |y: u8| powers.iter().take(data.into()).map(|power| cell(y, *power)).collect();
    let finite = (1..checks).map(|check| if check == 1 { 0 } else { powers[usize::from(check) - 1] });
    std::iter::once(vec![1; data.into()]).chain(finite.map(row)).take(checks.into()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{Code, Table};

    #[test]
    fn the_first_check_units_are_p_and_q_of_raid_6() {
        let rows = coefficients(10, 2);
        assert_eq!(rows[0], [1; 10]);
        assert_eq!(rows[1], [1, 2, 4, 8, 16, 32, 64, 128, 0x1d, 0x3a]);
    }

    #[test]
    fn fewer_check_units_are_the_first_of_more() {
        for data in [1, 2, 7, 60] {
            let four = coefficients(data, 4);
            (1..=4).for_each(|checks| assert_eq!(coefficients(data, checks), four[..usize::from(checks)]));
        }
    }

    /// What the scheme claims, and the test of minors shows for all widths.
    #[test]
    fn any_so_many_units_as_there_are_check_units_can_be_lost() {
        for (data, checks) in [(1, 1), (2, 2), (5, 2), (12, 2), (1, 3), (6, 3), (1, 4), (5, 4)] {
            let searched = Table::of(data, coefficients(data, checks));
            assert_eq!(searched.tolerance(), checks, "{checks} over {data}");
            assert_eq!(Table::new(Code::ReedSolomon, data, checks), searched);
        }
    }
}
