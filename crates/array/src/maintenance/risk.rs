//! What would be lost with a member, though the organization survives the loss of one.

use std::collections::BTreeSet;

use parlour_units::{Member, Stripe};

use super::AdminError;
use crate::array::Array;
use crate::health::PlaceState;
use crate::map::Columns;

impl Array {
    /// Whether all that the member in `place` holds can be had from the others. [`Array::fail`] and [`Array::replace`] do
    /// not ask: a person may want to lose it.
    ///
    /// # Errors
    /// What would be lost, and what to do about it.
    pub fn may_lose(&self, place: Member) -> Result<(), AdminError> {
        let place = self.place(place)?;
        match self.health.state(place) {
            PlaceState::Failed => return Ok(()),
            PlaceState::Active if !self.health.can_lose(&self.geometry, place) => {
                return Err(AdminError::Needed(place));
            }
            PlaceState::Active | PlaceState::Rebuilding => {}
        }
        let (layout, regions) = (self.geometry.layout(), self.regions_only_on(place));
        if regions > 0 {
            return Err(AdminError::NotResynced { place, regions, of: layout.region_count() });
        }
        match self.blocks_only_with(place) {
            0 => Ok(()),
            blocks => Err(AdminError::NeededForUnreadable { place, blocks }),
        }
    }

    /// Regions whose check units do not fit the data that `place` holds, or copies that may differ: how many.
    fn regions_only_on(&self, place: Member) -> u32 {
        let copies = self.geometry.keeps_copies();
        let layout = self.geometry.layout();
        let only_here = |region| copies || layout.region_has_data_on(region, place);
        self.records.resync.iter().filter(|region| only_here(*region)).count() as u32
    }

    /// Blocks on the list of unreadable ones that could not be had without `place`: how many.
    fn blocks_only_with(&self, place: Member) -> u64 {
        let block = self.geometry.block();
        let mut needed = BTreeSet::new();
        for (other, at) in self.listing.blocks().filter(|(other, _)| *other != place) {
            for (window, _) in self.windows_at(other, at, block) {
                if !self.is_enough_without(window.stripe, window.columns, place) {
                    needed.insert((other, at));
                }
            }
        }
        needed.len() as u64
    }

    /// Whether what the list leaves of these columns is enough to compute the rest, once `place` is gone.
    fn is_enough_without(&self, stripe: Stripe, columns: Columns, place: Member) -> bool {
        let layout = self.geometry.layout();
        let missing = self.health.missing(&self.geometry, stripe);
        let (mut here, mut gone) = (false, 0);
        for unit in layout.units() {
            let home = layout.place(stripe, unit);
            let at = self.absolute(home.at + columns.from);
            here |= home.member == place;
            let listed = self.listing.has(home.member, at, columns.length());
            gone += u16::from(home.member == place || missing.has(unit) || listed);
        }
        !here || gone <= self.geometry.fault_tolerance()
    }
}
