//! Plans that compute units from the rest of a stripe: degraded reads, rebuild, resync, repair,
//! scrub.

use parlour_units::{Sectors, Unit};

use crate::columns::{Columns, Piece, hull};

use super::build::Builder;
use super::pieces::write_unit;
use super::view::{Content, Lost, StripeView};
use super::{Behind, Expected, Held, OnMember, Plan, Source, Span, Strategy};
use crate::code::{Equation, UnitSet};

impl Builder {
    /// Reads pieces of which some units are missing.
    pub(crate) fn read_degraded(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        pieces: &[Piece],
    ) -> Result<(), Lost> {
        plan.strategy = Strategy::DegradedRead;
        let missing = || pieces.iter().filter(|piece| view.missing.has(piece.unit));
        for piece in pieces.iter().filter(|piece| !view.missing.has(piece.unit)) {
            let location = view.locate(piece.unit, piece.columns.from);
            plan.read(location.slot, location.at, Content::Host.span(piece, piece.columns));
        }
        let units: Vec<Unit> = missing().map(|piece| piece.unit).collect();
        let all: Vec<Piece> = missing().copied().collect();
        let Some(columns) = hull(&all) else { return Ok(()) };
        // Each unit is read once, however many are computed from it.
        let computed = read_targets(plan, view, &units, columns)?;
        plan.next_phase();
        for (piece, terms) in missing().zip(computed) {
            let part = |span: Span| {
                let start = span.start + (piece.columns.from - columns.from);
                Span { start, length: piece.columns.length(), ..span }
            };
            let terms = terms.into_iter().map(|(span, by)| (part(span), by));
            plan.sum(Content::Host.span(piece, piece.columns), terms);
        }
        Ok(())
    }

    /// Reads `targets` themselves, to find out whether they can be read.
    pub(crate) fn probe(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        targets: UnitSet,
        columns: Columns,
    ) {
        plan.strategy = Strategy::Reconstruct;
        for unit in view.units().filter(|unit| targets.has(*unit)) {
            read_unit(plan, view, unit, columns);
        }
    }

    /// Computes `targets` from the rest of the stripe and writes them. The records in `behind`,
    /// which check units lack, are taken into account. With `verify`, the targets are read back.
    pub(crate) fn reconstruct(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        targets: UnitSet,
        columns: Columns,
        behind: &[Behind],
        verify: bool,
    ) -> Result<(), Lost> {
        plan.strategy = Strategy::Reconstruct;
        let view = view.without(targets);
        let targets: Vec<Unit> = view.units().filter(|unit| targets.has(*unit)).collect();
        let computed = read_targets(plan, view, &targets, columns)?;
        let mut digests = Vec::new();
        let records: Vec<Span> =
            behind.iter().map(|behind| read_behind(plan, behind, &mut digests)).collect();
        plan.next_phase();
        for (span, read, digest) in digests {
            let whole = Columns::new(Sectors::ZERO, span.length);
            plan.verify(span, read, whole, Expected::Digest(digest));
        }
        plan.next_phase();
        let results = plan_sums(plan, computed, columns, !records.is_empty());
        plan.next_phase();
        for (Behind { target, columns: part, coefficient, .. }, record) in behind.iter().zip(records) {
            let index = targets.iter().position(|unit| unit == target).ok_or(Lost)?;
            let into = Span::new(results[index].source, part.from - columns.from, part.length());
            plan.add(into, [(record, *coefficient)]);
            plan.next_phase();
        }
        for (unit, result) in targets.iter().zip(&results) {
            write_unit(plan, view, (*unit, columns.from), *result, verify);
        }
        if verify {
            read_back(plan, view, &targets, columns, &results);
        }
        Ok(())
    }

    /// Copies units from where they are to where they are rebuilt.
    pub(crate) fn copy(&mut self, plan: &mut Plan, view: StripeView<'_>, targets: UnitSet, columns: Columns) {
        plan.strategy = Strategy::Reconstruct;
        let targets: Vec<Unit> = view.units().filter(|unit| targets.has(*unit)).collect();
        let spans: Vec<Span> = targets.iter().map(|unit| read_unit(plan, view, *unit, columns)).collect();
        plan.next_phase();
        for (unit, span) in targets.into_iter().zip(spans) {
            write_unit(plan, view, (unit, columns.from), span, false);
        }
    }

    /// Reads all units of a stripe and compares them: copies by pairs, in the order (0,1), (0,2),
    /// …, (1,2), …, and each other check unit with the sum of its data units.
    pub(crate) fn verify(&mut self, plan: &mut Plan, view: StripeView<'_>, columns: Columns) {
        plan.strategy = Strategy::Verify;
        let spans: Vec<Span> = view.units().map(|unit| read_unit(plan, view, unit, columns)).collect();
        let of = |unit: Unit| spans[usize::from(unit.get())];
        plan.next_phase();
        let (mut compared, mut computed, mut checks) = (Vec::new(), Vec::new(), Vec::new());
        for equation in view.code().equations() {
            match equation {
                Equation::Equal(first, second) => compared.push((of(first), of(second))),
                Equation::Sum(check, terms) => {
                    computed.push(terms.into_iter().map(|(unit, by)| (of(unit), by)).collect());
                    checks.push(of(check));
                }
            }
        }
        compared.extend(plan_sums(plan, computed, columns, false).into_iter().zip(checks));
        plan.next_phase();
        compared.into_iter().for_each(|(a, b)| plan.compare(a, b));
    }

