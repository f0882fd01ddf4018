//! What the array may report as lost: data for which less is left than the organization needs.

use parlour_array::layout::Occupant;
use parlour_array::{Mode, RequestError};
use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use super::Rig;
use crate::disk::Disk;
use crate::hosts::Failed;
use crate::request::{Ask, Range};
use crate::violation::Violation;

impl Rig<'_> {
    /// Whether the array may answer a request so.
    pub(crate) fn may_fail(&self, failed: &Failed) -> bool {
        let Failed { ask, range, error, .. } = failed;
        match error {
            RequestError::Stopping => matches!(self.mode(), Mode::Stopping | Mode::Stopped),
            RequestError::NoSpace => self.status().counters.out_of_space,
            RequestError::NotFast => matches!(ask, Ask::Zero { fast_only: true, .. }),
            RequestError::Lost => self.may_be_lost(*range, ask.is_durable()),
            RequestError::ReadOnly
            | RequestError::Superseded
            | RequestError::BeyondEnd
            | RequestError::Misaligned
            | RequestError::BadBuffer => false,
        }
    }

    /// Whether a request on these sectors may fail because one of its stripes has lost more than
    /// the fault tolerance allows.
    fn may_be_lost(&self, Range { at, length }: Range, durable: bool) -> bool {
        let (layout, defects) = (self.geometry.layout(), &self.defects);
        let gone = if self.limits.beyond { self.gone().count() } else { 0 };
        if !defects.has_read_errors() && !defects.gave_up_any() && gone == 0 {
            return false;
        }
        // If a log is lost, its updates to parity are lost too. If a member cannot flush, a durable
        // write fails.
        let hurt = gone + usize::from(gone > 0 && defects.has_read_errors());
        let tolerance = usize::from(self.geometry.fault_tolerance());
        if layout.logs().is_some() && hurt > tolerance || durable && gone > tolerance {
            return true;
        }
        let data = layout.stripe_data().get();
        let unsure = (defects.is_unsure() || self.is_unsynced()) && self.geometry.keeps_parity();
        (at / data..(at + length.max(1)).div_ceil(data)).map(Stripe::new).any(|stripe| {
            if defects.gave_up_any_of(stripe) {
                return true;
            }
            let missing = layout.units().filter(|unit| {
                let (slot, start) = self.place(stripe, *unit);
                let sectors = start.get()..(start + layout.unit_length()).get();
                self.is_gone(slot) || defects.has_read_errors_in(self.disk_at(slot), &sectors)
            });
            let missing = missing.count();
            missing > tolerance || unsure && missing > 0
        })
    }

    /// The array has added blocks to its bad-block log. Checks that they are unrecoverable.
    pub(crate) fn listed(&mut self, slot: Slot, at: Sector, length: Sectors) -> Result<(), Violation> {
        for sector in at.get()..(at + length).get() {
            let Occupant::Unit { stripe, unit, offset } = self.occupant(slot, sector) else {
                return Err(Violation::Repair(format!(
                    "sector {sector} of {slot}, which is no unit's, is listed"
                )));
            };
            let known = self.defects.gave_up(stripe, offset.get());
            if !known && !self.limits.beyond && !self.is_lost(stripe, unit, offset) {
                let what = format!("{stripe} is given up at column {}, where nothing is lost", offset.get());
                return Err(Violation::Repair(what));
            }
            self.defects.give_up(stripe, offset.get());
        }
        Ok(())
    }

    /// Whether the data of `unit` of `stripe` at this column is unrecoverable: it cannot be
    /// computed from the units that can be read.
    fn is_lost(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        !self.geometry.can_compute(unit, |other| self.is_unreadable(stripe, other, column))
    }

    /// Whether a unit cannot be read at this column, or could not be read before.
    fn is_unreadable(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let block = self.geometry.block();
        let (slot, start) = self.place(stripe, unit);
        let at = start + column.round_down(block);
        // A transient error is reported by the access; the sector itself shows nothing.
        let ails = self.member(slot).is_none_or(Disk::fails_next_read);
        let sectors = at.get()..(at + block).get();
        ails || self.is_gone(slot) || self.defects.has_read_errors_in(self.disk_at(slot), &sectors)
    }
}
