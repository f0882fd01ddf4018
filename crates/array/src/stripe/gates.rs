//! The gates that a job passes on its way to its plan.

use crate::context::Context;
use crate::durable::Durable;
use crate::exec::locks;
use crate::ids::JobId;
use crate::job::{Blind, Gate, Holdings, Purpose, Stage, StripeJob};
use crate::log::Logs;
use crate::plan::{LogMethod, Lost};
use crate::request::RequestError;
use crate::signal::Signal;
use crate::stripe::state::Stripes;

impl Stripes {
    pub(super) fn memory_gate(&mut self, cx: &mut Context, id: JobId) -> Gate {
        let StripeJob { holdings: Holdings { memory, .. }, purpose, .. } = *cx.jobs.stripe(id);
        // A repair does not wait for memory: the job that waits for it already holds memory, and
        // could otherwise keep the repair waiting forever.
        let waits = !matches!(purpose, Purpose::Repair { .. });
        if !waits {
            cx.scratch.exceed(memory);
        } else if !cx.scratch.reserve(id, memory) {
            return Gate::Wait;
        }
        self.pass(cx, id, Stage::LogSpace)
    }

    /// Lets jobs that wait for memory go on, first come first served.
    pub(crate) fn pump_memory(&mut self, cx: &mut Context) -> bool {
        let mut moved = false;
        while let Some(id) = cx.scratch.grant() {
            cx.jobs.stripe(id).stage = Stage::LogSpace;
            cx.runnable.push(id);
            moved = true;
        }
        moved
    }

    pub(super) fn log_space_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Gate {
        if cx.jobs.stripe(id).purpose == Purpose::Write {
            match logs.space_gate(cx, durable, &mut self.builder, id) {
                Gate::Pass => {}
                gate => return gate,
            }
        }
        self.pass(cx, id, Stage::Lock)
    }

    pub(super) fn lock_gate(&mut self, cx: &mut Context, logs: &mut Logs, id: JobId) -> Gate {
        if matches!(cx.jobs.stripe(id).purpose, Purpose::Repair { .. }) && !cx.writes {
            // An array that is opened read-only repairs nothing.
            return Gate::Ends(Err(RequestError::Lost));
        }
        if logs.repairs_parity(cx, id) {
            return logs.parity_repair_gate(cx, id);
        }
        let job = cx.jobs.stripe(id);
        let mode = match job.purpose {
            Purpose::Read => locks::Mode::Shared,
            _ => locks::Mode::Exclusive,
        };
        let stripe = job.window.stripe;
        // If the lock is granted later, the job comes back here and already has it.
        if !job.holdings.lock {
            cx.jobs.stripe(id).holdings.lock = true;
            if !cx.locks.take(stripe, mode, id) {
                return Gate::Wait;
            }
        }
        self.pass(cx, id, Stage::Dirty)
    }

    pub(super) fn dirty_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Gate {
        let job = cx.jobs.stripe(id);
        let region = job.region;
        let writes = match job.purpose {
            Purpose::Write => true,
            // These jobs write what the region should contain anyway: it need not be marked dirty
            // before.
            Purpose::Read
            | Purpose::Repair { .. }
            | Purpose::Rebuild(_)
            | Purpose::Resync { .. }
            | Purpose::Scrub { .. } => false,
        };
        let (writing, repairs) = (job.holdings.region, matches!(job.purpose, Purpose::Repair { .. }));
        if repairs {
            durable.bitmap_mut().note_repair(cx, region);
        }
        if !writes || writing {
            return self.pass(cx, id, Stage::Settle);
        }
        if cx.takes_no_writes() {
            return Gate::Ends(Err(cx.refusal()));
        }
        if cx.geometry.code().has_checks() && !durable.bitmap_mut().enter(cx, region, id) {
            if durable.bitmap().closed() == Some(region) {
                // The region is closed when all its writers are done, and their repairs may need
                // this lock.
                self.let_go_of_stripe(cx, logs, id);
                cx.jobs.stripe(id).stage = Stage::Lock;
            }
            return Gate::Wait;
        }
        cx.jobs.stripe(id).holdings.region = cx.geometry.code().has_checks();
        self.pass(cx, id, Stage::Settle)
    }

