//! Known bugs that can be planted, one at a time, so that the tests themselves are tested.
//!
//! Nothing of this is in a program that people run: without the feature `planted-bugs`,
//! [`is_planted`] is the constant `false`. With it, [`plant`] chooses the bug of the whole process.

// A program that is given to users is built without debug assertions: planted bugs cannot be in it,
// whoever asks for them. (`crates/array/tests/released.rs` tries.)
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
    /// A member that could not flush is asked again later, and believed when it says that it did.
    FailedFlushForgotten,
    /// A durable write of data is none.
    DurableIgnored,
    /// Writes go on before the exclusion of a member is durable (nor do they wait for what it will
    /// miss).
    WritesBeforeExclusion,
    /// The rebuild's frontier is recorded before what was rebuilt is flushed.
    FrontierBeforeFlush,
    /// A rebuild takes no stripe locks.
    RebuildWithoutLock,
    /// Stripe locks keep nobody out.
    LocksShared,
    /// Some parity is not written when a log is reintegrated.
    LogTruncatedBeforeParity,
    /// What a later overwrite record covers is reintegrated too.
    OverwriteOrderIgnored,
    /// Parity is used in place while its log holds more.
    ParityBehindLogUsed,
    /// Records are called applied before the exclusion of a member whose parity lacks them is
    /// durable.
    AppliedBeforeExclusion,
    /// What is written while a member is away is not remembered as missed.
    MissedForgotten,
    /// What a member had not flushed when it was excluded is not remembered as missed.
    UnflushedNotMissed,
    /// What is resynced while a member is away is not remembered as missed.
    ResyncNotMissed,
    /// A member that was away returns whatever session it saw last.
    AnySessionReturns,
    /// A member that missed a session is believed.
    StaleMemberBelieved,
    /// A write while a member is missing does not update parity.
    DegradedWriteForgetsParity,
    /// Copies are resynced from the last, and read from the first.
    ResyncFromWrongCopy,
    /// The preread cache keeps what was overwritten.
    CacheNotInvalidated,
    /// An unreadable unit is repaired from parity that does not fit.
    RepairFromUnsynced,
    /// A scrub repairs what it was to report.
    ScrubRepairsUnasked,
    /// A region is marked clean while it is written to.
    DirtyBitClearedEarly,
    /// Data is written without parity before it is durable that the parity is unrecoverable.
    WritesBeforeListed,
    /// A block comes off the bad-block log before what was written there is durable.
    ListedWithoutFlush,
    /// A block that cannot be computed in a rebuild is passed over, and does not go on the list.
    PassedOverUnlisted,
    /// What could not be read when it was to be compared after a crash is believed as soon as it
    /// can be read.
    UncomparedBelieved,
    /// The same once power is cut again, because a table counts its records before it is durably on
    /// the list.
    TableBeforeList,
    /// The copy of the superblock that is sound is overwritten first.
    SoundSuperblockFirst,
    /// An opening that came to no end counts as a session.
    VainOpeningCounts,
    /// A repair whose member is gone counts as data lost.
    RepairLostWithMember,
    /// A rebuild gives up where one of several copies cannot be read.
    RebuildFromOneCopyOnly,
    /// Forced to open, the array trusts parity in groups where nothing is missing.
    ForceTrustsAllGroups,
    /// Superblocks are not asked to be durable.
    SuperblockNotDurable,
    /// Both copies of a superblock are written at the same time.
    SuperblockCopiesAtOnce,
    /// Write-intent bitmaps are not asked to be durable.
    MapNotDurable,
    /// Tables of applied records are not asked to be durable.
    TableNotDurable,
    /// Records are not asked to be durable before their data is written.
    CommitNotDurable,
    /// Whole stripes become zeroes before the record that says so is durable.
    ZeroedBeforeRecord,
    /// Intents are not asked to be durable before parity is rewritten.
    IntentNotDurable,
    /// Segments are not asked to be durable before the commit log forgets their records.
    AppendNotDurable,
    /// Regions are marked clean without a flush.
    CleanWithoutFlush,
    /// An array is stopped without a flush.
    StopWithoutFlush,
    /// Commit logs forget entries whose data was not flushed.
    CommitFlushSkipped,
    /// Parity into which a log went is not flushed before the log is emptied.
    ReintegrationFlushSkipped,
    /// A log is emptied before it is recorded that its parity holds it.
    LogEmptiedBeforeTable,
    /// What was resynced is not flushed before the region is logged again.
    ResyncFlushSkipped,
    /// A region is logged again before it is recorded that nothing in its old log counts.
    LoggedAgainBeforeTable,
    /// What was redone after a crash is not flushed before hosts see it.
    RedoFlushSkipped,
    /// After a crash, what records lack in their data is not redone.
    RecoverySkipsRecords,
    /// A reintegration that a crash cut off is done again from its start.
    IntentsForgotten,
    /// Parity that cannot be read is mended from the data alone, though its records go on counting.
    MendedWithoutRecords,
    /// A record that stands in two places counts twice.
    RecordCountsTwice,
    /// Records from before they were folded into the parity count again.
    AppliedRecordsCount,
    /// A log that was lost is forgotten, and its region not resynced.
    LostLogNotResynced,
    /// What an opening has given up is read before that is recorded.
    GivenUpReadAtOnce,
    /// A durable write to an array without a member is answered before the parity that holds it is
    /// flushed.
    DegradedDurableNotFlushed,
    /// A flush of an array without a member passes by what its logs hold.
    DegradedFlushBeforeParity,
    /// A commit log that has lost entries is taken for what is left of it.
    LostEntriesIgnored,
    /// A region's log that has lost records is taken for what is left of it.
    MissingRecordsIgnored,
    /// What is read of a log is folded into the parity unseen.
    PayloadsUnverified,
    /// After a crash, what is none of what was written is left as it is.
    UnlikeSectorsKept,
    /// A commit log forgets records before a table counts on the segment that holds them.
    RecordsForgottenBeforeTable,
    /// A member whose own metadata is older than the others' is believed.
    OlderMemberBelieved,
    /// A new member gets map, table and list in one of their banks only.
    JoiningMemberInformedOnce,
    /// What finds no room for its metadata is served on.
    UnrecordedServedOn,
    /// A reintegration that found no memory or space gives its log up.
    LogGivenUpForSpace,
    /// The engine asks the kernel for no write to be durable.
    #[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "it is the engine's"))]
    SyncFlagDropped,
    /// The engine asks the kernel for no flush.
    #[cfg_attr(not(feature = "planted-bugs"), expect(dead_code, reason = "it is the engine's"))]
    MemberFlushSkipped,
}

