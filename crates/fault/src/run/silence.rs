//! Silent faults: which are injected, and what they mean for the array.

use parlour_array::layout::{Location, Occupant};
use parlour_array::{Event, Mode, Repair};
use parlour_units::{Sector, Slot, Stripe};

use super::Run;
use crate::coverage::Fault;
use crate::damage::Damage;
use crate::disk::{Disk, Flushes};
use crate::silent::{Silenced, Silent};
use crate::violation::Violation;
use crate::world::Shelf;

impl Run<'_> {
    /// Arms a silent fault for the next write of a kind to the member in `slot`, if the array
    /// promises to survive it. It is counted when it happens.
    pub(super) fn arm(&mut self, slot: u16, silent: Silent) {
        let Some(disk) = self.disk_at(slot) else { return };
        if self.limits.beyond || self.is_failed(slot) || !self.survives(silent.how.fault(), slot) {
            return;
        }
        self.world.shelf.disks[disk].silent = Some(silent);
    }

    /// From here on the member's flushes lie, if the array promises to survive its loss. The fault
    /// is counted when it is discovered.
    pub(super) fn begin_to_lie(&mut self, disk: usize, slot: u16) {
        if !self.limits.beyond && !self.is_failed(slot) && self.survives(Fault::LyingFlush, slot) {
            self.world.shelf.disks[disk].flushes = Flushes::Lie;
        }
    }

    /// The array closes, perhaps with a power cut. At a power cut, a member whose flushes have lied
    /// is lost, if the array promises to survive that. Otherwise its flushes are made true.
    pub(super) fn find_out_lies(&mut self, power: bool) {
        let lied = |disk: &usize| self.world.shelf.disks[*disk].has_lied();
        let liars: Vec<usize> = (0..self.world.shelf.disks.len()).filter(lied).collect();
        for liar in liars {
            let found_out = power && self.expendable().contains(&liar);
            if found_out {
                self.meet(Fault::LyingFlush);
            }
            let disk = &mut self.world.shelf.disks[liar];
            if found_out { disk.dead = true } else { disk.make_true() }
        }
    }

    /// Damages metadata of the member in `slot` now, or before the array is opened next, if the
    /// array promises to survive it.
    pub(super) fn damage(&mut self, slot: u16, damage: Damage) {
        let Some(disk) = self.disk_at(slot) else { return };
        let members = self.geometry.members();
        let lost = damage.what.costs_the_member() && (members <= 2 || !self.scars.is_empty());
        if self.limits.beyond || lost || self.is_failed(slot) || !self.survives(Fault::DamagedMetadata, slot)
        {
            return;
        }
        if damage.at_rest {
            self.rotting_at_rest.push((slot, disk, damage));
        } else {
            self.befall(slot, disk, damage);
        }
    }

    fn befall(&mut self, slot: u16, disk: usize, damage: Damage) {
        let disk = &mut self.world.shelf.disks[disk];
        if damage.befall(&self.geometry, Slot::new(slot), disk) {
            self.meet(Fault::DamagedMetadata);
        }
    }

    /// Does the damage that is due while the array is closed.
    pub(super) fn rot_at_rest(&mut self, shelf: &mut Shelf) {
        for (slot, disk, damage) in std::mem::take(&mut self.rotting_at_rest) {
            let disk = &mut shelf.disks[disk];
            if !disk.dead && damage.befall(&self.geometry, Slot::new(slot), disk) {
                self.meet(Fault::DamagedMetadata);
            }
        }
    }

    /// Processes the silent faults that have happened.
    pub(super) fn note_silenced(&mut self) {
        for Silenced { disk, fault, sectors } in std::mem::take(&mut self.world.silenced) {
            self.meet(fault);
            self.trace.note(self.world.now(), || format!("  disk {disk}: {} at {sectors:?}", fault.name()));
            let slot = (0..self.geometry.members()).find(|slot| self.disk_at(*slot) == Some(disk));
            let column = |sector: &u64| self.parity_column(slot?, *sector);
            let columns: Vec<(Stripe, u64)> = sectors.iter().filter_map(column).collect();
            self.polluted.extend(columns);
        }
    }

    /// The array reports that metadata is damaged, or older than it should be. Checks that there
    /// was a fault in metadata.
    pub(super) fn must_be_damaged(&self, told: &Event) -> Result<(), Violation> {
        let drawn = self.script.has_silent_faults() || self.script.has_damage() || self.script.has_clones();
        let behind = self.behind && !matches!(told, Event::BlockDamaged { .. });
        if drawn || behind || !self.scars.is_empty() || self.limits.beyond {
            return Ok(());
        }
        Err(Violation::Repair(format!("nothing was wrong with metadata, and the array says: {told:?}")))
    }

    /// The slot that holds the parity of `stripe`.
    pub(crate) fn parity_member(&self, stripe: Stripe) -> Option<u16> {
        let layout = self.geometry.layout();
        let check = layout.units().find(|unit| !layout.is_data(*unit))?;
        Some(layout.locate(stripe, check).slot.get())
    }

    /// The stripe, and the column in sectors, whose parity is in this sector of `slot`'s member.
    fn parity_column(&self, slot: u16, sector: u64) -> Option<(Stripe, u64)> {
        let start = self.geometry.data_start();
        let end = start.get() + self.geometry.stored().layout.length;
        if !(start.get()..end).contains(&sector) {
            return None;
        }
        let at = Sector::ZERO + (Sector::new(sector) - start);
        match self.geometry.layout().occupant(Location { slot: Slot::new(slot), at }) {
            Occupant::Unit { stripe, unit, offset } if !self.geometry.layout().is_data(unit) => {
                Some((stripe, offset.get()))
            }
            _ => None,
        }
    }
}

impl Run<'_> {
    /// Checks that a scrub finds silent faults where it can, and no other mismatch; and repairs
    /// them.
    pub(crate) fn mend_what_is_silent(&mut self) -> Result<(), Violation> {
        self.world.shelf.disks.iter_mut().for_each(|disk| disk.silent = None);
        if !self.polluted.is_empty() {
            self.scrub_pollution()?;
        } else if self.world.shelf.disks.iter().any(Disk::is_silently_wrong) {
            // A wrong log is found when its region is to be compared. The scrub then resyncs the
            // region and skips it.
            self.run_scrub(Repair::Nothing)?;
        }
        self.world.shelf.disks.iter_mut().for_each(|disk| disk.heal(0..u64::MAX));
        Ok(())
    }

    /// Checks that a scrub reports wrong parity, and that a repairing scrub computes it anew.
    fn scrub_pollution(&mut self) -> Result<(), Violation> {
        let report = self.run_scrub(Repair::Nothing)?;
        if !self.is_whole() || self.world.array.mode() != Mode::Serving {
            return Ok(());
        }
        let wrong = self.columns_that_do_not_fit();
        if let Some((stripe, column)) = wrong.iter().find(|column| !self.polluted.contains(column)) {
            return Err(Violation::Redundancy { stripe: stripe.get(), column: *column });
        }
        let compared = report.complete && report.skipped == 0;
        if compared && !wrong.is_empty() && report.mismatches == 0 {
            return Err(Violation::Repair(format!("a scrub found nothing, and {wrong:?} do not fit")));
        }
        self.run_scrub(Repair::ParityFromData)?;
        // A repair is not durable until a flush, like any write.
        for disk in self.world.shelf.disks.iter_mut().filter(|disk| !disk.answers_not()) {
            let written = disk.written();
            disk.flushed(written);
        }
        if self.is_whole() && self.world.array.mode() == Mode::Serving {
            self.polluted.clear();
        }
        Ok(())
    }
}
