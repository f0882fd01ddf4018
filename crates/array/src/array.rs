//! The array itself: it is told what happened and answers with what to do next.
//!
//! How to drive it:
//!
//! 1. [`Array::submit`] what hosts ask, [`Array::complete`] what became of effects,
//!    [`Array::handle_timeout`] when [`Array::poll_timeout`] has come.
//! 2. After any of these, drain [`Array::poll_effect`], [`Array::poll_completion`],
//!    [`Array::poll_event`] and [`Array::poll_release`] until each says none.
//!
//! A read's payload is in its buffer when its completion is polled; the driver gives the buffer
//! back by [`Array::release`]. A write's buffer is given back by the driver in the same way, after
//! its completion.

use std::collections::{BTreeMap, VecDeque};

use parlour_codec::sector::SectorKey;
use parlour_units::{Instant, Member, Region, Sector, Sectors, Stripe};

use crate::bad_blocks::BadBlocks;
use crate::buffer::{BufferId, Buffers, Slice};
use crate::cache::PrereadCache;
use crate::columns::Columns;
use crate::effect::{Action, Class, Effect, EffectId, Fault, Outcome};
use crate::fence::Fence;
use crate::floating::Floats;
use crate::geometry::Geometry;
use crate::health::Health;
use crate::host::Hosts;
use crate::identity::Identity;
use crate::ids::JobId;
use crate::job::{FailedAccess, Jobs, Kind, NOBODY};
use crate::locks::Locks;
use crate::log::Logs;
use crate::maintenance::Maintenance;
use crate::metadata::Records;
use crate::plan::{Builder, Source, Target};
use crate::planted::{Bug, is_planted};
use crate::request::Completion;
use crate::status::{Counters, Event, FailureCause};
use crate::tuning::{Simulated, Tuning};

/// Whether and how the array serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It reads and writes.
    Serving,
    /// It reads only: it was opened so, or a member has no space left.
    ReadOnly,
    /// It finishes what it began and takes nothing new.
    Stopping,
    /// It is stopped: nothing is in flight and all is recorded.
    Stopped,
    /// Another server has opened it: nothing is read or written any more, and all requests fail.
    Superseded,
    /// There was no space or memory for its metadata: nothing is read or written any more, and all
    /// requests fail.
    Halted,
}

/// A disk array. See the module for how to drive it.
#[derive(Debug)]
pub struct Array {
    pub(crate) geometry: Geometry,
    pub(crate) tuning: Tuning,
    pub(crate) simulated: Simulated,
    pub(crate) identity: Identity,
    pub(crate) mode: Mode,
    pub(crate) now: Instant,
    pub(crate) buffers: Buffers,
    pub(crate) jobs: Jobs,
    pub(crate) hosts: Hosts,
    pub(crate) locks: Locks,
    pub(crate) health: Health,
    pub(crate) records: Records,
    pub(crate) bad_blocks: BadBlocks,
    pub(crate) fence: Fence,
    /// Effects that the driver has and did not answer.
    pub(crate) flying: u32,
    pub(crate) logs: Option<Logs>,
    pub(crate) cache: PrereadCache,
    /// Where units are, where they float.
    pub(crate) floats: Option<Floats>,
    pub(crate) maintenance: Maintenance,
    pub(crate) builder: Builder,
    pub(crate) counters: Counters,
    pub(crate) turn: u64,
    /// Gates and waiting jobs that were looked at.
    pub(crate) steps: u64,
    /// Jobs that may go on.
    pub(crate) runnable: VecDeque<JobId>,
    /// Stripe jobs that wait for scratch memory, first come first served.
    pub(crate) memory_waiters: VecDeque<JobId>,
    pub(crate) scratch_in_use: Sectors,
    /// By class.
    effects: [VecDeque<EffectId>; 5],
    /// What was handed out as a part of another effect, by that one.
    merged: BTreeMap<EffectId, Vec<EffectId>>,
    pub(crate) completions: VecDeque<Completion>,
    pub(crate) events: VecDeque<Event>,
}

