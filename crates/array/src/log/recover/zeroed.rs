//! Redo of zero records: stripes that became zeroes as a whole are written without being read.
//!
//! If a zero record is the last of a stripe's records of the whole stripe, each unit holds zeroes
//! plus the changes of later records. So it does not matter what a crash has left on the members:
//! old, new or torn sectors.

use super::redo::Blank;
use std::collections::BTreeMap;

use parlour_units::{Sector, Sectors, Slot, Unit};

use super::{Recovery, Redo};
use crate::columns::{Columns, uncovered};
use crate::context::Context;
use crate::effect::Action;
use crate::format::segment::RecordKind;
use crate::log::Logs;
use crate::plan::{Plan, Source, Span};
use parlour_units::Region;

impl Recovery {
    /// The parts of all units of `stripes` that zero records cover, cut where later records begin
    /// and end.
    pub(super) fn blanks(&self, stripes: &BTreeMap<u32, Vec<usize>>, units: u16) -> Vec<Blank> {
        let mut blanks = Vec::new();
        for (stripe, of_stripe) in stripes {
            for unit in (0..units).map(Unit::new) {
                for (zero, columns) in self.zeroed(of_stripe, unit) {
                    let since: Vec<usize> = of_stripe.iter().copied().filter(|index| *index > zero).collect();
                    self.blanks_of_unit((*stripe, unit), columns, &since, &mut blanks);
                }
            }
        }
        blanks
    }

    fn blanks_of_unit(
        &self,
        (stripe, unit): (u32, Unit),
        columns: Columns,
        since: &[usize],
        blanks: &mut Vec<Blank>,
    ) {
        let columns_of = |index: &usize| self.records[*index].committed.record.columns;
        let changes = |index: &&usize| {
            let record = &self.records[**index].committed.record;
            record.kind == RecordKind::Update
                && record.unit == unit
                && common(columns, columns_of(index)).is_some()
        };
        let links: Vec<usize> = since.iter().filter(changes).copied().collect();
        let changed: Vec<Columns> = links.iter().map(columns_of).collect();
        let untouched = uncovered(columns, &changed);
        for columns in uncovered(columns, &untouched) {
            let links =
                links.iter().filter(|index| common(columns, columns_of(index)).is_some()).copied().collect();
            blanks.push(Blank { stripe, unit, columns, links, buffer: None });
        }
        let blank = |columns| Blank { stripe, unit, columns, links: Vec::new(), buffer: None };
        blanks.extend(untouched.into_iter().map(blank));
    }
}

impl Redo {
    /// Computes the content of stripes that became zeroes: zeroes first, then each later change.
    pub(super) fn fill_blanks(&self, plan: &mut Plan, recovery: &Recovery) {
        let filled = || self.blanks.iter().filter_map(|blank| Some((blank, blank.buffer?)));
        for (blank, buffer) in filled() {
            plan.xor(Span::new(Source::Buffer(buffer), Sectors::ZERO, blank.columns.length()), []);
        }
        plan.next_phase();
        for (blank, buffer) in filled() {
            for index in &blank.links {
                let record = recovery.record(*index);
                let both = common(blank.columns, record.columns).expect("a link changes some of it");
                let into = Span::new(Source::Buffer(buffer), both.from - blank.columns.from, both.length());
                self.bring_up(plan, (*index, record), (into, both));
            }
        }
        plan.next_phase();
    }
}

impl Logs {
    /// Adds the parts of stripes that became zeroes and whose members are there.
    pub(in crate::log) fn plan_blanks(
        &mut self,
        cx: &mut Context,
        region: Region,
        recovery: &Recovery,
        redo: &mut Redo,
    ) {
        let units = cx.geometry.layout().width();
        for mut blank in recovery.blanks(&redo.stripes, units) {
            if !self.is_unit_there(cx, region, blank.stripe, blank.unit) {
                continue;
            }
            if !blank.links.is_empty() {
                let buffer = cx.buffers.take(blank.columns.length());
                redo.buffers.push(buffer);
                blank.buffer = Some(buffer);
            }
            redo.blanks.push(blank);
        }
    }

