//! What a record does to a check unit of its stripe.

use parlour_units::Unit;

use crate::code::Table;
use crate::format::segment::{Record, RecordKind};

/// What a record does to a check unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) struct Effect {
    /// What was in the check unit before, and all earlier records, no longer count.
    pub(in crate::log) replaces: bool,
    /// The coefficient with which the record's payload is added; `None` if nothing is added.
    pub(in crate::log) adds: Option<u8>,
}

impl Record {
    /// What the record does to `check`; `None` if it leaves it as it is.
    pub(in crate::log) fn effect_on(&self, check: Unit, code: &Table) -> Option<Effect> {
        match self.kind {
            RecordKind::Update => {
                let coefficient = code.coefficient(check, self.unit);
                (coefficient != 0).then_some(Effect { replaces: false, adds: Some(coefficient) })
            }
            RecordKind::Overwrite | RecordKind::Content => {
                (self.unit == check).then_some(Effect { replaces: true, adds: Some(1) })
            }
            RecordKind::Void => (self.unit == check).then_some(Effect { replaces: true, adds: None }),
            RecordKind::Cancel | RecordKind::Zero => Some(Effect { replaces: true, adds: None }),
        }
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::Sectors;

    use super::*;
    use crate::columns::Columns;

    fn effect(kind: RecordKind, unit: u16, check: u16) -> Option<Effect> {
        let table = Table::of(3, vec![vec![1, 1, 0], vec![0, 1, 7]]);
        let columns = Columns::new(Sectors::ZERO, Sectors::new(8));
        let (unit, start) = (Unit::new(unit), Sectors::ZERO);
        let record = Record { sequence: 1, stripe: 0, unit, kind, columns, start, digest: 0 };
        record.effect_on(Unit::new(check), &table)
    }

    #[test]
    fn a_difference_of_data_is_added_to_the_check_units_that_depend_on_it() {
        let adds = |coefficient| Some(Effect { replaces: false, adds: Some(coefficient) });
        let of = |unit| [3, 4].map(|check| effect(RecordKind::Update, unit, check));
        assert_eq!([of(0), of(1), of(2)], [[adds(1), None], [adds(1), adds(1)], [None, adds(7)]]);
    }

    #[test]
    fn new_content_of_a_check_unit_replaces_that_one_alone() {
        let replaced = Some(Effect { replaces: true, adds: Some(1) });
        let of = |check| effect(RecordKind::Overwrite, 4, check);
        assert_eq!([of(3), of(4)], [None, replaced]);
    }

    #[test]
    fn a_write_of_the_whole_stripe_voids_earlier_records_of_all_check_units() {
        let void = Some(Effect { replaces: true, adds: None });
        for kind in [RecordKind::Cancel, RecordKind::Zero] {
            assert_eq!([3, 4].map(|check| effect(kind, 4, check)), [void, void]);
        }
    }
}
