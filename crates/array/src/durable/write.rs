//! Writing metadata that all members hold alike.

use parlour_units::{Sector, Sectors};

use crate::context::Context;
use crate::exec::progress::Progress;
use crate::ids::JobId;
use crate::plan::{Source, Span, Strategy};

/// Writes the same metadata durably to all standing members.
pub(super) fn write_to_all(
    cx: &mut Context,
    id: JobId,
    at: Sector,
    (block, length): (Vec<u8>, Sectors),
) -> Progress {
    let job = cx.jobs.get_mut(id);
    job.metadata = block;
    job.plan.strategy = Strategy::Metadata;
    for (slot, _) in cx.roster.standing() {
        job.plan.write(slot, at, Span::new(Source::Metadata, Sectors::ZERO, length), true);
    }
    let turn = cx.roster.turn();
    cx.start_plan(id, turn, None, &[])
}
