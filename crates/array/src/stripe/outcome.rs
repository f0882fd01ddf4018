//! How jobs go on when their plans are done or broken, and how they end.

use parlour_units::{Sectors, Slot};

use crate::columns::Columns;
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::{ATTEMPTS, Blind, Kind, Purpose, Stage};
use crate::log::Logs;
use crate::planted::{Bug, is_planted};
use crate::request::RequestError;
use crate::signal::Signal;

use super::Stripes;

impl Stripes {
    /// A stripe job's plan is done.
    pub(crate) fn stripe_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let purpose = cx.jobs.stripe(id).purpose;
        match purpose {
            Purpose::Read => {
                self.end_stripe(cx, durable, logs, id, Ok(()));
            }
            Purpose::Write => {
                self.keep_written(cx, id);
                if cx.jobs.stripe(id).blind == Blind::Writes {
                    self.recompute_parity(cx, logs, id);
                } else {
                    self.end_stripe(cx, durable, logs, id, Ok(()));
                }
            }
            Purpose::Repair { .. } if cx.jobs.stripe(id).probe.is_under_way() => {
                self.end_stripe(cx, durable, logs, id, Ok(()));
            }
            Purpose::Repair { .. } => {
                let good = cx.jobs.get(id).differing.is_empty();
                cx.counters.repaired += u64::from(good);
                if good {
                    self.end_stripe(cx, durable, logs, id, Ok(()));
                } else {
                    self.verification_failed(cx, durable, logs, id);
                }
            }
            Purpose::Rebuild { .. } | Purpose::Resync { .. } => self.next_window(cx, durable, logs, id),
            Purpose::Scrub { repair } => self.compared(cx, durable, logs, id, repair),
        }
    }

    /// A stripe job's plan failed: the plan is dropped, and a new one is made for the array as it
    /// now is.
    pub(crate) fn stripe_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        failures: &[FailedAccess],
    ) {
        let written = self.has_perhaps_written(cx, id);
        let job = cx.jobs.stripe(id);
        job.attempts += 1;
        job.wrote |= written;
        let (purpose, attempts, region) = (job.purpose, job.attempts, job.region);
        let no_space = failures.iter().any(|failure| failure.fault.is_of_space());
        if purpose == Purpose::Write
            && (no_space || cx.still_standing(failures))
            && cx.jobs.stripe(id).wrote
            && !(no_space && logs.leave_to_redo(cx, durable, id))
        {
            // Some units may be written and some not.
            self.give_up_landing(cx, logs, id);
            durable.bitmap_mut().mark_to_resync(cx, region);
            self.lose_missing(cx, durable, id);
        }
        // In all other cases in which a committed write failed, its member is gone, and the parity
        // shows what that member should hold.
        self.end_landing(cx, logs, id);
        if no_space {
            self.refuse(cx, durable, logs, id);
            return;
        }
        if let Purpose::Rebuild { slot, since } = purpose
            && cx.roster.member_since(slot, since).is_none()
        {
            // The member that was to be rebuilt is gone.
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            return;
        }
        if cx.still_standing(failures) || attempts > ATTEMPTS {
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            return;
        }
        // A member that was failed for the error is gone: its sectors do not count as unreadable.
        let stands = |failure: &&FailedAccess| cx.roster.slot_of(failure.member).is_some();
        let unreadable = failures.iter().filter(stands).any(|failure| failure.fault == Fault::Unreadable);
        match purpose {
            // A lost unit cannot be computed from an unreadable one, unless another copy is left.
            Purpose::Rebuild { .. } | Purpose::Resync { .. }
                if unreadable && !self.begin_again_from_another_copy(cx, id, failures) =>
            {
                if !self.pass_over(cx, durable, logs, id) {
                    self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
                }
            }
            Purpose::Repair { parent } if unreadable && self.halve_repair(cx, durable, logs, id, parent) => {}
            Purpose::Repair { .. } if unreadable && self.reads_back(cx, id, failures) => {}
            Purpose::Repair { .. } if unreadable && self.probe_target(cx, id) => self.replan(cx, id),
            // If there is another copy, it is read next, and both are rewritten from it.
            Purpose::Repair { .. } if unreadable && self.repair_more(cx, id, failures) => self.replan(cx, id),
            Purpose::Repair { .. } if unreadable || is_planted(Bug::RepairLostWithMember) => {
                self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            }
            // A member is gone, perhaps the one with the unit to be repaired: the job that waits
            // plans again for the members that are left.
            Purpose::Repair { .. } => {
                self.end_stripe(cx, durable, logs, id, Ok(()));
            }
            Purpose::Read if unreadable && !cx.may_repair() && self.repair_more(cx, id, failures) => {
                self.replan(cx, id);
            }
            _ if unreadable => {
                // The repair needs the stripe's lock.
                self.let_go_of_stripe(cx, logs, id);
                for failure in failures.iter().filter(|failure| failure.fault == Fault::Unreadable) {
                    self.start_repairs(cx, id, failure);
                }
                if cx.jobs.get(id).repairs == 0 {
                    self.stripe_repaired(cx, durable, logs, id, false);
                }
            }
            _ => self.replan(cx, id),
        }
    }

    /// Whether copies are left besides those that could not be read. If so, the job starts at the
    /// stripe's first window again, because other jobs may write to the stripe while it is
    /// repaired.
    pub(super) fn begin_again_from_another_copy(
        &mut self,
        cx: &mut Context,
        id: JobId,
        failures: &[FailedAccess],
    ) -> bool {
        let unit_length = cx.geometry.layout().unit_length();
        let first = Columns::new(Sectors::ZERO, cx.tuning.slice.min(unit_length));
        let stripe = cx.jobs.stripe(id).window.stripe;
        let missing = cx.roster.missing(&cx.geometry, stripe);
        let layout = cx.geometry.layout();
        let unreadable =
            |slot: Slot| failures.iter().any(|failure| cx.roster.slot_of(failure.member) == Some(slot));
        let left =
            layout.units().any(|unit| !missing.has(unit) && !unreadable(layout.locate(stripe, unit).slot));
        let another = cx.geometry.keeps_copies() && left && !is_planted(Bug::RebuildFromOneCopyOnly);
        if another {
            cx.jobs.stripe(id).window.columns = first;
        }
        another
    }

    pub(crate) fn replan(&mut self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        if job.committed {
            // The records count, however much of the data is written: from here on the stripe is
            // updated in place.
            job.committed = false;
            job.method = None;
        }
        cx.jobs.stripe(id).stage = Stage::Lock;
        cx.runnable.push_back(id);
    }

    /// Gives back the lock and the hold on the parity.
    pub(crate) fn let_go_of_stripe(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (stripe, region) = (job.window.stripe, job.region);
        if std::mem::take(&mut job.holds_parity) {
            logs.let_go_of_parity(region);
        }
        if std::mem::take(&mut cx.jobs.stripe(id).locked) {
            let runnable = &mut cx.runnable;
            cx.locks.release(stripe, |job| runnable.push_back(job));
            logs.wake_parity_repairers(cx);
        }
    }

    /// Ends a stripe job and gives back all that it holds.
    pub(crate) fn end_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        result: Result<(), RequestError>,
    ) {
        if result.is_err() && cx.jobs.stripe(id).repairing {
            self.report_mismatch(cx, id, false);
        }
        self.let_go_of_stripe(cx, logs, id);
        let job = cx.jobs.stripe(id);
        if !job.reservations.is_empty() || !job.commit_space.is_zero() {
            self.give_back_reservations(cx, durable, logs, id);
        }
        self.end_landing(cx, logs, id);
        let job = cx.jobs.stripe(id);
        let (region, memory, purpose, host) = (job.region, job.memory, job.purpose, job.host);
        let stripe = job.window.stripe;
        if job.writing {
            durable.bitmap_mut().leave(cx, region);
        }
        cx.scratch.release(memory);
        cx.jobs.end(id);
        match purpose {
            Purpose::Read | Purpose::Write => {
                let host = host.expect("a host waits for it");
                cx.signal(Signal::HostJobDone(host, result));
            }
            Purpose::Repair { parent } => self.repair_ended(cx, durable, logs, parent, result),
            Purpose::Rebuild { .. } | Purpose::Resync { .. } | Purpose::Scrub { .. } => {
                cx.signal(Signal::MaintenanceStripeEnded { purpose, stripe, result });
            }
        }
    }

    /// Whether this repair may end successfully without a result, because the job that waits for it
    /// can do without it. A scrub cannot: it would ask for the same repair again.
    pub(super) fn had_without_repair(&self, cx: &Context, purpose: Purpose) -> bool {
        let Purpose::Repair { parent } = purpose else { return false };
        let waits = &cx.jobs.get(parent).kind;
        !matches!(waits, Some(Kind::Stripe(job)) if matches!(job.purpose, Purpose::Scrub { .. }))
    }

    /// Whether a write whose plan failed may have changed the content of members, or is committed.
    /// (Plans read before they write.)
    pub(super) fn has_perhaps_written(&self, cx: &Context, id: JobId) -> bool {
        let job = cx.jobs.get(id);
        let Some(Kind::Stripe(stripe)) = &job.kind else { unreachable!("a stripe job") };
        let begun = &job.plan.steps[..job.next_step as usize];
        let writes = begun.iter().any(|step| step.action.changes());
        writes || stripe.committed || stripe.entry.is_some()
    }

    /// The data of a committed write is on its members, as far as it will ever be.
    pub(super) fn end_landing(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        if let (Some((name, epoch)), region) = (job.entry.take(), job.region) {
            logs.landed(cx, region, name, epoch);
        }
    }

    /// The data of a committed write is not on its members, although they stand. Its records count
    /// until it is durable that the region is to be resynced.
    pub(super) fn give_up_landing(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        if let Some((name, _)) = cx.jobs.stripe(id).entry {
            let commits = &mut logs.commits;
            commits.keep(name);
            commits.orphan(name);
        }
    }

    /// A maintenance job goes on to the next columns of its stripe, or ends.
    pub(crate) fn next_window(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let unit = cx.geometry.layout().unit_length();
        let (slice, block) = (cx.tuning.slice, cx.geometry.block());
        let job = cx.jobs.stripe(id);
        let slice = if job.block_by_block { block } else { slice };
        let from = job.window.columns.to;
        if from == unit {
            self.end_stripe(cx, durable, logs, id, Ok(()));
            return;
        }
        job.window.columns = Columns::new(from, (from + slice).min(unit));
        job.stage = Stage::Plan;
        cx.runnable.push_back(id);
    }
}
