//! What jobs are for, and what each keeps while its plan is carried out.

use parlour_units::{Region, Sectors, Slot};

use crate::code::UnitSet;
use crate::columns::{Piece, Window};
use crate::exec::job::Jobs;
use crate::format::commit_entry::{CommitPart, Intent};
use crate::format::segment::Record;
use crate::ids::{HostId, JobId};
use crate::log::{EntryName, Load, Redo, Reservation};
use crate::plan::{Content, Fragment, LogMethod};

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

impl Jobs<Kind> {
    /// The stripe job in `id`.
    pub(crate) fn stripe(&mut self, id: JobId) -> &mut StripeJob {
        match &mut self.get_mut(id).kind {
            Some(Kind::Stripe(stripe)) => stripe,
            other => unreachable!("a job on a stripe was expected, not {other:?}"),
        }
    }
}
