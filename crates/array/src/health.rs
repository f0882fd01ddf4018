//! Which members stand where, and how they are.
//!
//! A *slot* is a column of the layout; a *member* is a device, as the driver numbered it. They are
//! the same number until a spare or a replacement takes a failed member's slot.

use parlour_units::{Member, Sector, Sectors, Slot, Stripe};

use crate::assembly::Assembly;
use crate::effect::{Action, Class};
use crate::errors::RecentErrors;
use crate::fence::Epoch;
use crate::frontier::Frontier;
use crate::geometry::Geometry;
use crate::identity::Identity;
use crate::plan::{StripeView, UnitSet};
use crate::planted::{Bug, is_planted};
use crate::returning::Kept;

/// How the member in a slot stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// It holds all that it should.
    Active,
    /// It holds what it should in the stripes that are rebuilt: see [`Health::rebuilt`].
    Rebuilding,
    /// There is none, or it is not believed.
    Failed,
}

/// A member as the driver gave it.
#[derive(Clone, Debug)]
pub struct MemberInfo {
    /// Its identity, as in its superblock.
    pub identity: Identity,
    /// Its length.
    pub length: Sectors,
    /// Whether zeroed ranges give their space back and surely read as zeroes.
    pub unmaps: bool,
}

/// How a slot is at the opening.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    /// The member in it, if it is there.
    pub(crate) info: Option<MemberInfo>,
    pub(crate) state: SlotState,
    /// Who stands in it, or stood in it last.
    pub(crate) identity: Identity,
    /// See [`SlotRecord::keeps`].
    pub(crate) keeps: Option<Kept>,
}

/// What went to and from a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Reads.
    pub reads: u64,
    /// Sectors read.
    pub read: u64,
    /// Writes.
    pub writes: u64,
    /// Sectors written.
    pub written: u64,
    /// Flushes.
    pub flushes: u64,
}

#[derive(Debug)]
pub(crate) struct MemberRecord {
    pub(crate) info: MemberInfo,
    /// Accesses handed out and not answered.
    pub(crate) queue: u32,
    /// Where the last access ended.
    pub(crate) head: Sector,
    /// Whether a write was answered since its last flush began.
    pub(crate) unflushed: bool,
    /// Flushes under way.
    pub(crate) flushing: u32,
    /// A flush failed, and the member had to be kept: what it was to make durable is lost perhaps,
    /// and a later flush that succeeds would not say so.
    pub(crate) flush_failed: bool,
    /// Read errors since it came.
    pub(crate) errors: u32,
    pub(crate) recent_errors: RecentErrors,
    /// By class.
    pub(crate) traffic: [Traffic; 5],
    /// Which copy of the superblock is written first: the one that is damaged or older at the
    /// opening, so that a sound one is left at any time.
    pub(crate) worse_copy: usize,
    /// Whose session its superblocks name.
    pub(crate) epoch: Epoch,
}

#[derive(Debug)]
pub(crate) struct SlotRecord {
    pub(crate) member: Option<Member>,
    pub(crate) state: SlotState,
    /// Who stands here, or stood here last.
    pub(crate) identity: Identity,
    /// The turn at which this member came to stand here: plans made before are not for it.
    pub(crate) since: u64,
    /// Where the member is not active: but for regions that the map calls missed it holds what it
    /// should.
    pub(crate) keeps: Option<Kept>,
}

/// As many members are numbered from one opening to the next; the number behind them is no
/// member's.
const NUMBERS: usize = u16::MAX as usize;

/// Places and members.
#[derive(Debug)]
pub(crate) struct Health {
    pub(crate) slots: Vec<SlotRecord>,
    pub(crate) members: Vec<Option<MemberRecord>>,
    pub(crate) spares: Vec<Member>,
    degraded: bool,
    /// Whether members are away that may return, or are returning.
    awaits: bool,
    /// Stripes that the one member that is being rebuilt holds.
    pub(crate) rebuilt: Frontier,
    /// Counts changes of slots' states.
    pub(crate) changes: u64,
    /// Counts members that came to stand in a slot.
    pub(crate) turn: u64,
}

