//! What would be lost with a member, although the organization tolerates the loss of one.

use std::collections::BTreeSet;

use parlour_units::{Slot, Stripe};

use crate::admin_error::AdminError;
use crate::code::UnitSet;
use crate::columns::Columns;
use crate::core::Core;
use crate::format::bad_block_log::Cause;
use crate::roster::SlotState;

impl Core {
    /// Checks that all data of the member in `slot` can be had from the others. The commands that
    /// fail or replace a member do not check this, since an administrator may accept the loss.
    ///
    /// # Errors
    /// What would be lost, and what to do about it.
    pub(crate) fn may_lose(&self, slot: Slot) -> Result<(), AdminError> {
        let slot = self.check_slot(slot)?;
        if self.cx.geometry.is_for_journal(slot) {
            return Ok(());
        }
        match self.cx.roster.state(slot) {
            SlotState::Failed => return Ok(()),
            SlotState::Active if !self.cx.roster.can_lose(&self.cx.geometry, slot) => {
                return Err(AdminError::Needed(slot));
            }
            SlotState::Active | SlotState::Rebuilding => {}
        }
        let (layout, regions) = (self.cx.geometry.layout(), self.regions_only_on(slot));
        if regions > 0 {
            return Err(AdminError::NotResynced { slot, regions, of: layout.region_count() });
        }
        match self.blocks_only_with(slot) {
            0 => Ok(()),
            blocks => Err(AdminError::NeededForUnreadable { slot, blocks }),
        }
    }

    /// The number of regions whose check units do not fit the data that `slot` holds, or whose
    /// copies may differ.
    fn regions_only_on(&self, slot: Slot) -> u32 {
        let copies = self.cx.geometry.keeps_copies();
        let layout = self.cx.geometry.layout();
        // Where data is missing, what stands in for it is needed too.
        let missing = |other: &Slot| *other != slot && self.cx.roster.lacks_units(*other);
        let missing: Vec<Slot> = (0..layout.members()).map(Slot::new).filter(missing).collect();
        let lacks_data = |region| missing.iter().any(|other| layout.region_has_data_on(region, *other));
        let only_here = |region| copies || layout.region_has_data_on(region, slot) || lacks_data(region);
        self.durable.bitmap().to_resync().filter(|region| only_here(*region)).count() as u32
    }

    /// The number of blocks on the bad-block log that could not be computed without `slot`.
    fn blocks_only_with(&self, slot: Slot) -> u64 {
        let block = self.cx.geometry.block();
        let mut needed = BTreeSet::new();
        for (other, at) in
            self.cx.roster.listed().blocks(Cause::Unreadable).filter(|(other, _)| *other != slot)
        {
            for (window, _) in self.cx.windows_at(other, at, block) {
                if !self.is_enough_without(window.stripe, window.columns, slot) {
                    needed.insert((other, at));
                }
            }
        }
        needed.len() as u64
    }

    /// Whether the units that are neither missing nor on the bad-block log are enough to compute
    /// the rest of these columns, once `slot` is gone.
    fn is_enough_without(&self, stripe: Stripe, columns: Columns, slot: Slot) -> bool {
        let layout = self.cx.geometry.layout();
        let missing = self.cx.roster.missing(&self.cx.geometry, stripe);
        let (mut here, mut gone) = (false, UnitSet::NONE);
        for unit in layout.units() {
            let place = self.cx.roster.places(&self.cx.geometry).locate(stripe, unit);
            let at = self.cx.geometry.absolute(place.at + columns.from);
            here |= place.slot == slot;
            let listed = self.cx.roster.listed().has(place.slot, at, columns.length());
            if place.slot == slot || missing.has(unit) || listed {
                gone.insert(unit);
            }
        }
        !here || self.cx.geometry.code().recovers(gone)
    }
}
