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

use std::collections::VecDeque;

use parlour_codec::sector::SectorKey;
use parlour_units::{Instant, Sectors};

use crate::buffer::{BufferId, Slice};
use crate::cache::PrereadCache;
use crate::context::{Context, Start};
use crate::durable::bad_blocks::BadBlocks;
use crate::durable::fence::Fence;
use crate::effect::{Effect, EffectId, Fault, Outcome};
use crate::exec::job::FailedAccess;
use crate::exec::run::{Answered, Progress};
use crate::geometry::Geometry;
use crate::host::Hosts;
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::maintenance::Maintenance;
use crate::metadata::Records;
use crate::mode::Mode;
use crate::plan::Builder;
use crate::planted::{Bug, is_planted};
use crate::request::Completion;
use crate::status::{Event, FailureCause};
use crate::update;

/// A disk array. See the module for how to drive it.
#[derive(Debug)]
pub struct Array {
    pub(crate) cx: Context,
    pub(crate) hosts: Hosts,
    pub(crate) records: Records,
    pub(crate) bad_blocks: BadBlocks,
    pub(crate) fence: Fence,
    pub(crate) logs: Option<Logs>,
    pub(crate) cache: PrereadCache,
    pub(crate) maintenance: Maintenance,
    pub(crate) builder: Builder,
    pub(crate) turn: u64,
    pub(crate) completions: VecDeque<Completion>,
}

/// The parts of which an array consists.
pub(crate) struct Parts {
    pub(crate) start: Start,
    pub(crate) records: Records,
    pub(crate) bad_blocks: BadBlocks,
    pub(crate) logs: Option<Logs>,
}

impl Array {
    /// An array from its parts, with no work under way.
    pub(crate) fn from_parts(parts: Parts, now: Instant) -> Array {
        let Parts { start, records, bad_blocks, logs } = parts;
        Array {
            hosts: Hosts::default(),
            records,
            bad_blocks,
            fence: Fence::default(),
            logs,
            cache: PrereadCache::new(start.tuning.preread_cache),
            maintenance: Maintenance::default(),
            builder: update::builder(&start.geometry, &start.tuning, start.simulated),
            turn: 0,
            completions: VecDeque::new(),
            cx: Context::new(start, now),
        }
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.cx.geometry
    }

    /// The key of the sectors' checksums ([`Action::Checksum`](crate::Action::Checksum)).
    pub fn sector_key(&self) -> SectorKey {
        SectorKey::new(self.cx.identity.0)
    }

    /// Whether the array serves requests, and which.
    pub fn mode(&self) -> Mode {
        self.cx.mode
    }

    /// How often a job was examined to see whether it can go on. It is a measure of the array's own
    /// work that does not depend on the machine, for tests of how the work grows.
    pub fn steps(&self) -> u64 {
        self.cx.steps
    }

    /// Takes a credit and a buffer for a host's payload of `length`. `None` if the memory for hosts
    /// is all in use: call again after a completion.
    pub fn reserve(&mut self, length: Sectors) -> Option<BufferId> {
        if self.hosts.memory + length > self.cx.tuning.host_memory && !self.hosts.memory.is_zero() {
            return None;
        }
        self.hosts.memory += length;
        Some(self.cx.buffers.take(length))
    }

    /// Gives back the credit and the buffer of [`Array::reserve`].
    pub fn release(&mut self, buffer: BufferId) {
        self.hosts.memory = self.hosts.memory - self.cx.buffers.length(buffer);
        self.cx.buffers.release(buffer);
    }

    /// The length of a buffer.
    pub fn buffer_length(&self, buffer: BufferId) -> Sectors {
        self.cx.buffers.length(buffer)
    }

    /// A buffer whose memory the driver may take back.
    pub fn poll_release(&mut self) -> Option<BufferId> {
        self.cx.buffers.poll_release()
    }

