//! Known bugs that can be planted, one at a time, to test the tests themselves.
//!
//! A released program contains none of this: without the feature `planted-bugs`, [`is_planted`] is
//! the constant `false`. With it, `plant` chooses the bug of the whole process.

// Released programs are built without debug assertions, so planted bugs cannot be compiled into
// them. (`crates/array/tests/released.rs` tries.)
#[cfg(all(feature = "planted-bugs", not(debug_assertions)))]
compile_error!(
    "the feature planted-bugs puts known bugs into the array, for tests of the tests: it cannot be built without debug \
     assertions; build without the feature, or in the dev profile"
);

/// A bug.
#[cfg_attr(
    not(feature = "planted-bugs"),
    expect(unreachable_pub, reason = "only who can plant it needs its name")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Bug {
    /// A layout's parity begins one member further and rotates right.
    ParityRotatesAstray = 1,
    /// A plan reads old data and parity even where the rest of the stripe would be fewer accesses.
    AlwaysModifies,
    /// A region is written to before it is durably dirty.
    WritesBeforeDirtyBit,
    /// A flush passes over the member in slot 1.
    FlushSkipsMember,
    /// A host's flush flushes nothing.
    FlushDoesNothing,
    /// A member that could not flush is flushed again later, and its success is believed.
    FailedFlushForgotten,
    /// A durable write of data is not durable.
    DurableIgnored,
    /// Writes go on before the exclusion of a member is durable. (Nor do they wait for a durable
    /// mark of the regions that it will miss.)
    WritesBeforeExclusion,
    /// The rebuild's frontier is recorded before the rebuilt data is flushed.
    FrontierBeforeFlush,
    /// A rebuild takes no stripe locks.
    RebuildWithoutLock,
    /// Exclusive stripe locks exclude no other job.
    LocksShared,
    /// A reintegration leaves some parity unwritten.
    LogTruncatedBeforeParity,
    /// Records that a later overwrite record covers are reintegrated too.
    OverwriteOrderIgnored,
    /// Parity is used in place while its log holds newer records.
    ParityBehindLogUsed,
    /// Records are called applied before the exclusion of a member whose parity lacks them is
    /// durable.
    AppliedBeforeExclusion,
    /// Regions that are written while a member is absent are not marked out of sync.
    MissedForgotten,
    /// Regions that a member had not flushed when it was excluded are not marked out of sync.
    UnflushedNotMissed,
    /// Regions that are resynced while a member is absent are not marked out of sync.
    ResyncNotMissed,
    /// A member returns even if it has seen another session last.
    AnySessionReturns,
    /// A member that missed a session is believed.
    StaleMemberBelieved,
    /// A write while a member is missing does not update parity.
    DegradedWriteForgetsParity,
    /// Copies are resynced from the last copy, but read from the first.
    ResyncFromWrongCopy,
    /// The preread cache keeps data that was overwritten.
    CacheNotInvalidated,
    /// An unreadable unit is repaired from parity that does not fit.
    RepairFromUnsynced,
    /// A scrub repairs mismatches that it should only report.
    ScrubRepairsUnasked,
    /// A region is marked clean while it is written to.
    DirtyBitClearedEarly,
    /// Data is written without parity before it is durable that the parity is unrecoverable.
    WritesBeforeListed,
    /// A block comes off the bad-block log before the data that was written there is durable.
    ListedWithoutFlush,
    /// A block that cannot be computed in a rebuild is passed over without going on the bad-block
    /// log.
    PassedOverUnlisted,
    /// A block that could not be read when it was to be compared after a crash is believed as soon
    /// as it can be read.
    UncomparedBelieved,
    /// The same after a second power cut, because a table counts the block's records before the
    /// bad-block log with the block is durable.
    TableBeforeList,
    /// The sound copy of the superblock is overwritten first.
    SoundSuperblockFirst,
    /// An opening that did not come to its end counts as a session.
    VainOpeningCounts,
    /// A repair whose member is gone counts as a loss of data.
    RepairLostWithMember,
    /// A rebuild gives up if one of several copies cannot be read.
    RebuildFromOneCopyOnly,
    /// Opened with `force`, the array trusts parity in groups without missing members.
    ForceTrustsAllGroups,
    /// Superblocks are not written durably.
    SuperblockNotDurable,
    /// Both copies of a superblock are written at the same time.
    SuperblockCopiesAtOnce,
    /// Write-intent bitmaps are not written durably.
    MapNotDurable,
    /// Tables of applied records are not written durably.
    TableNotDurable,
    /// Records are not durable before their data is written.
    CommitNotDurable,
    /// Whole stripes become zeroes before their zero record is durable.
    ZeroedBeforeRecord,
    /// Intents are not durable before parity is rewritten.
    IntentNotDurable,
    /// Segments are not durable before the commit log forgets their records.
    AppendNotDurable,
    /// Regions are marked clean without a flush.
    CleanWithoutFlush,
    /// An array is stopped without a flush.
    StopWithoutFlush,
    /// Commit logs forget entries whose data was not flushed.
    CommitFlushSkipped,
    /// The parity of a reintegration is not flushed before the log is emptied.
    ReintegrationFlushSkipped,
    /// A log is emptied before it is recorded that its parity contains the records.
    LogEmptiedBeforeTable,
    /// The writes of a resync are not flushed before the region is logged again.
    ResyncFlushSkipped,
    /// A region is logged again before it is recorded that its old log does not count.
    LoggedAgainBeforeTable,
    /// The writes of a redo are not flushed before hosts can read them.
    RedoFlushSkipped,
    /// After a crash, missing differences are not redone.
    RecoverySkipsRecords,
    /// A reintegration that a crash cut off is repeated from its start.
    IntentsForgotten,
    /// Parity that cannot be read is repaired from the data alone, although its records still
    /// count.
    MendedWithoutRecords,
    /// A record that is stored in two places counts twice.
    RecordCountsTwice,
    /// Records that are already in the parity count again.
    AppliedRecordsCount,
    /// A log that was lost is forgotten, and its region is not resynced.
    LostLogNotResynced,
    /// Data that depends on records which an opening has given up is read before that is recorded.
    GivenUpReadAtOnce,
    /// In an array with a missing member, a durable write is answered before the parity that holds
    /// it is flushed.
    DegradedDurableNotFlushed,
    /// In an array with a missing member, a flush does not wait for the records in its logs.
    DegradedFlushBeforeParity,
    /// A commit log that has lost entries counts as whole.
    LostEntriesIgnored,
    /// A region's log that has lost records counts as whole.
    MissingRecordsIgnored,
    /// Payloads that are read from a log are folded into the parity unverified.
    PayloadsUnverified,
    /// After a crash, sectors that fit none of their records are left as they are.
    UnlikeSectorsKept,
    /// A commit log forgets records before a table counts the segment that holds them.
    RecordsForgottenBeforeTable,
    /// A member whose own metadata is older than the others' is believed.
    OlderMemberBelieved,
    /// A new member gets bitmap, table and bad-block log in one of their banks only.
    JoiningMemberInformedOnce,
    /// A lack of space for metadata is ignored.
    UnrecordedServedOn,
    /// A reintegration without memory or space gives its log up.
    LogGivenUpForSpace,
    /// The engine never asks the kernel for a durable write.
    #[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "it is the engine's"))]
    SyncFlagDropped,
    /// The engine never asks the kernel for a flush.
    #[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "it is the engine's"))]
    MemberFlushSkipped,
}

