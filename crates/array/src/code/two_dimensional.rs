//! Two-dimensional parity (Stodolsky figure 28): data units in a grid, and a check unit for each
//! row and each column, which is the exclusive or of its data units.
//!
//! A write of a data unit changes two check units, however many there are. Any two units can be
//! computed from the others: no two data units share both row and column. So can most sets of
//! three; not a data unit with both its check units.

use std::ops::RangeInclusive;

use super::scheme::Scheme;

/// The numbers of check units: from a grid of 2 × 2 to the largest that fits into a stripe.
pub(super) const CHECKS: RangeInclusive<u16> = 4..=15;

/// A check unit for each row, then one for each column.
pub(super) const TWO_DIMENSIONAL: Scheme =
    Scheme { is_parity: true, checks: CHECKS, tolerance: |_| 2, data, coefficients };

/// The rows and the columns of the grid with so many check units: as near to a square as can be.
fn sides(checks: u16) -> (u16, u16) {
    (checks / 2, checks.div_ceil(2))
}

/// Each row and each column has a data unit, and some column has two. (With one in each, check
/// units would be copies.)
fn data(checks: u16) -> RangeInclusive<u16> {
    let (rows, columns) = sides(checks);
    columns + 1..=rows * columns
}

/// The number of check units in stripes of so many `units`: the least that serves the others.
pub(crate) fn checks_of(units: u16) -> u16 {
    let serves = |checks: &u16| *data(*checks).end() >= units.saturating_sub(*checks);
    CHECKS.clone().find(serves).unwrap_or(*CHECKS.end())
}

/// The data units fill rows in turn, evenly; each is in the column behind that of the one before
/// it. A grid that is not full has rows and columns of nearly the same length too.
fn coefficients(data: u16, checks: u16) -> Vec<Vec<u8>> {
    let (rows, columns) = sides(checks);
    let row_of = |unit: u16| unit * rows / data;
    let row = |row: u16| (0..data).map(|unit| u8::from(row_of(unit) == row)).collect();
    let column = |column: u16| (0..data).map(|unit| u8::from(unit % columns == column)).collect();
    (0..rows).map(row).chain((0..columns).map(column)).collect()
}

#[cfg(test)]
mod tests {
    use parlour_units::Unit;

    use super::*;
    use crate::code::{Code, Table, UnitSet};

    #[test]
    fn nine_data_units_are_the_grid_of_the_papers_figure() {
        let table = Table::new(Code::TwoDimensional, 9, 6);
        let of = |check: u16| table.encode(Unit::new(check)).map(|(unit, _)| unit.get()).collect::<Vec<_>>();
        assert_eq!([9, 10, 11].map(of), [[0, 1, 2], [3, 4, 5], [6, 7, 8]], "rows");
        assert_eq!([12, 13, 14].map(of), [[0, 3, 6], [1, 4, 7], [2, 5, 8]], "columns");
    }

    /// Of every number of units from 7 to 64 that a stripe has.
    #[test]
    fn every_width_from_seven_units_on_has_a_grid_in_which_any_two_may_be_lost() {
        for units in 7..=64 {
            let checks = checks_of(units);
            assert!(data(checks).contains(&(units - checks)), "{units} units with {checks} check units");
            let rows = coefficients(units - checks, checks);
            assert!(rows.iter().all(|row| row.contains(&1)), "{units}: each check unit checks something");
            let table = Table::of_rows(units - checks, rows);
            let pairs = (0..units).flat_map(|first| (0..first).map(move |second| (first, second)));
            for (first, second) in pairs {
                let lost = UnitSet::of(Unit::new(first)).or(UnitSet::of(Unit::new(second)));
                assert!(table.recovers(lost), "{units} units without {first} and {second}");
            }
        }
    }

    #[test]
    fn of_three_units_only_some_sets_cannot_be_lost() {
        let table = Table::new(Code::TwoDimensional, 9, 6);
        let units = |numbers: [u16; 3]| numbers.into_iter().map(Unit::new).collect::<UnitSet>();
        let triples = (0..15).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| [a, b, c])));
        let fatal: Vec<[u16; 3]> = triples.filter(|lost| !table.recovers(units(*lost))).collect();
        assert_eq!(fatal.len(), 9, "of 455: {fatal:?}");
        assert!(fatal.contains(&[12, 9, 0]), "a data unit with the check units of its row and column");
    }

    #[test]
    fn a_write_of_a_unit_changes_two_check_units() {
        let table = Table::new(Code::TwoDimensional, 16, 8);
        for unit in (0..16).map(Unit::new) {
            let changed = table.checks().filter(|check| table.depends(*check).has(unit));
            assert_eq!(changed.count(), 2);
        }
    }
}
