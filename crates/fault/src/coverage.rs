//! Counts the faults that were injected, by the state of the array.

use parlour_array::{Mode, Status};

/// A fault, or another event that can happen to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fault {
    /// Power fails.
    PowerCut,
    /// The process is killed.
    Kill,
    /// The array is stopped and opened again.
    Stop,
    /// A member dies.
    Death,
    /// An administrator fails a member.
    Exclusion,
    /// A member stops answering. Its accesses fail late, and some were carried out.
    Hang,
    /// A new member takes a slot.
    Replacement,
    /// A spare is added.
    Spare,
    /// A failed journal device is removed for good.
    Removal,
    /// A sector can no longer be read.
    LatentError,
    /// One read fails.
    TransientError,
    /// One flush fails, and the writes that it covers may be lost.
    FailedFlush,
    /// A member becomes slow.
    SlowMember,
    /// A scrub that compares.
    Scrub,
    /// A scrub that also repairs.
    RepairingScrub,
    /// A member has no space for data.
    OutOfSpace,
    /// A member is missing for a session and returns with old data.
    Absence,
    /// A member of another array stands in a member's slot.
    ForeignMember,
    /// A member returns wiped.
    WipedMember,
    /// A member returns truncated.
    TruncatedMember,
    /// A sector of a unit rots: its content is not what was written.
    Rot,
    /// A sector of a superblock, bitmap, table, bad-block log or commit log becomes unreadable.
    MetadataError,
    /// A missing member returns, and only the regions that are out of sync are rebuilt.
    Comeback,
    /// A write to an excluded member is carried out, in part or completely, after it was reported
    /// as failed.
    LateWrite,
    /// A write of metadata, a log or parity is reported as done but was not carried out.
    LostWrite,
    /// Such a write goes to another place.
    MisdirectedWrite,
    /// Such a write has a flipped bit.
    RottenWrite,
    /// Metadata rots: it can be read, but its checksum is wrong.
    DamagedMetadata,
    /// A copy of a member, taken while the array was served, stands in the member's slot.
    Clone,
    /// A member's flushes are reported as done but make nothing durable. Then power fails and the
    /// member is lost.
    LyingFlush,
    /// The system lacks a resource that an access needs, and continues to lack it.
    Starvation,
    /// A member has no space for data, logs or metadata.
    OutOfAllSpace,
    /// Another server opens the array from the same members.
    Rival,
}

impl Fault {
    /// All faults.
    pub const ALL: [Fault; 33] = [
        Fault::PowerCut,
        Fault::Kill,
        Fault::Stop,
        Fault::Death,
        Fault::Exclusion,
        Fault::Hang,
        Fault::Replacement,
        Fault::Spare,
        Fault::Removal,
        Fault::LatentError,
        Fault::TransientError,
        Fault::FailedFlush,
        Fault::SlowMember,
        Fault::Scrub,
        Fault::RepairingScrub,
        Fault::OutOfSpace,
        Fault::Absence,
        Fault::ForeignMember,
        Fault::WipedMember,
        Fault::TruncatedMember,
        Fault::Rot,
        Fault::MetadataError,
        Fault::Comeback,
        Fault::LateWrite,
        Fault::LostWrite,
        Fault::MisdirectedWrite,
        Fault::RottenWrite,
        Fault::DamagedMetadata,
        Fault::Clone,
        Fault::LyingFlush,
        Fault::Starvation,
        Fault::OutOfAllSpace,
        Fault::Rival,
    ];

    /// Whether the fault makes writes impossible without costing a member.
    pub(crate) fn is_of_space(self) -> bool {
        matches!(self, Fault::OutOfSpace | Fault::OutOfAllSpace | Fault::Starvation)
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Fault::PowerCut => "power cut",
            Fault::Kill => "kill",
            Fault::Stop => "stop",
            Fault::Death => "member death",
            Fault::Exclusion => "exclusion",
            Fault::Hang => "hang",
            Fault::Replacement => "replacement",
            Fault::Spare => "spare",
            Fault::Removal => "removal",
            Fault::LatentError => "latent error",
            Fault::TransientError => "transient error",
            Fault::FailedFlush => "failed flush",
            Fault::SlowMember => "slow member",
            Fault::Scrub => "scrub",
            Fault::RepairingScrub => "repairing scrub",
            Fault::OutOfSpace => "out of space",
            Fault::Absence => "absence",
            Fault::ForeignMember => "foreign member",
            Fault::WipedMember => "wiped member",
            Fault::TruncatedMember => "truncated member",
            Fault::Rot => "rot",
            Fault::MetadataError => "metadata error",
            Fault::Comeback => "comeback",
            Fault::LateWrite => "late write",
            Fault::LostWrite => "lost write",
            Fault::MisdirectedWrite => "misdirected write",
            Fault::RottenWrite => "rotten write",
            Fault::DamagedMetadata => "damaged metadata",
            Fault::Clone => "clone",
            Fault::LyingFlush => "lying flush",
            Fault::Starvation => "starvation",
            Fault::OutOfAllSpace => "out of all space",
            Fault::Rival => "second opening",
        }
    }
}

