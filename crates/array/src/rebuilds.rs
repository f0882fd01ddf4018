//! The slots whose units of a stripe one job rebuilds.

use parlour_units::{Slot, Stripe, Unit};

use crate::layout::Location;
use crate::roster::places::Places;

/// The most slots of one job. Where a stripe can lose more, the others come after them.
const MOST: usize = 4;

/// The slots whose units of a stripe one job rebuilds: one, or several that are at this stripe at
/// the same time, so that it is read once for all of them. Of several, each gets its own unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rebuilds {
    /// With the turn at which the member that is rebuilt took the slot.
    slots: [Option<(Slot, u64)>; MOST],
}

impl Rebuilds {
    /// Adds a slot, if there is room.
    pub(crate) fn add(&mut self, slot: Slot, since: u64) -> bool {
        let room = self.slots.iter_mut().find(|entry| entry.is_none());
        room.map(|room| *room = Some((slot, since))).is_some()
    }

    /// The slots, each with the turn at which its member took it.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Slot, u64)> + use<> {
        self.slots.into_iter().flatten()
    }

    /// Those of them for which `holds`.
    pub(crate) fn only(self, holds: impl Fn(Slot, u64) -> bool) -> Rebuilds {
        Rebuilds { slots: self.slots.map(|entry| entry.filter(|(slot, since)| holds(*slot, *since))) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }

    /// Where `unit` of `stripe` is rebuilt. `None` if its slot is no longer one of them.
    pub(crate) fn place(&self, places: Places<'_>, stripe: Stripe, unit: Unit) -> Option<Location> {
        let mut slots = self.iter().map(|(slot, _)| slot);
        let first = slots.next()?;
        let home = places.home(stripe, unit).slot;
        let is_one = slots.next().is_none();
        let slot =
            if is_one { first } else { self.iter().map(|(slot, _)| slot).find(|slot| *slot == home)? };
        Some(places.rebuilt(slot, stripe, unit))
    }
}
