//! Repairs: a unit that a member cannot read is computed from the rest of its stripe and written
//! again, while the job that needs it waits.

use parlour_units::{Member, Sectors};

use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Action;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::{Probe, Purpose, StripeJob};
use crate::log::Logs;
use crate::request::RequestError;
use crate::signal::Signal;
use crate::stripe::state::{StripeWork, Stripes};

/// The number of repairs of one job that run at once.
const REPAIRS_AT_ONCE: u32 = 4;

impl Stripes {
    /// Starts a repair of each unit that the unreadable sectors belong to.
    pub(crate) fn start_repairs(&mut self, cx: &mut Context, parent: JobId, failure: &FailedAccess) {
        for (window, unit) in cx.unreadable_windows(failure) {
            self.start_repair(cx, parent, window, UnitSet::of(unit));
        }
    }

    /// Starts a repair that `parent` waits for, now or when some of its other repairs have ended.
    /// The number is limited because repairs do not wait for memory and a failed access may have
    /// been long.
    pub(crate) fn start_repair(&mut self, cx: &mut Context, parent: JobId, window: Window, targets: UnitSet) {
        let job = cx.jobs.get_mut(parent);
        if job.repairs == REPAIRS_AT_ONCE {
            job.repairs_to_come.push_back((window, targets));
            return;
        }
        job.repairs += 1;
        let purpose = Purpose::Repair { parent };
        self.start_stripe(cx, StripeWork::own(purpose, window, targets));
    }

    /// Copies that are not in sync are repaired block by block, and only blocks that cannot be
    /// read: data that was once read from a copy must not be replaced by the content of another.
    /// Returns whether the repair is replaced by repairs of its parts.
    pub(crate) fn narrows_repair(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (region, purpose) = (job.region, job.purpose);
        let Purpose::Repair { parent } = purpose else { return false };
        if !durable.copies_may_differ(cx, region) {
            return false;
        }
        if self.halve_repair(cx, durable, logs, id, parent) {
            return true;
        }
        let probe = &mut cx.jobs.stripe(id).probe;
        if *probe == Probe::NotYet {
            *probe = Probe::Now;
        }
        false
    }

    /// Something that a repair reads is unreadable. Each half is repaired separately, down to one
    /// block, so that only blocks without redundancy are lost. Returns whether there are halves.
    pub(crate) fn halve_repair(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        parent: JobId,
    ) -> bool {
        let block = cx.geometry.block();
        let StripeJob { window, targets, .. } = *cx.jobs.stripe(id);
        let Columns { from, to } = window.columns;
        if to - from <= block {
            return false;
        }
        let middle = from + Sectors::new((to - from).get() / 2).round_up(block);
        for columns in [Columns::new(from, middle), Columns::new(middle, to)] {
            self.start_repair(cx, parent, Window { columns, ..window }, targets);
        }
        self.end_stripe(cx, durable, logs, id, Ok(()));
        true
    }

    /// A repair of one block has no source. Perhaps the block itself can be read after all. Returns
    /// whether to try that; not if it has just failed.
    pub(crate) fn probe_target(&mut self, cx: &mut Context, id: JobId) -> bool {
        let copies = cx.geometry.keeps_copies();
        let probe = &mut cx.jobs.stripe(id).probe;
        match *probe {
            Probe::NotYet => *probe = Probe::Now,
            Probe::Now if copies => *probe = Probe::Failed,
            Probe::Now | Probe::Failed | Probe::Written => return false,
        }
        true
    }

    /// A block that a repair has written cannot be read back. It is read once more. If that fails
    /// too, the member does not keep what is written to it, and is excluded. Returns whether the
    /// failure was of this kind.
    pub(crate) fn reads_back(&mut self, cx: &mut Context, id: JobId, failures: &[FailedAccess]) -> bool {
        let job = cx.jobs.stripe(id);
        let (window, targets, probe) = (job.window, job.computed(), job.probe);
        let of_target = |failure: &&FailedAccess| {
            let unreadable = cx.units_of(window.stripe, std::slice::from_ref(*failure));
            unreadable.without(targets) != unreadable
        };
        let Some(failure) = failures.iter().find(of_target).filter(|_| probe != Probe::Now) else {
            return false;
        };
        if probe != Probe::Written {
            cx.jobs.stripe(id).probe = Probe::Written;
            self.replan(cx, id);
            return true;
        }
        cx.signal(Signal::Unfaithful { member: failure.member, repair: id });
        true
    }

    /// A block that a repair wrote did not read back as it was written: its member is excluded.
    pub(crate) fn verification_failed(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let job = cx.jobs.stripe(id);
        let (window, targets) = (job.window, job.computed());
        let job = cx.jobs.get(id);
        let compares = job.plan.steps.iter().enumerate().filter(|(_, step)| step.action == Action::Compare);
        let differs = |(step, _): (usize, _)| job.differing.contains(&(step as u32));
        // The targets are compared in their order.
        let number = compares.map(differs).position(|differs| differs).expect("a comparison found this");
        let layout = cx.geometry.layout();
        let unit = layout.units().filter(|unit| targets.has(*unit)).nth(number).expect("each is compared");
        let slot = cx.roster.places(&cx.geometry).slot(window.stripe, unit);
        match cx.roster.member_at(slot) {
            Some(member) => cx.signal(Signal::Unfaithful { member, repair: id }),
            None => self.end_stripe(cx, durable, logs, id, Ok(())),
        }
    }

    /// The member that does not keep what a repair writes is excluded, if the array survives that.
    pub(crate) fn unfaithful_judged(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        member: Member,
    ) {
        if cx.roster.slot_of(member).is_some() {
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            return;
        }
        // What it wrote of other units was not read back, or did not fit either: it is written
        // again. Otherwise the job that waits plans again for the members that are left.
        let job = cx.jobs.stripe(id);
        let (stripe, computed) = (job.window.stripe, job.computed());
        let left = computed.without(cx.roster.missing(&cx.geometry, stripe));
        if left.is_empty() || computed.count() == 1 {
            self.end_stripe(cx, durable, logs, id, Ok(()));
            return;
        }
        let job = cx.jobs.stripe(id);
        (job.targets, job.beside, job.probe) = (left, UnitSet::NONE, Probe::NotYet);
        self.replan(cx, id);
    }

    /// Units that a repair could not read are computed as well, if enough is left for that. Returns
    /// whether the repair goes on in this way.
    pub(crate) fn repair_more(&mut self, cx: &mut Context, id: JobId, failures: &[FailedAccess]) -> bool {
        let job = cx.jobs.stripe(id);
        let (stripe, had) = (job.window.stripe, job.computed());
        let unreadable = cx.units_of(stripe, failures);
        let wanted = had.or(unreadable);
        let view = cx.roster.view(&cx.geometry, stripe);
        let parity = !cx.geometry.keeps_copies();
        if wanted == had || parity && view.computable(wanted) != wanted {
            return false;
        }
        let job = cx.jobs.stripe(id);
        job.beside = job.beside.or(unreadable.without(job.targets));
        true
    }
}
