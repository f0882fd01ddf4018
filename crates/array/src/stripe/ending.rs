//! How jobs go back to an earlier gate, go on to their next window, or end and give back all that
//! they hold.

use crate::code::UnitSet;
use crate::columns::Columns;
use crate::context::Context;
use crate::durable::Durable;
use crate::ids::JobId;
use crate::job::{Kind, Locate, Purpose, Stage, StripeJob};
use crate::log::Logs;
use crate::request::RequestError;
use crate::signal::Signal;
use crate::stripe::state::Stripes;

impl Stripes {
    /// Ends a stripe job and gives back all that it holds.
    pub(crate) fn end_stripe(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        result: Result<(), RequestError>,
    ) {
        let job = cx.jobs.stripe(id);
        if result.is_err() && (job.repairing || job.differs) {
            self.report_mismatch(cx, id, false);
        }
        self.let_go_of_stripe(cx, logs, id);
        logs.end_logging(cx, durable, id);
        let job = cx.jobs.stripe(id);
        let (region, memory, purpose, host) = (job.region, job.holdings.memory, job.purpose, job.host);
        let stripe = job.window.stripe;
        if job.holdings.region {
            durable.bitmap_mut().leave(cx, region);
        }
        cx.scratch.release(memory);
        cx.jobs.end(id);
        match purpose {
            Purpose::Read | Purpose::Write => {
                let host = host.expect("a host waits for it");
                cx.signal(Signal::HostJobDone(host, result));
            }
            Purpose::Repair { parent } => cx.signal(Signal::RepairEnded { parent, result }),
            Purpose::Rebuild(_) | Purpose::Resync { .. } | Purpose::Scrub { .. } => {
                cx.signal(Signal::MaintenanceStripeEnded { purpose, stripe, result });
            }
        }
    }

    /// Gives back the lock and the hold on the parity.
    pub(crate) fn let_go_of_stripe(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) {
        let job = cx.jobs.stripe(id);
        let (stripe, region) = (job.window.stripe, job.region);
        if std::mem::take(&mut job.holdings.parity) {
            logs.let_go_of_parity(region);
        }
        if std::mem::take(&mut cx.jobs.stripe(id).holdings.lock) {
            let runnable = &mut cx.runnable;
            cx.locks.release(stripe, |job| runnable.push(job));
            logs.wake_parity_repairers(cx);
        }
    }

    /// The job goes back to its lock, and gets a new plan for the array as it then is.
    pub(crate) fn replan(&mut self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        job.logging.begin_again();
        (job.unreadable, job.passed_over) = (UnitSet::NONE, UnitSet::NONE);
        job.locate = Locate::Never;
        job.stage = Stage::Lock;
        cx.runnable.push(id);
    }

    /// Whether this repair may end successfully without a result, because the job that waits for it
    /// can do without it. A scrub cannot: it would ask for the same repair again.
    pub(super) fn had_without_repair(&self, cx: &Context, purpose: Purpose) -> bool {
        let Purpose::Repair { parent } = purpose else { return false };
        let waits = &cx.jobs.get(parent).kind;
        !matches!(waits, Some(Kind::Stripe(job)) if matches!(job.purpose, Purpose::Scrub { .. }))
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
        (job.unreadable, job.passed_over) = (UnitSet::NONE, UnitSet::NONE);
        job.locate = Locate::NotYet;
        job.stage = Stage::Plan;
        cx.runnable.push(id);
    }

    /// There is no space or memory for what the job needs: it ends.
    pub(super) fn refuse(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) {
        let purpose = cx.jobs.stripe(id).purpose;
        let result = if self.had_without_repair(cx, purpose) { Ok(()) } else { Err(cx.refusal()) };
        self.end_stripe(cx, durable, logs, id, result);
    }

    /// Tells the scrub that units do not fit in the job's window.
    pub(crate) fn report_mismatch(&mut self, cx: &mut Context, id: JobId, repaired: bool) {
        let StripeJob { window, locate, .. } = *cx.jobs.stripe(id);
        let unit = match locate {
            Locate::Found(unit) => unit,
            Locate::NotYet | Locate::Now | Locate::Never => None,
        };
        let located = unit.map(|unit| cx.roster.places(&cx.geometry).slot(window.stripe, unit));
        cx.signal(Signal::Mismatch { window, repaired, located });
    }

    /// Whether a write whose plan failed may have changed the content of members, or is committed.
    /// (Plans read before they write.)
    pub(super) fn has_perhaps_written(&self, cx: &Context, id: JobId) -> bool {
        let job = cx.jobs.get(id);
        let Some(Kind::Stripe(stripe)) = &job.kind else { unreachable!("a stripe job") };
        let begun = &job.plan.steps[..job.next_step as usize];
        let writes = begun.iter().any(|step| step.action.changes());
        writes || stripe.logging.has_committed()
    }
}
