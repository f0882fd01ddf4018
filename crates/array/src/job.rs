//! The purposes of jobs, and the state that each keeps while its plan is carried out.

use parlour_units::{Region, Sectors, Slot, Unit};

use crate::buffer::BufferId;
use crate::code::UnitSet;
use crate::columns::{Piece, Window};
use crate::exec::job::Jobs;
use crate::format::commit_entry::CommitPart;
use crate::ids::{HostId, JobId};
use crate::log::{CommitEntry, IntentProbe, Lane, Load, Logging, Redo, Waiting};
use crate::plan::Content;
use crate::rebuilds::Rebuilds;
use crate::report::Repair;
use crate::request::RequestError;

/// The purpose of a job.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A read of units that can all be read directly.
    Read { host: HostId },
    /// Anything that works on one stripe.
    Stripe(Box<StripeJob>),
    /// Flushes members on a host's request.
    ///
    /// `passed` requests had passed the stage by when it began.
    Flush { host: HostId, passed: u64 },
    /// Computes the checksums of a write that is to be staged.
    StageSums { host: HostId },
    /// Writes staged writes to the commit log.
    StageEntry { number: u64, lane: Lane },
    /// Reads an entry of writes that was found.
    StageLoad { number: u64 },
    /// Parts are copied behind one another, to be written together.
    HostCopy { host: HostId },
    /// Copies staged data into a host's buffer.
    StageRead { host: HostId },
    /// Flushes members before regions are marked clean.
    CleanFlush,
    /// Writes superblocks.
    Superblock,
    /// Reads superblocks: see `durable/fence.rs`.
    Look,
    /// Writes the write-intent bitmap.
    Bitmap,
    /// Writes the table of the regions' logs.
    Table,
    /// Writes the bad-block log.
    BadBlockLog,
    /// Appends log segments.
    Append { region: Region, segments: Vec<u32> },
    /// Writes records to the commit log.
    Commit(CommitEntry),
    /// Writes an empty entry to the commit log.
    CommitMark { part: CommitPart, lane: Lane },
    /// Writes the newest entry that was found to further members.
    CommitCopy { part: CommitPart, lane: Lane, slots: Vec<Slot> },
    /// Flushes members so that the commit log can forget entries.
    CommitFlush { turn: u64 },
    /// Writes an intent to the commit log.
    Intent { number: u64, waiting: Box<Waiting> },
    /// After a crash, compares parity with the checksums of intents.
    Probe(IntentProbe),
    /// Flushes members after a reintegration.
    ReintegrateFlush { region: Region },
    /// After a crash, compares a region's data with its records, and redoes missing differences.
    Redo(Redo),
    /// Flushes members before a region that was resynced is logged again.
    ResyncFlush { region: Region },
    /// Reintegrates a region's log.
    Reintegrate { region: Region },
    /// Reads a log's headers.
    Load(Box<Load>),
    /// Flushes the rebuilt member before its frontier is recorded.
    Checkpoint { slot: Slot, done: u64, since: u64 },
    /// Flushes members before the array stops.
    StopFlush,
}

/// The component to which a job belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    Hosts,
    Stripes,
    Logs,
    Maintenance,
    /// Metadata and its fence.
    Durable,
}

impl Kind {
    pub(crate) fn owner(&self) -> Owner {
        match self {
            Kind::Read { .. }
            | Kind::Flush { .. }
            | Kind::StageSums { .. }
            | Kind::StageEntry { .. }
            | Kind::StageLoad { .. }
            | Kind::HostCopy { .. }
            | Kind::StageRead { .. } => Owner::Hosts,
            Kind::Stripe(_) => Owner::Stripes,
            Kind::Append { .. }
            | Kind::Commit(_)
            | Kind::CommitMark { .. }
            | Kind::CommitCopy { .. }
            | Kind::CommitFlush { .. }
            | Kind::Intent { .. }
            | Kind::Probe(_)
            | Kind::ReintegrateFlush { .. }
            | Kind::Redo(_)
            | Kind::Reintegrate { .. }
            | Kind::Load(_) => Owner::Logs,
            Kind::ResyncFlush { .. } | Kind::Checkpoint { .. } => Owner::Maintenance,
            Kind::CleanFlush
            | Kind::Superblock
            | Kind::Look
            | Kind::Bitmap
            | Kind::Table
            | Kind::BadBlockLog
            | Kind::StopFlush => Owner::Durable,
        }
    }
}

/// The purpose of a job on a stripe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A host reads, and a unit is missing.
    Read,
    /// A host writes.
    Write,
    /// A unit that could not be read is computed, rewritten and verified.
    Repair { parent: JobId },
    /// Units of members that are rebuilt are computed anew.
    Rebuild(Rebuilds),
    /// Check units are computed anew.
    Resync { region: Region },
    /// Units are compared. A mismatch is repaired in this way.
    Scrub { repair: Repair },
}

/// The progress of a stripe job towards its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// Its scratch memory is not yet reserved.
    Memory,
    /// Its log space is not yet reserved.
    LogSpace,
    /// It does not have its stripe's lock.
    Lock,
    /// Its region is not yet durably dirty.
    Dirty,
    /// Its stripe's parity may lack records of the log.
    Settle,
    /// It can be planned, unless a member's exclusion is not yet durable.
    Plan,
    /// Its plan runs.
    Running,
}

