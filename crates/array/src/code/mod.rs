//! Codes: how check units are computed from data units, as a table of coefficients over GF(2⁸).
//!
//! Check unit *c* is the sum, over the data units *d*, of coefficient(*c*, *d*) × *d*; addition is
//! exclusive or. If all coefficients are 0 or 1, a check unit is the parity of some data units; if
//! that is a single one, it is a copy. Plans ask a code which units a check unit is computed from,
//! which units a missing unit is computed from, and which units must be equal.

mod choice;
mod field;
#[cfg(feature = "test-choices")]
mod halves;
mod reed_solomon;
mod scheme;
mod set;
mod two_dimensional;

use parlour_codec::galois::product;
use parlour_units::Unit;

pub use self::choice::Code;
pub use self::reed_solomon::MOST_PARITIES;
pub(crate) use self::set::UnitSet;
pub(crate) use self::two_dimensional::checks_of as checks_of_grid;

/// A term of a sum: a unit and its coefficient.
pub(crate) type Term = (Unit, u8);

/// A code for stripes of one width. Units are numbered data first, then checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    data: u16,
    /// By check unit, then by data unit.
    rows: Vec<Vec<u8>>,
    /// By check unit: the data units that it depends on.
    depends: Vec<UnitSet>,
    /// By check unit: the data unit of which it is a copy, if it is one.
    copied: Vec<Option<Unit>>,
    /// Any so many units can be computed from the others.
    tolerance: u16,
}

/// A relation that a scrub can check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Equation {
    /// Two units are equal.
    Equal(Unit, Unit),
    /// A check unit is the sum of these terms.
    Sum(Unit, Vec<Term>),
}

impl Table {
    /// The table of `code` for stripes with these numbers of data units and check units.
    pub(crate) fn new(code: Code, data: u16, checks: u16) -> Table {
        let table = Table::of_rows(data, code.coefficients(data, checks));
        Table { tolerance: code.tolerance(checks), ..table }
    }

    #[cfg(test)]
    pub(crate) fn of(data: u16, rows: Vec<Vec<u8>>) -> Table {
        let table = Table::of_rows(data, rows);
        Table { tolerance: table.any_losses(), ..table }
    }

    /// The table with these coefficients, by check unit; its tolerance is not known.
    fn of_rows(data: u16, rows: Vec<Vec<u8>>) -> Table {
        let terms = |row: &[u8]| -> Vec<Term> {
            let terms = (0..data).map(Unit::new).zip(row.iter().copied());
            terms.filter(|(_, coefficient)| *coefficient != 0).collect()
        };
        let depends = rows.iter().map(|row| terms(row).into_iter().map(|(unit, _)| unit).collect());
        let copied = rows.iter().map(|row| match terms(row)[..] {
            [(unit, 1)] => Some(unit),
            _ => None,
        });
        let (depends, copied) = (depends.collect(), copied.collect());
        Table { data, depends, copied, rows, tolerance: 0 }
    }

    /// How many units can be computed from the others, whichever they are.
    pub(crate) fn tolerance(&self) -> u16 {
        self.tolerance
    }

    /// Whether all of `missing` can be computed from the other units.
    pub(crate) fn recovers(&self, missing: UnitSet) -> bool {
        let mut data = self.data().filter(|unit| missing.has(*unit));
        data.all(|unit| self.decode(unit, missing).is_some())
    }

    /// The check units beside `missing` that are not needed to compute the missing data: whatever
    /// the others hold, these can be computed from them. Of several possible choices, those with
    /// the highest numbers.
    pub(crate) fn spare_checks(&self, missing: UnitSet) -> UnitSet {
        let present: Vec<Unit> = self.checks().filter(|check| !missing.has(*check)).collect();
        present.into_iter().rev().fold(UnitSet::NONE, |spare, check| {
            let more = spare.or(UnitSet::of(check));
            if self.recovers(missing.or(more)) { more } else { spare }
        })
    }

    #[cfg(test)]
    fn any_losses(&self) -> u16 {
        let survived =
            (1..=self.rows.len() as u16).take_while(|count| self.survives_any(UnitSet::NONE, 0, *count));
        survived.count() as u16
    }

    /// Whether `missing` and any `more` units from number `from` on can be computed.
    #[cfg(test)]
    fn survives_any(&self, missing: UnitSet, from: u16, more: u16) -> bool {
        if more == 0 {
            return self.recovers(missing);
        }
        let units = self.data + self.rows.len() as u16;
        (from..units)
            .all(|unit| self.survives_any(missing.or(UnitSet::of(Unit::new(unit))), unit + 1, more - 1))
    }

    /// The greatest number of check units that are computed, and not copied, from data units.
    pub(crate) fn sums(&self) -> usize {
        self.copied.iter().filter(|copied| copied.is_none()).count()
    }

