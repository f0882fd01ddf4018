//! Reports: events as they happen, and the array's state on request.

use parlour_units::{Bytes, Member, Region, Sector, Sectors, Slot};
use serde::Serialize;

use crate::identity::Identity;
use crate::plan::Strategy;
use crate::report::{ScrubReport, Task};
use crate::roster::Traffic;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A member was excluded from the array.
    MemberFailed {
        /// Its slot.
        slot: Slot,
        /// The cause.
        cause: FailureCause,
    },
    /// A member answers with errors, but the array would lose data without it: it is kept.
    MemberKept {
        /// Its slot.
        slot: Slot,
    },
    /// A member has had more read errors recently than it should: it stays in use, and should be
    /// replaced.
    MemberFailing {
        /// Its slot.
        slot: Slot,
        /// Read errors since it was added.
        errors: u32,
    },
    /// A spare, or a replacement, took a slot.
    SlotTaken {
        /// The slot.
        slot: Slot,
        /// The member.
        member: Member,
        /// For a returning member: the number of regions that it may lack, and that are rebuilt.
        out_of_sync: Option<u32>,
    },
    /// A rebuild is complete.
    RebuildDone {
        /// The slot, which is whole again.
        slot: Slot,
    },
    /// A failed slot's units are being rebuilt into spare room on the other members.
    SpareRoomTaken {
        /// The slot.
        slot: Slot,
    },
    /// They all are in spare room: the array survives further failures again.
    SpareRoomFilled {
        /// The slot.
        slot: Slot,
    },
    /// A rebuild stopped, because a block that it needs cannot be read.
    RebuildStopped {
        /// The slot that was being rebuilt.
        slot: Slot,
        /// The first sector of the array in the stripe that cannot be computed.
        at: Sector,
    },
    /// Blocks cannot be recovered and went on the bad-block log.
    BadBlocksRecorded {
        /// The slot.
        slot: Slot,
        /// The first sector on the member.
        at: Sector,
        /// The length.
        length: Sectors,
        /// The first sector of the array in their stripe.
        stripe: Sector,
    },
    /// A crash cut off a write of a whole stripe, and a member was lost with it: what it held of
    /// that is lost. Host reads are errors until it is written.
    BlocksLost {
        /// The slot.
        slot: Slot,
        /// The first sector on the member.
        at: Sector,
        /// The length.
        length: Sectors,
        /// The first sector of the array in their stripe.
        stripe: Sector,
    },
    /// Writes were acknowledged, and no member has their data any more.
    AcknowledgedLost {
        /// The first sector of the array.
        at: Sector,
        /// The length.
        length: Sectors,
    },
    /// The commit log has lost entries that count: all regions that were in use are resynced.
    CommitLogDamaged,
    /// The log of a region has lost records that count, or holds something else: the region is
    /// resynced.
    LogDamaged {
        /// The region.
        region: Region,
        /// The slots that hold its log.
        slots: Vec<Slot>,
    },
    /// After a crash, the content of a block is none of the values that were written there: it is
    /// computed from the rest of its stripe.
    BlockDamaged {
        /// The slot.
        slot: Slot,
        /// The first sector on the member.
        at: Sector,
        /// The length.
        length: Sectors,
    },
    /// All regions are in sync.
    ResyncDone,
    /// Check units of some stripes could not be recomputed.
    ResyncIncomplete,
    /// A scrub is complete.
    ScrubDone(ScrubReport),
    /// A member has no space for a write: the array is read-only from here on.
    OutOfSpace {
        /// The member.
        member: Member,
    },
    /// A structure of the metadata has a valid checksum, but a number that no session so far has
    /// given: it is ignored.
    Implausible {
        /// The slot.
        slot: Slot,
        /// The structure.
        what: &'static str,
    },
    /// A superblock names a session of another server: that server has opened the array, and this
    /// one abandons it.
    Superseded {
        /// The member with that superblock.
        member: Member,
        /// The other server's session.
        session: Identity,
    },
    /// There is no space or memory for the array's metadata on a member: this server abandons the
    /// array.
    Halted {
        /// Its slot.
        slot: Slot,
    },
    /// A spare cannot be used.
    SpareDropped {
        /// The member.
        member: Member,
    },
}

