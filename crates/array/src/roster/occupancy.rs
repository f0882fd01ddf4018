//! Members take a slot, are rebuilt there, and fail.

use parlour_units::{Member, Slot, Stripe};

use super::kept::Kept;
use super::{Roster, SlotState};
use crate::format::banks::Banks;
use crate::format::superblock::Superblock;
use crate::frontier::Frontier;
use crate::identity::Identity;

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

    /// The member in `slot` is whole.
    pub(crate) fn complete(&mut self, slot: Slot) {
        self.slot_mut(slot).state = SlotState::Active;
        self.review();
    }

    /// The progress of the rebuild of `slot`.
    pub(crate) fn rebuilt(&self, slot: Slot) -> &Frontier {
        &self.slot(slot).rebuilt
    }

    pub(crate) fn rebuilt_mut(&mut self, slot: Slot) -> &mut Frontier {
        &mut self.slot_mut(slot).rebuilt
    }

    /// The rebuild of `slot` continues at stripe `next`.
    pub(crate) fn rebuild_from(&mut self, slot: Slot, next: u64) {
        self.slot_mut(slot).rebuilt = Frontier::at(next);
    }

    /// Whether a job that rebuilds units of `stripe` was begun. (It may still be under way even if
    /// its member has failed since.)
    pub(crate) fn is_rebuilding(&self, stripe: Stripe) -> bool {
        self.slots.iter().any(|slot| slot.rebuilt.is_at(stripe))
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