/// The array's activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// The new session is not recorded yet.
    Opening,
    /// The array is being stopped.
    Stopping,
    /// The array is read-only.
    ReadOnly,
    /// A member is being rebuilt.
    Rebuilding,
    /// A member is missing.
    Degraded,
    /// Check units are computed anew after a crash (resync).
    Resyncing,
    /// A log is being reintegrated.
    Reintegrating,
    /// A scrub is running.
    Scrubbing,
    /// Hosts' requests are under way.
    Busy,
    /// Nothing is under way.
    Idle,
}

impl State {
    /// All states.
    pub const ALL: [State; 10] = [
        State::Opening,
        State::Stopping,
        State::ReadOnly,
        State::Rebuilding,
        State::Degraded,
        State::Resyncing,
        State::Reintegrating,
        State::Scrubbing,
        State::Busy,
        State::Idle,
    ];

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            State::Opening => "opening",
            State::Stopping => "stopping",
            State::ReadOnly => "read-only",
            State::Rebuilding => "rebuilding",
            State::Degraded => "degraded",
            State::Resyncing => "resyncing",
            State::Reintegrating => "reintegrating",
            State::Scrubbing => "scrubbing",
            State::Busy => "busy",
            State::Idle => "idle",
        }
    }

    /// The state of an array. If several states hold, the most specific one.
    pub(crate) fn of(status: &Status, mode: Mode, opening: bool, busy: bool) -> State {
        let missing = status.slots().any(|member| member.state == "failed");
        match mode {
            _ if opening => State::Opening,
            Mode::Stopping | Mode::Stopped | Mode::Superseded | Mode::Halted => State::Stopping,
            Mode::ReadOnly => State::ReadOnly,
            Mode::Serving if status.rebuild.is_some() => State::Rebuilding,
            Mode::Serving if missing => State::Degraded,
            Mode::Serving if status.resync.is_some() => State::Resyncing,
            Mode::Serving if status.log.is_some_and(|log| log.reintegrating > 0) => State::Reintegrating,
            Mode::Serving if status.scrub.is_some() => State::Scrubbing,
            Mode::Serving if busy => State::Busy,
            Mode::Serving => State::Idle,
        }
    }
}

/// The number of faults, by fault and state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    counts: [[u64; State::ALL.len()]; Fault::ALL.len()],
}

impl Default for Coverage {
    fn default() -> Coverage {
        Coverage { counts: [[0; State::ALL.len()]; Fault::ALL.len()] }
    }
}

/// Whether arrays promise to survive `fault` in `state`, so that the tester injects it. Some arrays
/// promise less: RAID 0 promises nothing for a fault that costs a member.
pub fn is_promised(fault: Fault, state: State) -> bool {
    let writable = !matches!(state, State::Stopping | State::ReadOnly);
    match fault {
        Fault::PowerCut | Fault::Kill | Fault::SlowMember => true,
        Fault::Stop => state != State::Stopping,
        Fault::Death | Fault::Exclusion | Fault::Hang | Fault::FailedFlush => state != State::ReadOnly,
        // The array refuses these unless it is served for writing.
        Fault::Replacement | Fault::Spare | Fault::LatentError | Fault::TransientError => writable,
        // A running scrub determines the state, unless a more specific state holds.
        Fault::Scrub | Fault::RepairingScrub => writable && !matches!(state, State::Busy | State::Idle),
        // Repairs need free space.
        Fault::OutOfAllSpace | Fault::Starvation => {
            matches!(state, State::Opening | State::Stopping | State::Busy | State::Idle)
        }
        Fault::OutOfSpace => {
            !matches!(state, State::ReadOnly | State::Rebuilding | State::Degraded | State::Resyncing)
        }
        // These faults are found when the array is opened again.
        Fault::Absence
        | Fault::ForeignMember
        | Fault::WipedMember
        | Fault::TruncatedMember
        | Fault::Clone => state == State::Stopping,
        // This is checked while nothing else is under way.
        Fault::Rot | Fault::Rival => state == State::Idle,
        // It is read only when the array is opened again.
        Fault::MetadataError => matches!(state, State::Stopping | State::Busy | State::Idle),
        Fault::Comeback | Fault::Removal => state == State::Degraded,
        // Only an excluded member has accesses that were given up.
        Fault::LateWrite => matches!(state, State::Stopping | State::Rebuilding | State::Degraded),
        // It is counted when power fails.
        Fault::LyingFlush => matches!(state, State::Stopping | State::Busy | State::Idle),
        Fault::DamagedMetadata => {
            matches!(state, State::Stopping | State::Scrubbing | State::Busy | State::Idle)
        }
        // The array must have no other fault.
        Fault::LostWrite | Fault::MisdirectedWrite | Fault::RottenWrite => {
            matches!(
                state,
                State::Stopping | State::Reintegrating | State::Scrubbing | State::Busy | State::Idle
            )
        }
    }
}

impl Coverage {
    /// How often `fault` was injected in `state`.
    pub fn count(&self, fault: Fault, state: State) -> u64 {
        self.counts[fault as usize][state as usize]
    }

    /// The number of all faults.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Coverage) {
        let cells = self.counts.iter_mut().flatten().zip(other.counts.iter().flatten());
        cells.for_each(|(sum, count)| *sum += count);
    }

    pub(crate) fn note(&mut self, fault: Fault, state: State) {
        self.counts[fault as usize][state as usize] += 1;
    }
}