#[cfg(feature = "planted-bugs")]
impl Bug {
    /// Bugs that cases on an array in peace find.
    pub const ALL: [Bug; 2] = [Bug::ParityRotatesAstray, Bug::AlwaysModifies];
    /// Bugs that need faults to be found.
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
    /// Bugs of what cannot be read, once or twice, after a crash.
    pub const OF_STUTTERS: [Bug; 2] = [Bug::UncomparedBelieved, Bug::TableBeforeList];
    /// Bugs of logs that are damaged.
    pub const OF_DAMAGE: [Bug; 5] = [
        Bug::LostEntriesIgnored,
        Bug::MissingRecordsIgnored,
        Bug::PayloadsUnverified,
        Bug::UnlikeSectorsKept,
        Bug::RecordsForgottenBeforeTable,
    ];
    /// Bugs of members that are older than the others.
    pub const OF_OLDER_MEMBERS: [Bug; 2] = [Bug::OlderMemberBelieved, Bug::JoiningMemberInformedOnce];
    /// Bugs of what finds no room or memory.
    pub const OF_SHORTAGES: [Bug; 2] = [Bug::UnrecordedServedOn, Bug::LogGivenUpForSpace];
    /// Bugs of what a member that is away misses.
    pub const OF_ABSENCE: [Bug; 1] = [Bug::ResyncNotMissed];
    /// Bugs for which a few writes, cut off everywhere, are enough.
    pub const OF_CUTS: [Bug; 4] =
        [Bug::FlushDoesNothing, Bug::WritesBeforeDirtyBit, Bug::GivenUpReadAtOnce, Bug::ZeroedBeforeRecord];
    /// Bugs of members that are excluded while parity is written.
    pub const OF_EXCLUSION: [Bug; 1] = [Bug::AppliedBeforeExclusion];
    /// Bugs that take away what makes something durable before something else: power has to be
    /// pulled to find them.
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

    /// Plants `bug` in all arrays of this process, in place of the one before.
    pub fn plant(bug: Option<Bug>) {
        PLANTED.store(bug.map_or(0, |bug| bug as u8), Ordering::SeqCst);
    }

    /// Whether `bug` is there.
    pub fn is_planted(bug: Bug) -> bool {
        PLANTED.load(Ordering::Relaxed) == bug as u8
    }
}

#[cfg(feature = "planted-bugs")]
pub use chosen::{is_planted, plant};

/// No bug is there.
#[cfg(not(feature = "planted-bugs"))]
pub(crate) const fn is_planted(_: Bug) -> bool {
    false
}
