//! The array itself: it takes inputs from its driver and answers with effects to carry out.
//!
//! How to drive it:
//!
//! 1. Call [`Array::submit`] for hosts' requests, [`Array::complete`] for outcomes of effects, and
//!    [`Array::handle_timeout`] when the time of [`Array::poll_timeout`] has come.
//! 2. After each of these calls, drain [`Array::poll_effect`], [`Array::poll_completion`],
//!    [`Array::poll_event`] and [`Array::poll_release`] until each returns `None`.
//!
//! A read's payload is in its buffer when its completion is polled. The driver gives the buffer
//! back with [`Array::release`]. A write's buffer is given back in the same way, after its
//! completion.

use parlour_codec::sector::SectorKey;
use parlour_units::{Instant, Sectors};

use crate::admin_error::AdminError;
use crate::buffer::{BufferId, Slice};
use crate::context::{Context, Start};
use crate::core::Core;
use crate::durable::Durable;
use crate::effect::{Effect, EffectId, Fault, Outcome};
use crate::exec::job::FailedAccess;
use crate::exec::run::{Answered, Progress};
use crate::geometry::Geometry;
use crate::host::Hosts;
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::maintenance::Maintenance;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};
use crate::report::Repair;
use crate::request::{Completion, Request, RequestError};
use crate::signal::Signal;
use crate::status::{Event, FailureCause};
use crate::stopping::Stop;
use crate::stripe::Stripes;

/// A disk array. See the module for how to drive it.
#[derive(Debug)]
pub struct Array {
    pub(crate) core: Core,
    pub(crate) hosts: Hosts,
    pub(crate) maintenance: Maintenance,
    /// The stage of a stop that is under way.
    pub(crate) stop: Option<Stop>,
}

/// The parts of which an array consists.
pub(crate) struct Parts {
    pub(crate) start: Start,
    pub(crate) durable: Durable,
    pub(crate) logs: Logs,
}

impl Array {
    /// An array from its parts, with no work under way.
    pub(crate) fn from_parts(parts: Parts, now: Instant) -> Array {
        let Parts { start, durable, logs } = parts;
        let combined = start.simulated.combined && !start.geometry.is_journaled();
        let stripes = Stripes::new(&start.tuning, combined);
        Array {
            core: Core { cx: Context::new(start, now), durable, logs, stripes },
            maintenance: Maintenance::default(),
            hosts: Hosts::default(),
            stop: None,
        }
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.core.cx.geometry
    }

    /// The key of the sectors' checksums ([`Action::Checksum`](crate::Action::Checksum)).
    pub fn sector_key(&self) -> SectorKey {
        SectorKey::new(self.core.cx.identity.0)
    }

    /// Whether the array serves requests, and which.
    pub fn mode(&self) -> Mode {
        self.core.cx.mode
    }

    /// How often a job was examined to see whether it can go on. It is a measure of the array's own
    /// work that does not depend on the machine, for tests of how the work grows.
    pub fn steps(&self) -> u64 {
        self.core.cx.steps
    }

    /// Takes a credit and a buffer for a host's payload of `length`. `None` if the memory for hosts
    /// is all in use: call again after a completion.
    pub fn reserve(&mut self, length: Sectors) -> Option<BufferId> {
        self.hosts.reserve(&mut self.core.cx, length)
    }

    /// Gives back the credit and the buffer of [`Array::reserve`].
    pub fn release(&mut self, buffer: BufferId) {
        self.hosts.release(&mut self.core.cx, buffer);
    }

    /// The length of a buffer.
    pub fn buffer_length(&self, buffer: BufferId) -> Sectors {
        self.core.cx.buffers.length(buffer)
    }

    /// A buffer whose memory the driver may take back.
    pub fn poll_release(&mut self) -> Option<BufferId> {
        self.core.cx.buffers.poll_release()
    }

