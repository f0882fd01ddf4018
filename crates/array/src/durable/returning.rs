//! Returning members: the array remembers by region what an absent member may lack, and rebuilds
//! only these regions when the member returns.
//!
//! A member that was whole when it was excluded holds all data that was durable on it then. Data
//! that was not durable is in regions that were dirty. Data that it has missed since is in regions
//! that were entered since, or are resynced without it. All these regions are marked *out of sync*
//! in the bitmap; a region that is written to is marked before the write. The marks are cleared
//! only when the superblocks record that no such member is absent any more.
//!
//! A journal device never returns with what it holds: entries that it missed stand elsewhere, and
//! those that it holds may be forgotten.

use parlour_units::Slot;

use super::Durable;
use crate::assembly::{Assembly, Verdict};
use crate::context::Context;
use crate::format::bitmap::StoredBitmap;
use crate::format::superblock::{EntryState, Superblock};
use crate::roster::kept::Kept;
use crate::roster::{SlotState, Standing};
use crate::status::FailureCause;

/// What is remembered of the member of an entry: see
/// [`Roster::keeps`](crate::roster::Roster::keeps). An active member that is not there was whole
/// until its last session ended.
pub(crate) fn keeps(assembly: &Assembly, slot: u16) -> Option<Kept> {
    let superblock = &assembly.superblock;
    // A member that was truncated for a while, or whose metadata is older than it should be, has
    // lost data.
    let distrusted = [Verdict::Truncated(slot), Verdict::Older(slot)];
    if assembly.verdicts.iter().any(|verdict| distrusted.contains(verdict)) {
        return None;
    }
    if assembly.geometry.is_for_journal(Slot::new(slot)) {
        return None;
    }
    match superblock.table[usize::from(slot)].state {
        EntryState::Active | EntryState::Rebuilding { returning: true, .. } => {
            let Superblock { sequence, session_number, recorded, .. } = superblock;
            Kept::new(superblock.last_completed(), *sequence, *session_number, recorded.map)
        }
        EntryState::MayReturn { session, sequence, bitmaps } => {
            Some(Kept::from_entry(session, sequence, bitmaps))
        }
        EntryState::Rebuilding { returning: false, .. }
        | EntryState::Vacant
        | EntryState::Failed { .. }
        | EntryState::Spare => None,
    }
}

/// Absent members lack data that was not durable on them: dirty regions are marked out of sync. (If
/// all members are there, the marks are dropped as soon as superblocks record that.)
pub(crate) fn merge_out_of_sync(map: &mut StoredBitmap, standing: &[Standing]) {
    let inactive = |one: &Standing| one.state != SlotState::Active || one.info.is_none();
    if !standing.iter().any(|one| inactive(one) && one.keeps.is_some()) {
        return;
    }
    map.out_of_sync.merge(&map.dirty);
    // In these regions check units are computed without the absent member, and hosts may have read
    // other data than it holds.
    map.out_of_sync.merge(&map.resync);
}

impl Durable {
    /// The member in `slot` is about to be excluded. It may return if its content is still trusted.
    pub(crate) fn note_may_return(&mut self, cx: &mut Context, slot: Slot, cause: FailureCause) {
        let trusted = match cause {
            FailureCause::Gone | FailureCause::Asked => true,
            FailureCause::Errors
            | FailureCause::Unfaithful
            | FailureCause::Truncated
            | FailureCause::Older => false,
        };
        let roster = &mut cx.roster;
        let whole = roster.state(slot) == SlotState::Active || roster.keeps(slot).is_some();
        let superblocks = &self.superblocks;
        let kept = Kept::new(
            superblocks.last_completed(),
            superblocks.sequence(),
            superblocks.session_number(),
            superblocks.recorded().map,
        );
        let holds_data = !cx.geometry.is_for_journal(slot);
        let kept = kept.filter(|_| holds_data && whole && trusted && cx.tuning.bitmap && cx.writes);
        roster.remember(slot, kept);
        if kept.is_some() {
            self.bitmap.note_may_return();
        }
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::Region;

    use super::*;
    use crate::format::bitmap::Bits;
    use crate::identity::Identity;
    use crate::roster::Role;

    #[test]
    fn regions_are_marked_out_of_sync_for_an_absent_member_that_may_return_alone() {
        let (dirty, resync) = (Region::new(1), Region::new(2));
        let mut found = StoredBitmap {
            sequence: 1,
            dirty: Bits::new(4),
            resync: Bits::new(4),
            out_of_sync: Bits::new(4),
        };
        found.dirty.set(dirty);
        found.resync.set(resync);
        let kept = Some(Kept::from_entry(1, 1, 1));
        let cases = [
            (SlotState::Failed, kept, vec![dirty, resync]),
            (SlotState::Failed, None, vec![]),
            (SlotState::Active, None, vec![]),
        ];
        for (state, keeps, expected) in cases {
            let (identity, role) = (Identity::NONE, Role::Member);
            let standing = Standing { info: None, state, identity, keeps, role };
            let mut map = found.clone();
            merge_out_of_sync(&mut map, &[standing]);
            let marked: Vec<Region> = map.out_of_sync.iter().collect();
            assert_eq!(marked, expected, "{state:?} {keeps:?}");
        }
    }
}