/// The result of a gate on the way of a stripe job to its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// The job goes on to the next gate.
    Pass,
    /// The job is parked where it will be woken.
    Wait,
    /// There is no space or memory for what the job needs: it ends.
    Refused,
    /// The job ends with this result.
    Ends(Result<(), RequestError>),
    /// The job has ended.
    Ended,
}

/// A request fails when a plan for it has failed more often than this.
pub(crate) const ATTEMPTS: u32 = 200;

/// A job on one stripe.
#[derive(Debug)]
pub(crate) struct StripeJob {
    pub(crate) purpose: Purpose,
    pub(crate) window: Window,
    pub(crate) region: Region,
    pub(crate) host: Option<HostId>,
    /// The host's buffer, and where the payload begins there.
    pub(crate) payload: Option<(BufferId, Sectors)>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) content: Content,
    pub(crate) durable: bool,
    pub(crate) stage: Stage,
    pub(crate) holdings: Holdings,
    /// What it has in the logs.
    pub(crate) logging: Logging,
    pub(crate) targets: UnitSet,
    /// In a repair, or a read that must not repair: further units that could not be read, and are
    /// computed as well.
    pub(crate) beside: UnitSet,
    pub(crate) attempts: u32,
    /// Whether a plan that failed may have changed the content of members, or was committed.
    pub(crate) wrote: bool,
    /// In a scrub: whether a mismatch is now being repaired.
    pub(crate) repairing: bool,
    pub(crate) probe: Probe,
    pub(crate) locate: Locate,
    /// In a scrub: whether units of the window did not fit, which is not reported yet.
    pub(crate) differs: bool,
    /// In a rebuild, resync or scrub: something in the stripe can be neither read nor computed.
    pub(crate) block_by_block: bool,
    /// In a read, repair or rebuild of parity: units on members that fail and are kept. It does
    /// without them.
    pub(crate) kept: UnitSet,
    /// In a rebuild or resync: units that could not be read in the window.
    pub(crate) unreadable: UnitSet,
    /// In a rebuild or resync: targets that went on the bad-block log in the window.
    pub(crate) passed_over: UnitSet,
    pub(crate) blind: Blind,
    /// What it writes was acknowledged: a crash must not cost any of it.
    pub(crate) acknowledged: bool,
}

impl StripeJob {
    /// The units that it computes or, in a read, does without.
    pub(crate) fn computed(&self) -> UnitSet {
        self.targets.or(self.beside)
    }
}

/// What a job on a stripe holds beside its space in the logs. Each is given back by itself: a write
/// that waits may give its lock back and keep its region dirty.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Holdings {
    /// The scratch memory that it may use, from the first gate on.
    pub(crate) memory: Sectors,
    /// Whether it has its stripe's lock, or is queued for it.
    pub(crate) lock: bool,
    /// Whether it is counted as a writer of its region, which is durably dirty.
    pub(crate) region: bool,
    /// Whether it keeps its region's log from being reintegrated.
    pub(crate) parity: bool,
}

/// In a write: whether the parity cannot be updated together with the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blind {
    /// It can.
    No,
    /// The host's data is written without parity.
    Writes,
    /// The data was written. Now the parity is computed from it, where that is possible.
    Wrote,
    /// What a missing unit held is not known, but all of it is being written: check units are
    /// computed from the data alone, under a record that cancels earlier ones.
    Anew,
}

/// In a repair: whether the target itself was read. The access that failed may have been longer. In
/// a read: whether a block that could not be read is being read once more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Probe {
    /// It was not read.
    NotYet,
    /// It is being read.
    Now,
    /// It is unreadable.
    Failed,
    /// The target was written and could not be read back: it is read once more.
    Written,
}

impl Probe {
    /// Something could not be read: whether it is to be read once more, before another is.
    pub(crate) fn again(&mut self) -> bool {
        let again = *self == Probe::NotYet;
        *self = if again { Probe::Now } else { Probe::NotYet };
        again
    }

    /// Whether the target is being read.
    pub(crate) fn is_under_way(self) -> bool {
        matches!(self, Probe::Now | Probe::Written)
    }
}

/// In a scrub: whether it was asked which unit alone explains a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locate {
    /// Not yet.
    NotYet,
    /// It is being asked.
    Now,
    /// This unit, or none.
    Found(Option<Unit>),
    /// It is not asked: units that could not be read were computed from the others.
    Never,
}

impl Jobs<Kind> {
    /// The purpose of a job whose plan has ended.
    pub(crate) fn kind(&self, id: JobId) -> &Kind {
        self.get(id).kind.as_ref().expect("a running job has a purpose")
    }

    /// The same, taken out of the job, which is then ended or gets a purpose again.
    pub(crate) fn take_kind(&mut self, id: JobId) -> Kind {
        self.get_mut(id).kind.take().expect("a running job has a purpose")
    }

    /// The stripe job in `id`.
    pub(crate) fn stripe(&mut self, id: JobId) -> &mut StripeJob {
        match &mut self.get_mut(id).kind {
            Some(Kind::Stripe(stripe)) => stripe,
            other => unreachable!("a job on a stripe was expected, not {other:?}"),
        }
    }
}