#[cfg(feature = "planted-bugs")]
impl Bug {
    /// Bugs that are found without faults.
    pub const ALL: [Bug; 2] = [Bug::ParityRotatesAstray, Bug::AlwaysModifies];
    /// Bugs that are found with faults.
    pub const UNDER_FAULTS: [Bug; 29] = [
        Bug::WritesBeforeDirtyBit,
        Bug::FlushSkipsMember,
        Bug::FlushDoesNothing,
        Bug::FailedFlushForgotten,
        Bug::DurableIgnored,
        Bug::WritesBeforeExclusion,
        Bug::FrontierBeforeFlush,
        Bug::RebuildWithoutLock,
        Bug::LocksShared,
        Bug::LogTruncatedBeforeParity,
        Bug::OverwriteOrderIgnored,
        Bug::ParityBehindLogUsed,
        Bug::MissedForgotten,
        Bug::UnflushedNotMissed,
        Bug::AnySessionReturns,
        Bug::StaleMemberBelieved,
        Bug::DegradedWriteForgetsParity,
        Bug::ResyncFromWrongCopy,
        Bug::CacheNotInvalidated,
        Bug::RepairFromUnsynced,
        Bug::ScrubRepairsUnasked,
        Bug::DirtyBitClearedEarly,
        Bug::SoundSuperblockFirst,
        Bug::VainOpeningCounts,
        Bug::RepairLostWithMember,
        Bug::RebuildFromOneCopyOnly,
        Bug::ForceTrustsAllGroups,
        Bug::CleanWithoutFlush,
        Bug::StopWithoutFlush,
    ];
    /// Bugs that break a rule of crash-safe logging.
    pub const OF_LOGGING: [Bug; 18] = [
        Bug::RecoverySkipsRecords,
        Bug::IntentsForgotten,
        Bug::MendedWithoutRecords,
        Bug::RecordCountsTwice,
        Bug::AppliedRecordsCount,
        Bug::LostLogNotResynced,
        Bug::SuperblockNotDurable,
        Bug::MapNotDurable,
        Bug::TableNotDurable,
        Bug::CommitNotDurable,
        Bug::IntentNotDurable,
        Bug::AppendNotDurable,
        Bug::CommitFlushSkipped,
        Bug::ReintegrationFlushSkipped,
        Bug::LogEmptiedBeforeTable,
        Bug::ResyncFlushSkipped,
        Bug::LoggedAgainBeforeTable,
        Bug::RedoFlushSkipped,
    ];
    /// Bugs of the bad-block log.
    pub const OF_LISTS: [Bug; 3] =
        [Bug::WritesBeforeListed, Bug::ListedWithoutFlush, Bug::PassedOverUnlisted];
    /// Bugs of blocks that cannot be read, once or twice, after a crash.
    pub const OF_STUTTERS: [Bug; 2] = [Bug::UncomparedBelieved, Bug::TableBeforeList];
    /// Bugs of damaged logs.
    pub const OF_DAMAGE: [Bug; 5] = [
        Bug::LostEntriesIgnored,
        Bug::MissingRecordsIgnored,
        Bug::PayloadsUnverified,
        Bug::UnlikeSectorsKept,
        Bug::RecordsForgottenBeforeTable,
    ];
    /// Bugs of members that are older than the others.
    pub const OF_OLDER_MEMBERS: [Bug; 2] = [Bug::OlderMemberBelieved, Bug::JoiningMemberInformedOnce];
    /// Bugs that concern a lack of space or memory.
    pub const OF_SHORTAGES: [Bug; 2] = [Bug::UnrecordedServedOn, Bug::LogGivenUpForSpace];
    /// Bugs that concern the regions that an absent member misses.
    pub const OF_ABSENCE: [Bug; 1] = [Bug::ResyncNotMissed];
    /// Bugs that a few writes, cut off at every point, are enough to find.
    pub const OF_CUTS: [Bug; 4] =
        [Bug::FlushDoesNothing, Bug::WritesBeforeDirtyBit, Bug::GivenUpReadAtOnce, Bug::ZeroedBeforeRecord];
    /// Bugs of members that are excluded while parity is written.
    pub const OF_EXCLUSION: [Bug; 1] = [Bug::AppliedBeforeExclusion];
    /// Bugs that remove what makes something durable before something else: finding them takes a
    /// power cut.
    pub const OF_DURABILITY: [Bug; 25] = [
        Bug::FlushDoesNothing,
        Bug::FlushSkipsMember,
        Bug::MemberFlushSkipped,
        Bug::DurableIgnored,
        Bug::SyncFlagDropped,
        Bug::WritesBeforeDirtyBit,
        Bug::WritesBeforeExclusion,
        Bug::FrontierBeforeFlush,
        Bug::SuperblockNotDurable,
        Bug::SuperblockCopiesAtOnce,
        Bug::MapNotDurable,
        Bug::TableNotDurable,
        Bug::CommitNotDurable,
        Bug::IntentNotDurable,
        Bug::AppendNotDurable,
        Bug::CleanWithoutFlush,
        Bug::StopWithoutFlush,
        Bug::CommitFlushSkipped,
        Bug::ReintegrationFlushSkipped,
        Bug::LogEmptiedBeforeTable,
        Bug::ResyncFlushSkipped,
        Bug::LoggedAgainBeforeTable,
        Bug::RedoFlushSkipped,
        Bug::DegradedDurableNotFlushed,
        Bug::DegradedFlushBeforeParity,
    ];
}

#[cfg(feature = "planted-bugs")]
mod chosen {
    use std::sync::atomic::{AtomicU8, Ordering};

    use super::Bug;

    static PLANTED: AtomicU8 = AtomicU8::new(0);

    /// Plants `bug` in all arrays of this process, instead of the one before.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
    }

    /// Whether `bug` is planted.
    pub fn is_planted(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "planted-bugs")]
pub use chosen::{is_planted, plant};

/// Without the feature no bug is planted.
#[cfg(not(feature = "planted-bugs"))]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}
