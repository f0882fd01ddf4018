//! A direct look at the members, past the array: whether check units fit, blocks are whole, and
//! sectors can be read.

use parlour_array::layout::Occupant;
use parlour_codec::galois::multiply_into;
use parlour_codec::xor::is_zero;
use parlour_units::{Slot, Stripe, Unit};

use super::Rig;
use crate::content::SECTOR;
use crate::violation::Violation;

impl Rig<'_> {
    /// Checks that data and check units fit.
    pub(crate) fn redundancy_fits(&self) -> Result<(), Violation> {
        match self.columns_that_do_not_fit().first() {
            Some((stripe, column)) => Err(Violation::Redundancy { stripe: stripe.get(), column: *column }),
            None => Ok(()),
        }
    }

    /// The columns at which data and check units do not fit.
    pub(crate) fn columns_that_do_not_fit(&self) -> Vec<(Stripe, u64)> {
        let layout = self.geometry.layout();
        let disks: Vec<Option<usize>> = (0..self.geometry.members()).map(|slot| self.disk_at(slot)).collect();
        let mut wrong = Vec::new();
        for stripe in (0..layout.stripes()).map(Stripe::new) {
            let place = |unit: Unit| {
                let (slot, start) = self.place(stripe, unit);
                Some((disks[usize::from(slot)]?, start.get()))
            };
            let units: Vec<Option<(usize, u64)>> = layout.units().map(place).collect();
            for column in 0..layout.unit_length().get() {
                if !self.defects.gave_up(stripe, column) && !self.fits(&units, column) {
                    wrong.push((stripe, column));
                }
            }
        }
        wrong
    }

    /// Whether the units of a stripe, which begin at these places, fit at this column: each check
    /// unit is the sum of its terms.
    fn fits(&self, units: &[Option<(usize, u64)>], column: u64) -> bool {
        let add = |sum: &mut [u8; SECTOR], unit: Unit, factor: u8| {
            let (disk, start) = units[unit.as_usize()]?;
            multiply_into(sum, self.world.disk(disk).sector(start + column).bytes(), factor);
            Some(())
        };
        let is_sum = |check: Unit| {
            let mut sum = [0; SECTOR];
            add(&mut sum, check, 1)?;
            self.geometry.terms(check).try_for_each(|(unit, factor)| add(&mut sum, unit, factor))?;
            Some(is_zero(&sum))
        };
        self.geometry.layout().checks().all(|check| is_sum(check) == Some(true))
    }

    /// Checks that each block holds the data of one write of a host (G4).
    pub(crate) fn blocks_are_whole(&self) -> Result<(), Violation> {
        let layout = self.geometry.layout();
        let block = self.geometry.block().get();
        for at in (0..self.geometry.capacity().get()).step_by(block as usize) {
            let (stripe, rest) = (at / layout.stripe_data().get(), at % layout.stripe_data().get());
            let unit = Unit::new((rest / layout.unit_length().get()) as u16);
            let column = rest % layout.unit_length().get();
            let Some((disk, first)) = self.column(Stripe::new(stripe), unit, column) else { continue };
            let disk = self.world.disk(disk);
            let mut values = (0..block).map(|sector| disk.sector(first + sector).whose(at + sector));
            let whose = values.next();
            if let Some(other) = values.find(|value| Some(*value) != whose) {
                let allowed = whose.map_or(String::new(), |value| format!("{value}, as in its first sector"));
                return Err(Violation::WrongContent { sector: at, found: other.to_string(), allowed });
            }
        }
        Ok(())
    }

    /// Checks that no sector is unreadable after a scrub, which reads all units and repairs
    /// unreadable sectors.
    pub(crate) fn no_sector_is_bad(&self) -> Result<(), Violation> {
        // Metadata before the data area is not read until the array is opened again.
        let start = self.geometry.data_start().get();
        for slot in 0..self.geometry.members() {
            let Some(disk) = self.disk_at(slot) else { continue };
            for sector in self.world.disk(disk).unreadable_from(start) {
                if let Occupant::Unit { stripe, offset, .. } = self.occupant(Slot::new(slot), sector)
                    && !self.defects.gave_up(stripe, offset.get())
                {
                    let what = format!("a scrub left sector {sector} of disk {disk} ({stripe}) unreadable");
                    return Err(Violation::Repair(what));
                }
            }
        }
        Ok(())
    }
}
