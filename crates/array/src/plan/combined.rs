//! Read-modify-writes in one access: the platters turn once between its read and its write
//! (Stodolsky §3, footnote 4).
//!
//! Such an access changes a unit as soon as it has read it. Therefore these plans write one piece
//! only, and its check units after it. If one of these accesses fails, the plan can safely be
//! repeated:
//!
//! - Before the piece is written nothing has changed.
//! - After that, a check unit that was not changed is repaired from the data, or its member is
//!   gone, before the write is planned again. The repeated write then finds the new data in place,
//!   and its difference is zero.

use parlour_units::{Sectors, Unit};

use crate::code::UnitSet;
use crate::columns::{Columns, Piece};
use crate::effect::Modify;
use crate::layout::Location;

use super::pieces::{plan_differences, write_pieces};
use super::view::{Fragment, Old, StripeView, StripeWrite};
use super::{Plan, Span, Strategy};

/// Whether a write floats: it must be one whole unit of a stripe without missing units. Other
/// writes leave units where they are.
pub(super) fn floats(view: StripeView<'_>, pieces: &[Piece]) -> bool {
    let whole = |piece: &Piece| piece.columns.length() == view.geometry.layout().unit_length();
    view.geometry.floats() && view.missing.is_empty() && matches!(pieces, [piece] if whole(piece))
}

/// A small write to a stripe whose parity is updated in place. The accesses to check units begin
/// when that to the data is done, because they need the old data. If the old data is known, all run
/// in parallel (§8.1, footnote 9).
pub(super) fn write_in_place(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) {
    let piece = &write.pieces[0];
    let columns = piece.columns;
    let known = view.cached(piece.unit, columns);
    let old = known.unwrap_or_else(|| exchange(plan, view, write));
    plan.next_phase();
    let (before, after) = (old.span(columns), write.content.span(piece, columns));
    let code = view.code();
    let checks: Vec<(Unit, Span)> = view
        .changed_checks(UnitSet::of(piece.unit))
        .map(|check| {
            let difference = scratch(plan, columns);
            let by = code.coefficient(check, piece.unit);
            plan.sum(difference, [(before, by), (after, by)]);
            (check, difference)
        })
        .collect();
    plan.next_phase();
    if known.is_some() {
        // This is so even where the unit could float: in the paper's model such a write waits for
        // its place (§8.2).
        write_pieces(plan, view, write);
    }
    for (check, difference) in checks {
        let spans = [scratch(plan, columns), difference];
        // The check unit need not be durable: it is recomputed after a crash.
        modify(plan, view, write, (view.locate(check, columns.from), Modify::Xor), spans, false);
    }
}

fn scratch(plan: &mut Plan, columns: Columns) -> Span {
    Span::new(plan.scratch(columns.length()), Sectors::ZERO, columns.length())
}

/// A small write whose difference goes to the log as soon as it is known.
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

/// Writes the piece in the access that reads its old data.
fn exchange(plan: &mut Plan, view: StripeView<'_>, write: StripeWrite<'_>) -> Old {
    let piece = &write.pieces[0];
    let old = Old::of(piece, plan.scratch(piece.columns.length()));
    let spans = [old.span(piece.columns), write.content.span(piece, piece.columns)];
    let location = view.locate(piece.unit, piece.columns.from);
    modify(plan, view, write, (location, Modify::Replace), spans, write.durable);
    old
}

/// Reads a unit and writes it in place or, if it floats, elsewhere in its cylinder.
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
