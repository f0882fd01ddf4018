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
        match cx.jobs.take_kind(id) {
            Kind::Append { region, segments } => self.append_done(cx, durable, id, (region, segments)),
            Kind::Reintegrate { region } => self.reintegrate_pass_done(cx, durable, id, region),
            Kind::Load(load) => self.load_done(cx, durable, id, *load),
            Kind::Commit(entry) => self.commit_done(cx, durable, id, entry),
            Kind::CommitMark { part, lane } => self.mark_done(cx, id, (part, lane)),
            Kind::CommitCopy { part, lane, slots } => self.copy_done(cx, id, (part, lane), &slots),
            Kind::CommitFlush { turn } => self.commit_flushed(cx, id, turn, true),
            Kind::Intent { number, waiting } => self.intent_done(cx, id, number, *waiting),
            Kind::ReintegrateFlush { region } => self.reintegration_flushed(cx, durable, id, (region, true)),
            Kind::Probe(probe) => self.probe_done(cx, durable, id, &probe),
            Kind::Redo(redo) => self.redo_done(cx, durable, id, redo),
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
        match cx.jobs.take_kind(id) {
            // What was written to the members that are left is durable there.
            Kind::Append { region, segments } if cx.only_members_lost(failures) => {
                self.append_done(cx, durable, id, (region, segments));
            }
            Kind::Append { region, segments } => self.append_broken(cx, id, (region, segments)),
            Kind::Reintegrate { region } => self.reintegrate_broken(cx, durable, (id, region), failures),
            Kind::Load(load) => self.load_broken(cx, durable, (id, *load), failures),
            Kind::Commit(entry) => self.commit_broken(cx, id, entry, failures),
            Kind::CommitMark { part, lane } => self.mark_broken(cx, durable, (id, part, lane), failures),
            Kind::CommitCopy { part, lane, slots } => {
                self.copy_broken(cx, (id, part, lane), &slots, failures)
            }
            Kind::CommitFlush { turn } => self.commit_flushed(cx, id, turn, false),
            Kind::Intent { waiting, .. } => self.intent_broken(cx, durable, (id, *waiting), failures),
            Kind::ReintegrateFlush { region } => self.reintegration_flushed(cx, durable, id, (region, false)),
            Kind::Probe(probe) => self.probe_broken(cx, durable, (id, probe), failures),
            Kind::Redo(redo) => self.redo_broken(cx, durable, (id, redo), failures),
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
