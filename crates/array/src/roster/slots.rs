//! A slot: its member, and how far that member can be used.

use parlour_units::{Member, Stripe};

use super::kept::Kept;
use crate::frontier::Frontier;
use crate::identity::Identity;

/// The state of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotState {
    /// Its member is whole.
    Active,
    /// Its member holds the stripes that are rebuilt: see [`Roster::rebuilt`].
    Rebuilding,
    /// There is no member, or the member is not believed.
    Failed,
}

/// What a slot is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A member, which holds units.
    Member,
    /// A journal device. Entries up to number `left` may stand on one that was in the slot before.
    Journal { left: u64 },
}

/// A slot, and its member.
#[derive(Debug)]
pub(super) struct SlotRecord {
    pub(super) member: Option<Member>,
    pub(super) state: SlotState,
    /// The identity of its member, or of the last one.
    pub(super) identity: Identity,
    /// The turn at which this member took the slot: plans that were made before do not address it.
    pub(super) since: u64,
    /// If the member is not active: it is whole except for regions that the bitmap marks out of
    /// sync.
    pub(super) keeps: Option<Kept>,
    /// During a rebuild: the stripes that are rebuilt.
    pub(super) rebuilt: Frontier,
    pub(super) role: Role,
}

impl SlotRecord {
    /// The member, if it is believed.
    pub(super) fn believed(&self) -> Option<Member> {
        self.member.filter(|_| self.state != SlotState::Failed)
    }

    /// Whether there is no member that is believed.
    pub(super) fn is_failed(&self) -> bool {
        self.state == SlotState::Failed
    }

    /// Whether the member holds what belongs there of `stripe`.
    pub(super) fn readable(&self, stripe: Stripe) -> bool {
        match self.state {
            SlotState::Active => true,
            SlotState::Rebuilding => self.rebuilt.has(stripe),
            SlotState::Failed => false,
        }
    }
}
