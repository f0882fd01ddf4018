//! Steps that several kinds of writes share: writing data, prereading it, and computing
//! differences.

use parlour_units::{Sectors, Unit};

use super::view::{Content, Fragment, Old, StripeView, StripeWrite};
use super::{Plan, Source, Span, Strategy};
use crate::columns::Piece;
use crate::effect::Action;
use crate::layout::Location;

pub(super) fn write_pieces(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) {
    let StripeWrite { pieces, content, durable } = write;
    for piece in pieces.iter().filter(|piece| !view.missing.has(piece.unit)) {
        write_unit(plan, view, (piece.unit, piece.columns.from), content.span(piece, piece.columns), durable);
    }
}

/// Writes to a unit from a column on, wherever it has to be written.
pub(super) fn write_unit(
    plan: &mut Plan,
    view: StripeView<'_>,
    (unit, column): (Unit, Sectors),
    span: Span,
    durable: bool,
) {
    for Location { slot, at } in view.targets(unit, column) {
        plan.write(slot, at, span, durable);
    }
}

/// Computes each record = old ⊕ new, from the old data in `old` for each piece. If the records are
/// committed, their checksums are those of old and new content, otherwise those of the record.
pub(super) fn plan_differences(
    plan: &mut Plan,
    pieces: &[Piece],
    content: Content,
    fragments: &[Fragment],
    old: &[Old],
    checksums: bool,
) {
    for (index, fragment) in fragments.iter().enumerate() {
        let found = pieces.iter().zip(old).find(|(piece, _)| piece.unit == fragment.unit);
        let (piece, old) = found.expect("a fragment belongs to a piece");
        let length = fragment.columns.length();
        let before = old.span(fragment.columns);
        let record = Span::new(Source::Record(index as u16), Sectors::ZERO, length);
        let after = content.span(piece, fragment.columns);
        plan.xor(record, [before, after]);
        if checksums {
            plan.checksum(before);
            plan.checksum(after);
        } else {
            plan.checksum(record);
        }
    }
}

/// Reads the old data of a piece.
pub(super) fn preread(plan: &mut Plan, view: StripeView<'_>, piece: &Piece) -> Old {
    let old = Old::of(piece, plan.scratch(piece.columns.length()));
    let location = view.locate(piece.unit, piece.columns.from);
    plan.read(location.slot, location.at, old.span(piece.columns));
    old
}

pub(super) fn unmap(plan: &mut Plan, view: StripeView<'_>, pieces: &[Piece]) {
    plan.strategy = Strategy::Unmap;
    let columns = pieces[0].columns;
    for unit in view.units().filter(|unit| !view.missing.has(*unit)) {
        for Location { slot, at } in view.targets(unit, columns.from) {
            plan.push(Action::Zero { member: slot.into(), at, length: columns.length() }, &[]);
        }
    }
}
