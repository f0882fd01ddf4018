//! How jobs go on when their plans are done or broken, or when their repairs have ended.

use parlour_units::{Sectors, Slot, Unit};

use crate::columns::{Columns, Window, hull};
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::{ATTEMPTS, Blind, Kind, Purpose};
use crate::log::Logs;
use crate::request::RequestError;
use crate::signal::Signal;
use crate::stripe::build::untrusted;
use crate::stripe::state::Stripes;

impl Stripes {
    /// A stripe job's plan is done. If it wrote to blocks on the bad-block log, the job waits until
    /// it is durable that they are off it.
    pub(crate) fn stripe_carried_out(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        self.note_replaced(cx, id);
        if self.pass_unlisted(cx, durable, id) {
            self.stripe_done(cx, durable, logs, id);
        }
    }

    /// A repair that `parent` waits for has ended.
    pub(crate) fn repair_ended(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        parent: JobId,
        result: Result<(), RequestError>,
    ) {
        let job = cx.jobs.get_mut(parent);
        job.unrepaired |= result.is_err();
        job.repairs -= 1;
        if let Some((window, targets)) = job.repairs_to_come.pop_front() {
            self.start_repair(cx, parent, window, targets);
        } else if job.repairs == 0 {
            self.repairs_done(cx, durable, logs, parent);
        }
    }

