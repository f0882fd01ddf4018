//! Carries plans out: hands out the phases of a job one after the other, each when the one before
//! is answered, and reports when the job's owner has to act.

use parlour_units::Sectors;

use super::job::{FailedAccess, NOBODY};
use super::progress::Progress;
use crate::buffer::{BufferId, Slice};
use crate::context::Context;
use crate::effect::{Action, Effect, EffectId, Fault, Outcome};
use crate::ids::JobId;
use crate::plan::{Source, Target};
use crate::signal::Signal;

/// The consequences of an answered effect, beyond its job.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) id: JobId,
    /// A member could not make something durable.
    pub(crate) undurable: Option<FailedAccess>,
    /// Whether the effect was the last of its phase.
    pub(crate) ends_phase: bool,
    /// Whether blocks are no longer unreadable, which is to be recorded.
    pub(crate) unlists: bool,
}

impl Context {
    /// Hands out the first phase of a job whose plan is built. `host` is the host's buffer, and
    /// where the payload begins in it.
    pub(crate) fn start_plan(
        &mut self,
        id: JobId,
        turn: u64,
        host: Option<(BufferId, Sectors)>,
        reservations: &[(BufferId, Sectors)],
    ) -> Progress {
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
        job.unread.clear();
        job.repeated.clear();
        job.differing.clear();
        self.next_phase(id)
    }

    /// Starts a job's plan, as [`Context::start_plan`] does. What its owner has to do then is
    /// signalled.
    pub(crate) fn run(
        &mut self,
        id: JobId,
        turn: u64,
        host: Option<(BufferId, Sectors)>,
        reservations: &[(BufferId, Sectors)],
    ) {
        let progress = self.start_plan(id, turn, host, reservations);
        self.signal_progress(id, progress);
    }

    /// The same for a plan on metadata or buffers of the array, for members as they are now.
    pub(crate) fn run_own(&mut self, id: JobId) {
        let turn = self.roster.turn();
        self.run(id, turn, None, &[]);
    }

    /// A plan goes on.
    pub(crate) fn go_on(&mut self, id: JobId) {
        let progress = self.next_phase(id);
        self.signal_progress(id, progress);
    }

    /// What a plan's owner has to do is signalled.
    pub(crate) fn signal_progress(&mut self, id: JobId, progress: Progress) {
        if progress != Progress::Running {
            self.signal(Signal::Progress(id, progress));
        }
    }

    /// Hands out the next phase, if there is one and the owner need not act before.
    pub(crate) fn next_phase(&mut self, id: JobId) -> Progress {
        loop {
            let job = self.jobs.get_mut(id);
            let first = job.next_step as usize;
            let phase = job.plan.steps.get(first).map(|step| step.phase);
            // If all units that would be written are missing, no phase follows: the records are the
            // last that is written.
            let commits = |before: u16| phase.is_none_or(|phase| phase == before);
            if job.plan.commit_before.take_if(|before| commits(*before)).is_some() {
                return Progress::Commits;
            }
            let Some(phase) = phase else { return Progress::Done };
            let count = job.plan.steps[first..].iter().take_while(|step| step.phase == phase).count();
            job.next_step = (first + count) as u32;
            job.outstanding = count as u32;
            for step in first..first + count {
                self.hand_out(id, step);
            }
            if self.jobs.get(id).outstanding > 0 {
                return Progress::Running;
            }
            if self.is_broken(id) {
                return Progress::Broken;
            }
        }
    }

    /// All effects of a phase are answered.
    pub(crate) fn phase_done(&mut self, id: JobId) -> Progress {
        if self.is_broken(id) { Progress::Broken } else { self.next_phase(id) }
    }

    /// Whether some step of the phase failed, all of which are answered.
    fn is_broken(&mut self, id: JobId) -> bool {
        let job = self.jobs.get(id);
        let failed = !job.failures.is_empty() || !job.unread.is_empty();
        failed && !self.narrow(id)
    }

