//! What a plan is made from: a stripe as the array sees it now, and what is to be written to it.

use parlour_units::{Sectors, Stripe, Unit};

use super::{Source, Span};
use crate::cache::Cached;
use crate::code::{Table, UnitSet};
use crate::columns::{Columns, Piece};
use crate::geometry::Geometry;
use crate::layout::{Layout, Location};
use crate::roster::floating::Floats;

/// A stripe as a plan sees it: where its units are, and which of them can be used.
#[derive(Clone, Copy)]
pub(crate) struct StripeView<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) stripe: Stripe,
    /// Units whose member is failed or not yet rebuilt.
    pub(crate) missing: UnitSet,
    /// Old data that need not be read.
    pub(crate) cached: &'a [Cached],
    /// Where units are, where they float.
    pub(crate) floats: Option<&'a Floats>,
}

/// Where old content stands: from `column` of `unit` on, at `start` of the source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old {
    pub(super) unit: Unit,
    pub(super) source: Source,
    column: Sectors,
    start: Sectors,
}

impl Old {
    /// What `piece` overwrites, at the start of `source`.
    pub(super) fn of(piece: &Piece, source: Source) -> Old {
        Old { unit: piece.unit, source, column: piece.columns.from, start: Sectors::ZERO }
    }

    /// What is read of `unit` from `column` on, to the start of `source`.
    pub(super) fn read(unit: Unit, source: Source, column: Sectors) -> Old {
        Old { unit, source, column, start: Sectors::ZERO }
    }

    pub(super) fn span(&self, columns: Columns) -> Span {
        Span::new(self.source, self.start + (columns.from - self.column), columns.length())
    }
}

/// More is missing than the code can make up for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl StripeView<'_> {
    /// Whether there is data among `units`.
    pub(crate) fn any_data(&self, units: UnitSet) -> bool {
        let layout = self.geometry.layout();
        layout.units().any(|unit| layout.is_data(unit) && units.has(unit))
    }

    pub(super) fn cached(&self, unit: Unit, columns: Columns) -> Option<Old> {
        let known = self.cached.iter().find(|entry| entry.unit == unit && entry.columns.contain(columns))?;
        let Cached { columns, buffer, start, .. } = *known;
        Some(Old { unit, source: Source::Buffer(buffer), column: columns.from, start })
    }

    pub(super) fn code(&self) -> &Table {
        self.geometry.code()
    }

    /// All units, in their order.
    pub(super) fn units(&self) -> impl Iterator<Item = Unit> + use<> {
        self.geometry.layout().units()
    }

    /// The same stripe, as if `units` were missing too.
    pub(crate) fn without(self, units: UnitSet) -> Self {
        StripeView { missing: self.missing.or(units), ..self }
    }

    pub(super) fn locate(&self, unit: Unit, column: Sectors) -> Location {
        let home = self.geometry.layout().locate(self.stripe, unit);
        let now = self.floats.map_or(home, |floats| floats.locate(home));
        let at = self.geometry.data_start() + (now.at + column).from_start();
        Location { slot: now.slot, at }
    }

    pub(super) fn data(&self) -> impl Iterator<Item = Unit> + use<> {
        (0..self.geometry.layout().data_units()).map(Unit::new)
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = Unit> + use<> {
        let data = self.geometry.layout().data_units();
        (data..data + self.geometry.layout().check_units()).map(Unit::new)
    }

    pub(super) fn present_checks(self) -> impl Iterator<Item = Unit> {
        self.checks().filter(move |unit| !self.missing.has(*unit))
    }

    /// The check units that are there and change when one of `data` does.
    pub(super) fn changed_checks(&self, data: UnitSet) -> impl Iterator<Item = Unit> {
        self.present_checks().filter(move |check| !self.code().depends(*check).and(data).is_empty())
    }
}

/// What a write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The host's payload.
    Host,
    /// Zeroes; whole stripes may give their space back.
    Zeroes { may_unmap: bool },
}

impl Content {
    /// Whether whole stripes give their space back.
    pub(crate) fn unmaps(self) -> bool {
        self == (Content::Zeroes { may_unmap: true })
    }

    pub(super) fn span(self, piece: &Piece, columns: Columns) -> Span {
        let start = piece.host + (columns.from - piece.columns.from);
        match self {
            Content::Host => Span::new(Source::Host, start, columns.length()),
            Content::Zeroes { .. } => Span::new(Source::Zeroes, Sectors::ZERO, columns.length()),
        }
    }
}

/// A write to one stripe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StripeWrite<'a> {
    pub(crate) pieces: &'a [Piece],
    pub(crate) content: Content,
    /// Whether it must be durable when it is answered.
    pub(crate) durable: bool,
}

/// How a write to a healthy stripe goes to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogMethod {
    /// Difference of old and new data.
    Update,
    /// New parity.
    Overwrite,
    /// New parity in place; what the log holds for the stripe no longer counts.
    Cancel,
    /// The same, where all units become zeroes, parity too.
    Zero,
}

impl LogMethod {
    /// Whether its record only voids what the log holds: parity is written in place.
    pub(crate) fn is_bare(self) -> bool {
        matches!(self, LogMethod::Cancel | LogMethod::Zero)
    }
}

/// Room in the log that is reserved for a plan: record `n` of the plan tells of these
/// columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The unit whose difference is told; the check unit where new parity is.
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    /// It has no payload: a cancel or zero record.
    pub(crate) bare: bool,
}

/// Whether `pieces` are the same columns of each data unit.
pub(crate) fn is_whole(layout: &Layout, pieces: &[Piece]) -> bool {
    pieces.len() == usize::from(layout.data_units())
        && pieces.iter().all(|piece| piece.columns == pieces[0].columns)
}
