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

/// What becomes of the check units.
#[derive(Default)]
pub(super) struct Repaired {
    /// The runs of those that are computed from the data.
    pub(super) runs: Vec<usize>,
    /// The blocks of those that depend on a missing unit.
    pub(super) undetermined: Vec<(u32, Unit, Sectors)>,
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

    /// Each data sector stays old or new. Check units are computed from the data as it is, where
    /// all is there that they depend on.
    pub(super) fn repair_checks(&self, cx: &Context, plan: &mut Plan) -> Repaired {
        let there = cx.geometry.layout().checks().filter_map(|check| Some((check, self.run(check)?)));
        let mut repaired = Repaired::default();
        for (check, run) in there {
            match self.spans(cx.geometry.code().encode(check)) {
                Some(terms) => {
                    plan.sum(self.span(run), terms);
                    repaired.runs.push(run);
                }
                None => {
                    let block = self.column.round_down(cx.geometry.block());
                    repaired.undetermined.push((self.stripe, check, block));
                }
            }
        }
        repaired
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