    /// Queues one step as an effect, addressed to the member in the step's slot.
    fn hand_out(&mut self, id: JobId, step: usize) {
        let job = self.jobs.get_mut(id);
        let (class, action) = (job.class, job.plan.steps[step].action);
        let member = match action.member() {
            None => NOBODY,
            Some(target) => match self.roster.standing_target(target, job.turn) {
                Some(member) => member,
                None => {
                    job.failures.push(FailedAccess::new(Fault::Gone, action.map(|_| NOBODY)));
                    job.outstanding -= 1;
                    return;
                }
            },
        };
        let listed = match action {
            Action::Read { .. } | Action::ReadModifyWrite { .. } | Action::Float { .. } => {
                let range = action.member().and_then(Target::slot).zip(action.range());
                range.is_some_and(|(slot, (at, length))| self.roster.listed().has(slot, at, length))
            }
            _ => false,
        };
        job.members[step] = member;
        let action = action.map(|_| member);
        if listed {
            job.note_failed(step as u32, Fault::Unreadable, action);
            job.outstanding -= 1;
            return;
        }
        if action.member().is_some() {
            self.roster.note_handed_out(class, action, member);
        }
        self.effects.push(class, EffectId::new(id.index, id.generation, step as u32), action);
    }

    /// The next effect to carry out. Foreground work comes first.
    pub(crate) fn poll_effect(&mut self) -> Option<Effect> {
        let id = self.effects.pop()?;
        let jobs = &self.jobs;
        let class = jobs.get(jobs.of_effect(id).expect("a job waits for its effects")).class;
        let action = |id: EffectId| {
            let job = jobs.of_effect(id).expect("a job waits for its effects");
            jobs.get(job).action(id.step())
        };
        let action = match action(id) {
            Action::Zero { member, at, length } => {
                let length = self.effects.merge_zeroes(id, class, (member, at, length), action);
                Action::Zero { member, at, length }
            }
            action => action,
        };
        Some(Effect { id, class, action })
    }

    /// Takes the outcome of an effect.
    pub(crate) fn answer(&mut self, effect: EffectId, outcome: Outcome<'_>) -> Answered {
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
            Outcome::Failed(_) if self.roster.cannot_flush(action) => {}
            Outcome::Failed(fault) => job.note_failed(effect.step(), fault, action),
        }
        job.outstanding -= 1;
        let ends_phase = job.outstanding == 0;
        let written = match (outcome, action) {
            (Outcome::Done, _) => Some(action),
            (Outcome::Placed(position), Action::Float { member, at, length, durable, .. }) => {
                self.roster.note_placed(member, at, position);
                Some(Action::Write { member, at: position, length, durable })
            }
            _ => None,
        };
        let written = written.filter(|_| !job.plan.keeps_listed);
        let unlists = written.is_some_and(|action| self.roster.note_written(action));
        job.unlisted |= unlists;
        let fault = match outcome {
            Outcome::Failed(fault) => Some(fault),
            _ => None,
        };
        self.roster.note_answered(action, fault);
        let undurable = fault.map(|fault| FailedAccess::new(fault, action));
        Answered { id, undurable: undurable.filter(|failure| failure.undurable), ends_phase, unlists }
    }

    /// The slices of an effect, in order, and the metadata to which those of
    /// [`BufferId::METADATA`] refer.
    pub(crate) fn slices(&self, effect: EffectId) -> (&[Slice], &[u8]) {
        let job = self.jobs.of_effect(effect).expect("slices are asked for before the answer");
        let job = self.jobs.get(job);
        let spans = &job.plan.steps[effect.step() as usize].spans;
        (&job.slices[spans.start as usize..spans.end as usize], &job.metadata)
    }

    /// The coefficients of an effect that computes sums.
    pub(crate) fn coefficients(&self, effect: EffectId) -> &[u8] {
        let job = self.jobs.of_effect(effect).expect("coefficients are asked for before the answer");
        self.jobs.get(job).plan.coefficients_of(effect.step())
    }

    /// Releases the buffers that a plan took or held.
    pub(crate) fn release_buffers(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        for buffer in job.scratch.drain(..).chain(job.held.drain(..)) {
            self.buffers.release(buffer);
        }
    }

    /// Fills `job`'s plan with a flush of each member that was written since its last flush.
    pub(crate) fn plan_flushes(&mut self, job: JobId) {
        let plan = &mut self.jobs.get_mut(job).plan;
        for slot in self.roster.take_unflushed() {
            plan.push(Action::Flush { member: slot.into() }, &[]);
        }
    }
}
