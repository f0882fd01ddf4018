//! Journal devices that are gone, and the entries that may stand on them.

use parlour_units::Slot;

use super::{Role, Roster, SlotState};
use crate::identity::Identity;

impl Roster {
    /// In the slot of a journal device: entries up to this number may stand on one that was there
    /// before.
    pub(crate) fn entries_elsewhere(&self, slot: Slot) -> Option<u64> {
        match self.slot(slot).role {
            Role::Member => None,
            Role::Journal { left } => Some(left),
        }
    }

    /// Whether `slot` is for a journal device, and the array has none there: there never was one,
    /// or it was removed.
    pub(crate) fn is_vacant(&self, slot: Slot) -> bool {
        let record = self.slot(slot);
        let none = record.state == SlotState::Failed && record.identity == Identity::NONE;
        none && record.role != Role::Member
    }

    /// The journal device in `slot` is about to be failed. Entries up to number `left` may stand on
    /// it.
    pub(crate) fn leave_entries(&mut self, slot: Slot, left: u64) {
        self.slot_mut(slot).role = Role::Journal { left };
    }
}
