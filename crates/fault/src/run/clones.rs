//! Copies of members that are taken while the array is served, and stand in their members' slots
//! when it was stopped and is opened again. Unless nothing was written since they are older, and
//! their own metadata says so.
//!
//! (A copy that is put back after a crash may be believed, if no metadata was written twice since:
//! that is not tried.)

use std::collections::BTreeMap;

use super::Run;
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::script::Return;
use crate::violation::Violation;
use crate::world::Shelf;

/// Copies of members.
#[derive(Debug, Default)]
pub(super) struct Clones {
    /// By disk: its last copy, and in which session it was taken.
    taken: BTreeMap<usize, (u64, Disk)>,
    /// Some copy takes its member's slot at the next stop: the number says which.
    pub(super) put: Option<u64>,
    /// The slot in which a copy stood that was not believed.
    left_out: Option<u16>,
}

/// A copy stands in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put {
    slot: u16,
    disk: usize,
    /// It lacks something that hosts wrote, or what was computed from that.
    lacks: bool,
}

impl Run<'_> {
    /// Somebody copies the member in `slot`, at one moment. A copy that was left out is offered as
    /// the member that it is a copy of.
    pub(super) fn copy_member(&mut self, slot: u16) -> Result<(), Violation> {
        if let Some(left_out) = self.clones.left_out.take() {
            self.come_back(left_out)?;
        }
        let Some(disk) = self.disk_at(slot).filter(|_| !self.is_gone(slot)) else { return Ok(()) };
        let copied = &self.world.shelf.disks[disk];
        if !copied.ails() && copied.bad.is_empty() {
            self.clones.taken.insert(disk, (self.world.shelf.sessions, copied.clone()));
        }
        Ok(())
    }

    /// The slot whose copy is to be used when the array is opened next, if that is survived and
    /// nothing else is the matter.
    pub(super) fn dared_clone(&mut self, back: Return) -> Option<u16> {
        let number = self.clones.put.take()?;
        let copied =
            |slot: &u16| self.disk_at(*slot).is_some_and(|disk| self.clones.taken.contains_key(&disk));
        let slots: Vec<u16> = (0..self.geometry.members()).filter(copied).collect();
        let slot = *slots.get((number % slots.len().max(1) as u64) as usize)?;
        let alone = back == Return::All && !self.limits.beyond && self.rotting_at_rest.is_empty();
        // (An array without space may come back as after a crash.)
        let alone = alone && !self.world.array.status().counters.out_of_space;
        (alone && self.survives(Fault::Clone, slot)).then_some(slot)
    }

    /// The copy of the member in `slot` takes its slot.
    pub(super) fn put_clone(&mut self, shelf: &mut Shelf, slot: u16) -> Option<Put> {
        let disk = self.disk_at(slot)?;
        let (session, mut copy) = self.clones.taken.remove(&disk)?;
        if copy.identity != shelf.disks[disk].identity {
            return None;
        }
        self.meet(Fault::Clone);
        copy.forget_taints();
        copy.stale |= session < shelf.sessions;
        let start = self.geometry.data_start().get();
        let data = start..start + self.geometry.stored().layout.length;
        let lacks = !copy.holds_the_same(&shelf.disks[disk], data);
        shelf.trace.note(shelf.now, || format!("disk {disk} is its copy, which lacks something: {lacks}"));
        shelf.disks[disk] = copy;
        Some(Put { slot, disk, lacks })
    }

    /// The array was opened with a copy.
    pub(super) fn clone_is_not_believed(&mut self, put: Put) -> Result<(), Violation> {
        let believed = self.standing().contains(&put.disk);
        if believed && put.lacks && !self.lost {
            return Err(Violation::Believed(format!("a copy of disk {}, which is older", put.disk)));
        }
        self.clones.left_out = Some(put.slot).filter(|_| !believed);
        Ok(())
    }
}
