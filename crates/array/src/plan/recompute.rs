//! What is computed from the rest of a stripe: degraded reads, rebuild, resync, repair, scrub.

use parlour_units::{Sectors, Unit};

use crate::columns::{Columns, Piece};

use super::build::Builder;
use super::units::UnitSet;
use super::view::{Content, Lost, StripeView};
use super::{Behind, Held, Plan, Span, Strategy};

impl Builder {
    /// A read of pieces some of whose units are missing.
    pub(crate) fn read_degraded(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        pieces: &[Piece],
    ) -> Result<(), Lost> {
        plan.strategy = Strategy::DegradedRead;
        let mut computed: Vec<(Span, Vec<Span>)> = Vec::new();
        for piece in pieces {
            let host = Content::Host.span(piece, piece.columns);
            if !view.missing.has(piece.unit) {
                let location = view.locate(piece.unit, piece.columns.from);
                plan.read(location.slot, location.at, host);
                continue;
            }
            let sources = read_others(plan, view, piece.unit, piece.columns)?;
            computed.push((host, sources));
        }
        plan.next_phase();
        for (host, sources) in computed {
            plan.xor(host, sources);
        }
        Ok(())
    }

    /// Reads `targets` themselves, to see whether they can be read.
    pub(crate) fn probe(
        &mut self,
        plan: &mut Plan,
        view: StripeView<'_>,
        targets: UnitSet,
        columns: Columns,
    ) {
        plan.strategy = Strategy::Reconstruct;
        for unit in view.data().chain(view.checks()).filter(|unit| targets.has(*unit)) {
            let span = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
            let location = view.locate(unit, columns.from);
            plan.read(location.slot, location.at, span);
        }
    }

    /// Computes `targets` from the rest of the stripe and writes them, `behind` what they should be
    /// by that; with `verify`, reads them back.
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
        let target = view.data().chain(view.checks()).find(|unit| targets.has(*unit)).ok_or(Lost)?;
        let sources = read_others(plan, view, target, columns)?;
        let records: Vec<Span> = behind.iter().map(|behind| read_behind(plan, behind)).collect();
        plan.next_phase();
        let result = match sources[..] {
            [only] => only,
            _ => {
                let result = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
                plan.xor(result, sources);
                result
            }
        };
        plan.next_phase();
        for (Behind { columns: part, .. }, record) in behind.iter().zip(records) {
            plan.xor_into(Span::new(result.source, part.from - columns.from, part.length()), [record]);
            plan.next_phase();
        }
        let units = || view.data().chain(view.checks()).filter(|unit| targets.has(*unit));
        for unit in units() {
            let location = view.locate(unit, columns.from);
            plan.write(location.slot, location.at, result, verify);
        }
        if verify {
            read_back(plan, view, units().collect(), columns, result);
        }
        Ok(())
    }

    /// Reads all units of a stripe and compares what should fit: the check with the xor of the
    /// data, or each pair of copies in the order (0,1), (0,2), …, (1,2), …
    pub(crate) fn verify(&mut self, plan: &mut Plan, view: StripeView<'_>, columns: Columns) {
        plan.strategy = Strategy::Verify;
        let layout = view.geometry.layout();
        let units: Vec<Unit> = layout.units().collect();
        let read = |unit: &Unit| {
            let span = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
            let location = view.locate(*unit, columns.from);
            plan.read(location.slot, location.at, span);
            span
        };
        let mut spans: Vec<Span> = units.iter().map(read).collect();
        plan.next_phase();
        if layout.data_units() > 1 {
            let check = spans.pop().expect("a stripe with a code has a check unit");
            let computed = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
            plan.xor(computed, spans);
            plan.next_phase();
            plan.compare(computed, check);
        } else {
            for (index, a) in spans.iter().enumerate() {
                spans[index + 1..].iter().for_each(|b| plan.compare(*a, *b));
            }
        }
    }
}

/// Reads what `unit` can be computed from: its copy, or all others. Returns where it was read
/// to.
pub(super) fn read_others(
    plan: &mut Plan,
    view: StripeView<'_>,
    unit: Unit,
    columns: Columns,
) -> Result<Vec<Span>, Lost> {
    let layout = view.geometry.layout();
    let others = || view.data().chain(view.checks()).filter(|other| *other != unit);
    let needed: Vec<Unit> = if layout.check_units() == 0 {
        return Err(Lost);
    } else if layout.data_units() == 1 {
        others().find(|other| !view.missing.has(*other)).into_iter().collect()
    } else {
        others().collect()
    };
    if needed.is_empty() || needed.iter().any(|other| view.missing.has(*other)) {
        return Err(Lost);
    }
    let read = |other: Unit| {
        let span = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
        let location = view.locate(other, columns.from);
        plan.read(location.slot, location.at, span);
        span
    };
    Ok(needed.into_iter().map(read).collect())
}

/// Reads what parity is behind by, unless it is in memory.
fn read_behind(plan: &mut Plan, behind: &Behind) -> Span {
    match behind.held {
        Held::Memory(span) => span,
        Held::Member(member, at) => {
            let length = behind.columns.length();
            let span = Span::new(plan.scratch(length), Sectors::ZERO, length);
            plan.read(member, at, span);
            span
        }
    }
}

/// Reads what was written and compares it with what should stand there.
fn read_back(plan: &mut Plan, view: StripeView<'_>, units: Vec<Unit>, columns: Columns, expected: Span) {
    plan.next_phase();
    let read = |unit: &Unit| {
        let span = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
        let location = view.locate(*unit, columns.from);
        plan.read(location.slot, location.at, span);
        span
    };
    let spans: Vec<Span> = units.iter().map(read).collect();
    plan.next_phase();
    spans.into_iter().for_each(|span| plan.compare(expected, span));
}
