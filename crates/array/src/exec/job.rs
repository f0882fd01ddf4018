//! A job: one plan being carried out, for an owner who keeps a value of kind `K` with it.

use std::collections::VecDeque;

use parlour_units::{Member, Sector, Sectors};

use crate::buffer::{BufferId, Slice};
use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::effect::{Action, Class, EffectId, Fault};
use crate::ids::JobId;
use crate::plan::{Plan, Target};

/// A step that failed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedAccess {
    pub(crate) fault: Fault,
    pub(crate) member: Member,
    pub(crate) at: Sector,
    pub(crate) length: Sectors,
    /// The member was to make something durable: that it could not is known since it said so, and
    /// not since its plan ended.
    pub(crate) undurable: bool,
}

/// One plan being carried out.
#[derive(Debug)]
pub(crate) struct Job<K> {
    pub(crate) generation: u32,
    /// What it is for: its owner's.
    pub(crate) kind: Option<K>,
    pub(crate) class: Class,
    pub(crate) plan: Plan,
    pub(crate) slices: Vec<Slice>,
    pub(crate) metadata: Vec<u8>,
    pub(crate) scratch: Vec<BufferId>,
    /// Buffers of others that the plan uses.
    pub(crate) held: Vec<BufferId>,
    pub(crate) next_step: u32,
    pub(crate) outstanding: u32,
    pub(crate) failures: Vec<FailedAccess>,
    /// Comparisons that found a difference, by step.
    pub(crate) differing: Vec<u32>,
    /// What the plan's checksum steps found, one step's behind the other's.
    pub(crate) checksums: Vec<u64>,
    /// When its plan was made: see [`Roster::turn`](crate::roster::Roster).
    pub(crate) turn: u64,
    /// By step: the member that it was handed out to. [`NOBODY`] where that was none.
    pub(crate) members: Vec<Member>,
    /// Repairs that this job waits for and that are under way, …
    pub(crate) repairs: u32,
    /// … and those that begin when these end.
    pub(crate) repairs_to_come: VecDeque<(Window, UnitSet)>,
    /// A repair did not succeed.
    pub(crate) unrepaired: bool,
    /// It has written to blocks that were on the bad-block log.
    pub(crate) unlisted: bool,
}

/// All jobs; those that are done keep their memory for the next.
#[derive(Debug)]
pub(crate) struct Jobs<K> {
    table: Vec<Job<K>>,
    free: Vec<u32>,
}

impl<K> Default for Jobs<K> {
    fn default() -> Jobs<K> {
        Jobs { table: Vec::new(), free: Vec::new() }
    }
}

impl<K> Jobs<K> {
    pub(crate) fn start(&mut self, kind: K, class: Class) -> JobId {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.table.len() as u32;
            assert!(index < EffectId::LIMIT, "credits bound the jobs at once");
            self.table.push(Job::empty());
            index
        });
        let job = &mut self.table[index as usize];
        job.kind = Some(kind);
        job.class = class;
        JobId { index, generation: job.generation }
    }

    /// Ends a job. Its buffers must have been given back.
    pub(crate) fn end(&mut self, id: JobId) {
        let job = self.get_mut(id);
        let idle = job.scratch.is_empty() && job.held.is_empty() && job.outstanding == 0;
        assert!(idle, "a job ends with nothing in flight");
        assert!(job.repairs_to_come.is_empty(), "a job ends when all its repairs have");
        job.generation = EffectId::cut_generation(job.generation.wrapping_add(1));
        job.kind = None;
        job.plan.clear();
        job.slices.clear();
        job.metadata.clear();
        job.next_step = 0;
        job.failures.clear();
        job.differing.clear();
        job.checksums.clear();
        job.members.clear();
        job.repairs = 0;
        job.unrepaired = false;
        job.unlisted = false;
        self.free.push(id.index);
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> &mut Job<K> {
        let job = &mut self.table[id.index as usize];
        assert_eq!(job.generation, id.generation, "a job is named only while it lives");
        job
    }

    pub(crate) fn get(&self, id: JobId) -> &Job<K> {
        let job = &self.table[id.index as usize];
        assert_eq!(job.generation, id.generation, "a job is named only while it lives");
        job
    }

    /// The job of an effect, if it still lives.
    pub(crate) fn of_effect(&self, effect: EffectId) -> Option<JobId> {
        let job = self.table.get(effect.job() as usize)?;
        let alive = job.kind.is_some() && job.generation == effect.generation();
        alive.then_some(JobId { index: effect.job(), generation: job.generation })
    }

    pub(crate) fn alive(&self) -> usize {
        self.table.len() - self.free.len()
    }
}

/// No member has this number.
pub(crate) const NOBODY: Member = Member::new(u16::MAX);

impl<K> Job<K> {
    /// What each step asks for, in their order.
    pub(crate) fn actions(&self) -> impl Iterator<Item = Action> + '_ {
        (0..self.plan.steps.len() as u32).map(|step| self.action(step))
    }

    /// What step `step` asks for, of the member that it is for. Which one that is, where it is for
    /// a slot, is settled when the step is handed out; before, it is [`NOBODY`].
    pub(crate) fn action(&self, step: u32) -> Action {
        self.plan.steps[step as usize].action.map(|target| match target {
            Target::Slot(_) => self.members[step as usize],
            Target::Member(member) => member,
        })
    }

    /// Keeps what checksum step `step` found.
    pub(crate) fn take_checksums(&mut self, step: u32, sums: &[u64]) {
        if let Some(verified) = self.plan.verified(step) {
            if !verified.holds(sums) {
                let read = self.action(verified.read);
                self.failures.push(FailedAccess::unlike(read, verified.part));
            }
            return;
        }
        let end = self.plan.checksums_up_to(step);
        if self.checksums.len() < end {
            self.checksums.resize(end, 0);
        }
        self.checksums[end - sums.len()..end].copy_from_slice(sums);
    }

    fn empty() -> Job<K> {
        Job {
            generation: 0,
            kind: None,
            class: Class::Foreground,
            plan: Plan::default(),
            slices: Vec::new(),
            metadata: Vec::new(),
            scratch: Vec::new(),
            held: Vec::new(),
            next_step: 0,
            outstanding: 0,
            failures: Vec::new(),
            differing: Vec::new(),
            checksums: Vec::new(),
            turn: 0,
            members: Vec::new(),
            repairs: 0,
            repairs_to_come: VecDeque::new(),
            unrepaired: false,
            unlisted: false,
        }
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

    pub(crate) fn new(fault: Fault, action: Action) -> FailedAccess {
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
