//! The ends of the logs' plans.

use parlour_units::Region;

use super::Logs;
use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::Kind;

impl Logs {
    /// A plan of the logs is done.
    pub(crate) fn plan_done(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) {
        match cx.jobs.kind(id) {
            Kind::Append { .. } => self.append_done(cx, durable, id),
            Kind::Reintegrate { .. } => self.reintegrate_pass_done(cx, durable, id),
            Kind::Load(_) => self.load_done(cx, durable, id),
            Kind::Commit { .. } => self.commit_done(cx, durable, id),
            Kind::CommitMark { .. } => self.mark_done(cx, id),
            Kind::CommitFlush { .. } => self.commit_flushed(cx, id, true),
            Kind::Intent { .. } => self.intent_done(cx, id),
            Kind::ReintegrateFlush { .. } => self.reintegration_flushed(cx, durable, id, true),
            Kind::Probe { .. } => self.probe_done(cx, durable, id),
            Kind::Redo(_) => self.redo_done(cx, durable, id),
            other => unreachable!("{other:?} is no job of the logs"),
        }
    }

    /// Some accesses of a plan of the logs failed.
    pub(crate) fn plan_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        failures: &[FailedAccess],
    ) {
        match cx.jobs.kind(id) {
            Kind::Append { .. } => self.append_broken(cx, id),
            Kind::Reintegrate { .. } => self.reintegrate_broken(cx, durable, id, failures),
            Kind::Load(_) => self.load_broken(cx, durable, id, failures),
            Kind::Commit { .. } => self.commit_broken(cx, id, failures),
            Kind::CommitMark { .. } => self.mark_broken(cx, durable, id, failures),
            Kind::CommitFlush { .. } => self.commit_flushed(cx, id, false),
            Kind::Intent { .. } => self.intent_broken(cx, durable, id),
            Kind::ReintegrateFlush { .. } => self.reintegration_flushed(cx, durable, id, false),
            Kind::Probe { .. } => self.probe_broken(cx, durable, id, failures),
            Kind::Redo(_) => self.redo_broken(cx, durable, id, failures),
            other => unreachable!("{other:?} is no job of the logs"),
        }
    }

    /// The durable table says that the old log of `region`, which was resynced, does not count: the
    /// region is logged again.
    pub(crate) fn log_again(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        self.forget_given_up(region);
        durable.bitmap_mut().reopen(cx, region);
    }
}
