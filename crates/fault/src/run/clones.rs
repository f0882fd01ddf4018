//! Copies of members that are taken while the array is served, and stand in their members' slots
//! when it is opened again after a stop. A copy is older, unless nothing was written since it was
//! taken, and the metadata on the other members says so.
//!
//! Not tested: a copy that is put back after a crash. The array may accept it if metadata was not
//! written twice since.

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
    /// By disk: the session of its last copy, and the copy.
    taken: BTreeMap<usize, (u64, Disk)>,
    /// At the next stop, a copy takes its member's slot; the number selects the copy.
    pub(super) put: Option<u64>,
    /// The slot of a copy that was not accepted.
    left_out: Option<u16>,
}

/// A copy that stands in a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Put {
    slot: u16,
    disk: usize,
    /// The copy lacks a host's write, or check units of one.
    lacks: bool,
}

impl Run<'_> {
    /// Copies the member in `slot` at one moment. A copy that was left out before is offered as a
    /// returning member.
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

    /// The slot whose copy is used when the array is opened next, if the array promises to survive
    /// that and has no other fault.
    pub(super) fn dared_clone(&mut self, back: Return) -> Option<u16> {
        let number = self.clones.put.take()?;
        let copied =
            |slot: &u16| self.disk_at(*slot).is_some_and(|disk| self.clones.taken.contains_key(&disk));
        let slots: Vec<u16> = (0..self.geometry.members()).filter(copied).collect();
        let slot = *slots.get((number % slots.len().max(1) as u64) as usize)?;
        let alone = back == Return::All && !self.limits.beyond && self.rotting_at_rest.is_empty();
        // An array without space may open as after a crash.
        let alone = alone && !self.world.array.status().counters.out_of_space;
        (alone && self.survives(Fault::Clone, slot)).then_some(slot)
    }

    /// Puts the copy of the member in `slot` into the slot.
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

    /// Checks, after the array was opened with a copy, that an older copy was not accepted.
    pub(super) fn clone_is_not_believed(&mut self, put: Put) -> Result<(), Violation> {
        let believed = self.standing().contains(&put.disk);
        if believed && put.lacks && !self.lost {
            return Err(Violation::Believed(format!("a copy of disk {}, which is older", put.disk)));
        }
        self.clones.left_out = Some(put.slot).filter(|_| !believed);
        Ok(())
    }
}
