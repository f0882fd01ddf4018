//! What failed accesses mean: which members they leave standing, and which units they concern.

use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use super::job::FailedAccess;
use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::context::Context;
use crate::effect::Fault;
use crate::layout::{Location, Occupant};
use crate::rebuilds::Rebuilds;

impl Context {
    /// Whether a failed access is due to a member that had to be kept, because nothing can replace
    /// it. Then the jobs that need the member do without it, where the rest of the stripe is
    /// enough, or fail, instead of trying forever.
    pub(crate) fn still_standing(&self, failures: &[FailedAccess]) -> bool {
        failures.iter().any(|failure| self.is_kept(failure))
    }

    /// Whether a failed access is due to its member, which is kept.
    fn is_kept(&self, failure: &FailedAccess) -> bool {
        failure.fault.is_of_member() && self.roster.slot_of(failure.member).is_some()
    }

    /// Whether all members of the failed accesses are gone, whatever the first cause was.
    pub(crate) fn only_members_lost(&self, failures: &[FailedAccess]) -> bool {
        failures.iter().all(|failure| self.roster.slot_of(failure.member).is_none())
    }

    /// The parts of units that a failed read access was to read.
    pub(crate) fn unreadable_windows(&self, failure: &FailedAccess) -> Vec<(Window, Unit)> {
        let slot = self.roster.slot_of(failure.member);
        let slot = slot.filter(|_| failure.at >= self.geometry.data_start());
        slot.map_or_else(Vec::new, |slot| self.windows_at(slot, failure.at, failure.length))
    }

    /// The units of `stripe` that could not be read.
    pub(crate) fn units_of(&self, stripe: Stripe, failures: &[FailedAccess]) -> UnitSet {
        let cannot = |failure: &&FailedAccess| failure.fault == Fault::Unreadable || self.is_kept(failure);
        let unreadable = failures.iter().filter(cannot);
        let windows = unreadable.flat_map(|failure| self.unreadable_windows(failure));
        windows.filter(|(window, _)| window.stripe == stripe).map(|(_, unit)| unit).collect()
    }

    /// Where a part of a unit is stored.
    pub(crate) fn location_of(&self, window: Window, unit: Unit) -> (Slot, Sector) {
        self.absolute(self.roster.places(&self.geometry).locate(window.stripe, unit), window)
    }

    /// Where a part of a unit is rebuilt, if its slot still is.
    pub(crate) fn rebuilt_at(
        &self,
        rebuilds: Rebuilds,
        window: Window,
        unit: Unit,
    ) -> Option<(Slot, Sector)> {
        let place = rebuilds.place(self.roster.places(&self.geometry), window.stripe, unit)?;
        Some(self.absolute(place, window))
    }

    /// A further place where a part of a unit is stored.
    pub(crate) fn second_of(&self, window: Window, unit: Unit) -> Option<(Slot, Sector)> {
        let second = self.roster.places(&self.geometry).second(window.stripe, unit);
        second.map(|place| self.absolute(place, window))
    }

    /// The home of a part of a unit. It does not change when the unit is moved into spare room.
    pub(crate) fn home_of(&self, window: Window, unit: Unit) -> (Slot, Sector) {
        self.absolute(self.roster.places(&self.geometry).home(window.stripe, unit), window)
    }

    fn absolute(&self, Location { slot, at }: Location, window: Window) -> (Slot, Sector) {
        (slot, self.geometry.absolute(at + window.columns.from))
    }

    /// The parts of units that are stored in these sectors of the data area of `slot`.
    pub(crate) fn windows_at(&self, slot: Slot, at: Sector, length: Sectors) -> Vec<(Window, Unit)> {
        let layout = self.geometry.layout();
        let places = self.roster.places(&self.geometry);
        let mut list = Vec::new();
        let mut at = Sector::ZERO + (at - self.geometry.data_start());
        let end = at + length;
        while at < end {
            let (stripe, unit, offset) = match places.occupant(Location { slot, at }) {
                Occupant::Unit { stripe, unit, offset } => (stripe, unit, offset),
                // No unit is stored here: it has floated to another position, or been moved; or
                // this is spare room.
                Occupant::Unused if self.geometry.floats() || layout.spares() > 0 => {
                    let unit = layout.unit_length();
                    at = at + (unit - at.from_start() % unit);
                    continue;
                }
                Occupant::Unused | Occupant::Spare { .. } | Occupant::Log { .. } => return list,
            };
            let left = layout.unit_length() - offset;
            let length = left.min(end - at).min(self.tuning.slice);
            list.push((Window { stripe, columns: Columns::new(offset, offset + length) }, unit));
            at = at + length;
        }
        list
    }
}
