//! A job: one plan being carried out. Its owner keeps a value of type `K` with it.

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
    /// The member was to make something durable and failed. This is acted on when it is reported,
    /// not only when the job's plan has ended.
    pub(crate) undurable: bool,
}

/// One plan being carried out.
#[derive(Debug)]
pub(crate) struct Job<K> {
    pub(crate) generation: u32,
    /// Its purpose, a value of its owner.
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
    /// Failed reads of the phase that are to be repeated in parts, by step.
    pub(crate) unread: Vec<u32>,
    /// Failed reads that were repeated in parts.
    pub(crate) repeated: Vec<FailedAccess>,
    /// Comparisons that found a difference, by step.
    pub(crate) differing: Vec<u32>,
    /// The results of the plan's checksum steps, in the order of steps.
    pub(crate) checksums: Vec<u64>,
    /// The turn at which its plan was made: see [`Roster::turn`](crate::roster::Roster).
    pub(crate) turn: u64,
    /// By step: the member to which it was handed out; [`NOBODY`] if there was none.
    pub(crate) members: Vec<Member>,
    /// The number of repairs that this job waits for and that are under way.
    pub(crate) repairs: u32,
    /// Repairs that begin when some of these end.
    pub(crate) repairs_to_come: VecDeque<(Window, UnitSet)>,
    /// Some repair did not succeed.
    pub(crate) unrepaired: bool,
    /// It has written to blocks that were on the bad-block log.
    pub(crate) unlisted: bool,
}

/// All jobs. Jobs that have ended keep their memory for later ones.
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

    /// Ends a job. Its buffers must have been released before.
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
        job.unread.clear();
        job.repeated.clear();
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

    /// The job of an effect, if it is still alive.
    pub(crate) fn of_effect(&self, effect: EffectId) -> Option<JobId> {
        let job = self.table.get(effect.job() as usize)?;
        let alive = job.kind.is_some() && job.generation == effect.generation();
        alive.then_some(JobId { index: effect.job(), generation: job.generation })
    }

    /// Whether there is such a job, whose plan was made at such a turn.
    pub(crate) fn any(&self, is: impl Fn(&K, u64) -> bool) -> bool {
        self.table.iter().any(|job| job.kind.as_ref().is_some_and(|kind| is(kind, job.turn)))
    }

    pub(crate) fn alive(&self) -> usize {
        self.table.len() - self.free.len()
    }
}

/// A number that no member has.
pub(crate) const NOBODY: Member = Member::new(u16::MAX);

impl<K> Job<K> {
    /// The actions of all steps, in order.
    pub(crate) fn actions(&self) -> impl Iterator<Item = Action> + '_ {
        (0..self.plan.steps.len() as u32).map(|step| self.action(step))
    }

    /// The action of step `step`, with its member. The member of a step for a slot is determined
    /// when the step is handed out; before that, it is [`NOBODY`].
    pub(crate) fn action(&self, step: u32) -> Action {
        self.plan.steps[step as usize].action.map(|target| match target {
            Target::Slot(_) => self.members[step as usize],
            Target::Member(member) => member,
        })
    }

    /// Stores the result of checksum step `step`.
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
            unread: Vec::new(),
            repeated: Vec::new(),
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

/// Whether a member that carries out this write must make it durable. If that fails, earlier writes
/// may be concerned as well: an operating system reports a failed write only once, to the next
/// request that asks for durability.
fn makes_durable(action: Action) -> bool {
    match action {
        Action::Write { durable, .. }
        | Action::ReadModifyWrite { durable, .. }
        | Action::Float { durable, .. } => durable,
        _ => false,
    }
}

impl FailedAccess {
    /// A part of the data that `read` has read differs from what was written there.
    pub(crate) fn unlike(read: Action, part: Columns) -> FailedAccess {
        let whole = FailedAccess::new(Fault::Unreadable, read);
        FailedAccess { at: whole.at + part.from, length: part.length(), ..whole }
    }

    /// Whether this is the failure of `action`.
    pub(crate) fn is_of(&self, action: Action) -> bool {
        action.member() == Some(self.member) && action.range().is_some_and(|(at, _)| at == self.at)
    }

    /// Whether `part` is the failure of a part of the same access.
    pub(crate) fn contains(&self, part: &FailedAccess) -> bool {
        part.member == self.member && part.at >= self.at && part.at < self.at + self.length
    }

    pub(crate) fn new(fault: Fault, action: Action) -> FailedAccess {
        let member = action.member().unwrap_or(NOBODY);
        let (at, length) = action.range().unwrap_or((Sector::ZERO, Sectors::ZERO));
        // A write that fails for lack of space is no statement about other writes.
        let undurable = match action {
            Action::Flush { .. } => true,
            action => fault == Fault::Undurable || fault.is_of_member() && makes_durable(action),
        };
        FailedAccess { fault, member, at, length, undurable }
    }
}
