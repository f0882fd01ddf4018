//! Sets of a stripe's units.

use parlour_units::Unit;

/// A set of a stripe's units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UnitSet(u64);

impl UnitSet {
    pub(crate) const NONE: UnitSet = UnitSet(0);

    pub(crate) fn of(unit: Unit) -> UnitSet {
        UnitSet(1 << unit.get())
    }

    pub(crate) fn has(self, unit: Unit) -> bool {
        self.0 >> unit.get() & 1 == 1
    }

    pub(crate) fn insert(&mut self, unit: Unit) {
        self.0 |= 1 << unit.get();
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(crate) fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(crate) fn or(self, other: UnitSet) -> UnitSet {
        UnitSet(self.0 | other.0)
    }

    /// Those that are not among `others`.
    pub(crate) fn without(self, others: UnitSet) -> UnitSet {
        UnitSet(self.0 & !others.0)
    }

    pub(crate) fn and(self, other: UnitSet) -> UnitSet {
        UnitSet(self.0 & other.0)
    }
}

impl FromIterator<Unit> for UnitSet {
    fn from_iter<I: IntoIterator<Item = Unit>>(units: I) -> UnitSet {
        units.into_iter().fold(UnitSet::NONE, |mut set, unit| {
            set.insert(unit);
            set
        })
    }
}
