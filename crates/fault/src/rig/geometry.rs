//! Which disk and sector holds what.

use parlour_array::layout::{Location, Occupant};
use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use super::Rig;

impl Rig<'_> {
    /// What stands at a sector of `slot`'s member, in the data area.
    pub(super) fn occupant(&self, slot: Slot, sector: u64) -> Occupant {
        let at = Sector::ZERO + (Sector::new(sector) - self.geometry.data_start());
        self.world.array().occupant(Location { slot, at })
    }

    /// The unit that the array names by a sector of `slot`'s member: the one there, or whose home
    /// is there, or that is just being moved there.
    pub(super) fn unit_at(&self, slot: Slot, sector: u64) -> Option<(Stripe, Unit, Sectors)> {
        let layout = self.geometry.layout();
        let at = Sector::ZERO + (Sector::new(sector) - self.geometry.data_start());
        let found = match self.occupant(slot, sector) {
            Occupant::Unused => layout.occupant(Location { slot, at }),
            occupant => occupant,
        };
        match found {
            Occupant::Unit { stripe, unit, offset } => Some((stripe, unit, offset)),
            Occupant::Spare { stripe, offset, .. } => {
                let failed = |unit: &Unit| self.is_failed(layout.locate(stripe, *unit).slot.get());
                layout.units().find(failed).map(|unit| (stripe, unit, offset))
            }
            Occupant::Log { .. } | Occupant::Unused => None,
        }
    }

    /// The slot of a unit's member, and the sector at which it begins there.
    pub(crate) fn place(&self, stripe: Stripe, unit: Unit) -> (u16, Sector) {
        let location = self.world.array().location(stripe, unit);
        (location.slot.get(), self.geometry.data_start() + location.at.from_start())
    }

    /// Whether a unit's place is in spare room.
    pub(crate) fn is_moved(&self, stripe: Stripe, unit: Unit) -> bool {
        self.place(stripe, unit).0 != self.geometry.layout().locate(stripe, unit).slot.get()
    }

    /// The location of a unit's column: disk and sector.
    pub(crate) fn column(&self, stripe: Stripe, unit: Unit, column: u64) -> Option<(usize, u64)> {
        let (slot, start) = self.place(stripe, unit);
        Some((self.disk_at(slot)?, (start + Sectors::new(column)).get()))
    }

    /// Whether the member in `slot` holds a check unit of `stripe`.
    pub(super) fn holds_check(&self, stripe: Stripe, slot: u16) -> bool {
        self.geometry.layout().checks().any(|check| self.place(stripe, check).0 == slot)
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
