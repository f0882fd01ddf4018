//! Where units are now: where the layout puts them, except for what has moved since.
//!
//! All rooms that access units or ask for their members ask here. The layout itself says only where
//! units of a whole array without moves are.

use parlour_units::{Slot, Stripe, Unit};

use super::floating::Floats;
use crate::layout::{Layout, Location, Occupant};

/// The current places of units. See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    layout: &'a Layout,
    floats: Option<&'a Floats>,
}

impl<'a> Places<'a> {
    /// The places of units in `layout`, and in `floats` if they float.
    pub(super) fn new(layout: &'a Layout, floats: Option<&'a Floats>) -> Places<'a> {
        Places { layout, floats }
    }

    /// The places of units of which none has moved.
    pub(crate) fn of_layout(layout: &'a Layout) -> Places<'a> {
        Places { layout, floats: None }
    }

    /// The place of the first sector of `unit`.
    pub(crate) fn locate(self, stripe: Stripe, unit: Unit) -> Location {
        let home = self.layout.locate(stripe, unit);
        self.floats.map_or(home, |floats| floats.locate(home))
    }

    /// The slot on whose member `unit` is.
    pub(crate) fn slot(self, stripe: Stripe, unit: Unit) -> Slot {
        // (Where units float they stay on their member.)
        self.layout.locate(stripe, unit).slot
    }

    /// The slots on whose members the units of `stripe` are, in the order of units.
    pub(crate) fn slots(self, stripe: Stripe) -> impl Iterator<Item = Slot> + use<'a> {
        self.layout.units().map(move |unit| self.slot(stripe, unit))
    }

    /// The unit of `stripe` that is on the member in `slot`.
    pub(crate) fn unit_on(self, slot: Slot, stripe: Stripe) -> Option<Unit> {
        self.layout.units().find(|unit| self.slot(stripe, *unit) == slot)
    }

    /// What is at `location`. The inverse of [`Places::locate`].
    pub(crate) fn occupant(self, location: Location) -> Occupant {
        let home = self.floats.map_or(Some(location), |floats| floats.home(location));
        home.map_or(Occupant::Unused, |home| self.layout.occupant(home))
    }
}