/// Why a member was excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailureCause {
    /// It did not answer, or refused to write.
    Gone,
    /// It was being rebuilt, and could not read data that had been written to it.
    Errors,
    /// Data that was written to it could not be read back.
    Unfaithful,
    /// It is shorter than it was.
    Truncated,
    /// Its metadata is older than the others'.
    Older,
    /// A command asked for it.
    Asked,
}

/// Counts since the array was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Hosts' reads.
    pub host_reads: u64,
    /// Sectors that hosts read.
    pub host_read: u64,
    /// Hosts' writes.
    pub host_writes: u64,
    /// Sectors that hosts wrote.
    pub host_written: u64,
    /// Hosts' flushes.
    pub host_flushes: u64,
    /// Sectors of acknowledged writes that were written to their places (write-back).
    pub destaged: u64,
    /// Reads of stripes with missing units.
    pub degraded_reads: u64,
    /// Stripes written by full-stripe writes.
    pub full_stripe: u64,
    /// Of these, stripes that two hosts' requests wrote together.
    pub gathered: u64,
    /// Stripes written by read-modify-write.
    pub read_modify_write: u64,
    /// Stripes written by reconstruct-write.
    pub reconstruct_write: u64,
    /// Stripes written by logged updates.
    pub logged_update: u64,
    /// Stripes written by logged overwrites.
    pub logged_overwrite: u64,
    /// Log segments appended (accesses).
    pub appends: u64,
    /// Log segments that were appended before they were full.
    pub short_segments: u64,
    /// Writes that waited for a log buffer.
    pub pool_waits: u64,
    /// Reintegrations.
    pub reintegrations: u64,
    /// Prereads that the cache made unnecessary.
    pub prereads_saved: u64,
    /// Units that could not be read, and were computed and rewritten.
    pub repaired: u64,
    /// Regions whose data was compared with durable records after a crash and brought up to them.
    pub redone: u64,
    /// Sectors that fitted none of their records at that time: their content comes from no logged
    /// write.
    pub unlike_records: u64,
    /// Whether a member has run out of space.
    pub out_of_space: bool,
    /// How often a job was examined to see whether it can go on. It is a measure of the array's own
    /// work that does not depend on the machine, for tests of how the work grows.
    #[serde(skip)]
    pub steps: u64,
}

impl Counters {
    pub(crate) fn strategy(&mut self, strategy: Strategy) {
        let counter = match strategy {
            Strategy::FullStripe | Strategy::LoggedCancel => &mut self.full_stripe,
            Strategy::ReadModifyWrite => &mut self.read_modify_write,
            Strategy::ReconstructWrite => &mut self.reconstruct_write,
            Strategy::LoggedUpdate => &mut self.logged_update,
            Strategy::LoggedOverwrite => &mut self.logged_overwrite,
            _ => return,
        };
        *counter += 1;
    }
}

/// The array's state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The array's name.
    pub name: String,
    /// Its identity.
    pub identity: String,
    /// "serving", "read-only", "stopping", "stopped", "superseded" or "halted".
    pub mode: &'static str,
    /// The organization's name.
    pub organization: &'static str,
    /// The consistency: "bitmap" or "journal".
    pub consistency: &'static str,
    /// The data that hosts can store.
    pub capacity: Bytes,
    /// The block size.
    pub block: Bytes,
    /// The stripe unit.
    pub stripe_unit: Bytes,
    /// The number of members, whichever they are, that may still fail without loss of data.
    pub spare_redundancy: u16,
    /// The number of members that the intact array may lose.
    pub fault_tolerance: u16,
    /// Whether more members are lost than the array tolerates.
    pub lost: bool,
    /// Its members.
    pub members: Vec<MemberStatus>,
    /// Its journal devices, whose slots are numbered behind those of the members. Vacant slots are
    /// left out.
    pub journals: Vec<MemberStatus>,
    /// Spares.
    pub spares: Vec<u16>,
    /// The rebuild, if there is one.
    pub rebuild: Option<Task>,
    /// The resync, if there is one: the number of regions that still need it, and of all.
    pub resync: Option<Task>,
    /// The greatest number of bytes that the blocks on the bad-block log take.
    pub unreadable: Bytes,
    /// The first bytes of the stripes with such blocks, at most a hundred.
    pub unreadable_stripes: Vec<u64>,
    /// The scrub, if there is one.
    pub scrub: Option<Task>,
    /// The report of the last scrub.
    pub last_scrub: Option<ScrubReport>,
    /// The number of regions.
    pub regions: u32,
    /// Regions that may be inconsistent if the array dies now.
    pub dirty_regions: u32,
    /// Regions whose parity may not fit and has to stand in for data of a member that is not whole:
    /// reads of this data may be wrong.
    pub doubtful_regions: u32,
    /// The parity logs, if there are any.
    pub log: Option<LogStatus>,
    /// The journal, if there is one.
    pub journal: Option<JournalStatus>,
    /// Write-back, if the array has it.
    pub write_back: Option<WriteBackStatus>,
    /// Counts since the array was opened.
    pub counters: Counters,
    /// Bytes of payload memory in use now, and the greatest number so far.
    pub memory: (Bytes, Bytes),
}

