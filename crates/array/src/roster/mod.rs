//! The roster: which members are in which slots, and their state.
//!
//! A *slot* is a column of the layout, or for a journal device; a *member* is a device, as the
//! driver numbered it. They have the same number until a spare or a replacement takes a failed
//! member's slot.
//!
//! The roster holds facts and decides nothing: `maintenance/membership.rs` decides which member is
//! excluded.

pub(crate) mod epoch;
pub(crate) mod floating;
mod journals;
pub(crate) mod kept;
pub(crate) mod listed;
mod member;
pub(crate) mod moves;
mod occupancy;
mod placement;
pub(crate) mod places;
mod slots;
mod traffic;

use parlour_units::{Member, Sector, Sectors, Slot, Stripe, Unit};

use self::epoch::Epoch;
use self::floating::Floats;
use self::kept::Kept;
use self::listed::ListedBlocks;
use self::member::MemberRecord;
pub use self::member::{MemberInfo, Traffic};
use self::moves::Moves;
use self::places::{Now, Places};
use self::slots::SlotRecord;
pub(crate) use self::slots::{Role, SlotState};
use crate::code::UnitSet;
use crate::effect::Action;
use crate::format::bad_block_log::{Cause, Full};
use crate::frontier::Frontier;
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::plan::StripeView;

/// A slot at the opening.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// The member in it, if it is there.
    pub(crate) info: Option<MemberInfo>,
    pub(crate) state: SlotState,
    /// The identity of its member, or of the last one.
    pub(crate) identity: Identity,
    /// See [`SlotRecord::keeps`].
    pub(crate) keeps: Option<Kept>,
    /// What the slot is for.
    pub(crate) role: Role,
}

/// The number of members that can be numbered from one opening to the next; no member has this
/// number itself.
const NUMBERS: usize = u16::MAX as usize;

/// Slots and members.
#[derive(Debug)]
pub(crate) struct Roster {
    slots: Vec<SlotRecord>,
    /// By number.
    members: Vec<Option<MemberRecord>>,
    spares: Vec<Member>,
    degraded: bool,
    /// See [`Roster::lacks_any`].
    lacks_any: bool,
    /// Whether members that may return are absent, or are returning.
    awaits: bool,
    /// Counts changes of slots' states.
    changes: u64,
    /// Counts how often a member took a slot.
    turn: u64,
    /// The current places of units, if units float.
    floats: Option<Floats>,
    /// The slots whose units are in spare room.
    moves: Moves,
    /// See [`Roster::room_since`].
    room_since: u64,
    /// The bad-block log.
    listed: ListedBlocks,
}

impl Roster {
    pub(crate) fn new(
        slots: Vec<Standing>,
        spares: Vec<MemberInfo>,
        floats: Option<Floats>,
        moves: Moves,
        listed: ListedBlocks,
    ) -> Roster {
        let mut roster = Roster {
            slots: Vec::new(),
            members: Vec::new(),
            spares: Vec::new(),
            degraded: false,
            lacks_any: false,
            awaits: false,
            changes: 0,
            turn: 0,
            floats,
            moves,
            room_since: 0,
            listed,
        };
        for (index, Standing { info, state, identity, keeps, role }) in slots.into_iter().enumerate() {
            let member = info.as_ref().map(|_| Member::new(index as u16));
            roster.members.push(info.map(MemberRecord::new));
            let state = if member.is_some() { state } else { SlotState::Failed };
            roster.slots.push(SlotRecord {
                member,
                state,
                identity,
                since: 0,
                keeps,
                rebuilt: Frontier::default(),
                role,
            });
        }
        for info in spares {
            let member = roster.add(info);
            roster.spares.push(member);
        }
        roster.review();
        roster
    }

    /// The blocks on the bad-block log.
    pub(crate) fn listed(&self) -> &ListedBlocks {
        &self.listed
    }

    /// Puts blocks on the bad-block log. Returns whether any of them is new.
    pub(crate) fn list(
        &mut self,
        cause: Cause,
        slot: Slot,
        at: Sector,
        length: Sectors,
    ) -> Result<bool, Full> {
        self.listed.insert(cause, slot, at, length)
    }

    /// A host has written to these sectors: blocks that were lost come off the bad-block log.
    /// Returns whether any did.
    pub(crate) fn note_replaced(&mut self, slot: Slot, at: Sector, length: Sectors) -> bool {
        self.listed.remove(Cause::Lost, slot, at, length)
    }

    /// Takes the state of each member's superblocks, in the order of numbers: the copy to write
    /// first, and the session that they name.
    pub(crate) fn note_superblocks(&mut self, found: impl Iterator<Item = Option<(usize, Epoch)>>) {
        for (record, found) in self.members.iter_mut().zip(found) {
            if let (Some(record), Some((worse_copy, epoch))) = (record, found) {
                (record.worse_copy, record.epoch) = (worse_copy, epoch);
            }
        }
    }

