//! The builder of plans, with the tables of bands and reads that all kinds of plans use.

use parlour_units::{Sectors, Unit};

use super::bands::Band;
use super::view::{Old, StripeView};
use super::{Plan, Source, Span};
use crate::columns::{Columns, Piece};
use crate::tuning::Tuning;

/// How a band's check units are brought up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// The old check units and the old content of what is written are read.
    Modify,
    /// The units that are not written are read.
    Reconstruct,
    /// What is written and what is not are both missing in part: old content that is missing is
    /// computed from what is there.
    Decode,
    /// There is no check unit to update.
    Nothing,
}

/// Builds plans. Its tables are kept from one plan to the next, for their memory.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    /// See [`Tuning::copies_in_turn`](crate::Tuning::copies_in_turn).
    pub(super) copies_in_turn: bool,
    /// Whether small writes read the old data in the same access
    /// ([`Simulated::combined`](crate::Simulated)).
    pub(super) combined: bool,
    pub(super) bands: Vec<(Band, Method)>,
    pub(super) plain: Vec<Band>,
    pub(super) reads: Vec<(Unit, Columns)>,
    /// What the plan has read.
    pub(super) old: Vec<Old>,
    /// The check units that the plan computes, and where.
    pub(super) computed: Vec<(Unit, Source)>,
    /// In a band: the check units that are computed, and the content from which they are.
    pub(super) outputs: Vec<(Unit, Span)>,
    pub(super) sources: Vec<(Unit, Span)>,
}

impl Builder {
    pub(crate) fn new(tuning: &Tuning, combined: bool) -> Builder {
        Builder { copies_in_turn: tuning.copies_in_turn, combined, ..Builder::default() }
    }

    /// Whether a write reads the old data in the same access. Only for a single piece: of several
    /// pieces one might be written and another fail, and then the difference would not be known.
    /// Nor for units that are written to two places.
    pub(super) fn combines(&self, view: StripeView<'_>, pieces: &[Piece]) -> bool {
        let once = || view.units().all(|unit| view.second(unit, Sectors::ZERO).is_none());
        self.combined && pieces.len() == 1 && once()
    }

    pub(super) fn hull(&self) -> Columns {
        let first = self.plain.first().expect("a write touches something").columns;
        let last = self.plain.last().expect("a write touches something").columns;
        Columns::new(first.from, last.to)
    }

    /// Reads what the methods need, each unit into its own scratch buffer.
    pub(super) fn read_phase(&mut self, plan: &mut Plan, view: StripeView<'_>, hull: Columns) {
        self.old.clear();
        for (unit, columns) in &self.reads {
            let old = match self.old.iter().find(|old| old.unit == *unit) {
                Some(old) => *old,
                None => {
                    let source = plan.scratch(hull.length());
                    let old = Old::read(*unit, source, hull.from);
                    self.old.push(old);
                    old
                }
            };
            let location = view.locate(*unit, columns.from);
            plan.read(location.slot, location.at, old.span(*columns));
        }
    }
}

/// Sorts reads by unit and column, and joins adjacent ones.
pub(super) fn merge(reads: &mut Vec<(Unit, Columns)>) {
    reads.sort_unstable();
    let mut kept = 0;
    for index in 1..reads.len() {
        let (unit, columns) = reads[index];
        let last = &mut reads[kept];
        if last.0 == unit && last.1.to >= columns.from {
            last.1.to = last.1.to.max(columns.to);
        } else {
            kept += 1;
            reads[kept] = (unit, columns);
        }
    }
    reads.truncate(kept + 1);
}