    /// A job that uses the parity in place waits until the log's records of its stripe are in the
    /// parity. From then on, it keeps the region from being reintegrated.
    pub(super) fn settle_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Gate {
        let job = cx.jobs.stripe(id);
        let (logged, cancels) = (job.logging.defers_parity(), job.logging.cancels());
        let (region, stripe) = (job.region, job.window.stripe);
        let (holds, logs_writes) = (job.holdings.parity, logs.logs_writes(cx, durable, region));
        if logs.is_left_to_redo(cx, stripe) {
            return Gate::Refused;
        }
        if !logs.exist() || holds && (!logged || logs_writes) {
            return self.pass(cx, id, Stage::Plan);
        }
        if logged && logs_writes {
            // The content of a missing unit has to be computed from the parity.
            let missing = cx.roster.missing(&cx.geometry, stripe);
            let computes = cx.jobs.stripe(id).pieces.iter().any(|piece| missing.has(piece.unit));
            if !computes {
                return self.pass(cx, id, Stage::Plan);
            }
            match logs.load_gate(cx, region, id) {
                Gate::Pass => {}
                gate => return gate,
            }
            return logs.settle_gate(cx, false, id);
        }
        let stale = cx.geometry.is_journaled() && cx.jobs.stripe(id).logging.method().is_some();
        if logged || (cancels || stale) && !logs_writes {
            // The array has changed since the room was reserved.
            logs.withdraw(cx, durable, id);
            return Gate::Pass;
        }
        match logs.load_gate(cx, region, id) {
            Gate::Pass => {}
            gate => return gate,
        }
        let index = cx.geometry.region_of(stripe).1;
        if !cx.writes && logs.is_live(region, index) {
            // The parity lacks records of the log, and an array that writes nothing cannot bring it
            // up to date.
            return Gate::Ends(Err(RequestError::Lost));
        }
        logs.settle_gate(cx, cancels, id)
    }