impl Health {
    pub(crate) fn new(slots: Vec<Standing>, spares: Vec<MemberInfo>) -> Health {
        let mut health = Health {
            slots: Vec::new(),
            members: Vec::new(),
            spares: Vec::new(),
            degraded: false,
            awaits: false,
            rebuilt: Frontier::default(),
            changes: 0,
            turn: 0,
        };
        for (index, Standing { info, state, identity, keeps }) in slots.into_iter().enumerate() {
            let member = info.as_ref().map(|_| Member::new(index as u16));
            health.members.push(info.map(MemberRecord::new));
            let state = if member.is_some() { state } else { SlotState::Failed };
            health.slots.push(SlotRecord { member, state, identity, since: 0, keeps });
        }
        for info in spares {
            let member = health.add(info);
            health.spares.push(member);
        }
        health.review();
        health
    }

    /// Each member's superblocks are written in the order that leaves a sound one.
    pub(crate) fn begin_with_worse_copies(&mut self, assembly: &Assembly) {
        let candidates = assembly.slots.iter().copied().chain(assembly.spares.iter().copied().map(Some));
        for (record, candidate) in self.members.iter_mut().zip(candidates) {
            if let (Some(record), Some(candidate)) = (record, candidate) {
                let sound = assembly.copies[candidate];
                record.worse_copy = if is_planted(Bug::SoundSuperblockFirst) { sound } else { 1 - sound };
                record.epoch = assembly.epochs[candidate];
            }
        }
    }

    /// Whether there is a number for another member. A number is never given twice: accesses of the
    /// one before may still be under way.
    pub(crate) fn can_number(&self) -> bool {
        self.members.len() < NUMBERS
    }

    /// Numbers a new member.
    ///
    /// # Panics
    /// Where [`Health::can_number`] says no.
    pub(crate) fn add(&mut self, info: MemberInfo) -> Member {
        assert!(self.can_number(), "members are numbered in 16 bits");
        self.members.push(Some(MemberRecord::new(info)));
        Member::new(self.members.len() as u16 - 1)
    }

    /// Whether some slot is not active.
    pub(crate) fn is_degraded(&self) -> bool {
        self.degraded
    }

    /// To be called after a slot's state has changed.
    pub(crate) fn review(&mut self) {
        self.changes += 1;
        let inactive = || self.slots.iter().filter(|slot| slot.state != SlotState::Active);
        self.awaits = inactive().any(|slot| slot.keeps.is_some());
        self.degraded = inactive().next().is_some();
    }

    /// Whether members are away that may return, or are returning: what they miss is to be
    /// remembered.
    pub(crate) fn awaits_members(&self) -> bool {
        self.awaits
    }

    /// Whether the member in `slot` is being rebuilt in what it has missed only.
    pub(crate) fn is_returning(&self, slot: Slot) -> bool {
        let record = &self.slots[slot.as_usize()];
        record.state == SlotState::Rebuilding && record.keeps.is_some()
    }

    pub(crate) fn state(&self, slot: Slot) -> SlotState {
        self.slots[slot.as_usize()].state
    }

    /// The member that stands in `slot` and is believed.
    pub(crate) fn member_at(&self, slot: Slot) -> Option<Member> {
        let record = &self.slots[slot.as_usize()];
        record.member.filter(|_| record.state != SlotState::Failed)
    }

    /// The same, for a plan that was made at `turn`.
    pub(crate) fn member_since(&self, slot: Slot, turn: u64) -> Option<Member> {
        self.member_at(slot).filter(|_| self.slots[slot.as_usize()].since <= turn)
    }

    /// The slot in which `member` stands and is believed.
    pub(crate) fn slot_of(&self, member: Member) -> Option<Slot> {
        let slots = (0..self.slots.len() as u16).map(Slot::new);
        slots.into_iter().find(|slot| self.member_at(*slot) == Some(member))
    }

    /// Whether `member` stands in a slot and is believed, or is a spare: nobody else is written to.
    pub(crate) fn stands(&self, member: Member) -> bool {
        self.slot_of(member).is_some() || self.spares.contains(&member)
    }