impl Status {
    /// All slots: members, then journal devices.
    pub fn slots(&self) -> impl Iterator<Item = &MemberStatus> {
        self.members.iter().chain(&self.journals)
    }

    /// The slot with this number.
    pub fn slot(&self, slot: u16) -> Option<&MemberStatus> {
        self.slots().find(|member| member.slot == slot)
    }
}

/// Resources that are held for requests and running work. All are zero, except the cache, when no
/// work is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Jobs that have not ended.
    pub jobs: usize,
    /// Stripes that are locked.
    pub locks: usize,
    /// Hosts' requests that are not answered.
    pub requests: usize,
    /// Hosts' payload.
    pub host_memory: Sectors,
    /// Memory reserved for prereads, parity and reconstruction.
    pub scratch: Sectors,
    /// Payload that the preread cache keeps.
    pub cache: Sectors,
    /// Acknowledged writes that are not in their place yet.
    pub staged: Sectors,
}

/// A slot and its member.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberStatus {
    /// The slot.
    pub slot: u16,
    /// The driver's number of the member, if there is one.
    pub member: Option<u16>,
    /// "active", "rebuilding" or "failed".
    pub state: &'static str,
    /// Whether its member was whole when it was excluded: if it comes back, only regions that are
    /// out of sync are rebuilt.
    pub may_return: bool,
    /// Whether what it held is being rebuilt into spare room on the other members.
    pub moving: bool,
    /// Whether all that it should hold is in spare room on the other members.
    pub in_spare_room: bool,
    /// Read errors since the member was added.
    pub errors: u32,
    /// Whether there were more of them recently than [`Tuning::error_threshold`](crate::Tuning):
    /// the member should be replaced.
    pub failing: bool,
    /// Accesses of hosts, log, metadata, rebuild and scrub.
    pub traffic: [TrafficStatus; 5],
}

/// Accesses of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TrafficStatus {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Flushes.
    pub flushes: u64,
}

/// Writes that are acknowledged and not in their place yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct WriteBackStatus {
    /// Their data.
    pub staged: Bytes,
}

/// The commit log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct JournalStatus {
    /// Whether the next entry goes to journal devices.
    pub on_devices: bool,
    /// Its streams.
    pub streams: Vec<StreamStatus>,
}

/// A stream of entries of the commit log.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StreamStatus {
    /// What its entries hold: "records", "intents" or "writes".
    pub of: &'static str,
    /// Its length that is in use.
    pub used: Bytes,
    /// Its length.
    pub room: Bytes,
    /// Entries that count: what they hold is not in its place yet, or not flushed.
    pub entries: usize,
    /// How long ago the oldest of these was begun, in seconds; `None` if it is of an earlier
    /// session.
    pub oldest_seconds: Option<f64>,
    /// Entries that were written since the array was opened, without empty ones.
    pub written: u64,
    /// The records, intents or writes in them.
    pub content: u64,
}

/// The parity logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct LogStatus {
    /// Records that are not yet in the parity.
    pub live_records: u64,
    /// Log buffers in use.
    pub buffers: u32,
    /// The greatest possible number of log buffers.
    pub buffer_limit: u32,
    /// Regions with a log in use.
    pub regions: u32,
    /// Reintegrations under way.
    pub reintegrating: u32,
    /// Regions that are still to be recovered after a crash.
    pub recovering: u32,
    /// The least number of reintegrations of any region that was used since the array was opened.
    pub least_reintegrations: u64,
}

impl From<Traffic> for TrafficStatus {
    fn from(traffic: Traffic) -> TrafficStatus {
        TrafficStatus {
            reads: traffic.reads,
            read_bytes: traffic.read * 512,
            writes: traffic.writes,
            write_bytes: traffic.written * 512,
            flushes: traffic.flushes,
        }
    }
}