    pub(super) fn plan_gate(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> Gate {
        if !durable.pass_barrier(id) {
            return Gate::Wait;
        }
        let refuses = cx.takes_no_writes();
        let job = cx.jobs.stripe(id);
        let logged = job.logging.defers_parity();
        let region = job.region;
        if job.purpose == Purpose::Write && refuses {
            return Gate::Ends(Err(cx.refusal()));
        }
        if matches!(job.purpose, Purpose::Scrub { .. }) && durable.bitmap().needs_resync(region) {
            // The region came to need a resync while the job waited.
            cx.signal(Signal::ScrubSkipped);
            return Gate::Ends(Ok(()));
        }
        if logged && !logs.logs_writes(cx, durable, region) {
            return self.pass(cx, id, Stage::Settle);
        }
        if !self.method_holds(cx, durable, logs, id) {
            return Gate::Pass;
        }
        if self.narrows_repair(cx, durable, logs, id) {
            return Gate::Ended;
        }
        if !self.pass_without_record(cx, durable, logs, id) {
            return Gate::Wait;
        }
        match self.blind_gate(cx, durable, id) {
            Gate::Pass => {}
            gate => return gate,
        }
        match self.build(cx, durable, logs, id) {
            Ok(()) => {
                self.pass(cx, id, Stage::Running);
                self.run(cx, logs, id);
                Gate::Wait
            }
            Err(Lost) => {
                cx.release_buffers(id);
                self.probe_gate(cx, durable, logs, id)
            }
        }
    }

    /// What the job needs can neither be read nor computed. A repair reads its targets once more,
    /// block by block: the access that failed may have been longer, or may succeed now.
    fn probe_gate(&mut self, cx: &mut Context, durable: &mut Durable, logs: &mut Logs, id: JobId) -> Gate {
        let StripeJob { purpose, window, targets, .. } = *cx.jobs.stripe(id);
        let there = cx.roster.missing(&cx.geometry, window.stripe).and(targets).is_empty();
        match purpose {
            Purpose::Repair { parent } if self.halve_repair(cx, durable, logs, id, parent) => Gate::Ended,
            Purpose::Repair { .. } if there && self.probe_target(cx, id) => Gate::Pass,
            _ => Gate::Ends(Err(RequestError::Lost)),
        }
    }

    /// Whether the method by which the job writes to its log is still possible; if not, the job
    /// goes back to an earlier gate.
    pub(super) fn method_holds(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (stripe, method, holds) = (job.window.stripe, job.logging.method(), job.holdings.parity);
        if !cx.geometry.is_journaled() || method.is_none() {
            return true;
        }
        let missing = cx.roster.missing(&cx.geometry, stripe);
        let computes = cx.jobs.stripe(id).pieces.iter().any(|piece| missing.has(piece.unit));
        let region = cx.jobs.stripe(id).region;
        if !logs.logs_writes(cx, durable, region) {
            logs.withdraw(cx, durable, id);
            cx.jobs.stripe(id).stage = Stage::Settle;
            return false;
        }
        match method {
            Some(LogMethod::Cancel) if !missing.is_empty() && !self.makes_checks_anew(cx, id) => {
                logs.withdraw(cx, durable, id);
                self.let_go_of_stripe(cx, logs, id);
                let job = cx.jobs.stripe(id);
                // (Otherwise the same method would be chosen again, and again would not hold.)
                (job.blind, job.stage) = (Blind::No, Stage::LogSpace);
                false
            }
            Some(LogMethod::Update) if computes && !holds => {
                cx.jobs.stripe(id).stage = Stage::Settle;
                false
            }
            _ => true,
        }
    }

    /// Whether the job may compute check units from the data alone, though units are missing.
    fn makes_checks_anew(&self, cx: &mut Context, id: JobId) -> bool {
        cx.jobs.stripe(id).blind == Blind::Anew && self.writes_all_missing(cx, id)
    }

    /// Whether a job may write check units anew that a repair has computed from data. Recorded
    /// content of them would be redone over that after a crash: the job waits until it is
    /// forgotten.
    fn may_rewrite_checks(&self, cx: &mut Context, logs: &mut Logs, id: JobId) -> bool {
        let job = cx.jobs.stripe(id);
        let (stripe, targets) = (job.window.stripe, job.computed());
        let repairs = job.repairing || matches!(job.purpose, Purpose::Repair { .. });
        let checks = cx.geometry.layout().checks().any(|check| targets.has(check));
        let recorded = !cx.geometry.is_logged() && repairs && checks && !cx.lacks_space;
        !recorded || logs.pass_overruling_records(cx.geometry.region_of(stripe), id)
    }

    /// With `journal`, a write without a record passes only when it is durable that its region is
    /// to be resynced after a crash. If the write can be logged by now, it begins again.
    pub(super) fn pass_without_record(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (purpose, region, method) = (job.purpose, job.region, job.logging.method());
        let stripe = job.window.stripe;
        if purpose == Purpose::Read || !cx.geometry.is_journaled() || !cx.writes {
            return true;
        }
        if purpose != Purpose::Write {
            if !self.may_rewrite_checks(cx, logs, id) {
                self.let_go_of_stripe(cx, logs, id);
                cx.jobs.stripe(id).stage = Stage::Lock;
                return false;
            }
            // Records that were given up count after a crash until their resync bit is durable;
            // they must not be applied to new parity.
            return durable.bitmap_mut().pass_resync_durable(region, id);
        }
        if method.is_some() {
            return true;
        }
        // Parity on the bad-block log is computed from the data, whatever a record contains. But a
        // record of zeroes or of content that would be found after a crash would undo a write that
        // has no record; and to the record of a whole stripe this write would look like a part that
        // was cut off.
        if cx.jobs.stripe(id).blind == Blind::Writes {
            // (Until then others may need the stripe, for example to write parity.)
            if !cx.lacks_space && !logs.pass_overruling_records(cx.geometry.region_of(stripe), id) {
                self.let_go_of_stripe(cx, logs, id);
                cx.jobs.stripe(id).stage = Stage::Lock;
                return false;
            }
            return durable.bitmap_mut().pass_resync_durable(region, id);
        }
        if logs.logs_writes(cx, durable, region) {
            self.let_go_of_stripe(cx, logs, id);
            cx.jobs.stripe(id).stage = Stage::LogSpace;
            cx.runnable.push(id);
            return false;
        }
        durable.bitmap_mut().pass_unlogged(region, id)
    }
}