    /// The next completion of a request.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.hosts.poll_completion()
    }

    /// The next event to report.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.core.cx.events.pop_front()
    }

    /// The next effect to carry out. Foreground work comes first.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.core.cx.poll_effect()
    }

    /// The slices of an effect, in order.
    pub fn slices(&self, effect: EffectId) -> &[Slice] {
        self.core.cx.slices(effect)
    }

    /// The metadata to which slices of [`BufferId::METADATA`] refer.
    pub fn metadata(&self, effect: EffectId) -> &[u8] {
        self.core.cx.metadata(effect)
    }

    /// Starts jobs of rebuild, resync and scrub. Returns whether it started any.
    fn pump_maintenance(&mut self) -> bool {
        let Core { cx, durable, logs, stripes } = &mut self.core;
        self.maintenance.pump(cx, durable, logs, stripes, self.hosts.are_busy(cx.now))
    }

    /// Lets the logs go on. Returns whether they did anything.
    fn pump_logs(&mut self) -> bool {
        if let Some(waiters) = self.core.logs.take_pool_waiters_to_retry() {
            for waiter in waiters {
                if let Some(job) = self.core.logs.tries_again(&mut self.core.cx, &self.core.durable, waiter) {
                    self.core.stripes.advance_stripe(
                        &mut self.core.cx,
                        &mut self.core.durable,
                        &mut self.core.logs,
                        job,
                    );
                    self.handle_signals();
                }
            }
            return true;
        }
        let hosts_wait = !self.hosts.is_empty();
        self.core.logs.pump(&mut self.core.cx, &mut self.core.durable, hosts_wait)
    }

    /// When the driver must call [`Array::handle_timeout`], if it gives no other input before.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let waits = self.maintenance.has_work(&self.core.cx, &self.core.durable) && self.hosts.is_empty();
        let quiet = self.hosts.quiet_from().filter(|quiet| waits && *quiet > self.core.cx.now);
        let cleaning = self.core.durable.bitmap().clean_deadline(&self.core.cx);
        let looking = self.core.durable.look_deadline(&self.core.cx);
        [cleaning, looking, quiet].into_iter().flatten().min()
    }

    /// The time that [`Array::poll_timeout`] named has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.advance_clock(now);
        self.clean_idle_regions();
        self.work();
    }

    /// Starts a scrub of the whole array.
    ///
    /// # Errors
    /// One is under way, or the organization has nothing to compare or no such repair.
    pub fn scrub(&mut self, now: Instant, repair: Repair) -> Result<(), AdminError> {
        self.advance_clock(now);
        self.maintenance.begin_scrub(&mut self.core.cx, repair)?;
        self.work();
        Ok(())
    }

    /// Cancels the scrub under way. Stripes that it has begun are finished; its report is kept.
    ///
    /// # Errors
    /// None is under way.
    pub fn cancel_scrub(&mut self, now: Instant) -> Result<(), AdminError> {
        self.advance_clock(now);
        self.maintenance.end_scrub()?;
        self.work();
        Ok(())
    }

    /// Takes a host's request. It is answered by a completion, at once if it is refused.
    pub fn submit(&mut self, now: Instant, request: Request) {
        self.submit_part(now, request, Sectors::ZERO);
    }

    /// The same for a part of a longer request, whose payload begins at `start` in the buffer. Each
    /// part is answered separately.
    pub fn submit_part(&mut self, now: Instant, request: Request, start: Sectors) {
        self.advance_clock(now);
        self.hosts.take_request(&mut self.core, request, start);
        self.work();
    }

    /// Takes the outcome of an effect.
    ///
    /// # Panics
    /// If the effect was never handed out or was answered before.
    pub fn complete(&mut self, now: Instant, effect: EffectId, outcome: Outcome<'_>) {
        self.advance_clock(now);
        let merged = self.core.cx.effects.answered(effect);
        for part in std::iter::once(effect).chain(merged) {
            if self.is_abandoned() {
                return self.end_abandoned();
            }
            self.answer_effect(part, outcome);
            self.handle_signals();
        }
        self.work();
    }

    fn answer_effect(&mut self, effect: EffectId, outcome: Outcome<'_>) {
        let Answered { id, undurable, ends_phase } = self.core.cx.answer(effect, outcome);
        if let Some(failure) = undurable {
            self.note_undurable(&failure);
        }
        if ends_phase {
            let progress = self.core.cx.phase_done(id);
            self.follow(id, progress);
        }
    }

    pub(crate) fn advance_clock(&mut self, now: Instant) {
        self.core.cx.advance_clock(now);
    }

    /// Lets all jobs go on that can.
    pub(crate) fn work(&mut self) {
        self.handle_signals();
        // (Work that is left after an unclean stop is done after the next opening.)
        while self.core.cx.mode != Mode::Stopped && !self.is_abandoned() {
            while !self.is_abandoned()
                && let Some(job) = self.core.cx.runnable.pop_front()
            {
                self.core.stripes.advance_stripe(
                    &mut self.core.cx,
                    &mut self.core.durable,
                    &mut self.core.logs,
                    job,
                );
                self.handle_signals();
            }
            let went_on = self.core.stripes.pump_memory(&mut self.core.cx)
                || self.pump_maintenance()
                || self.pump_logs()
                || self.pump_metadata();
            if !self.handle_signals() && !went_on {
                return;
            }
        }
    }

    /// Hands out the first phase of a job whose plan is built. `host` is the host's buffer, and
    /// where the payload begins in it.
    pub(crate) fn start_plan(
        &mut self,
        id: JobId,
        host: Option<(BufferId, Sectors)>,
        reservations: &[(BufferId, Sectors)],
    ) {
        let turn = self.core.cx.roster.turn();
        self.start_plan_of(id, turn, host, reservations);
    }

    /// The same, for a plan that addresses the members that were in their slots at `turn`.
    pub(crate) fn start_plan_of(
        &mut self,
        id: JobId,
        turn: u64,
        host: Option<(BufferId, Sectors)>,
        reservations: &[(BufferId, Sectors)],
    ) {
        let progress = self.core.cx.start_plan(id, turn, host, reservations);
        self.follow(id, progress);
    }

    /// Does what the plan needs from its owner, until the plan waits or has ended.
    pub(crate) fn follow(&mut self, id: JobId, mut progress: Progress) {
        loop {
            match progress {
                Progress::Running => return,
                Progress::Commits if self.commit_plan(id) => progress = self.core.cx.next_phase(id),
                Progress::Commits => return,
                Progress::Done => return self.plan_done(id),
                Progress::Broken => return self.plan_broken(id),
            }
        }
    }

    /// Handles what components have signalled. Returns whether there was anything.
    fn handle_signals(&mut self) -> bool {
        let mut any = false;
        while let Some(signal) = self.core.cx.signals.pop().filter(|_| !self.is_abandoned()) {
            any = true;
            match signal {
                Signal::Progress(id, progress) => self.follow(id, progress),
                Signal::RegionDrained(region) => {
                    self.maintenance.flush_resynced(&mut self.core.cx, &mut self.core.durable, region)
                }
                Signal::Broken(id, failures) => self.core.stripes.stripe_broken(
                    &mut self.core.cx,
                    &mut self.core.durable,
                    &mut self.core.logs,
                    id,
                    &failures,
                ),
                Signal::Repair { parent, window, targets } => {
                    self.core.stripes.start_repair(&mut self.core.cx, parent, window, targets)
                }
                Signal::PassLost(region, failures) => {
                    self.exclude_unreadable_joining_members(&failures);
                    self.core.logs.pass_lost(&mut self.core.cx, &mut self.core.durable, region, &failures);
                }
                Signal::Unfaithful { member, repair } => {
                    self.fail_member(member, FailureCause::Unfaithful);
                    self.core.stripes.unfaithful_judged(
                        &mut self.core.cx,
                        &mut self.core.durable,
                        &mut self.core.logs,
                        repair,
                        member,
                    );
                }
                Signal::Repaired { job, lost } => self.repaired(job, lost),
                Signal::HostJobDone(host, result) => self.hosts.host_job_done(&mut self.core, host, result),
                Signal::WriteInBlocks { host, window } => {
                    self.hosts.begin_blocks(&mut self.core, host, window)
                }
                Signal::MaintenanceStripeEnded { purpose, stripe, result } => {
                    self.maintenance.maintenance_stripe_ended(
                        &mut self.core.cx,
                        &mut self.core.durable,
                        purpose,
                        stripe,
                        result,
                    );
                }
                Signal::ScrubSkipped => self.maintenance.skip_scrubbed(),
                Signal::Mismatch { window, repaired } => {
                    self.maintenance.note_mismatch(&mut self.core.cx, window, repaired)
                }
                Signal::Uncompared => self.maintenance.note_uncompared(),
                Signal::SpareMayServe => self.take_spare(),
                Signal::FlushesMayStart => self.hosts.resume_hosts(&mut self.core),
                Signal::ReadsMayGoOn => self.hosts.resume_recovered_hosts(&mut self.core),
            }
        }
        any
    }

    /// Commits the log records of a plan. Returns whether the plan may go on at once; if the
    /// records must be durable first, it waits.
    fn commit_plan(&mut self, id: JobId) -> bool {
        match self.core.cx.jobs.get(id).kind {
            Some(Kind::Reintegrate { region }) => {
                return self.core.logs.start_intent(&mut self.core.cx, id, region);
            }
            _ if self.core.cx.geometry.is_journaled() => self.core.logs.await_commit(&mut self.core.cx, id),
            _ => {
                self.core.stripes.commit_records(
                    &mut self.core.cx,
                    &mut self.core.durable,
                    &mut self.core.logs,
                    id,
                );
                return true;
            }
        }
        false
    }

    /// A plan is done: continues according to the job's purpose.
    fn plan_done(&mut self, id: JobId) {
        self.core.cx.release_buffers(id);
        match self.core.cx.jobs.get(id).kind.as_ref().expect("a running job has a purpose") {
            Kind::Read { .. } => self.hosts.read_done(&mut self.core, id),
            Kind::Stripe(_) => self.core.stripes.stripe_carried_out(
                &mut self.core.cx,
                &mut self.core.durable,
                &mut self.core.logs,
                id,
            ),
            Kind::BadBlockLog => self.bad_block_log_written(id, true),
            Kind::Flush { .. } => self.hosts.flush_done(&mut self.core, id),
            Kind::Append { .. } => self.core.logs.append_done(&mut self.core.cx, &mut self.core.durable, id),
            Kind::Reintegrate { .. } => {
                self.core.logs.reintegrate_pass_done(&mut self.core.cx, &mut self.core.durable, id)
            }
            Kind::Load(_) => self.core.logs.load_done(&mut self.core.cx, &mut self.core.durable, id),
            Kind::Commit { .. } => self.core.logs.commit_done(&mut self.core.cx, &mut self.core.durable, id),
            Kind::CommitMark { .. } => self.core.logs.mark_done(&mut self.core.cx, id),
            Kind::CommitFlush { .. } => self.core.logs.commit_flushed(&mut self.core.cx, id, true),
            Kind::Intent { .. } => self.core.logs.intent_done(&mut self.core.cx, id),
            Kind::ReintegrateFlush { .. } => {
                self.core.logs.reintegration_flushed(&mut self.core.cx, &mut self.core.durable, id, true)
            }
            Kind::Probe { .. } => self.core.logs.probe_done(&mut self.core.cx, &mut self.core.durable, id),
            Kind::Redo(_) => self.core.logs.redo_done(&mut self.core.cx, &mut self.core.durable, id),
            Kind::ResyncFlush { .. } => self.maintenance.resync_flushed(
                &mut self.core.cx,
                &mut self.core.durable,
                &mut self.core.logs,
                id,
                true,
            ),
            Kind::Checkpoint { .. } => self.maintenance.checkpoint_done(
                &mut self.core.cx,
                &mut self.core.durable,
                &mut self.core.logs,
                id,
            ),
            Kind::CleanFlush => self.idle_regions_flushed(id, true),
            Kind::Look => self.looked(id, &[]),
            Kind::Superblock | Kind::Bitmap | Kind::Table | Kind::StopFlush => {
                self.metadata_written(id, &[]);
            }
        }
    }

    /// What a job of hosts or logs could not read is repaired, or (if `lost`) could not be.
    fn repaired(&mut self, id: JobId, lost: bool) {
        match self.core.cx.jobs.get(id).kind {
            Some(Kind::Read { .. }) if lost => self.hosts.read_failed(&mut self.core, id, RequestError::Lost),
            Some(Kind::Read { host }) => self.hosts.read_again(&mut self.core, id, host),
            Some(Kind::Reintegrate { region }) => {
                self.core.logs.parity_repaired(&mut self.core.cx, &mut self.core.durable, id, region, lost);
            }
            ref other => unreachable!("{other:?} waits for no repair"),
        }
    }

    /// Some step of a plan failed, and all others of its phase are answered.
    fn plan_broken(&mut self, id: JobId) {
        self.core.cx.release_buffers(id);
        let mut failures = std::mem::take(&mut self.core.cx.jobs.get_mut(id).failures);
        // If the member no longer stands, its lack of space does not concern the array.
        for failure in failures.iter_mut().filter(|failure| failure.fault.is_of_space()) {
            if !self.core.cx.roster.stands(failure.member) {
                failure.fault = Fault::Gone;
            }
        }
        if is_planted(Bug::FailedFlushForgotten) && self.core.cx.is_flush(id) {
            return self.plan_done(id);
        }
        if self.halt_unrecorded(id, &failures) {
            return;
        }
        let looks = matches!(self.core.cx.jobs.get(id).kind, Some(Kind::Look));
        for failure in failures.iter().filter(|failure| !failure.undurable) {
            if looks { self.note_looked(failure) } else { self.note_failure(failure) }
        }
        match self.core.cx.jobs.get(id).kind.as_ref().expect("a running job has a purpose") {
            Kind::Read { .. } => self.hosts.read_broken(&mut self.core, id, &failures),
            Kind::Stripe(_) => self.core.stripes.stripe_broken(
                &mut self.core.cx,
                &mut self.core.durable,
                &mut self.core.logs,
                id,
                &failures,
            ),
            Kind::Flush { .. } => self.hosts.flush_broken(&mut self.core, id, &failures),
            Kind::Append { .. } => {
                self.core.logs.append_broken(&mut self.core.cx, &mut self.core.durable, id)
            }
            Kind::Reintegrate { .. } => {
                self.core.logs.reintegrate_broken(&mut self.core.cx, &mut self.core.durable, id, &failures)
            }
            Kind::Load(_) => {
                self.core.logs.load_broken(&mut self.core.cx, &mut self.core.durable, id, &failures)
            }
            Kind::Commit { .. } => self.core.logs.commit_broken(&mut self.core.cx, id, &failures),
            Kind::CommitMark { .. } => {
                self.core.logs.mark_broken(&mut self.core.cx, &mut self.core.durable, id, &failures)
            }
            Kind::CommitFlush { .. } => self.core.logs.commit_flushed(&mut self.core.cx, id, false),
            Kind::Intent { .. } => {
                self.core.logs.intent_broken(&mut self.core.cx, &mut self.core.durable, id)
            }
            Kind::ReintegrateFlush { .. } => {
                self.core.logs.reintegration_flushed(&mut self.core.cx, &mut self.core.durable, id, false)
            }
            Kind::Probe { .. } => {
                self.core.logs.probe_broken(&mut self.core.cx, &mut self.core.durable, id, &failures)
            }
            Kind::Redo(_) => {
                self.core.logs.redo_broken(&mut self.core.cx, &mut self.core.durable, id, &failures)
            }
            Kind::ResyncFlush { .. } => self.maintenance.resync_flushed(
                &mut self.core.cx,
                &mut self.core.durable,
                &mut self.core.logs,
                id,
                false,
            ),
            Kind::Checkpoint { .. } => self.core.cx.jobs.end(id),
            Kind::CleanFlush => self.idle_regions_flushed(id, false),
            Kind::Look => self.looked(id, &failures),
            Kind::BadBlockLog => self.bad_block_log_written(id, false),
            Kind::Superblock | Kind::Bitmap | Kind::Table | Kind::StopFlush => {
                self.metadata_written(id, &failures);
            }
        }
    }

    /// Treats a failed access of any job as a failure of its member.
    fn note_failure(&mut self, failure: &FailedAccess) {
        match failure.fault {
            Fault::Gone => self.fail_member(failure.member, FailureCause::Gone),
            Fault::Truncated => self.fail_member(failure.member, FailureCause::Truncated),
            Fault::NoSpace | Fault::Undurable => self.out_of_space(failure.member),
            // A block on the bad-block log is no new error of the member.
            Fault::Unreadable if self.is_bad(failure) => {}
            Fault::Unreadable => self.count_error(failure.member),
        }
    }

    fn is_bad(&self, failure: &FailedAccess) -> bool {
        let slot = self.core.cx.roster.slot_of(failure.member);
        slot.is_some_and(|slot| self.core.cx.roster.listed.has(slot, failure.at, failure.length))
    }

    /// A flush or a durable write of a member failed. This is acted on at once: if another flush of
    /// the member is under way and succeeds, that success means nothing. If the member has to be
    /// kept, its unflushed writes may be lost.
    fn note_undurable(&mut self, failure: &FailedAccess) {
        if is_planted(Bug::FailedFlushForgotten) {
            return;
        }
        self.note_failure(failure);
        if self.core.cx.roster.slot_of(failure.member).is_some()
            && self.core.cx.roster.note_flush_failed(failure.member)
        {
            self.core.durable.bitmap_mut().note_unflushed();
            self.take_back_that_all_is_well();
        }
    }
}
