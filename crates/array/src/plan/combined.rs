//! Read-modify-writes of one access: the platters turn once between its read and its write
//! (Stodolsky §3, footnote 4).
//!
//! Such an access changes a unit as soon as it has read it. So these plans write one piece and one
//! check unit at most, the piece first. What they have done when one of them fails is safe to do
//! again:
//!
//! - before the piece is written nothing has changed;
//! - after that, parity that cannot be read is repaired from the data, or its member is gone,
//!   before the write is planned again, and then the difference is none.

use parlour_units::Sectors;

use crate::columns::Piece;
use crate::effect::Modify;
use crate::layout::Location;
use crate::organization::Update;

use super::pieces::{plan_differences, write_pieces};
use super::view::{Fragment, Old, StripeView, StripeWrite};
use super::{Plan, Span, Strategy};

/// Whether a write floats: one of one whole unit to a stripe that is whole. All others leave units
/// where they are.
pub(super) fn floats(view: StripeView<'_>, pieces: &[Piece]) -> bool {
    let whole = |piece: &Piece| piece.columns.length() == view.geometry.layout().unit_length();
    view.geometry.organization().update == Update::Floating
        && view.missing.is_empty()
        && matches!(pieces, [piece] if whole(piece))
}

/// A small write to a stripe whose parity is updated at once. The parity's access begins when the
/// data's is done, because it needs the old data; where that is known, beside it (§8.1, footnote
/// 9).
pub(super) fn write_in_place(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) {
    let piece = &write.pieces[0];
    let columns = piece.columns;
    let known = view.cached(piece.unit, columns);
    let old = known.unwrap_or_else(|| exchange(plan, view, write));
    plan.next_phase();
    let difference = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
    plan.xor(difference, [old.span(columns), write.content.span(piece, columns)]);
    plan.next_phase();
    if known.is_some() {
        // Also where it could float: the paper's model has such a write wait for its place (§8.2).
        write_pieces(plan, view, write);
    }
    let before = Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length());
    for check in view.present_checks() {
        // It is recomputed after a crash.
        modify(
            plan,
            view,
            write,
            (view.locate(check, columns.from), Modify::Xor),
            [before, difference],
            false,
        );
    }
}

/// A small write whose difference goes to the log once it is known.
pub(super) fn write_logged(
    plan: &mut Plan,
    view: StripeView<'_>,
    write: StripeWrite<'_>,
    fragments: &[Fragment],
) {
    plan.strategy = Strategy::LoggedUpdate;
    let old = exchange(plan, view, write);
    plan.next_phase();
    plan_differences(plan, write.pieces, write.content, fragments, &[old], false);
    plan.next_phase();
    plan.commit_before = Some(plan.phase());
}

/// Writes the piece in the access that reads what it overwrites.
fn exchange(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) -> Old {
    let piece = &write.pieces[0];
    let old = Old::of(piece, plan.scratch(piece.columns.length()));
    let spans = [old.span(piece.columns), write.content.span(piece, piece.columns)];
    let location = view.locate(piece.unit, piece.columns.from);
    modify(plan, view, write, (location, Modify::Replace), spans, write.durable);
    old
}

/// Reads and writes a unit where it is, or, if it floats, elsewhere in its cylinder.
fn modify(
    plan: &mut Plan,
    view: StripeView<'_>,
    write: StripeWrite<'_>,
    (location, modify): (Location, Modify),
    spans: [Span; 2],
    durable: bool,
) {
    if floats(view, write.pieces) {
        plan.float(location, modify, spans, durable);
    } else {
        plan.read_modify_write(location, modify, spans, durable);
    }
}
