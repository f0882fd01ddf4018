//! The update policy: how a write goes to its stripe, and which part of it is logged first.
//!
//! Stripe jobs carry the result out, and `explain` prints it.

mod choice;
#[cfg(test)]
mod tests;

use parlour_units::Sectors;

use crate::columns::Piece;
use crate::geometry::Geometry;
use crate::plan::{Builder, Content, Fragment, LogMethod, Lost, Plan, StripeView, StripeWrite};
use crate::tuning::{LargeWrite, Simulated, Tuning};

pub use self::choice::Update;

/// Whether writes are recorded with the members that are there. With `journal` that is so while the
/// members of the region's log, if it has one, are whole (`log_stands`); otherwise only while all
/// members are.
pub(crate) fn is_recorded(geometry: &Geometry, log_stands: bool, all_stand: bool) -> bool {
    #[cfg(test)]
    if tests::is_altered(tests::Altered::NeverLogs) {
        return false;
    }
    let stands = if geometry.is_journaled() { log_stands } else { all_stand };
    geometry.records_updates() && stands
}

/// The builder of an array's plans.
pub(crate) fn builder(geometry: &Geometry, tuning: &Tuning, simulated: Simulated) -> Builder {
    // A record is durable before its data is written, so the data cannot be written in the access
    // that reads it.
    Builder::new(tuning, simulated.combined && !geometry.is_journaled())
}

/// Whether `plan` makes records durable in the commit log before it writes data.
pub(crate) fn commits(geometry: &Geometry, plan: &Plan) -> bool {
    plan.commit_before.is_some() && geometry.is_journaled()
}

/// How a write is recorded. `known`: the old data need not be read.
pub(crate) fn method(
    builder: &mut Builder,
    view: StripeView<'_>,
    (pieces, content): (&[Piece], Content),
    tuning: &Tuning,
    known: bool,
) -> LogMethod {
    #[cfg(test)]
    if tests::is_altered(tests::Altered::LogsNewParity) {
        return LogMethod::Overwrite;
    }
    let cancels = tuning.large_write(view.geometry) == LargeWrite::Cancel;
    match view.geometry.is_journaled() {
        // After a crash between the writes of a stripe's units, new parity alone does not say what
        // they held. So a record has the difference of old and new data, or the new content of all
        // units that change, or is of a whole stripe.
        true => builder.durable_method(view, (pieces, content), cancels, riskless(view.geometry)),
        false => builder.log_method(view, pieces, cancels || content.unmaps(), known),
    }
}

/// How a write is recorded whose check units are computed anew.
pub(crate) const ANEW: LogMethod = LogMethod::Cancel;

/// How a whole stripe is recorded of which a crash must cost nothing.
pub(crate) fn riskless(geometry: &Geometry) -> LogMethod {
    if geometry.is_logged() { LogMethod::Update } else { LogMethod::Content }
}

/// Whether a crash that cuts off a write recorded as `method`, together with the loss of a member,
/// costs what was being written to that member.
pub(crate) fn risks_blocks(geometry: &Geometry, method: LogMethod) -> bool {
    geometry.is_journaled() && method == LogMethod::Cancel
}

/// Whether a degraded write may compute check units anew, where what a missing unit held is lost.
/// Only whole stripes that pass the log by lose such blocks.
pub(crate) fn makes_anew(geometry: &Geometry, tuning: &Tuning) -> bool {
    geometry.is_journaled() && tuning.large_write(geometry) == LargeWrite::Cancel
}

/// Plans a write that is logged as `method` says; with `None` its parity is written together with
/// the data. `fragments` are the records, in reserved buffers.
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
    // With `bitmap`: a record that cancels earlier records, if there are any, must be in the log
    // before the data is written.
    if !fragments.is_empty() {
        plan.commit_before = plan.steps.last().map(|step| step.phase);
    }
    Ok(())
}

/// The length of the payload of these fragments in the log.
pub(crate) fn logged(fragments: &[Fragment]) -> Sectors {
    fragments
        .iter()
        .filter(|fragment| !fragment.bare)
        .fold(Sectors::ZERO, |sum, fragment| sum + fragment.columns.length())
}
