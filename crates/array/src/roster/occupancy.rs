//! Members take a slot, are rebuilt there, and fail.

use parlour_units::{Member, Sector, Slot, Stripe};

use super::kept::Kept;
use super::{Roster, SlotState};
use crate::format::bad_block_log::Cause;
use crate::format::banks::Banks;
use crate::format::superblock::Superblock;
use crate::frontier::Frontier;
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::layout::{Location, Occupant};

impl Roster {
    /// The turn for plans that are made now: members that take a slot later are not addressed by
    /// them.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// The number of changes of slots' states so far.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// The identity of the member in `slot`, or of the last one.
    pub(crate) fn identity(&self, slot: Slot) -> Identity {
        self.slot(slot).identity
    }

    /// The turn at which the member in `slot` took it.
    pub(crate) fn since(&self, slot: Slot) -> u64 {
        self.slot(slot).since
    }

    /// What is remembered of the member of `slot`, if it is not active and may return.
    pub(crate) fn keeps(&self, slot: Slot) -> Option<Kept> {
        self.slot(slot).keeps
    }

    /// The member in `slot`, believed or not.
    pub(crate) fn occupant(&self, slot: Slot) -> Option<Member> {
        self.slot(slot).member
    }

    /// The failed slot whose remembered member has this superblock and these bitmaps, in the state
    /// in which it was last seen.
    pub(crate) fn absent_slot_of(
        &self,
        superblock: &Superblock,
        bitmaps: &Banks,
        regions: u32,
    ) -> Option<Slot> {
        let is = |kept: Kept| kept.is(superblock) && !kept.is_newer(superblock, bitmaps, regions);
        let mut absent = self.slots().filter(|slot| self.state(*slot) == SlotState::Failed);
        absent.find(|slot| self.identity(*slot) == superblock.member && self.keeps(*slot).is_some_and(is))
    }

    /// The member in `slot` is about to be failed; `keeps` is remembered of it.
    pub(crate) fn remember(&mut self, slot: Slot, keeps: Option<Kept>) {
        self.slot_mut(slot).keeps = keeps;
    }

    /// The member in `slot` is no longer believed.
    pub(crate) fn fail(&mut self, slot: Slot) {
        self.slot_mut(slot).state = SlotState::Failed;
        self.review();
    }

    /// Removes the failed member from `slot`. Its identity is remembered only if it may return.
    pub(crate) fn vacate(&mut self, slot: Slot) -> Option<Member> {
        let record = self.slot_mut(slot);
        if record.keeps.is_none() {
            record.identity = Identity::NONE;
        }
        record.member.take()
    }

    /// `member` takes `slot`, and is to be rebuilt.
    pub(crate) fn occupy(&mut self, slot: Slot, member: Member) {
        let identity = self.info(member).identity;
        self.turn += 1;
        let turn = self.turn;
        let record = self.slot_mut(slot);
        if identity != record.identity {
            record.keeps = None;
        }
        record.since = turn;
        record.member = Some(member);
        record.identity = identity;
        record.state = SlotState::Rebuilding;
        record.rebuilt = Frontier::default();
        self.review();
    }

    /// The member in `slot` is whole; or all its units are in spare room, if there is none.
    pub(crate) fn complete(&mut self, slot: Slot) {
        let failed = self.state(slot) == SlotState::Failed;
        match self.moves.of_mut(slot) {
            Some(moved) if failed => moved.whole = true,
            _ => self.slot_mut(slot).state = SlotState::Active,
        }
        self.review();
    }

    /// Whether the rebuild of `slot`, if there is one, moves its units into spare room.
    pub(crate) fn is_moving(&self, slot: Slot) -> bool {
        self.state(slot) == SlotState::Failed && self.moves.of(slot).is_some_and(|moved| !moved.whole)
    }

    /// Whether all units of `slot` are in spare room, which is needed until a member holds them.
    pub(crate) fn is_moved(&self, slot: Slot) -> bool {
        self.moves.is_whole(slot)
    }

