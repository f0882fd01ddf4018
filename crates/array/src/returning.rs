//! Returning members: the array remembers by region what an absent member may lack, and rebuilds
//! only these regions when the member returns.
//!
//! A member that was whole when it was excluded holds all data that was durable on it then. Data
//! that was not durable is in regions that were dirty. Data that it has missed since is in regions
//! that were entered since, or are resynced without it. All these regions are marked *out of sync*
//! in the bitmap; a region that is written to is marked before the write. The marks are cleared
//! only when the superblocks record that no such member is absent any more.

use parlour_units::{Member, Region, Slot, Stripe};

use crate::array::Array;
use crate::assembly::{Assembly, Verdict};
use crate::format::banks::Banks;
use crate::format::bitmap::{Bits, StoredBitmap};
use crate::format::superblock::{EntryState, Superblock};
use crate::identity::Identity;
use crate::metadata::Records;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};
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
        | EntryState::Failed
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
    if !is_planted(Bug::ResyncNotMissed) {
        map.out_of_sync.merge(&map.resync);
    }
}

impl Array {
    /// The slot to which the member with this superblock and these bitmaps may return; then only
    /// regions that are out of sync are rebuilt. It must have been whole when it was excluded from
    /// that slot, must not have been used elsewhere since, and must not be a copy that was taken
    /// earlier. On success its identity is the one of its superblock. The caller reads
    /// [`Geometry::bitmap_at`](crate::Geometry::bitmap_at).
    pub fn may_return(&self, superblock: &Superblock, bitmaps: &Banks) -> Option<Slot> {
        let regions = self.cx.geometry.layout().region_count();
        let roster = &self.cx.roster;
        let mut absent = roster.slots().filter(|slot| roster.state(*slot) == SlotState::Failed);
        let slot = absent.find(|slot| {
            let is = |kept: Kept| kept.is(superblock) && !kept.is_newer(superblock, bitmaps, regions);
            roster.identity(*slot) == superblock.member && roster.keeps(*slot).is_some_and(is)
        })?;
        (superblock.array == self.cx.identity).then_some(slot)
    }

    /// The array's identity, if some absent member may return.
    pub fn awaits_return(&self) -> Option<Identity> {
        let roster = &self.cx.roster;
        let absent = |slot: Slot| roster.state(slot) == SlotState::Failed && roster.keeps(slot).is_some();
        let awaits = self.mode() == Mode::Serving && roster.slots().any(absent);
        awaits.then_some(self.cx.identity)
    }

    /// The identity of `member`, whether or not it still stands in a slot.
    pub fn identity_of(&self, member: Member) -> Option<Identity> {
        self.cx.roster.has_number(member).then(|| self.cx.roster.info(member).identity)
    }

    /// The member in `slot` is about to be excluded. It may return if its content is still trusted.
    pub(crate) fn note_may_return(&mut self, slot: Slot, cause: FailureCause) {
        let trusted = match cause {
            FailureCause::Gone | FailureCause::Asked => true,
            FailureCause::Errors
            | FailureCause::Unfaithful
            | FailureCause::Truncated
            | FailureCause::Older => false,
        };
        let roster = &mut self.cx.roster;
        let whole = roster.state(slot) == SlotState::Active || roster.keeps(slot).is_some();
        let Records { session_number, recorded, .. } = &self.records;
        let (session, sequence) = (self.records.last_completed(), self.records.sequence());
        let kept = Kept::new(session, sequence, *session_number, recorded.map);
        let kept = kept.filter(|_| whole && trusted && self.cx.tuning.bitmap && self.records.enabled);
        roster.remember(slot, kept);
        if kept.is_none() {
            return;
        }
        let records = &mut self.records;
        if !is_planted(Bug::UnflushedNotMissed) {
            records.out_of_sync.merge(&records.dirty);
        }
        if !is_planted(Bug::ResyncNotMissed) {
            records.out_of_sync.merge(&records.resync);
        }
        records.want_bitmap();
    }

    /// A member that had to be kept could not flush the dirty regions: if it becomes absent later,
    /// it lacks that data.
    pub(crate) fn note_unflushed(&mut self) {
        let records = &mut self.records;
        records.out_of_sync.merge(&records.dirty);
        records.want_bitmap();
    }

    /// Absent members will miss what is written in `region`.
    pub(crate) fn note_out_of_sync(&mut self, region: Region) {
        if self.cx.roster.awaits_members() && !is_planted(Bug::ResyncNotMissed) {
            self.records.out_of_sync.set(region);
        }
    }

    /// Clears the marks once no such member is absent and superblocks record that. (If the array is
    /// being stopped, the next opening clears them.)
    pub(crate) fn forget_out_of_sync(&mut self) {
        let recorded = self.records.written == self.records.wanted && self.cx.mode == Mode::Serving;
        let awaits = self.cx.roster.awaits_members() || self.cx.roster.has_lost_writes();
        if recorded && !awaits && self.records.out_of_sync.count() > 0 {
            self.records.out_of_sync = Bits::new(self.cx.geometry.layout().region_count());
            self.records.want_bitmap();
        }
    }

    /// The rebuild of a returning member skips the regions that it still holds.
    pub(crate) fn skip_what_was_kept(&mut self, slot: Slot) {
        if !self.cx.roster.is_returning(slot) {
            return;
        }
        let layout = self.cx.geometry.layout();
        let misses = |region: u32| self.records.out_of_sync.get(Region::new(region));
        loop {
            let next = Stripe::new(self.cx.roster.rebuilt(slot).next());
            if next.get() == layout.stripes() {
                return;
            }
            let (mut regions, end) = layout.regions_beside(next);
            let to = match regions.any(misses) {
                true if misses(layout.region_of(next).0.get()) => return,
                true => next.get() + 1,
                false => end,
            };
            self.cx.roster.rebuilt_mut(slot).skip_to(to);
        }
    }
}
