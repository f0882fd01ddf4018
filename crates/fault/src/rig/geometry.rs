//! Which disk and sector holds what.

use parlour_array::layout::{Location, Occupant};
use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use super::Rig;

impl Rig<'_> {
    /// What stands at a sector of `slot`'s member, in the data area.
    pub(super) fn occupant(&self, slot: Slot, sector: u64) -> Occupant {
        let at = Sector::ZERO + (Sector::new(sector) - self.geometry.data_start());
        self.geometry.layout().occupant(Location { slot, at })
    }

    /// The slot of a unit's member, and the sector at which it begins there.
    pub(super) fn place(&self, stripe: Stripe, unit: Unit) -> (u16, Sector) {
        let location = self.geometry.layout().locate(stripe, unit);
        (location.slot.get(), self.geometry.data_start() + location.at.from_start())
    }

    /// The location of a unit's column: disk and sector.
    pub(crate) fn column(&self, stripe: Stripe, unit: Unit, column: u64) -> Option<(usize, u64)> {
        let (slot, start) = self.place(stripe, unit);
        Some((self.disk_at(slot)?, (start + Sectors::new(column)).get()))
    }

    /// Whether the member in `slot` holds a check unit of `stripe`.
    pub(super) fn holds_check(&self, stripe: Stripe, slot: u16) -> bool {
        let layout = self.geometry.layout();
        layout.checks().any(|check| layout.locate(stripe, check).slot.get() == slot)
    }

    /// The stripe, and the column in sectors, whose parity is in this sector of `slot`'s member.
    pub(super) fn parity_column(&self, slot: u16, sector: u64) -> Option<(Stripe, u64)> {
        let start = self.geometry.data_start();
        let end = start.get() + self.geometry.stored().layout.length;
        if !(start.get()..end).contains(&sector) {
            return None;
        }
        match self.occupant(Slot::new(slot), sector) {
            Occupant::Unit { stripe, unit, offset } if !self.geometry.layout().is_data(unit) => {
                Some((stripe, offset.get()))
            }
            _ => None,
        }
    }
}