    /// The next completion of a request.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// The next event to report.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.cx.events.pop_front()
    }

    /// The next effect to carry out. Foreground work comes first.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.cx.poll_effect()
    }

    /// The slices of an effect, in order.
    pub fn slices(&self, effect: EffectId) -> &[Slice] {
        self.cx.slices(effect)
    }

    /// The metadata to which slices of [`BufferId::METADATA`] refer.
    pub fn metadata(&self, effect: EffectId) -> &[u8] {
        self.cx.metadata(effect)
    }

    /// Takes the outcome of an effect.
    ///
    /// # Panics
    /// If the effect was never handed out or was answered before.
    pub fn complete(&mut self, now: Instant, effect: EffectId, outcome: Outcome<'_>) {
        self.advance_clock(now);
        let merged = self.cx.effects.answered(effect);
        for part in std::iter::once(effect).chain(merged) {
            if self.is_abandoned() {
                return self.end_abandoned();
            }
            self.answer_effect(part, outcome);
        }
        self.work();
    }

    fn answer_effect(&mut self, effect: EffectId, outcome: Outcome<'_>) {
        let Answered { id, undurable, ends_phase } = self.cx.answer(effect, outcome);
        if let Some(failure) = undurable {
            self.note_undurable(&failure);
        }
        if ends_phase {
            let progress = self.cx.phase_done(id);
            self.follow(id, progress);
        }
    }

    pub(crate) fn advance_clock(&mut self, now: Instant) {
        self.cx.advance_clock(now);
    }

    /// Lets all jobs go on that can.
    pub(crate) fn work(&mut self) {
        // (Work that is left after an unclean stop is done after the next opening.)
        while self.cx.mode != Mode::Stopped && !self.is_abandoned() {
            while !self.is_abandoned()
                && let Some(job) = self.cx.runnable.pop_front()
            {
                self.advance_stripe(job);
            }
            if !self.pump_memory() && !self.pump_maintenance() && !self.pump_logs() && !self.pump_records() {
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
        let turn = self.cx.roster.turn();
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
        let progress = self.cx.start_plan(id, turn, host, reservations);
        self.follow(id, progress);
    }

    /// The records that a plan waited for are durable: the plan goes on.
    pub(crate) fn go_on(&mut self, id: JobId) {
        let progress = self.cx.next_phase(id);
        self.follow(id, progress);
    }

    /// Does what the plan needs from its owner, until the plan waits or has ended.
    pub(crate) fn follow(&mut self, id: JobId, mut progress: Progress) {
        loop {
            match progress {
                Progress::Running => return,
                Progress::Commits if self.commit_plan(id) => progress = self.cx.next_phase(id),
                Progress::Commits => return,
                Progress::Done => return self.plan_done(id),
                Progress::Broken => return self.plan_broken(id),
            }
        }
    }

    /// Commits the log records of a plan. Returns whether the plan may go on at once; if the
    /// records must be durable first, it waits.
    fn commit_plan(&mut self, id: JobId) -> bool {
        match self.cx.jobs.get(id).kind {
            Some(Kind::Reintegrate { region }) => return self.start_intent(id, region),
            _ if self.cx.geometry.is_journaled() => self.await_commit(id),
            _ => {
                self.commit_records(id);
                return true;
            }
        }
        false
    }

    /// A plan is done: continues according to the job's purpose.
    fn plan_done(&mut self, id: JobId) {
        self.cx.release_buffers(id);
        match self.cx.jobs.get(id).kind.as_ref().expect("a running job has a purpose") {
            Kind::Read { .. } => self.read_done(id),
            Kind::Stripe(_) => self.stripe_carried_out(id),
            Kind::BadBlockLog => self.bad_block_log_written(id, true),
            Kind::Flush { .. } => self.flush_done(id),
            Kind::Append { .. } => self.append_done(id),
            Kind::Reintegrate { .. } => self.reintegrate_pass_done(id),
            Kind::Load(_) => self.load_done(id),
            Kind::Commit { .. } => self.commit_done(id),
            Kind::CommitMark { .. } => self.mark_done(id),
            Kind::CommitFlush { .. } => self.commit_flushed(id, true),
            Kind::Intent { .. } => self.intent_done(id),
            Kind::ReintegrateFlush { .. } => self.reintegration_flushed(id, true),
            Kind::Probe { .. } => self.probe_done(id),
            Kind::Redo(_) => self.redo_done(id),
            Kind::ResyncFlush { .. } => self.resync_flushed(id, true),
            Kind::Checkpoint { .. } => self.checkpoint_done(id),
            Kind::CleanFlush => self.clean_flush_done(id),
            Kind::Look => self.looked(id, &[]),
            Kind::Superblock | Kind::Bitmap | Kind::Table | Kind::StopFlush => self.record_done(id, true),
        }
    }

    /// Some step of a plan failed, and all others of its phase are answered.
    fn plan_broken(&mut self, id: JobId) {
        self.cx.release_buffers(id);
        let mut failures = std::mem::take(&mut self.cx.jobs.get_mut(id).failures);
        // If the member no longer stands, its lack of space does not concern the array.
        for failure in failures.iter_mut().filter(|failure| failure.fault.is_of_space()) {
            if !self.cx.roster.stands(failure.member) {
                failure.fault = Fault::Gone;
            }
        }
        if is_planted(Bug::FailedFlushForgotten) && self.cx.is_flush(id) {
            return self.plan_done(id);
        }
        if self.halt_unrecorded(id, &failures) {
            return;
        }
        let looks = matches!(self.cx.jobs.get(id).kind, Some(Kind::Look));
        for failure in failures.iter().filter(|failure| !failure.undurable) {
            if looks { self.note_looked(failure) } else { self.note_failure(failure) }
        }
        match self.cx.jobs.get(id).kind.as_ref().expect("a running job has a purpose") {
            Kind::Read { .. } => self.read_broken(id, &failures),
            Kind::Stripe(_) => self.stripe_broken(id, &failures),
            Kind::Flush { .. } => self.flush_broken(id, &failures),
            Kind::Append { .. } => self.append_broken(id),
            Kind::Reintegrate { .. } => self.reintegrate_broken(id, &failures),
            Kind::Load(_) => self.load_broken(id, &failures),
            Kind::Commit { .. } => self.commit_broken(id, &failures),
            Kind::CommitMark { .. } => self.mark_broken(id, &failures),
            Kind::CommitFlush { .. } => self.commit_flushed(id, false),
            Kind::Intent { .. } => self.intent_broken(id),
            Kind::ReintegrateFlush { .. } => self.reintegration_flushed(id, false),
            Kind::Probe { .. } => self.probe_broken(id, &failures),
            Kind::Redo(_) => self.redo_broken(id, &failures),
            Kind::ResyncFlush { .. } => self.resync_flushed(id, false),
            Kind::Checkpoint { .. } => self.end_job(id),
            Kind::CleanFlush => self.clean_flush_broken(id),
            Kind::Look => self.looked(id, &failures),
            Kind::BadBlockLog => self.bad_block_log_written(id, false),
            Kind::Superblock | Kind::Bitmap | Kind::Table | Kind::StopFlush => {
                self.record_broken(id, &failures)
            }
        }
    }

    pub(crate) fn end_job(&mut self, id: JobId) {
        self.cx.jobs.end(id);
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
        let slot = self.cx.roster.slot_of(failure.member);
        slot.is_some_and(|slot| self.cx.roster.listed.has(slot, failure.at, failure.length))
    }

    /// A flush or a durable write of a member failed. This is acted on at once: if another flush of
    /// the member is under way and succeeds, that success means nothing. If the member has to be
    /// kept, its unflushed writes may be lost.
    fn note_undurable(&mut self, failure: &FailedAccess) {
        if is_planted(Bug::FailedFlushForgotten) {
            return;
        }
        self.note_failure(failure);
        if self.cx.roster.slot_of(failure.member).is_some()
            && self.cx.roster.note_flush_failed(failure.member)
        {
            self.note_unflushed();
            self.take_back_that_all_is_well();
        }
    }
}