    /// The slots whose units are in spare room, or are being moved there.
    pub(crate) fn moved_slots(&self) -> impl Iterator<Item = Slot> + '_ {
        self.moves.slots()
    }

    /// The units of failed `slot` are moved into spare room, from stripe `next` on. Plans that were
    /// made before do not know that.
    pub(crate) fn begin_move(&mut self, slot: Slot, next: u64) {
        assert_eq!(self.state(slot), SlotState::Failed, "what is on a member stays there");
        self.turn += 1;
        self.slot_mut(slot).since = self.turn;
        self.moves.begin(slot, next);
        self.review();
    }

    /// The units of `slot` are at home, and superblocks record that.
    pub(crate) fn end_move(&mut self, geometry: &Geometry, slot: Slot) {
        if self.moves.of(slot).is_none() {
            return;
        }
        self.moves.end(slot);
        self.unlist_spare_room(geometry, slot);
        // Reads that were planned before may still be under way in spare places.
        self.turn += 1;
        self.room_since = self.turn;
        self.review();
    }

    /// Nothing is in the spare places of the group of `slot` any more that could be unreadable.
    fn unlist_spare_room(&mut self, geometry: &Geometry, slot: Slot) {
        let layout = geometry.layout();
        let is_spare = |(other, at): &(Slot, Sector)| {
            let at = Sector::ZERO + (*at - geometry.data_start());
            let spare = matches!(layout.occupant(Location { slot: *other, at }), Occupant::Spare { .. });
            spare && layout.group_of_slot(*other) == layout.group_of_slot(slot)
        };
        let listed: Vec<(Slot, Sector)> = self.listed.blocks(Cause::Unreadable).filter(is_spare).collect();
        for (slot, at) in listed {
            self.listed.remove(Cause::Unreadable, slot, at, geometry.block());
        }
    }

    /// The failed slot that is to be moved next. (No other one of its group is.)
    pub(crate) fn slot_to_move(&self, geometry: &Geometry) -> Option<Slot> {
        if geometry.layout().spares() == 0 {
            return None;
        }
        let group = |slot: Slot| geometry.layout().group_of_slot(slot);
        let has_room = |slot: &Slot| self.moves.slots().all(|moved| group(moved) != group(*slot));
        let failed = |slot: &Slot| self.state(*slot) == SlotState::Failed && has_room(slot);
        (0..geometry.members()).map(Slot::new).find(failed)
    }

    /// The failed slot that a spare takes next, if there is a spare.
    pub(crate) fn slot_for_spare(&self, geometry: &Geometry) -> Option<Slot> {
        if self.spares.is_empty() {
            return None;
        }
        let takes = |slot: &Slot| self.state(*slot) == SlotState::Failed && !self.is_moving(*slot);
        let failed = (0..geometry.members()).map(Slot::new).filter(takes);
        failed.min_by_key(|slot| (!self.lacks_units(*slot), *slot))
    }

    /// The turn since which spare places are free: plans that were made before may read them.
    pub(crate) fn room_since(&self) -> u64 {
        self.room_since
    }

    /// Whether a rebuild of `slot` that began at turn `since` is still under way.
    pub(crate) fn is_rebuilt_since(&self, slot: Slot, since: u64) -> bool {
        match self.is_moving(slot) {
            true => self.since(slot) == since,
            false => self.member_since(slot, since).is_some(),
        }
    }

    /// The progress of the rebuild of `slot`.
    pub(crate) fn rebuilt(&self, slot: Slot) -> &Frontier {
        match self.moves.of(slot) {
            Some(moved) if self.state(slot) == SlotState::Failed => &moved.frontier,
            _ => &self.slot(slot).rebuilt,
        }
    }

    pub(crate) fn rebuilt_mut(&mut self, slot: Slot) -> &mut Frontier {
        let failed = self.state(slot) == SlotState::Failed;
        match self.moves.of_mut(slot) {
            Some(moved) if failed => &mut moved.frontier,
            _ => &mut self.slots[slot.as_usize()].rebuilt,
        }
    }

    /// The rebuild of `slot` continues at stripe `next`.
    pub(crate) fn rebuild_from(&mut self, slot: Slot, next: u64) {
        *self.rebuilt_mut(slot) = Frontier::at(next);
    }

    /// Whether a job that rebuilds units of `stripe` was begun. (It may still be under way even if
    /// its member has failed since.)
    pub(crate) fn is_rebuilding(&self, stripe: Stripe) -> bool {
        self.moves.is_at(stripe) || self.slots.iter().any(|slot| slot.rebuilt.is_at(stripe))
    }

    /// Spares, in the order in which they are taken.
    pub(crate) fn spares(&self) -> &[Member] {
        &self.spares
    }

    pub(crate) fn add_spare(&mut self, member: Member) {
        self.spares.push(member);
    }

    /// `member` is no longer a spare. Returns whether it was one.
    pub(crate) fn drop_spare(&mut self, member: Member) -> bool {
        let before = self.spares.len();
        self.spares.retain(|spare| *spare != member);
        self.spares.len() < before
    }

    /// Removes and returns the spare that takes the next slot.
    ///
    /// # Panics
    /// If there is none.
    pub(crate) fn take_spare(&mut self) -> Member {
        self.spares.remove(0)
    }
}