/// Of so many effects that wait, those are looked for that are handed out together, …
const MERGED_OF: u32 = 1_024;
/// … and of what becomes zeroes, about so much goes into one.
const LONGEST_ZEROES: Sectors = Sectors::new(64 << 11);

/// What an array is put together from.
pub(crate) struct Parts {
    pub(crate) geometry: Geometry,
    pub(crate) tuning: Tuning,
    pub(crate) simulated: Simulated,
    pub(crate) identity: Identity,
    pub(crate) mode: Mode,
    pub(crate) health: Health,
    pub(crate) records: Records,
    pub(crate) bad_blocks: BadBlocks,
    pub(crate) logs: Option<Logs>,
}

impl Array {
    /// An array from its parts, with nothing under way.
    pub(crate) fn from_parts(parts: Parts, now: Instant) -> Array {
        let Parts { geometry, tuning, simulated, identity, mode, health, records, bad_blocks, logs } = parts;
        Array {
            cache: PrereadCache::new(tuning.preread_cache),
            floats: Floats::new(&geometry),
            maintenance: Maintenance::default(),
            builder: Builder::new(&tuning, simulated.combined && !geometry.is_logged()),
            geometry,
            tuning,
            simulated,
            identity,
            mode,
            now,
            buffers: Buffers::new(),
            jobs: Jobs::default(),
            hosts: Hosts::default(),
            locks: Locks::default(),
            health,
            records,
            bad_blocks,
            fence: Fence::default(),
            flying: 0,
            logs,
            counters: Counters::default(),
            turn: 0,
            steps: 0,
            runnable: VecDeque::new(),
            memory_waiters: VecDeque::new(),
            scratch_in_use: Sectors::ZERO,
            effects: Default::default(),
            merged: BTreeMap::new(),
            completions: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// The array's shape.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// The key of the sectors' checksums ([`Action::Checksum`]).
    pub fn sector_key(&self) -> SectorKey {
        SectorKey::new(self.identity.0)
    }

    /// Whether and how it serves.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// How often a job was looked at, to see whether it can go on: a measure of the array's own
    /// work that does not depend on the machine, for tests of how it grows.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Takes a credit and a buffer for a host's payload of `length`. None: the hosts' memory is all
    /// in use; ask again after a completion.
    pub fn reserve(&mut self, length: Sectors) -> Option<BufferId> {
        if self.hosts.memory + length > self.tuning.host_memory && !self.hosts.memory.is_zero() {
            return None;
        }
        self.hosts.memory += length;
        Some(self.buffers.take(length))
    }

    /// Gives back what [`Array::reserve`] took.
    pub fn release(&mut self, buffer: BufferId) {
        self.hosts.memory = self.hosts.memory - self.buffers.length(buffer);
        self.buffers.release(buffer);
    }

    /// The length of a buffer.
    pub fn buffer_length(&self, buffer: BufferId) -> Sectors {
        self.buffers.length(buffer)
    }

    /// A buffer whose memory the driver may take back.
    pub fn poll_release(&mut self) -> Option<BufferId> {
        self.buffers.poll_release()
    }

    /// A request that is done.
    pub fn poll_completion(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Something that people want to know.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// The next thing to do. Foreground work comes first.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        let id = self.effects.iter_mut().find_map(VecDeque::pop_front)?;
        self.flying += 1;
        let (class, action) = self.effect(id);
        let action = match action {
            Action::Zero { member, at, length } => {
                let length = self.merge_zeroes(id, class, (member, at, length));
                Action::Zero { member, at, length }
            }
            action => action,
        };
        Some(Effect { id, class, action })
    }

    fn effect(&self, id: EffectId) -> (Class, Action) {
        let job = self.jobs.of_effect(id).expect("a job waits for its effects");
        let job = self.jobs.get(job);
        (job.class, job.action(id.step()))
    }

    /// What of the queue becomes zeroes behind the effect `first` is handed out with it. Returns
    /// how much that is together.
    fn merge_zeroes(
        &mut self,
        first: EffectId,
        class: Class,
        (member, at, length): (Member, Sector, Sectors),
    ) -> Sectors {
        let mut queue = std::mem::take(&mut self.effects[class as usize]);
        let (mut end, mut merged, mut seen) = (at + length, Vec::new(), 0);
        queue.retain(|id| {
            seen += 1;
            if seen > MERGED_OF || end - at >= LONGEST_ZEROES {
                return true;
            }
            let follows = matches!(
                self.effect(*id).1,
                Action::Zero { member: other, at: next, .. } if other == member && next == end
            );
            if follows && let Action::Zero { length, .. } = self.effect(*id).1 {
                end = end + length;
                merged.push(*id);
            }
            !follows
        });
        self.effects[class as usize] = queue;
        if !merged.is_empty() {
            self.merged.insert(first, merged);
        }
        end - at
    }

    /// The bytes of an effect, in order.
    pub fn slices(&self, effect: EffectId) -> &[Slice] {
        let job = self.jobs.of_effect(effect).expect("slices are asked for before the answer");
        let job = self.jobs.get(job);
        let spans = &job.plan.steps[effect.step() as usize].spans;
        &job.slices[spans.start as usize..spans.end as usize]
    }

    /// The metadata that slices of [`BufferId::METADATA`] mean.
    pub fn metadata(&self, effect: EffectId) -> &[u8] {
        let job = self.jobs.of_effect(effect).expect("metadata is asked for before the answer");
        &self.jobs.get(job).metadata
    }

    /// What became of an effect.
    ///
    /// # Panics
    /// Where the effect was never handed out or was answered before.
    pub fn complete(&mut self, now: Instant, effect: EffectId, outcome: Outcome<'_>) {
        self.advance_clock(now);
        self.flying -= 1;
        let merged = self.merged.remove(&effect).unwrap_or_default();
        for part in std::iter::once(effect).chain(merged) {
            if self.is_abandoned() {
                return self.end_abandoned();
            }
            self.answer_effect(part, outcome);
        }
        self.work();
    }

    fn answer_effect(&mut self, effect: EffectId, outcome: Outcome<'_>) {
        let id = self.jobs.of_effect(effect).expect("an effect is answered once");
        let job = self.jobs.get_mut(id);
        let action = job.action(effect.step());
        let spans = job.plan.steps[effect.step() as usize].spans.clone();
        match outcome {
            Outcome::Done | Outcome::Placed(_) => {}
            Outcome::Metadata(bytes) => {
                let at = job.slices[spans.start as usize].start.bytes().as_usize();
                job.metadata[at..at + bytes.len()].copy_from_slice(bytes);
            }
            Outcome::Differs => job.differing.push(effect.step()),
            Outcome::Checksums(sums) => job.take_checksums(effect.step(), sums),
            Outcome::Failed(_) if self.health.cannot_flush(action) => {}
            Outcome::Failed(fault) => job.failures.push(FailedAccess::new(fault, action)),
        }
        job.outstanding -= 1;
        let done = job.outstanding == 0;
        match (outcome, action) {
            (Outcome::Done, _) => self.note_written(id, action),
            (Outcome::Placed(position), Action::Float { member, at, length, durable, .. }) => {
                self.note_placed(member, at, position);
                self.note_written(id, Action::Write { member, at: position, length, durable });
            }
            _ => {}
        }
        self.note_answer(action);
        if let Outcome::Failed(fault) = outcome {
            let failure = FailedAccess::new(fault, action);
            if failure.undurable {
                self.note_undurable(&failure);
            }
        }
        if done {
            self.phase_done(id);
        }
    }

    pub(crate) fn advance_clock(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// What is not handed out yet never is.
    pub(crate) fn forget_effects(&mut self) {
        self.effects.iter_mut().for_each(VecDeque::clear);
    }

    /// Lets all jobs that may go on do so.
    pub(crate) fn work(&mut self) {
        // (What a stop that is not clean has left is done after the next opening.)
        while self.mode != Mode::Stopped && !self.is_abandoned() {
            while !self.is_abandoned()
                && let Some(job) = self.runnable.pop_front()
            {
                self.advance_stripe(job);
            }
            if !self.pump_memory() && !self.pump_maintenance() && !self.pump_logs() && !self.pump_records() {
                return;
            }
        }
    }

    /// Hands out the first phase of a job whose plan is built. `host` is the buffer that it works
    /// on, and where the payload begins there.
    pub(crate) fn start_plan(
        &mut self,
        id: JobId,
        host: Option<(BufferId, Sectors)>,
        reservations: &[(BufferId, Sectors)],
    ) {
        let turn = self.health.turn;
        self.start_plan_of(id, turn, host, reservations);
    }

    /// The same, for a plan on members that stood in their slots at `turn`.
    pub(crate) fn start_plan_of(
        &mut self,
        id: JobId,
        turn: u64,
        host: Option<(BufferId, Sectors)>,
        reservations: &[(BufferId, Sectors)],
    ) {
        let job = self.jobs.get_mut(id);
        assert!(job.scratch.is_empty(), "a plan starts with no buffers of an earlier one");
        for length in &job.plan.scratch {
            job.scratch.push(self.buffers.take(*length));
        }
        job.slices.clear();
        for span in &job.plan.spans {
            let (buffer, base) = match span.source {
                Source::Host => host.expect("a plan on the host's payload has one"),
                Source::Zeroes => (BufferId::ZEROES, Sectors::ZERO),
                Source::Scratch(index) => (job.scratch[index as usize], Sectors::ZERO),
                Source::Record(index) => reservations[usize::from(index)],
                Source::Metadata => (BufferId::METADATA, Sectors::ZERO),
                Source::Buffer(buffer) => (buffer, Sectors::ZERO),
            };
            job.slices.push(Slice { buffer, start: base + span.start, length: span.length });
        }
        job.turn = turn;
        job.members.clear();
        job.members.resize(job.plan.steps.len(), NOBODY);
        job.next_step = 0;
        job.failures.clear();
        job.differing.clear();
        self.next_phase(id);
    }

    /// Hands out the next phase, or ends the plan.
    fn next_phase(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        let first = job.next_step as usize;
        let phase = job.plan.steps.get(first).map(|step| step.phase);
        // Where what is written is missing, nothing follows the record.
        let commits = |before: u16| phase.is_none_or(|phase| phase == before);
        if job.plan.commit_before.take_if(|before| commits(*before)).is_some() && !self.commit_plan(id) {
            return;
        }
        let Some(phase) = phase else {
            self.plan_done(id);
            return;
        };
        let job = self.jobs.get_mut(id);
        let count = job.plan.steps[first..].iter().take_while(|step| step.phase == phase).count();
        job.next_step = (first + count) as u32;
        job.outstanding = count as u32;
        for step in first..first + count {
            self.hand_out(id, step);
        }
        if self.jobs.get(id).outstanding == 0 {
            self.phase_done(id);
        }
    }

    /// What a plan tells the logs counts from now on. Says whether the plan may go on at once: not
    /// before it is durable, where that is promised.
    fn commit_plan(&mut self, id: JobId) -> bool {
        match self.jobs.get(id).kind {
            Some(Kind::Reintegrate { region }) => return self.start_intent(id, region),
            _ if self.geometry.is_logged() => self.await_commit(id),
            _ => {
                self.commit_records(id);
                return true;
            }
        }
        false
    }

    /// What a plan told the logs is durable.
    pub(crate) fn go_on(&mut self, id: JobId) {
        self.next_phase(id);
    }

    /// Queues one step as an effect, addressed to the member that stands in the step's slot.
    fn hand_out(&mut self, id: JobId, step: usize) {
        let job = self.jobs.get(id);
        let (class, action) = (job.class, job.plan.steps[step].action);
        let member = match action.member() {
            None => NOBODY,
            Some(target) => match self.standing_target(target, job.turn) {
                Some(member) => member,
                None => return self.hand_out_to_nobody(id, step),
            },
        };
        let listed = match action {
            Action::Read { .. } | Action::ReadModifyWrite { .. } | Action::Float { .. } => {
                let range = action.member().and_then(Target::slot).zip(action.range());
                range.is_some_and(|(slot, (at, length))| self.bad_blocks.has(slot, at, length))
            }
            _ => false,
        };
        let job = self.jobs.get_mut(id);
        job.members[step] = member;
        let action = action.map(|_| member);
        // Its members are perhaps open for reading only, and writing could not be asked for.
        assert!(
            self.records.enabled || !action.changes(),
            "an array that is opened read-only writes nothing"
        );
        if listed {
            job.failures.push(FailedAccess::new(Fault::Unreadable, action));
            job.outstanding -= 1;
            return;
        }
        if action.member().is_some() {
            self.note_hand_out(class, action, member);
        }
        self.effects[class as usize].push_back(EffectId::new(id.index, id.generation, step as u32));
    }

    /// The member that `target` means for a plan that was made at `turn`, if it is believed.
    fn standing_target(&self, target: Target, turn: u64) -> Option<Member> {
        match target {
            Target::Slot(slot) => self.health.member_since(slot, turn),
            Target::Member(member) => Some(member).filter(|member| self.health.stands(*member)),
        }
    }

    /// A step whose member is gone fails at once.
    fn hand_out_to_nobody(&mut self, id: JobId, step: usize) {
        let job = self.jobs.get_mut(id);
        job.failures.push(FailedAccess::new(Fault::Gone, job.plan.steps[step].action.map(|_| NOBODY)));
        job.outstanding -= 1;
    }

    fn note_hand_out(&mut self, class: Class, action: Action, member: Member) {
        match action {
            Action::Read { length, .. } => self.health.count(member, class, false, length),
            Action::Write { length, .. } => self.health.count(member, class, true, length),
            Action::ReadModifyWrite { length, .. } | Action::Float { length, .. } => {
                self.health.count(member, class, false, length);
                self.health.count(member, class, true, length);
            }
            _ => {}
        }
        if let (Action::Read { at, length, .. }, Some(floats)) = (action, &mut self.floats) {
            floats.hold(member, at, length);
        }
        let record = self.health.record(member).expect("an effect goes to a member that is there");
        record.queue += 1;
        match action {
            Action::Read { at, length, .. } => record.head = at + length,
            Action::Write { at, length, .. }
            | Action::ReadModifyWrite { at, length, .. }
            | Action::Float { at, length, .. }
            | Action::Zero { at, length, .. } => record.head = at + length,
            Action::Flush { .. } => {
                record.flushing += 1;
                record.traffic[class as usize].flushes += 1;
            }
            Action::Xor | Action::XorInto | Action::Compare | Action::Checksum => {}
        }
    }

    fn note_answer(&mut self, action: Action) {
        if let (Action::Read { member, at, length }, Some(floats)) = (action, &mut self.floats) {
            floats.let_go(member, at, length);
        }
        let Some(record) = action.member().and_then(|member| self.health.record(member)) else { return };
        record.queue -= 1;
        match action {
            Action::Write { .. }
            | Action::ReadModifyWrite { .. }
            | Action::Float { .. }
            | Action::Zero { .. } => record.unflushed = true,
            Action::Flush { .. } => record.flushing -= 1,
            _ => {}
        }
    }

    fn phase_done(&mut self, id: JobId) {
        if self.jobs.get(id).failures.is_empty() {
            self.next_phase(id);
        } else {
            self.plan_broken(id);
        }
    }

    /// A plan is done: what follows depends on what it was for.
    fn plan_done(&mut self, id: JobId) {
        self.release_scratch(id);
        match self.jobs.get(id).kind.as_ref().expect("a running job has a purpose") {
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
        self.release_scratch(id);
        let mut failures = std::mem::take(&mut self.jobs.get_mut(id).failures);
        // What a member lacked that stands no more is no want of the array's.
        for failure in failures.iter_mut().filter(|failure| failure.fault.is_of_space()) {
            if !self.health.stands(failure.member) {
                failure.fault = Fault::Gone;
            }
        }
        if is_planted(Bug::FailedFlushForgotten) && self.is_flush(id) {
            return self.plan_done(id);
        }
        if self.halt_unrecorded(id, &failures) {
            return;
        }
        let looks = matches!(self.jobs.get(id).kind, Some(Kind::Look));
        for failure in failures.iter().filter(|failure| !failure.undurable) {
            if looks { self.note_looked(failure) } else { self.note_failure(failure) }
        }
        match self.jobs.get(id).kind.as_ref().expect("a running job has a purpose") {
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

    pub(crate) fn release_scratch(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        for buffer in job.scratch.drain(..).chain(job.held.drain(..)) {
            self.buffers.release(buffer);
        }
    }

    pub(crate) fn end_job(&mut self, id: JobId) {
        self.jobs.end(id);
    }

    /// What a failed access means for the member, whoever's access it was.
    fn note_failure(&mut self, failure: &FailedAccess) {
        match failure.fault {
            Fault::Gone => self.fail_member(failure.member, FailureCause::Gone),
            Fault::Truncated => self.fail_member(failure.member, FailureCause::Truncated),
            Fault::NoSpace | Fault::Undurable => self.out_of_space(failure.member),
            // What is on the list is no fault of the member's.
            Fault::Unreadable if self.is_bad(failure) => {}
            Fault::Unreadable => self.count_error(failure.member),
        }
    }

    fn is_bad(&self, failure: &FailedAccess) -> bool {
        let slot = self.health.slot_of(failure.member);
        slot.is_some_and(|slot| self.bad_blocks.has(slot, failure.at, failure.length))
    }

    /// A member could not be flushed, or not write durably. That is known at once: another flush of
    /// it, that is under way and succeeds, means nothing. If it has to be kept it has perhaps lost
    /// what it was to make durable.
    fn note_undurable(&mut self, failure: &FailedAccess) {
        if is_planted(Bug::FailedFlushForgotten) {
            return;
        }
        self.note_failure(failure);
        if self.health.slot_of(failure.member).is_some()
            && let Some(record) = self.health.record(failure.member)
            && !std::mem::replace(&mut record.flush_failed, true)
        {
            self.note_unflushed();
            self.take_back_that_all_is_well();
        }
    }

    /// Whether a job's plan is to flush members.
    fn is_flush(&self, id: JobId) -> bool {
        let first = self.jobs.get(id).plan.steps.first();
        first.is_some_and(|step| matches!(step.action, Action::Flush { .. }))
    }

    /// Region and number in it of a stripe.
    pub(crate) fn region_of(&self, stripe: Stripe) -> (Region, u32) {
        let (region, index) = self.geometry.layout().region_of(stripe);
        (region, index as u32)
    }

    /// Where a place in the data area is on its member.
    pub(crate) fn absolute(&self, at: Sector) -> Sector {
        self.geometry.data_start() + at.from_start()
    }
}

/// Whether a member that writes this is to make it durable. If it cannot, that may be about what
/// was written before: an operating system tells of that once, to whoever asks next.
fn makes_durable(action: Action) -> bool {
    match action {
        Action::Write { durable, .. }
        | Action::ReadModifyWrite { durable, .. }
        | Action::Float { durable, .. } => durable,
        _ => false,
    }
}

impl FailedAccess {
    /// A part of what `read` has read is not what was written there.
    pub(crate) fn unlike(read: Action, part: Columns) -> FailedAccess {
        let whole = FailedAccess::new(Fault::Unreadable, read);
        FailedAccess { at: whole.at + part.from, length: part.length(), ..whole }
    }

    /// Whether it is what became of `action`.
    pub(crate) fn is_of(&self, action: Action) -> bool {
        action.member() == Some(self.member) && action.range().is_some_and(|(at, _)| at == self.at)
    }

    fn new(fault: Fault, action: Action) -> FailedAccess {
        let member = action.member().unwrap_or(NOBODY);
        let (at, length) = action.range().unwrap_or((Sector::ZERO, Sectors::ZERO));
        // A write for which there is no room says nothing of others.
        let undurable = match action {
            Action::Flush { .. } => true,
            action => fault == Fault::Undurable || fault.is_of_member() && makes_durable(action),
        };
        FailedAccess { fault, member, at, length, undurable }
    }
}
