//! Sectors in which a crash has cut off a write of the whole stripe.

use parlour_units::{Sectors, Unit};

use crate::code::{Term, UnitSet};
use crate::columns::Columns;
use crate::context::Context;
use crate::log::recover::redo::Redo;
use crate::plan::{Plan, Source, Span};

/// One sector of each unit of a stripe.
pub(super) struct CutOff<'a> {
    pub(super) redo: &'a Redo,
    pub(super) stripe: u32,
    /// The distance of the sector from the start of its unit.
    pub(super) column: Sectors,
    /// The units that lack the write.
    pub(super) units: UnitSet,
}

/// A sector whose data is not all there to be finished.
pub(super) struct Settled {
    /// The runs of the check units.
    pub(super) runs: Vec<usize>,
    /// The blocks of data units that are not there.
    pub(super) lost: Vec<(u32, Unit, Sectors)>,
}

impl CutOff<'_> {
    /// Computes the units that lack the write from those that have it, if these are enough: what
    /// they hold fits together. Returns the runs that change.
    ///
    /// If the write was complete, and a unit was silently damaged since, it is restored in this
    /// way.
    pub(super) fn finish(&self, cx: &Context, plan: &mut Plan) -> Option<Vec<usize>> {
        let units = || cx.geometry.layout().units();
        let absent: UnitSet = units().filter(|unit| self.run(*unit).is_none()).collect();
        let without = self.units.or(absent);
        let computed = units().filter(|unit| self.units.has(*unit)).map(|unit| {
            let terms = cx.geometry.code().decode(unit, without)?;
            Some((self.run(unit)?, self.spans(terms)?))
        });
        let computed: Vec<(usize, Vec<(Span, u8)>)> = computed.collect::<Option<_>>()?;
        let runs = computed.into_iter().map(|(run, terms)| {
            plan.sum(self.span(run), terms);
            run
        });
        Some(runs.collect())
    }

    /// Each data sector stays old or new. Data that is not there is lost, and zeroes are put in its
    /// place: check units are computed from the data as it is then.
    pub(super) fn settle(&self, cx: &Context, plan: &mut Plan) -> Settled {
        let layout = cx.geometry.layout();
        let there = layout.checks().filter_map(|check| Some((check, self.run(check)?)));
        let runs = there.map(|(check, run)| {
            let terms = cx.geometry.code().encode(check);
            let terms = terms.into_iter().filter_map(|(unit, by)| Some((self.span(self.run(unit)?), by)));
            plan.sum(self.span(run), terms);
            run
        });
        let runs = runs.collect();
        let lost = layout.units().filter(|unit| layout.is_data(*unit) && self.run(*unit).is_none());
        let block = self.column.round_down(cx.geometry.block());
        Settled { runs, lost: lost.map(|unit| (self.stripe, unit, block)).collect() }
    }

    /// The run of `unit` in which the sector is, if it could be read.
    fn run(&self, unit: Unit) -> Option<usize> {
        let sector = Columns::new(self.column, self.column + Sectors::new(1));
        let runs = &mut self.redo.runs.iter();
        runs.position(|run| (run.stripe, run.unit) == (self.stripe, unit) && run.columns.contain(sector))
    }

    fn span(&self, run: usize) -> Span {
        let run = &self.redo.runs[run];
        Span::new(Source::Buffer(run.buffer), self.column - run.columns.from, Sectors::new(1))
    }

    /// The terms, if all of their units could be read.
    fn spans(&self, terms: impl IntoIterator<Item = Term>) -> Option<Vec<(Span, u8)>> {
        terms.into_iter().map(|(unit, by)| Some((self.span(self.run(unit)?), by))).collect()
    }
}
