//! A job: one plan being carried out, and why.

use std::collections::VecDeque;

use parlour_units::{Member, Region, Sector, Sectors, Slot};

use crate::buffer::{BufferId, Slice};
use crate::columns::{Piece, Window};
use crate::effect::{Action, Class, EffectId, Fault};
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::Intent;
use crate::format::segment::Record;
use crate::ids::{HostId, JobId};
use crate::log::{EntryName, Load, Redo, Reservation};
use crate::plan::{Content, Fragment, LogMethod, Plan, Target, UnitSet};

/// What a job is for.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A read of units that can all be read as they are.
    Read { host: HostId },
    /// Anything that works on one stripe.
    Stripe(Box<StripeJob>),
    /// Members are flushed because a host asked.
    Flush { host: HostId },
    /// Members are flushed before regions are marked clean.
    CleanFlush,
    /// Superblocks are written.
    Superblock,
    /// Superblocks are read: see [`Fence`](crate::fence::Fence).
    Look,
    /// The write-intent bitmap is written.
    Bitmap,
    /// The table of the regions' logs is written.
    Table,
    /// The bad-block log is written.
    BadBlockLog,
    /// Log segments are appended.
    Append { region: Region, segments: Vec<u32> },
    /// Records are written to a commit log, for these jobs.
    Commit { slot: Slot, number: u64, jobs: Vec<(JobId, Vec<Record>)> },
    /// An empty entry is written to a commit log.
    CommitMark { slot: Slot, part: CommitPart },
    /// Members are flushed so that commit logs can forget.
    CommitFlush { turn: u64 },
    /// What is about to happen to parity is written to a commit log.
    Intent { region: Region },
    /// After a crash, parity is compared with what it was to become; `again` once some of it could
    /// not be read.
    Probe { region: Region, intents: Vec<Intent>, again: bool },
    /// Members are flushed after a reintegration.
    ReintegrateFlush { region: Region },
    /// After a crash, a region's data is compared with its records, and brought up to them.
    Redo(Redo),
    /// Members are flushed before a region that was resynced is logged again.
    ResyncFlush { region: Region },
    /// A log is folded into the parity.
    Reintegrate { region: Region },
    /// A log's headers are read.
    Load(Box<Load>),
    /// The rebuilt member is flushed before its frontier is recorded.
    Checkpoint { slot: Slot, done: u64, since: u64 },
    /// Members are flushed before the array stops.
    StopFlush,
}

/// Why a job works on a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A host reads where a unit is missing.
    Read,
    /// A host writes.
    Write,
    /// A unit that could not be read is computed, rewritten and verified.
    Repair { parent: JobId },
    /// A member's units are computed anew.
    Rebuild {
        slot: Slot,
        /// When the member that is rebuilt came to stand there.
        since: u64,
    },
    /// Check units are computed anew.
    Resync { region: Region },
    /// Units are compared.
    Scrub,
}

/// How far a stripe job has come on its way to its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Its scratch memory is not yet reserved.
    Memory,
    /// Its log space is not yet reserved.
    LogSpace,
    /// It has not its stripe's lock.
    Lock,
    /// Its region is not yet durably dirty.
    Dirty,
    /// Its stripe's parity may be behind the log.
    Settle,
    /// Ready to be planned, unless a member's exclusion is not yet durable.
    Plan,
    /// Its plan runs.
    Running,
}

/// A job on one stripe.
#[derive(Debug)]
pub(crate) struct StripeJob {
    pub(crate) purpose: Purpose,
    pub(crate) window: Window,
    pub(crate) region: Region,
    pub(crate) host: Option<HostId>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) content: Content,
    pub(crate) durable: bool,
    pub(crate) stage: Stage,
    pub(crate) memory: Sectors,
    pub(crate) locked: bool,
    /// Counted as a writer of its region.
    pub(crate) writing: bool,
    /// Keeps its region's log from being reintegrated.
    pub(crate) holds_parity: bool,
    pub(crate) method: Option<LogMethod>,
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) reservations: Vec<Reservation>,
    /// Space in the commit log that is reserved for it.
    pub(crate) commit_space: Sectors,
    /// The commit log's entry that waits for its data, and its region's epoch then.
    pub(crate) entry: Option<(EntryName, usize)>,
    /// Its records count.
    pub(crate) committed: bool,
    pub(crate) targets: UnitSet,
    pub(crate) attempts: u32,
    /// A plan that failed has perhaps changed what members hold, or was committed.
    pub(crate) wrote: bool,
    /// In a scrub: what was found is now being repaired.
    pub(crate) repairing: bool,
    pub(crate) probe: Probe,
    /// In a rebuild, resync or scrub: something in the stripe can be neither read nor computed.
    pub(crate) block_by_block: bool,
    /// It has written to blocks of the bad-block log.
    pub(crate) unlisted: bool,
    pub(crate) blind: Blind,
}

/// In a write: whether parity cannot be brought up to date with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blind {
    /// It can.
    No,
    /// What the host writes is written alone.
    Writes,
    /// It was. Now parity is computed from it, where that is possible.
    Wrote,
}

/// In a repair: whether what is to be repaired was looked at for itself. The access that failed was
/// longer, perhaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// It was not.
    NotYet,
    /// It is being read.
    Now,
    /// It is unreadable.
    Failed,
    /// It was written and did not read back: it is being read again.
    Written,
}

impl Probe {
    /// Whether what is to be repaired is being read.
    pub(crate) fn is_under_way(self) -> bool {
        matches!(self, Probe::Now | Probe::Written)
    }
}

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
pub(crate) struct Job {
    pub(crate) generation: u32,
    pub(crate) kind: Option<Kind>,
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
    /// When its plan was made: see [`Health::turn`](crate::health::Health).
    pub(crate) turn: u64,
    /// By step: the member that it was handed out to. [`NOBODY`] where that was none.
    pub(crate) members: Vec<Member>,
    /// Repairs that this job waits for and that are under way, …
    pub(crate) repairs: u32,
    /// … and those that begin when these end.
    pub(crate) repairs_to_come: VecDeque<(Window, UnitSet)>,
    /// A repair did not succeed.
    pub(crate) unrepaired: bool,
}

/// All jobs; those that are done keep their memory for the next.
#[derive(Debug, Default)]
pub(crate) struct Jobs {
    table: Vec<Job>,
    free: Vec<u32>,
}

impl Jobs {
    pub(crate) fn start(&mut self, kind: Kind, class: Class) -> JobId {
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
        self.free.push(id.index);
    }

    pub(crate) fn get_mut(&mut self, id: JobId) -> &mut Job {
        let job = &mut self.table[id.index as usize];
        assert_eq!(job.generation, id.generation, "a job is named only while it lives");
        job
    }

    pub(crate) fn get(&self, id: JobId) -> &Job {
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

    /// The stripe job in `id`.
    pub(crate) fn stripe(&mut self, id: JobId) -> &mut StripeJob {
        match &mut self.get_mut(id).kind {
            Some(Kind::Stripe(stripe)) => stripe,
            other => unreachable!("a job on a stripe was expected, not {other:?}"),
        }
    }
}

/// No member has this number.
pub(crate) const NOBODY: Member = Member::new(u16::MAX);

impl Job {
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

    fn empty() -> Job {
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
        }
    }
}
