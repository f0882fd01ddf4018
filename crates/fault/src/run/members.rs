//! Members leave the array, and others come.

use parlour_array::Repair;
use parlour_units::Slot;

use super::Run;
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::identity;
use crate::script::{Extra, What};
use crate::violation::Violation;

/// The byte in sectors of new disks: what their former users left.
const USED: u8 = 0x33;

impl Run<'_> {
    /// Something happens to a member, or is asked of the array.
    pub(super) fn befall(&mut self, what: What) -> Result<(), Violation> {
        match what {
            What::Lose(fault, slot) => self.lose(fault, slot),
            What::Replace(slot) => self.replace(slot),
            What::Back(slot) => self.come_back(slot).map(drop),
            What::Spare => self.add_spare(),
            What::Clone(slot) => self.copy(slot),
            What::PutClone(number) => {
                self.clones.put_at_next_stop(number);
                Ok(())
            }
            What::Scrub { repair } => self.scrub(repair),
            _ => {
                self.rig.ail(what);
                Ok(())
            }
        }
    }

    fn lose(&mut self, fault: Fault, slot: u16) -> Result<(), Violation> {
        let Some(disk) = self.rig.disk_at(slot) else { return Ok(()) };
        if self.rig.is_failed(slot) || !self.rig.dares(fault, slot) {
            return Ok(());
        }
        self.rig.member_excluded();
        match fault {
            Fault::Death => self.rig.world.disk_mut(disk).die(),
            Fault::Hang => self.rig.world.disk_mut(disk).hang(),
            _ => {
                // An array that is being stopped refuses.
                let _refused = self.rig.world.fail(slot);
                self.go_on()?;
            }
        }
        Ok(())
    }

    fn replace(&mut self, slot: u16) -> Result<(), Violation> {
        let takes = self.rig.is_redundant() && self.rig.is_serving();
        if !takes || !self.rig.dares(Fault::Replacement, slot) {
            return Ok(());
        }
        self.put_new(slot)
    }

    /// In some sessions a failed journal device is removed for good. The array must have come to
    /// rest: until then, entries may stand on the others alone. Returns whether it is.
    pub(super) fn remove(&mut self, slot: u16) -> Result<bool, Violation> {
        let for_journal = self.rig.geometry.is_for_journal(Slot::new(slot));
        let chosen = for_journal && self.rig.world.sessions() % 2 == 1 && self.rig.is_failed(slot);
        if !chosen || !self.rig.is_serving() || !self.rig.dares(Fault::Removal, slot) {
            return Ok(false);
        }
        self.rig.world.remove(slot).map_err(|_| Violation::seam("a failed journal device stays"))?;
        self.go_on()?;
        Ok(true)
    }

    /// A new member takes `slot`, or its old member returns, if the array allows it.
    pub(super) fn put_new(&mut self, slot: u16) -> Result<(), Violation> {
        if self.rig.script.has(Extra::Returns) && self.come_back(slot)? {
            return Ok(());
        }
        let disk = self.new_disk(Slot::new(slot));
        if !self.rig.world.replace(slot, disk)? {
            self.rig.world.disk_mut(disk).die();
        }
        self.go_on()
    }

    /// A missing member of `slot` returns, if the array knows it and allows it. Returns whether it
    /// did.
    fn come_back(&mut self, slot: u16) -> Result<bool, Violation> {
        let returning = |disk: &usize| self.may_return(self.rig.world.disk(*disk), slot);
        let Some(disk) = self.former_members(Slot::new(slot)).find(returning) else { return Ok(false) };
        if let Some(image) = self.stock.image(disk).filter(|image| self.may_return(image, slot)) {
            *self.rig.world.disk_mut(disk) = image.clone();
        }
        if !self.rig.is_serving() {
            return Ok(false);
        }
        self.rig.count_fault(Fault::Comeback);
        if !self.rig.world.replace(slot, disk)? {
            return Err(Violation::seam("a member that may return is refused"));
        }
        self.rig.world.disk_mut(disk).catch_up();
        self.go_on()?;
        Ok(true)
    }

    fn may_return(&self, disk: &Disk, slot: u16) -> bool {
        let geometry = &self.rig.geometry;
        let read = |bank| disk.try_read(geometry.bitmap_at(bank), geometry.bitmap_length());
        let bitmaps = [0, 1].map(read);
        let superblock = disk.superblock().ok();
        let returns = superblock.and_then(|own| self.rig.world.array().may_return(&own, &bitmaps));
        returns == Some(Slot::new(slot))
    }

    fn add_spare(&mut self) -> Result<(), Violation> {
        let spares = self.rig.status().spares.len();
        if !self.rig.is_redundant() || !self.rig.is_serving() || spares > 0 {
            return Ok(());
        }
        self.rig.count_fault(Fault::Spare);
        let disk = self.new_disk(Slot::new(0));
        if !self.rig.world.add_spare(disk)? {
            self.rig.world.disk_mut(disk).die();
        }
        self.go_on()
    }

    /// A disk for `slot` that is not in use in this array and has old content; in some seeds a
    /// former member with all its old content.
    fn new_disk(&mut self, slot: Slot) -> usize {
        let next = self.rig.world.disks().len();
        let former = self.former_members(slot).next();
        if let Some(former) = former.filter(|_| self.rig.script.has(Extra::MetadataErrors)) {
            let name = self.stock.rename(next);
            self.rig.world.disk_mut(former).become_new(name);
            return former;
        }
        let length = self.rig.script.options().length_of(&self.rig.geometry, slot);
        self.rig.world.add_disk(Disk::new(identity::member(next), length, USED))
    }

    /// Disks that work, are former members, and as long as what stands in `slot`.
    fn former_members(&self, slot: Slot) -> impl Iterator<Item = usize> + '_ {
        let standing = self.rig.standing();
        let length = self.rig.script.options().length_of(&self.rig.geometry, slot);
        let free = move |index: &usize| {
            let disk = self.rig.world.disk(*index);
            let works = !disk.answers_not() && !disk.is_full() && disk.can_read_all();
            works
                && disk.length() == length
                && !standing.contains(index)
                && self.returning != Some(*index)
                && !self.rig.world.is_in_use(*index)
        };
        (0..self.rig.world.disks().len()).filter(free)
    }

    /// Copies the member in `slot`. A copy that was left out before is offered as a returning
    /// member.
    fn copy(&mut self, slot: u16) -> Result<(), Violation> {
        if let Some(left_out) = self.clones.take_left_out() {
            self.come_back(left_out)?;
        }
        self.clones.take(&self.rig, slot);
        Ok(())
    }

    fn scrub(&mut self, repair: bool) -> Result<(), Violation> {
        let how = match (repair, self.rig.geometry.keeps_copies()) {
            (false, _) => Repair::Nothing,
            (true, false) => Repair::ParityFromData,
            (true, true) => Repair::Majority,
        };
        // Refused if there is nothing to compare or a scrub is running.
        if self.rig.world.scrub(how).is_ok() {
            self.rig.count_fault(if repair { Fault::RepairingScrub } else { Fault::Scrub });
        }
        self.go_on()
    }
}