    /// Reads all units of a stripe, and finds out for each unit whether all others fit without it.
    /// There are as many comparisons for each unit, in their order, as check units but one.
    ///
    /// What check units differ by from the sums of the data are their *syndromes*. If a single data
    /// unit is wrong, each syndrome is its error times its coefficient; if a single check unit is,
    /// all other syndromes are zero.
    pub(crate) fn locate(&mut self, plan: &mut Plan, view: StripeView<'_>, columns: Columns) {
        plan.strategy = Strategy::Verify;
        let spans: Vec<Span> = view.units().map(|unit| read_unit(plan, view, unit, columns)).collect();
        let of = |unit: Unit| spans[usize::from(unit.get())];
        plan.next_phase();
        let code = view.code();
        let terms = |check: Unit| {
            let data = code.encode(check).map(|(unit, by)| (of(unit), by));
            data.chain([(of(check), 1)]).collect::<Vec<_>>()
        };
        let checks: Vec<Unit> = view.checks().collect();
        let syndromes = plan_sums(plan, checks.iter().map(|check| terms(*check)).collect(), columns, false);
        plan.next_phase();
        let zeroes = Span::new(Source::Zeroes, Sectors::ZERO, columns.length());
        // The units' memory is free again. (Computations keep their order.)
        let free = spans[0];
        for unit in view.units() {
            let factor = |check: &Unit| match checks.contains(&unit) {
                true => u8::from(*check == unit),
                false => code.coefficient(*check, unit),
            };
            let pivot = checks.iter().position(|check| factor(check) != 0).unwrap_or(0);
            for other in (0..checks.len()).filter(|other| *other != pivot) {
                let (of_pivot, of_other) = (factor(&checks[pivot]), factor(&checks[other]));
                plan.sum(free, [(syndromes[other], of_pivot), (syndromes[pivot], of_other)]);
                plan.compare(free, zeroes);
            }
        }
    }
}

/// Reads the units from which `targets` are computed, each unit once. Returns the terms for each
/// target.
fn read_targets(
    plan: &mut Plan,
    view: StripeView<'_>,
    targets: &[Unit],
    columns: Columns,
) -> Result<Vec<Vec<(Span, u8)>>, Lost> {
    let mut read: Vec<(Unit, Span)> = Vec::new();
    let mut computed = Vec::new();
    for target in targets {
        let terms = view.code().decode(*target, view.missing).ok_or(Lost)?;
        let spans = terms.into_iter().map(|(unit, by)| {
            let known = read.iter().find(|(other, _)| *other == unit).map(|(_, span)| *span);
            let span = known.unwrap_or_else(|| read_unit(plan, view, unit, columns));
            read.push((unit, span));
            (span, by)
        });
        computed.push(spans.collect());
    }
    Ok(computed)
}

/// The sum of each of these terms, all in one pass: in a scratch buffer, unless it is a single span
/// already and nothing is added to it later.
fn plan_sums(plan: &mut Plan, computed: Vec<Vec<(Span, u8)>>, columns: Columns, adds: bool) -> Vec<Span> {
    let mut sums = Vec::new();
    let results = computed.into_iter().map(|terms| {
        if let [(only, 1)] = terms[..]
            && !adds
        {
            return only;
        }
        let result = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
        sums.push((result, terms));
        result
    });
    let results = results.collect();
    plan.sums_of(&sums);
    results
}

/// Reads the units from which `unit` is computed: the first copy that is there, or the units that
/// the code names. Returns for each where it was read to, and its coefficient.
pub(super) fn read_others(
    plan: &mut Plan,
    view: StripeView<'_>,
    unit: Unit,
    columns: Columns,
) -> Result<Vec<(Span, u8)>, Lost> {
    let terms = view.code().decode(unit, view.missing).ok_or(Lost)?;
    Ok(terms.into_iter().map(|(other, by)| (read_unit(plan, view, other, columns), by)).collect())
}

/// Reads columns of a unit into a new scratch buffer.
fn read_unit(plan: &mut Plan, view: StripeView<'_>, unit: Unit, columns: Columns) -> Span {
    let span = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
    let location = view.locate(unit, columns.from);
    plan.read(location.slot, location.at, span);
    span
}

/// Reads a record that the parity lacks, unless it is in memory. Adds to `digests` what was read,
/// in which step, and the digest that it must have.
fn read_behind(plan: &mut Plan, behind: &Behind, digests: &mut Vec<(Span, u32, u32)>) -> Span {
    match behind.held {
        Held::Memory(span) => span,
        Held::Member(OnMember { slot, at, length, skip, digest }) => {
            let whole = Span::new(plan.scratch(length), Sectors::ZERO, length);
            let step = plan.steps.len() as u32;
            plan.read(slot, at, whole);
            digests.extend(digest.map(|digest| (whole, step, digest)));
            Span { start: skip, length: behind.columns.length(), ..whole }
        }
    }
}

/// Reads back what was written and compares it with the expected content.
fn read_back(plan: &mut Plan, view: StripeView<'_>, units: &[Unit], columns: Columns, expected: &[Span]) {
    plan.next_phase();
    let spans: Vec<Span> = units.iter().map(|unit| read_unit(plan, view, *unit, columns)).collect();
    plan.next_phase();
    spans.into_iter().zip(expected).for_each(|(span, expected)| plan.compare(*expected, span));
}