    /// Whether there is any redundancy.
    pub(crate) fn has_checks(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Whether each check unit is a copy of a data unit, and there are check units.
    pub(crate) fn is_repetition(&self) -> bool {
        self.has_checks() && self.copied.iter().all(Option::is_some)
    }

    fn data(&self) -> impl Iterator<Item = Unit> + Clone + use<> {
        (0..self.data).map(Unit::new)
    }

    fn checks(&self) -> impl Iterator<Item = Unit> + use<> {
        (self.data..self.data + self.rows.len() as u16).map(Unit::new)
    }

    /// The coefficient of data unit `data` in check unit `check`.
    pub(crate) fn coefficient(&self, check: Unit, data: Unit) -> u8 {
        self.rows[usize::from(check.get() - self.data)][usize::from(data.get())]
    }

    /// What check unit `check` is the sum of.
    pub(crate) fn encode(&self, check: Unit) -> impl Iterator<Item = Term> + Clone + '_ {
        let terms = self.data().map(move |data| (data, self.coefficient(check, data)));
        terms.filter(|(_, coefficient)| *coefficient != 0)
    }

    /// The data units that `check` depends on.
    pub(crate) fn depends(&self, check: Unit) -> UnitSet {
        self.depends[usize::from(check.get() - self.data)]
    }

    /// The data unit of which `check` is a copy, if it is one.
    pub(crate) fn repeats(&self, check: Unit) -> Option<Unit> {
        self.copied[usize::from(check.get() - self.data)]
    }

    /// Terms whose sum is `wanted`, without using the units in `missing` or `wanted` itself; `None`
    /// if it cannot be computed. Data units come first.
    pub(crate) fn decode(&self, wanted: Unit, missing: UnitSet) -> Option<Vec<Term>> {
        let missing = missing.or(UnitSet::of(wanted));
        // The contribution of the data units that are there is known. The rest of each check unit
        // is an equation in the missing data units alone.
        let unknown: Vec<Unit> = self.data().filter(|unit| missing.has(*unit)).collect();
        let known: Vec<Unit> = self.checks().filter(|unit| !missing.has(*unit)).collect();
        let is_data = wanted.get() < self.data;
        let of_wanted = |data: Unit| match is_data {
            true => u8::from(data == wanted),
            false => self.coefficient(wanted, data),
        };
        let rows = known
            .iter()
            .map(|check| unknown.iter().map(|data| self.coefficient(*check, *data)).collect::<Vec<u8>>());
        let target = unknown.iter().map(|data| of_wanted(*data)).collect();
        let factors = field::combine(rows.collect(), target)?;
        let present = self.data().filter(|unit| !missing.has(*unit));
        let of_data = present.map(|data| {
            let by_checks = known.iter().zip(&factors);
            let by_checks = by_checks.map(|(check, factor)| product(*factor, self.coefficient(*check, data)));
            (data, by_checks.fold(of_wanted(data), |sum, term| sum ^ term))
        });
        let terms = of_data.chain(known.iter().copied().zip(factors.iter().copied()));
        Some(terms.filter(|(_, coefficient)| *coefficient != 0).collect())
    }