    /// All repairs that a job waited for have ended.
    pub(crate) fn repairs_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) {
        let lost = cx.jobs.get(id).unrepaired;
        match cx.jobs.get(id).kind {
            Some(Kind::Stripe(_)) => self.stripe_repaired(cx, durable, logs, id, lost),
            _ => cx.signal(Signal::Repaired { job: id, lost }),
        }
    }

    /// What the job could not read was repaired, or (if `lost`) could not be.
    pub(crate) fn stripe_repaired(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        lost: bool,
    ) {
        cx.jobs.get_mut(id).unrepaired = false;
        if cx.jobs.stripe(id).blind == Blind::Wrote {
            self.end_stripe(cx, durable, logs, id, Ok(()));
        } else if !lost {
            self.replan(cx, id);
        } else if !self.compare_on(cx, durable, logs, id) && !self.write_blindly(cx, durable, logs, id) {
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
        }
    }

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
                let job = cx.jobs.stripe(id);
                if let (Blind::Anew, Some(host)) = (job.blind, job.host) {
                    cx.signal(Signal::DurabilityIsShared(host));
                }
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
            Purpose::Rebuild(_) | Purpose::Resync { .. } => self.next_window(cx, durable, logs, id),
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
        let no_space = failures.iter().any(|failure| failure.fault.is_of_space());
        self.settle_broken_write(cx, durable, logs, id, failures);
        let job = cx.jobs.stripe(id);
        let (purpose, attempts) = (job.purpose, job.attempts);
        if no_space {
            self.refuse(cx, durable, logs, id);
            return;
        }
        if let Purpose::Rebuild(rebuilds) = purpose
            && rebuilds.only(|slot, since| cx.roster.is_rebuilt_since(slot, since)).is_empty()
        {
            // The members that were to be rebuilt are gone, or their units are not moved any more.
            self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
            return;
        }
        if cx.still_standing(failures) || attempts > ATTEMPTS {
            match attempts <= ATTEMPTS && self.do_without_kept(cx, durable, id, failures) {
                true => self.replan(cx, id),
                false => self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost)),
            }
            return;
        }
        // A member that was failed for the error is gone: its sectors do not count as unreadable.
        let stands = |failure: &&FailedAccess| cx.roster.slot_of(failure.member).is_some();
        let unreadable = failures.iter().filter(stands).any(|failure| failure.fault == Fault::Unreadable);
        match unreadable {
            true => self.go_on_without_unreadable(cx, durable, logs, id, failures),
            // A member is gone, perhaps the one with the unit to be repaired: the job that waits
            // plans again for the members that are left.
            false => match purpose {
                Purpose::Repair { .. } => self.end_stripe(cx, durable, logs, id, Ok(())),
                _ => self.replan(cx, id),
            },
        }
    }

    /// A member fails and is kept, since others that are lost need it. A stripe of parity may have
    /// lost less: the job does without what it cannot read, and writes nothing there. Returns
    /// whether that is possible.
    fn do_without_kept(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        id: JobId,
        failures: &[FailedAccess],
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (purpose, stripe, before) = (job.purpose, job.window.stripe, job.kept);
        let targets = job.computed().without(job.passed_over);
        let kept = before.or(cx.units_of(stripe, failures));
        // What a log or another copy says may be newer.
        if !cx.geometry.keeps_parity() || cx.geometry.is_logged() || kept == before {
            return false;
        }
        let untrusted = untrusted(cx, durable, stripe);
        let view = cx.roster.view(&cx.geometry, stripe).without(kept.or(untrusted));
        let possible = match purpose {
            Purpose::Read => true,
            Purpose::Repair { .. } => kept.and(targets).is_empty() && view.computable(targets) == targets,
            // (What was to be copied from such a member is computed, if it is not written there.)
            Purpose::Rebuild(rebuilds) => {
                let failing = |slot: Slot| {
                    failures.iter().any(|failure| cx.roster.slot_of(failure.member) == Some(slot))
                };
                let place = |unit: Unit| rebuilds.place(view.places, stripe, unit);
                let units = view.geometry.layout().units().filter(|unit| targets.has(*unit));
                !units.filter_map(place).any(|place| failing(place.slot))
                    && view.computable(targets) == targets
            }
            Purpose::Write | Purpose::Resync { .. } | Purpose::Scrub { .. } => false,
        };
        if possible {
            cx.jobs.stripe(id).kept = kept;
        }
        possible
    }

    /// A write whose plan failed may be done in part: then its region is to be resynced. Its data
    /// is on its members, as far as it will ever be.
    fn settle_broken_write(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        failures: &[FailedAccess],
    ) {
        let written = self.has_perhaps_written(cx, id);
        let no_space = failures.iter().any(|failure| failure.fault.is_of_space());
        let job = cx.jobs.stripe(id);
        job.attempts += 1;
        job.wrote |= written;
        let (purpose, region) = (job.purpose, job.region);
        if purpose == Purpose::Write
            && (no_space || cx.still_standing(failures))
            && cx.jobs.stripe(id).wrote
            && !(no_space && logs.leave_to_redo(cx, durable, id))
        {
            // Some units may be written and some not.
            logs.give_up_landing(cx, id);
            durable.bitmap_mut().mark_to_resync(cx, region);
            self.lose_missing(cx, durable, id);
        }
        // In all other cases in which a committed write failed, its member is gone, and the parity
        // shows what that member should hold.
        logs.land(cx, id);
    }

    /// A job goes on although a member that stands could not read something.
    fn go_on_without_unreadable(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        failures: &[FailedAccess],
    ) {
        let purpose = cx.jobs.stripe(id).purpose;
        match purpose {
            Purpose::Rebuild(_) | Purpose::Resync { .. }
                if !self.begin_again_from_another_copy(cx, id, failures) =>
            {
                if !self.pass_over(cx, durable, logs, id, failures) {
                    self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost));
                }
            }
            Purpose::Repair { .. } if logs.reads_other_copies(cx, id, failures) => self.replan(cx, id),
            Purpose::Repair { parent } if self.halve_repair(cx, durable, logs, id, parent) => {}
            Purpose::Repair { .. } if self.reads_back(cx, id, failures) => {}
            // Parity: what could not be read is computed too, if enough is left.
            Purpose::Repair { .. } if !cx.geometry.keeps_copies() && self.repair_more(cx, id, failures) => {
                self.replan(cx, id);
            }
            Purpose::Repair { .. } if self.probe_target(cx, id) => self.replan(cx, id),
            // If there is another copy, it is read next, and both are rewritten from it.
            Purpose::Repair { .. } if self.repair_more(cx, id, failures) => self.replan(cx, id),
            Purpose::Repair { .. } => self.end_stripe(cx, durable, logs, id, Err(RequestError::Lost)),
            Purpose::Read if !cx.may_repair() && self.read_around(cx, durable, logs, id, failures) => {}
            _ => {
                // The repair needs the stripe's lock.
                self.let_go_of_stripe(cx, logs, id);
                for failure in failures.iter().filter(|failure| failure.fault == Fault::Unreadable) {
                    self.start_repairs(cx, id, failure);
                }
                if cx.jobs.get(id).repairs == 0 {
                    self.stripe_repaired(cx, durable, logs, id, false);
                }
            }
        }
    }

    /// A read of an array that may repair nothing computes what it could not read as well. If not
    /// enough is left for that, or if copies may differ, each of its blocks is read by itself. A
    /// copy that may differ from the next one is read twice. Returns whether the read goes on in
    /// one of these ways.
    fn read_around(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        failures: &[FailedAccess],
    ) -> bool {
        let job = cx.jobs.stripe(id);
        let (stripe, region, host, had) = (job.window.stripe, job.region, job.host, job.computed());
        let columns = hull(&job.pieces).expect("a read reads something");
        let units = job.pieces.iter().map(|piece| piece.unit).collect();
        let long = columns.length() > cx.geometry.block();
        let unread = had.or(cx.units_of(stripe, failures));
        let enough = cx.roster.view(&cx.geometry, stripe).computable(unread) == unread;
        let differ = durable.copies_may_differ(cx, region);
        let alone = long && (differ || !enough);
        let again = differ && !long && cx.jobs.stripe(id).probe.again();
        if again || !alone && self.repair_more(cx, id, failures) {
            self.replan(cx, id);
            return true;
        }
        if long {
            let host = host.expect("a host waits for it");
            cx.signal(Signal::ReadInBlocks { host, window: Window { stripe, columns }, units });
            self.end_stripe(cx, durable, logs, id, Ok(()));
        }
        long
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
        let places = cx.roster.places(&cx.geometry);
        let left = layout.units().any(|unit| !missing.has(unit) && !unreadable(places.slot(stripe, unit)));
        let another = cx.geometry.keeps_copies() && left;
        if another {
            cx.jobs.stripe(id).window.columns = first;
        }
        another
    }
}
