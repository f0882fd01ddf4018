//! The input of a plan: a stripe as the array sees it now, and the data to be written to it.

use parlour_units::{Sectors, Stripe, Unit};

use super::{Source, Span};
use crate::cache::Cached;
use crate::code::{Table, UnitSet};
use crate::columns::{Columns, Piece};
use crate::geometry::Geometry;
use crate::layout::{Layout, Location};
use crate::rebuilds::Rebuilds;
use crate::roster::places::Places;

/// A stripe as a plan sees it: where its units are, and which of them can be used.
#[derive(Clone, Copy)]
pub(crate) struct StripeView<'a> {
    pub(crate) geometry: &'a Geometry,
    pub(crate) stripe: Stripe,
    /// Units whose member is failed or not yet rebuilt.
    pub(crate) missing: UnitSet,
    /// Old data that need not be read.
    pub(crate) cached: &'a [Cached],
    /// The current places of units.
    pub(crate) places: Places<'a>,
    /// The slots that are rebuilt, if the plan is for that.
    pub(crate) rebuilds: Option<Rebuilds>,
}

/// The place of old content: it covers `unit` from `column` on, and begins at `start` of the
/// source.
#[derive(Clone, Copy, Debug)]
pub(super) struct Old {
    pub(super) unit: Unit,
    pub(super) source: Source,
    column: Sectors,
    start: Sectors,
}

impl Old {
    /// The old data of `piece`, at the start of `source`.
    pub(super) fn of(piece: &Piece, source: Source) -> Old {
        Old { unit: piece.unit, source, column: piece.columns.from, start: Sectors::ZERO }
    }

    /// The content of `unit` from `column` on, at the start of `source`.
    pub(super) fn read(unit: Unit, source: Source, column: Sectors) -> Old {
        Old { unit, source, column, start: Sectors::ZERO }
    }

    pub(super) fn span(&self, columns: Columns) -> Span {
        Span::new(self.source, self.start + (columns.from - self.column), columns.length())
    }
}

/// More units are missing than the code can compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lost;

impl StripeView<'_> {
    /// Whether there is data among `units`.
    pub(crate) fn any_data(&self, units: UnitSet) -> bool {
        let layout = self.geometry.layout();
        layout.units().any(|unit| layout.is_data(unit) && units.has(unit))
    }

    /// Those of `targets` that can be computed from the other units that are there.
    pub(crate) fn computable(&self, targets: UnitSet) -> UnitSet {
        let missing = self.missing.or(targets);
        let computable = |unit: &Unit| targets.has(*unit) && self.code().decode(*unit, missing).is_some();
        self.units().filter(computable).collect()
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
        self.absolute(self.places.locate(self.stripe, unit), column)
    }

    /// A further place where the unit has to be written.
    pub(super) fn second(&self, unit: Unit, column: Sectors) -> Option<Location> {
        self.places.second(self.stripe, unit).map(|second| self.absolute(second, column))
    }

    /// All places where the unit has to be written; in a rebuild, the one where it is rebuilt.
    pub(super) fn targets(&self, unit: Unit, column: Sectors) -> impl Iterator<Item = Location> + use<> {
        let (first, second) = match self.rebuilds {
            Some(rebuilds) => {
                let place = rebuilds.place(self.places, self.stripe, unit);
                (place.map(|place| self.absolute(place, column)), None)
            }
            None => (Some(self.locate(unit, column)), self.second(unit, column)),
        };
        first.into_iter().chain(second)
    }

    fn absolute(&self, place: Location, column: Sectors) -> Location {
        Location { at: self.geometry.data_start() + (place.at + column).from_start(), ..place }
    }

    pub(super) fn data(&self) -> impl Iterator<Item = Unit> + use<> {
        (0..self.geometry.layout().data_units()).map(Unit::new)
    }

    pub(super) fn checks(&self) -> impl Iterator<Item = Unit> + use<> {
        self.geometry.layout().checks()
    }

    pub(super) fn present_checks(self) -> impl Iterator<Item = Unit> {
        self.checks().filter(move |unit| !self.missing.has(*unit))
    }

    /// The data units that are not `written` and on which check units depend that change.
    pub(super) fn unwritten(&self, written: UnitSet) -> impl Iterator<Item = Unit> + use<> {
        let depends = self.changed_checks(written).map(|check| self.code().depends(check));
        let needed = depends.fold(UnitSet::NONE, UnitSet::or);
        self.data().filter(move |unit| needed.has(*unit) && !written.has(*unit))
    }

    /// The present check units that change when one of `data` changes.
    pub(super) fn changed_checks(&self, data: UnitSet) -> impl Iterator<Item = Unit> {
        self.present_checks().filter(move |check| !self.code().depends(*check).and(data).is_empty())
    }
}

/// The content that a write writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// The host's payload.
    Host,
    /// Zeroes; whole stripes may be unmapped.
    Zeroes { may_unmap: bool },
}

impl Content {
    /// Whether whole stripes are unmapped.
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

/// How a write is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogMethod {
    /// The difference of old and new data is logged.
    Update,
    /// New parity is logged.
    Overwrite,
    /// New parity is written in place; earlier records of the stripe no longer count.
    Cancel,
    /// The same, and all units become zeroes, including the parity.
    Zero,
    /// Check units are updated in place. The new content of all units that change is recorded
    /// before.
    Content,
}

impl LogMethod {
    /// Whether its record has no payload and only cancels earlier records: parity is written in
    /// place.
    pub(crate) fn is_bare(self) -> bool {
        matches!(self, LogMethod::Cancel | LogMethod::Zero)
    }
}

/// Room in the log that is reserved for a plan: the columns of one of its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    /// The unit whose difference is logged; the check unit for new parity.
    pub(crate) unit: Unit,
    pub(crate) columns: Columns,
    /// It has no payload: a cancel or zero record.
    pub(crate) bare: bool,
}

/// Whether `pieces` cover the same columns of every data unit.
pub(crate) fn is_whole(layout: &Layout, pieces: &[Piece]) -> bool {
    pieces.len() == usize::from(layout.data_units())
        && pieces.iter().all(|piece| piece.columns == pieces[0].columns)
}