    /// The relations that must hold in a stripe. Equal units are compared by pairs, so that a unit
    /// that differs from the others can be identified.
    pub(crate) fn equations(&self) -> Vec<Equation> {
        let mut equations = Vec::new();
        for data in self.data() {
            let copies = self.checks().filter(|check| self.repeats(*check) == Some(data));
            let same: Vec<Unit> = std::iter::once(data).chain(copies).collect();
            for (index, first) in same.iter().enumerate() {
                equations.extend(same[index + 1..].iter().map(|second| Equation::Equal(*first, *second)));
            }
        }
        let sums = self.checks().filter(|check| self.repeats(*check).is_none());
        equations.extend(sums.map(|check| Equation::Sum(check, self.encode(check).collect())));
        equations
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Two check units over different data units: neither xor nor copies.
    fn halves() -> Table {
        Table::of(4, vec![vec![1, 1, 1, 0], vec![0, 1, 1, 1]])
    }

    /// The Reed-Solomon code with two check units.
    fn double() -> Table {
        Table::of(4, vec![vec![1, 1, 1, 1], vec![1, 2, 4, 8]])
    }

    fn units(numbers: &[u16]) -> UnitSet {
        numbers.iter().copied().map(Unit::new).collect()
    }

    fn contents(table: &Table, data: &[u8]) -> Vec<u8> {
        let of = |term: Term| product(term.1, data[usize::from(term.0.get())]);
        let checks = table.checks().map(|check| table.encode(check).map(of).fold(0, |sum, term| sum ^ term));
        data.iter().copied().chain(checks).collect()
    }

    #[test]
    fn a_copy_is_computed_from_the_first_that_is_there() {
        let table = Table::new(Code::Copy, 1, 2);
        assert_eq!(table.decode(Unit::new(2), units(&[0])), Some(vec![(Unit::new(1), 1)]));
        assert_eq!(table.decode(Unit::new(0), UnitSet::NONE), Some(vec![(Unit::new(1), 1)]));
        assert_eq!(table.decode(Unit::new(0), units(&[1, 2])), None);
    }

    #[test]
    fn parity_makes_up_for_one_unit_by_all_the_others() {
        let table = Table::new(Code::ReedSolomon, 3, 1);
        let terms = [0, 2, 3].map(|unit| (Unit::new(unit), 1)).to_vec();
        assert_eq!(table.decode(Unit::new(1), UnitSet::NONE), Some(terms));
        assert_eq!(table.decode(Unit::new(1), units(&[0])), None);
    }

    #[test]
    fn what_is_compared_is_pairs_of_copies_and_sums() {
        let [a, b, c] = [0, 1, 2].map(Unit::new);
        let pairs = vec![Equation::Equal(a, b), Equation::Equal(a, c), Equation::Equal(b, c)];
        assert_eq!(Table::new(Code::Copy, 1, 2).equations(), pairs);
        let sum = vec![Equation::Sum(c, vec![(a, 1), (b, 1)])];
        assert_eq!(Table::new(Code::ReedSolomon, 2, 1).equations(), sum);
        assert_eq!(Table::new(Code::None, 3, 0).equations(), []);
    }

    proptest! {
        /// Whatever is missing: the sum that `decode` returns has the value of the unit.
        #[test]
        fn a_unit_is_what_it_is_decoded_to(data in proptest::array::uniform4(any::<u8>()), lost in 0_u64..64) {
            let lost: UnitSet = (0..6).filter(|unit| lost >> unit & 1 == 1).map(Unit::new).collect();
            for table in [halves(), double(), Table::new(Code::ReedSolomon, 4, 1)] {
                let contents = contents(&table, &data);
                for wanted in table.data().chain(table.checks()) {
                    let Some(terms) = table.decode(wanted, lost) else { continue };
                    let of = |(unit, factor): &Term| product(*factor, contents[usize::from(unit.get())]);
                    prop_assert!(terms.iter().all(|(unit, _)| !lost.has(*unit) && *unit != wanted));
                    let sum = terms.iter().map(of).fold(0, |sum, term| sum ^ term);
                    prop_assert_eq!(sum, contents[usize::from(wanted.get())]);
                }
            }
        }
    }

    #[test]
    fn a_check_unit_is_spare_if_no_missing_data_needs_it() {
        let xor = Table::new(Code::ReedSolomon, 3, 1);
        let of = |table: &Table, missing: &[u16]| table.spare_checks(units(missing));
        assert_eq!([of(&xor, &[]), of(&xor, &[1]), of(&xor, &[3])], [units(&[3]), units(&[]), units(&[])]);
        assert_eq!(of(&halves(), &[0]), units(&[5]), "the first sum stands in for unit 0");
        assert_eq!(of(&halves(), &[1]), units(&[5]), "either sum could stand in");
        assert_eq!([of(&double(), &[2]), of(&double(), &[1, 2])], [units(&[5]), units(&[])]);
    }

    #[test]
    fn the_tolerance_is_what_the_worst_losses_leave() {
        assert_eq!(double().tolerance(), 2);
        assert_eq!(halves().tolerance(), 1, "unit 0 is in one sum only");
        assert_eq!(Table::of(2, vec![vec![1, 0], vec![1, 0]]).tolerance(), 0, "unit 1 is in none");
        assert_eq!(Table::new(Code::Copy, 1, 3).tolerance(), 3);
    }

    /// A code says how many losses it survives; a search finds as many.
    #[test]
    fn every_code_survives_as_many_losses_as_it_says() {
        for code in Code::ALL.iter().copied() {
            for checks in code.checks().take(4) {
                let data = if code.is_copy() {
                    1
                } else {
                    5.clamp(*code.data(checks).start(), *code.data(checks).end())
                };
                let table = Table::new(code, data, checks);
                assert_eq!(table.tolerance(), table.any_losses(), "{code:?}, {checks} check units");
            }
        }
    }

    /// Any two units may be lost.
    #[test]
    fn two_check_units_that_differ_enough_make_up_for_any_two() {
        let table = double();
        for first in 0..6 {
            for second in 0..6 {
                assert!(table.decode(Unit::new(first), units(&[second])).is_some(), "{first} and {second}");
            }
        }
        // The other code can recover only some pairs.
        assert!(halves().decode(Unit::new(0), units(&[3])).is_some());
        assert!(halves().decode(Unit::new(1), units(&[2])).is_none());
    }
}
