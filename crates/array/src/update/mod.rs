//! The update policy: how a write goes to its stripe, and what of it goes to a log first.
//!
//! A stripe job carries out what these functions say, and `explain` prints it.

use parlour_units::{Region, Sectors, Slot};

use crate::columns::Piece;
use crate::geometry::Geometry;
use crate::layout::Layout;
use crate::plan::{Builder, Content, Fragment, LogMethod, Lost, Plan, StripeView, StripeWrite};
use crate::tuning::{LargeWrite, Tuning};

/// The slots that hold `region`'s log; none where the layout has no logs.
pub(crate) fn log_slots(layout: &Layout, region: Region) -> impl Iterator<Item = Slot> + '_ {
    let sublogs = layout.logs().map_or(0, |logs| logs.shape().sublogs);
    (0..sublogs).filter_map(move |sublog| layout.sublog_slot(region, sublog))
}

/// Whether writes go through a log as the members now stand: where records are durable before their
/// data, as long as the log's members are whole (`log_stands`); elsewhere, only while all are.
pub(crate) fn goes_to_log(geometry: &Geometry, log_stands: bool, all_stand: bool) -> bool {
    let stands = if geometry.is_journaled() { log_stands } else { all_stand };
    geometry.layout().logs().is_some() && stands
}

/// How a write that goes through the log is told there. `known`: what it overwrites need not be
/// read.
pub(crate) fn method(
    builder: &mut Builder,
    view: StripeView<'_>,
    (pieces, content): (&[Piece], Content),
    tuning: &Tuning,
    known: bool,
) -> LogMethod {
    let cancels = tuning.large_write(view.geometry) == LargeWrite::Cancel;
    match view.geometry.is_journaled() {
        // What new parity is made of is not known if a crash comes between its units: only
        // differences are told, and whole stripes.
        true => builder.durable_method(view, pieces, content, cancels),
        false => builder.log_method(view, pieces, cancels || content.unmaps(), known),
    }
}

/// Plans a write that is told to the log as `method` says; none: its parity is written with it.
/// `fragments` are what it tells there, in the buffers that are reserved.
pub(crate) fn plan(
    builder: &mut Builder,
    plan: &mut Plan,
    view: StripeView<'_>,
    write: StripeWrite<'_>,
    method: Option<LogMethod>,
    fragments: &[Fragment],
) -> Result<(), Lost> {
    if view.geometry.is_journaled() && method.is_some() {
        return builder.write_durably_logged(plan, view, write, method, fragments);
    }
    if let Some(method) = method.filter(|method| !method.is_bare()) {
        builder.write_logged(plan, view, write, method, fragments);
        return Ok(());
    }
    builder.write_in_place(plan, view, write)?;
    // A record that voids others, where there are any, goes to the log before the data is written.
    if !fragments.is_empty() {
        plan.commit_before = plan.steps.last().map(|step| step.phase);
    }
    Ok(())
}

/// How much the log holds of these fragments.
pub(crate) fn logged(fragments: &[Fragment]) -> Sectors {
    fragments
        .iter()
        .filter(|fragment| !fragment.bare)
        .fold(Sectors::ZERO, |sum, fragment| sum + fragment.columns.length())
}
