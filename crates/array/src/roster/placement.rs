//! Where units that float may be written, and the members that targets of plans stand for.

use parlour_units::{Member, Sector};

use super::Roster;
use crate::effect::Action;
use crate::format::bad_block_log::Cause;
use crate::plan::Target;

impl Roster {
    /// The positions of `member` to which the unit at `at` may be written. If the member has failed
    /// meanwhile, the result does not matter.
    pub(crate) fn free_positions(&self, member: Member, at: Sector) -> impl Iterator<Item = Sector> + '_ {
        let slot = self.slot_of(member);
        let free = slot.zip(self.floats.as_ref()).map(|(slot, floats)| floats.free_on(slot, member, at));
        let own = free.is_none().then_some(at);
        free.into_iter().flatten().chain(own)
    }

    /// A unit of `member` that was at `at` was written to `to`.
    pub(crate) fn note_placed(&mut self, member: Member, at: Sector, to: Sector) {
        if let (Some(slot), Some(floats)) = (self.slot_of(member), &mut self.floats) {
            floats.moved_on(slot, at, to);
        }
    }

    /// `action` was carried out: blocks that it wrote come off the bad-block log. Returns whether
    /// any did.
    pub(crate) fn note_written(&mut self, action: Action) -> bool {
        let (true, Some(member), Some((at, length))) = (action.changes(), action.member(), action.range())
        else {
            return false;
        };
        self.slot_of(member).is_some_and(|slot| self.listed.remove(Cause::Unreadable, slot, at, length))
    }

    /// The member that `target` addresses, for a plan that was made at `turn`, if it is believed.
    pub(crate) fn standing_target(&self, target: Target, turn: u64) -> Option<Member> {
        match target {
            Target::Slot(slot) => self.member_since(slot, turn),
            Target::Member(member) => Some(member).filter(|member| self.stands(*member)),
        }
    }
}
