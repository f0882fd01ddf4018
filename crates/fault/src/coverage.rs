//! Which faults met the array in which state.

use parlour_array::{Mode, Status};

/// What can happen to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Fault {
    /// Power is pulled.
    PowerCut,
    /// The process is killed.
    Kill,
    /// The array is stopped and opened again.
    Stop,
    /// A member dies.
    Death,
    /// People fail a member.
    Exclusion,
    /// A member stops answering; its accesses fail late, and some were done.
    Hang,
    /// A new member takes a slot.
    Replacement,
    /// A spare is added.
    Spare,
    /// A sector can no longer be read.
    LatentError,
    /// One read fails.
    TransientError,
    /// One flush fails, and what it was to make durable is lost perhaps.
    FailedFlush,
    /// A member becomes slow.
    SlowMember,
    /// A scrub that compares.
    Scrub,
    /// A scrub that may repair.
    RepairingScrub,
    /// A member has no room.
    OutOfSpace,
    /// A member is away for a session and comes back old.
    Absence,
    /// Another array's member stands in for one.
    ForeignMember,
    /// A member comes back wiped.
    WipedMember,
    /// A member comes back shorter.
    TruncatedMember,
    /// A unit rots: a sector of it is not what was written there.
    Rot,
    /// A sector of a superblock, map, table, list or commit log can no longer be read.
    MetadataError,
    /// A member that was away comes back, and is rebuilt in what it has missed.
    Comeback,
    /// What an excluded member was to write lands, in part or as a whole, after it was answered as
    /// failed.
    LateWrite,
    /// A write of metadata, of a log or of parity is answered as done, and was not.
    LostWrite,
    /// Such a write is done elsewhere.
    MisdirectedWrite,
    /// A bit of such a write turns.
    RottenWrite,
    /// Metadata rots: it can be read, and its checksum does not fit.
    DamagedMetadata,
    /// A copy of a member that was taken while the array was served stands in its slot.
    Clone,
    /// Flushes of a member are answered as done and make nothing durable; power is cut, and the
    /// member is given up.
    LyingFlush,
    /// The system goes on lacking what an access takes.
    Starvation,
    /// A member has no room for logs and metadata either.
    OutOfAllSpace,
    /// Another server opens the array from the same members.
    Rival,
}

impl Fault {
    /// Each fault.
    pub const ALL: [Fault; 32] = [
        Fault::PowerCut,
        Fault::Kill,
        Fault::Stop,
        Fault::Death,
        Fault::Exclusion,
        Fault::Hang,
        Fault::Replacement,
        Fault::Spare,
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

    /// Whether it makes writes impossible, and costs no member.
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

/// What the array was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum State {
    /// The new session is not yet recorded.
    Opening,
    /// It is being stopped.
    Stopping,
    /// It may not be written.
    ReadOnly,
    /// A member is being rebuilt.
    Rebuilding,
    /// A member is missing.
    Degraded,
    /// Check units are computed anew after a crash.
    Resyncing,
    /// A log is being folded into its parity.
    Reintegrating,
    /// Redundancy is being compared.
    Scrubbing,
    /// Hosts wait.
    Busy,
    /// Nothing is under way.
    Idle,
}

impl State {
    /// Each state.
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

    /// The state of an array, the most telling one where several hold.
    pub(crate) fn of(status: &Status, mode: Mode, opening: bool, busy: bool) -> State {
        let missing = status.members.iter().any(|member| member.state == "failed");
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

/// Counts of fault × state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    counts: [[u64; State::ALL.len()]; Fault::ALL.len()],
}

/// Whether arrays promise to survive `fault` in `state`, and the tester therefore tries it. (Some
/// arrays do not: no pair is promised by RAID 0 that costs a member.)
pub fn is_promised(fault: Fault, state: State) -> bool {
    let writable = !matches!(state, State::Stopping | State::ReadOnly);
    match fault {
        Fault::PowerCut | Fault::Kill | Fault::SlowMember => true,
        Fault::Stop => state != State::Stopping,
        Fault::Death | Fault::Exclusion | Fault::Hang | Fault::FailedFlush => state != State::ReadOnly,
        // These are refused by an array that is not served for writing.
        Fault::Replacement | Fault::Spare | Fault::LatentError | Fault::TransientError => writable,
        // A scrub that began is what the array is doing, unless something tells more.
        Fault::Scrub | Fault::RepairingScrub => writable && !matches!(state, State::Busy | State::Idle),
        // What is to be made whole needs room.
        Fault::OutOfAllSpace | Fault::Starvation => {
            matches!(state, State::Opening | State::Stopping | State::Busy | State::Idle)
        }
        Fault::OutOfSpace => {
            !matches!(state, State::ReadOnly | State::Rebuilding | State::Degraded | State::Resyncing)
        }
        // These come to light when the array is opened again.
        Fault::Absence
        | Fault::ForeignMember
        | Fault::WipedMember
        | Fault::TruncatedMember
        | Fault::Clone => state == State::Stopping,
        // It is looked for when nothing else is under way.
        Fault::Rot | Fault::Rival => state == State::Idle,
        // Nobody reads it before the array is opened again.
        Fault::MetadataError => matches!(state, State::Stopping | State::Busy | State::Idle),
        Fault::Comeback => state == State::Degraded,
        // Who is still waited for is excluded already.
        Fault::LateWrite => matches!(state, State::Stopping | State::Rebuilding | State::Degraded),
        // It is counted when power is cut.
        Fault::LyingFlush => matches!(state, State::Stopping | State::Busy | State::Idle),
        Fault::DamagedMetadata => {
            matches!(state, State::Stopping | State::Scrubbing | State::Busy | State::Idle)
        }
        // Nothing but this may be wrong with the array.
        Fault::LostWrite | Fault::MisdirectedWrite | Fault::RottenWrite => {
            matches!(
                state,
                State::Stopping | State::Reintegrating | State::Scrubbing | State::Busy | State::Idle
            )
        }
    }
}

impl Coverage {
    /// How often `fault` met `state`.
    pub fn count(&self, fault: Fault, state: State) -> u64 {
        self.counts[fault as usize][state as usize]
    }

    /// All faults.
    pub fn total(&self) -> u64 {
        self.counts.iter().flatten().sum()
    }

    /// Adds what another run has met.
    pub fn add(&mut self, other: &Coverage) {
        let cells = self.counts.iter_mut().flatten().zip(other.counts.iter().flatten());
        cells.for_each(|(sum, count)| *sum += count);
    }

    pub(crate) fn note(&mut self, fault: Fault, state: State) {
        self.counts[fault as usize][state as usize] += 1;
    }
}