    /// Writes the zeroed parts: neighbouring parts on a member are zeroed in one access.
    pub(in crate::log) fn write_blanks(&self, cx: &Context, plan: &mut Plan, redo: &Redo) {
        let mut zeroes: Vec<(Slot, Sector, Sectors)> = Vec::new();
        for blank in &redo.blanks {
            let (slot, at) = self.unit_at(cx, redo.region, blank.stripe, blank.unit, blank.columns.from);
            let length = blank.columns.length();
            match blank.buffer {
                Some(buffer) => {
                    plan.write(slot, at, Span::new(Source::Buffer(buffer), Sectors::ZERO, length), false);
                }
                None => zeroes.push((slot, at, length)),
            }
        }
        zeroes.sort_unstable();
        let mut rest = zeroes.into_iter().peekable();
        while let Some((slot, at, mut length)) = rest.next() {
            while let Some((_, _, more)) =
                rest.next_if(|(other, next, _)| *other == slot && *next == at + length)
            {
                length += more;
            }
            plan.push(Action::Zero { member: slot.into(), at, length }, &[]);
        }
    }
}

/// The intersection of two ranges of columns.
fn common(a: Columns, b: Columns) -> Option<Columns> {
    let both = Columns::new(a.from.max(b.from), a.to.min(b.to).max(a.from.max(b.from)));
    (!both.is_empty()).then_some(both)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::CommitPart;
    use crate::format::commit_entry::Committed;
    use crate::format::segment::Record;
    use crate::log::EntryName;
    use crate::log::recover::remembered::Remembered;

    /// A recovery with these records of one stripe, in order; each is given by its kind, unit and
    /// columns.
    fn recovery(records: &[(RecordKind, u16, u64, u64)]) -> Recovery {
        let slot = Slot::new(0);
        let remembered = |(number, &(kind, unit, from, to)): (u64, &(RecordKind, u16, u64, u64))| {
            let columns = Columns::new(Sectors::new(from), Sectors::new(to));
            let (unit, start) = (Unit::new(unit), Sectors::ZERO);
            let record = Record { sequence: number, stripe: 5, unit, kind, columns, start, digest: 0 };
            let committed = Committed { region: Region::new(0), record, changes: Vec::new() };
            let name = EntryName { part: CommitPart::Records, number };
            Remembered { committed, slots: vec![slot], at: Sector::ZERO, name }
        };
        Recovery { records: (1..).zip(records).map(remembered).collect(), ..Recovery::default() }
    }

    fn blanks(recovery: &Recovery) -> Vec<(u16, u64, u64, Vec<usize>)> {
        let place = |blank: Blank| {
            let Columns { from, to } = blank.columns;
            (blank.unit.get(), from.get(), to.get(), blank.links)
        };
        let mut places: Vec<_> =
            recovery.blanks(&recovery.next_part(2, Sectors::new(64)).0, 2).into_iter().map(place).collect();
        places.sort();
        places
    }

    const ZERO: RecordKind = RecordKind::Zero;
    const UPDATE: RecordKind = RecordKind::Update;
    const CANCEL: RecordKind = RecordKind::Cancel;

    #[test]
    fn only_changes_since_a_zero_record_count() {
        let recovery =
            recovery(&[(UPDATE, 0, 0, 8), (ZERO, 1, 0, 16), (UPDATE, 0, 4, 8), (UPDATE, 0, 6, 12)]);
        let expected = [(0, 0, 4, vec![]), (0, 4, 12, vec![2, 3]), (0, 12, 16, vec![]), (1, 0, 16, vec![])];
        assert_eq!(blanks(&recovery), expected);
    }

    #[test]
    fn the_later_of_two_zero_records_counts() {
        let recovery = recovery(&[(ZERO, 1, 0, 16), (UPDATE, 0, 4, 8), (ZERO, 1, 0, 8)]);
        let expected = [(0, 0, 8, vec![]), (0, 8, 16, vec![]), (1, 0, 8, vec![]), (1, 8, 16, vec![])];
        assert_eq!(blanks(&recovery), expected);
    }

    #[test]
    fn what_was_written_as_a_whole_since_is_compared_as_ever() {
        let recovery = recovery(&[(ZERO, 1, 0, 16), (CANCEL, 1, 0, 8), (UPDATE, 0, 0, 8)]);
        assert_eq!(blanks(&recovery), [(0, 8, 16, vec![]), (1, 8, 16, vec![])]);
        let block = Sectors::new(8);
        let columns = Columns::new(Sectors::ZERO, block);
        let parts = [0, 1].map(|unit| (5, Unit::new(unit), columns));
        assert_eq!(
            recovery.runs(&recovery.next_part(2, Sectors::new(64)).0, 2, block),
            parts,
            "and nothing else is read"
        );
    }
}
