//! Why an administrator's command was refused.

use parlour_units::{Bytes, Slot};

/// Why a command was refused; the array is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AdminError {
    /// There is no such slot.
    #[error("the array has no {0}; members and journal devices are numbered from 0 to {1}")]
    NoSuchMember(Slot, u16),
    /// The array would lose data without this member.
    #[error("{0} cannot be failed: the array would lose data, because nothing can take over what it holds")]
    Needed(Slot),
    /// Some of the member's data is on no other member until a resync is done.
    #[error(
        "{slot} cannot be failed now: {regions} of {of} regions are still to be resynced, and what it holds of them can be \
         had from no other member; wait until the resync is done (parlour status shows how far it is), or use --force and \
         lose that"
    )]
    NotResynced {
        /// The member that was to be failed.
        slot: Slot,
        /// Regions of which data would be lost.
        regions: u32,
        /// All regions.
        of: u32,
    },
    /// Unreadable blocks of other members can only be computed with this member.
    #[error(
        "{slot} cannot be failed now: where {blocks} blocks of others cannot be read, nothing else says what it holds; write \
         these stripes anew (parlour status lists them), or use --force and lose that"
    )]
    NeededForUnreadable {
        /// The member that was to be failed.
        slot: Slot,
        /// Blocks that would be lost.
        blocks: u64,
    },
    /// The member is failed already.
    #[error("{0} is failed already")]
    AlreadyFailed(Slot),
    /// Only a failed member can be removed.
    #[error("{0} is active; fail it first")]
    StillActive(Slot),
    /// The new member is too small.
    #[error("a member of {has} is too small for this array: it needs {needs}")]
    TooSmall {
        /// Its length.
        has: Bytes,
        /// The least length.
        needs: Bytes,
    },
    /// The array has as many spares as it can record.
    #[error("the array has all the spares that it can record")]
    TooManySpares,
    /// The array has no slots for journal devices.
    #[error(
        "the array has no slots for journal devices: it has no journal, or was created without such slots; create it anew to \
         have them"
    )]
    NoJournalSlots,
    /// All slots for journal devices are taken.
    #[error(
        "all {0} slots for journal devices are taken; replace one of these, or fail and remove one first"
    )]
    JournalSlotsTaken(u16),
    /// Every number that a member can have is used up.
    #[error(
        "65535 members were numbered since the array was opened, and there is no number for another; restart the server"
    )]
    NumbersUsedUp,
    /// The array is read-only.
    #[error("the array is read-only")]
    ReadOnly,
    /// There is nothing to rebuild.
    #[error("nothing to rebuild: every member is active")]
    NothingToRebuild,
    /// There is no spare to rebuild onto.
    #[error("no spare to rebuild onto; add one, or replace the failed member")]
    NoSpare,
    /// A scrub is under way.
    #[error("a scrub is under way already; wait for its end, or cancel it")]
    ScrubUnderWay,
    /// No scrub is under way.
    #[error("no scrub is under way: there is nothing to cancel")]
    NoScrub,
    /// The organization has no redundancy to compare.
    #[error("this organization keeps no redundancy: there is nothing to scrub")]
    NothingToScrub,
    /// The organization does not support this repair.
    #[error("{0}")]
    WrongRepair(&'static str),
}