    /// Members in slots that are believed, and the slots.
    pub(crate) fn standing(&self) -> impl Iterator<Item = (Slot, Member)> + '_ {
        let slots = (0..self.slots.len() as u16).map(Slot::new);
        slots.filter_map(|slot| Some((slot, self.member_at(slot)?)))
    }

    pub(crate) fn record(&mut self, member: Member) -> Option<&mut MemberRecord> {
        self.members.get_mut(member.as_usize())?.as_mut()
    }

    pub(crate) fn member(&self, member: Member) -> Option<&MemberRecord> {
        self.members.get(member.as_usize())?.as_ref()
    }

    /// Whether a standing member has failed to flush.
    pub(crate) fn has_lost_writes(&self) -> bool {
        self.standing().any(|(_, member)| self.member(member).is_some_and(|record| record.flush_failed))
    }

    /// Whether this is a flush of a member that failed to flush before and had to be kept: it says
    /// nothing new that it fails again, and what it is for is not tried over and over.
    pub(crate) fn cannot_flush(&self, action: Action) -> bool {
        let Action::Flush { member } = action else { return false };
        self.member(member).is_some_and(|record| record.flush_failed)
    }

    /// Whether a healthy read may use what `slot` holds of `stripe`.
    pub(crate) fn readable(&self, slot: Slot, stripe: Stripe) -> bool {
        match self.state(slot) {
            SlotState::Active => true,
            SlotState::Rebuilding => self.rebuilt.has(stripe),
            SlotState::Failed => false,
        }
    }

    /// The units of `stripe` that a job which holds its lock must do without.
    pub(crate) fn missing(&self, geometry: &Geometry, stripe: Stripe) -> UnitSet {
        if !self.degraded {
            return UnitSet::NONE;
        }
        let layout = geometry.layout();
        let gone = |slot: Slot| match self.state(slot) {
            SlotState::Active => false,
            // A stripe's lock is held while it is rebuilt: for who holds it now, it is or it is
            // not.
            SlotState::Rebuilding => !self.rebuilt.has(stripe),
            SlotState::Failed => true,
        };
        layout.units().filter(|unit| gone(layout.locate(stripe, *unit).slot)).collect()
    }

    pub(crate) fn view<'a>(&self, geometry: &'a Geometry, stripe: Stripe) -> StripeView<'a> {
        let missing = self.missing(geometry, stripe);
        StripeView { geometry, stripe, missing, cached: &[], floats: None }
    }

    /// Whether the data of `slot` could still be had without it.
    pub(crate) fn can_lose(&self, geometry: &Geometry, slot: Slot) -> bool {
        let others = (0..self.slots.len() as u16).map(Slot::new).filter(|other| {
            *other != slot && geometry.share_stripes(slot, *other) && self.state(*other) != SlotState::Active
        });
        others.count() < usize::from(geometry.fault_tolerance())
    }

    pub(crate) fn count(&mut self, member: Member, class: Class, write: bool, length: Sectors) {
        let Some(record) = self.record(member) else { return };
        let traffic = &mut record.traffic[class as usize];
        if write {
            traffic.writes += 1;
            traffic.written += length.get();
        } else {
            traffic.reads += 1;
            traffic.read += length.get();
        }
    }
}

impl MemberRecord {
    fn new(info: MemberInfo) -> MemberRecord {
        MemberRecord {
            info,
            queue: 0,
            head: Sector::ZERO,
            unflushed: false,
            flushing: 0,
            flush_failed: false,
            errors: 0,
            recent_errors: RecentErrors::default(),
            traffic: [Traffic::default(); 5],
            worse_copy: 0,
            epoch: Epoch::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The 65,537th had the number of the first: a rebuild went to the wrong disk.
    #[test]
    fn no_two_members_have_the_same_number() {
        let info = || MemberInfo { identity: Identity::NONE, length: Sectors::new(1), unmaps: false };
        let mut health = Health::new(Vec::new(), Vec::new());
        for number in 0..u16::MAX {
            assert!(health.can_number());
            assert_eq!(health.add(info()).get(), number);
        }
        assert!(!health.can_number());
    }
}
