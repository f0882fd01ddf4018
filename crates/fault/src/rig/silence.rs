//! Silent faults: which are injected, and what they mean for the array.

use parlour_array::Event;
use parlour_units::{Slot, Stripe};

use super::Rig;
use crate::coverage::Fault;
use crate::damage::Damage;
use crate::script::Extra;
use crate::shelf::Shelf;
use crate::silent::{Silenced, Silent};
use crate::violation::Violation;

impl Rig<'_> {
    /// Arms a silent fault for the next write of a kind to the member in `slot`, if the array
    /// promises to survive it. It is counted when it happens.
    pub(crate) fn arm(&mut self, slot: u16, silent: Silent) {
        let Some(disk) = self.disk_at(slot) else { return };
        if self.limits.beyond || self.is_failed(slot) || !self.survives(silent.how.fault(), slot) {
            return;
        }
        self.world.disk_mut(disk).arm(silent);
    }

    /// From here on the member's flushes lie, if the array promises to survive its loss. The fault
    /// is counted when it is discovered.
    pub(crate) fn begin_to_lie(&mut self, slot: u16) {
        let Some(disk) = self.disk_at(slot) else { return };
        if !self.limits.beyond && !self.is_failed(slot) && self.survives(Fault::LyingFlush, slot) {
            self.world.disk_mut(disk).lie();
        }
    }

    /// The array closes, perhaps with a power cut. At a power cut, a member whose flushes have lied
    /// is lost, if the array promises to survive that. Otherwise its flushes are made true.
    pub(crate) fn find_out_lies(&mut self, power: bool) {
        let disks = self.world.disks();
        let liars: Vec<usize> = (0..disks.len()).filter(|disk| disks[*disk].has_lied()).collect();
        for liar in liars {
            let found_out = power && self.expendable().contains(&vec![liar]);
            if found_out {
                self.count_fault(Fault::LyingFlush);
            }
            let disk = self.world.disk_mut(liar);
            if found_out { disk.die() } else { disk.make_true() }
        }
    }

    /// Damages metadata of the member in `slot` now, or before the array is opened next, if the
    /// array promises to survive it.
    pub(crate) fn damage(&mut self, slot: u16, damage: Damage) {
        let Some(disk) = self.disk_at(slot) else { return };
        let members = self.geometry.members();
        let lost = damage.what.costs_the_member() && (members <= 2 || self.defects.has_read_errors());
        if self.limits.beyond || lost || self.is_failed(slot) || !self.survives(Fault::DamagedMetadata, slot)
        {
            return;
        }
        if damage.at_rest {
            self.defects.add_pending_damage(slot, disk, damage);
        } else if damage.befall(&self.geometry, Slot::new(slot), self.world.disk_mut(disk)) {
            self.count_fault(Fault::DamagedMetadata);
        }
    }

    /// Does the damage that is due while the array is closed.
    pub(crate) fn rot_at_rest(&mut self, shelf: &mut Shelf) {
        for (slot, disk, damage) in self.defects.take_pending_damage() {
            let disk = &mut shelf.disks_mut()[disk];
            if !disk.is_dead() && damage.befall(&self.geometry, Slot::new(slot), disk) {
                self.count_fault(Fault::DamagedMetadata);
            }
        }
    }

    /// Processes the silent faults that have happened.
    pub(crate) fn note_silenced(&mut self) {
        for Silenced { disk, fault, sectors } in self.world.take_silenced() {
            self.count_fault(fault);
            self.note(|| format!("  disk {disk}: {} at {sectors:?}", fault.name()));
            let slot = (0..self.geometry.members()).find(|slot| self.disk_at(*slot) == Some(disk));
            let column = |sector: &u64| self.parity_column(slot?, *sector);
            let columns: Vec<(Stripe, u64)> = sectors.iter().filter_map(column).collect();
            self.defects.add_wrong_parity(columns);
        }
    }

    /// Whether faults of which members say nothing, or old copies, may have damaged metadata and
    /// logs.
    pub(crate) fn metadata_may_be_damaged(&self) -> bool {
        [Extra::Silent, Extra::Damage, Extra::Clones].into_iter().any(|extra| self.script.has(extra))
    }

    /// The array reports that metadata is damaged, or older than it should be. Checks that there
    /// was a fault in metadata.
    pub(crate) fn must_be_damaged(&self, told: &Event) -> Result<(), Violation> {
        let drawn = self.metadata_may_be_damaged();
        let behind = self.defects.is_behind() && !matches!(told, Event::BlockDamaged { .. });
        if drawn || behind || self.defects.has_read_errors() || self.limits.beyond {
            return Ok(());
        }
        Err(Violation::Repair(format!("nothing was wrong with metadata, and the array says: {told:?}")))
    }
}