    /// Whether there is a number for another member. A number is never given twice, because
    /// accesses to the earlier member may still be under way.
    pub(crate) fn can_number(&self) -> bool {
        self.members.len() < NUMBERS
    }

    /// Numbers a new member.
    ///
    /// # Panics
    /// If [`Roster::can_number`] is false.
    pub(crate) fn add(&mut self, info: MemberInfo) -> Member {
        assert!(self.can_number(), "members are numbered in 16 bits");
        self.members.push(Some(MemberRecord::new(info)));
        Member::new(self.members.len() as u16 - 1)
    }

    /// Whether some member's slot is not active.
    pub(crate) fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// Whether some member's slot lacks units, on a member there and in spare room.
    pub(crate) fn lacks_any(&self) -> bool {
        self.lacks_any
    }

    fn slot(&self, slot: Slot) -> &SlotRecord {
        &self.slots[slot.as_usize()]
    }

    fn slot_mut(&mut self, slot: Slot) -> &mut SlotRecord {
        &mut self.slots[slot.as_usize()]
    }

    /// All slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> + use<> {
        (0..self.slots.len() as u16).map(Slot::new)
    }

    /// Must be called after a slot's state has changed.
    fn review(&mut self) {
        self.changes += 1;
        let inactive = || self.slots.iter().filter(|slot| slot.state != SlotState::Active);
        self.awaits = inactive().any(|slot| slot.keeps.is_some());
        self.degraded = inactive().any(|slot| slot.role == Role::Member);
        let members = self.slots().filter(|slot| self.slot(*slot).role == Role::Member);
        self.lacks_any = members.into_iter().any(|slot| self.lacks_units(slot));
    }

    /// Whether members that may return are absent, or are returning: the regions that they miss
    /// must be marked.
    pub(crate) fn awaits_members(&self) -> bool {
        self.awaits
    }

    /// Whether the member in `slot` is returning: only regions that are out of sync are rebuilt.
    pub(crate) fn is_returning(&self, slot: Slot) -> bool {
        let record = &self.slots[slot.as_usize()];
        record.state == SlotState::Rebuilding && record.keeps.is_some()
    }

    pub(crate) fn state(&self, slot: Slot) -> SlotState {
        self.slots[slot.as_usize()].state
    }

    /// The member in `slot`, if it is believed.
    pub(crate) fn member_at(&self, slot: Slot) -> Option<Member> {
        self.slot(slot).believed()
    }

    /// The same, for a plan that was made at `turn`.
    pub(crate) fn member_since(&self, slot: Slot, turn: u64) -> Option<Member> {
        self.member_at(slot).filter(|_| self.slots[slot.as_usize()].since <= turn)
    }

    /// Whether every member's slot is active, and no member has taken a slot after `turn`.
    pub(crate) fn is_whole_since(&self, turn: u64) -> bool {
        !self.degraded && self.turn <= turn
    }

    /// The slot of `member`, if it is in a slot and is believed.
    pub(crate) fn slot_of(&self, member: Member) -> Option<Slot> {
        let slots = self.slots();
        slots.into_iter().find(|slot| self.member_at(*slot) == Some(member))
    }

    /// Whether `member` is in a slot and is believed, or is a spare: no other member is written to.
    pub(crate) fn stands(&self, member: Member) -> bool {
        self.slot_of(member).is_some() || self.spares.contains(&member)
    }

    /// All slots with believed members, with the members.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (Slot, Member)> + '_ {
        let slots = (0..self.slots.len() as u16).map(Slot::new);
        slots.filter_map(|slot| Some((slot, self.member_at(slot)?)))
    }

    fn record(&mut self, member: Member) -> Option<&mut MemberRecord> {
        self.members.get_mut(member.as_usize())?.as_mut()
    }

    fn member(&self, member: Member) -> Option<&MemberRecord> {
        self.members.get(member.as_usize())?.as_ref()
    }

    /// Whether the member in `slot`, if it is believed, answers.
    pub(crate) fn answers(&self, slot: Slot) -> bool {
        let record = self.member_at(slot).and_then(|member| self.member(member));
        record.is_none_or(|record| !record.is_silent)
    }

    /// Whether a flush of a standing member has failed.
    pub(crate) fn has_lost_writes(&self) -> bool {
        self.standing().any(|(_, member)| self.member(member).is_some_and(|record| record.flush_failed))
    }

    /// Whether this is a flush of a member that failed to flush before and had to be kept. If it
    /// fails again that is no new failure, and the flush is not repeated without end.
    pub(crate) fn cannot_flush(&self, action: Action) -> bool {
        let Action::Flush { member } = action else { return false };
        self.member(member).is_some_and(|record| record.flush_failed)
    }

    /// Whether the member in `slot` holds what belongs there of `stripe`.
    pub(crate) fn readable(&self, slot: Slot, stripe: Stripe) -> bool {
        self.slot(slot).readable(stripe)
    }

    /// Where units are now.
    pub(crate) fn places<'a>(&'a self, geometry: &'a Geometry) -> Places<'a> {
        let (slots, moves, floats) = (&self.slots, &self.moves, self.floats.as_ref());
        Places::new(geometry.layout(), Now { slots, moves, floats })
    }

    /// Whether a job with the lock of `stripe`, or a direct read, can use `unit`.
    pub(crate) fn has(&self, geometry: &Geometry, stripe: Stripe, unit: Unit) -> bool {
        // (A stripe's lock is held while units of it are rebuilt or moved, so a job with the lock
        // finds that done or not begun.)
        !self.degraded || self.readable(self.places(geometry).slot(stripe, unit), stripe)
    }

    /// Whether units of `slot` are neither on a member there nor in spare room, or some of them.
    pub(crate) fn lacks_units(&self, slot: Slot) -> bool {
        self.state(slot) != SlotState::Active && !self.moves.is_whole(slot)
    }

    /// The units of `stripe` that a job with its lock cannot use.
    pub(crate) fn missing(&self, geometry: &Geometry, stripe: Stripe) -> UnitSet {
        if !self.degraded {
            return UnitSet::NONE;
        }
        geometry.layout().units().filter(|unit| !self.has(geometry, stripe, *unit)).collect()
    }

    /// The units of `stripe` that a resync computes: check units, or all copies but the first.
    /// `None` if data is missing that is needed for this.
    pub(crate) fn resync_targets(&self, geometry: &Geometry, stripe: Stripe) -> Option<UnitSet> {
        let layout = geometry.layout();
        let missing = self.missing(geometry, stripe);
        let mut present = layout.units().filter(|unit| !missing.has(*unit));
        if geometry.keeps_copies() {
            return present.next().map(|_first| present.collect());
        }
        let data_missing = layout.units().any(|unit| layout.is_data(unit) && missing.has(unit));
        (!data_missing).then(|| present.filter(|unit| !layout.is_data(*unit)).collect())
    }

    pub(crate) fn view<'a>(&'a self, geometry: &'a Geometry, stripe: Stripe) -> StripeView<'a> {
        let missing = self.missing(geometry, stripe);
        StripeView { geometry, stripe, missing, cached: &[], places: self.places(geometry), rebuilds: None }
    }

    /// Whether the data of `slot` could be had from the other members.
    pub(crate) fn can_lose(&self, geometry: &Geometry, slot: Slot) -> bool {
        let beside = |other: Slot| geometry.layout().share_stripes(slot, other);
        let lost = |other| other == slot || beside(other) && self.lacks_units(other);
        geometry.survives(lost, |other| self.moves.is_whole(other))
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::Sectors;

    use super::*;
    use crate::effect::Class;
    use crate::format::bad_block_log::BadBlockLog;

    /// Regression test. The 65,537th member had the number of the first: a rebuild went to the
    /// wrong disk.
    #[test]
    fn no_two_members_have_the_same_number() {
        let info = || MemberInfo { identity: Identity::NONE, length: Sectors::new(1), unmaps: false };
        let listed = ListedBlocks::new(BadBlockLog::new(Sectors::new(8), Sectors::new(64)));
        let mut roster = Roster::new(Vec::new(), Vec::new(), None, Moves::default(), listed);
        for number in 0..u16::MAX {
            assert!(roster.can_number());
            assert_eq!(roster.add(info()).get(), number);
        }
        assert!(!roster.can_number());
    }

    /// A roster whose slots have a member each.
    fn whole(slots: u8) -> Roster {
        let standing = |number| {
            let identity = Identity([number; 16]);
            let info = Some(MemberInfo { identity, length: Sectors::new(100), unmaps: false });
            Standing { info, state: SlotState::Active, identity, keeps: None, role: Role::Member }
        };
        let listed = ListedBlocks::new(BadBlockLog::new(Sectors::new(8), Sectors::new(64)));
        Roster::new((1..=slots).map(standing).collect(), Vec::new(), None, Moves::default(), listed)
    }

    #[test]
    fn a_change_of_a_slot_is_counted() {
        let mut roster = whole(2);
        let before = roster.changes();
        roster.fail(Slot::new(1));
        assert!(roster.changes() > before);
    }

    #[test]
    fn accesses_are_counted_for_their_member_and_class() {
        let mut roster = whole(2);
        let (member, at) = (Member::new(1), Sector::new(8));
        let read = Action::Read { member, at, length: Sectors::new(3) };
        let write = Action::Write { member, at, length: Sectors::new(5), durable: false };
        for (class, action) in [(Class::Scrub, read), (Class::Log, write), (Class::Log, write)] {
            roster.note_handed_out(class, action, member);
        }
        let mut expected = [Traffic::default(); 5];
        expected[Class::Scrub as usize] = Traffic { reads: 1, read: 3, ..Traffic::default() };
        expected[Class::Log as usize] = Traffic { writes: 2, written: 10, ..Traffic::default() };
        assert_eq!(roster.traffic_of(member), expected);
        assert_eq!(roster.traffic_of(Member::new(0)), [Traffic::default(); 5]);
    }
}
