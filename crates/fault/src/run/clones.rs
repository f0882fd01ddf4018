//! Copies of members that are taken while the array is served, and stand in their members' slots
//! when it is opened again after a stop. A copy is older, unless nothing was written since it was
//! taken, and the metadata on the other members says so.
//!
//! Not tested: a copy that is put back after a crash. The array may accept it if metadata was not
//! written twice since.

use std::collections::BTreeMap;

use parlour_units::Slot;

use crate::coverage::Fault;
use crate::disk::Disk;
use crate::rig::Rig;
use crate::script::Return;
use crate::shelf::Shelf;
use crate::violation::Violation;

/// Copies of members.
#[derive(Debug, Default)]
pub(super) struct Clones {
    /// By disk: the session of its last copy, and the copy.
    taken: BTreeMap<usize, (u64, Disk)>,
    /// At the next stop, a copy takes its member's slot; the number selects the copy.
    put: Option<u64>,
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

impl Clones {
    /// Copies the member in `slot` at one moment.
    pub(super) fn take(&mut self, rig: &Rig<'_>, slot: u16) {
        let Some(disk) = rig.disk_at(slot).filter(|_| !rig.is_gone(slot)) else { return };
        let copied = rig.world.disk(disk);
        if !copied.ails() && copied.can_read_all() {
            self.taken.insert(disk, (rig.world.sessions(), copied.clone()));
        }
    }

    /// The slot of the copy that was not accepted when the array was opened last.
    pub(super) fn take_left_out(&mut self) -> Option<u16> {
        self.left_out.take()
    }

    /// At the next stop, a copy takes its member's slot; the number selects the copy.
    pub(super) fn put_at_next_stop(&mut self, number: u64) {
        self.put = Some(number);
    }

    /// The slot whose copy is used when the array is opened next, if the array promises to survive
    /// that and has no other fault.
    pub(super) fn dared(&mut self, rig: &Rig<'_>, back: Return) -> Option<u16> {
        let number = self.put.take()?;
        let copied = |slot: &u16| rig.disk_at(*slot).is_some_and(|disk| self.taken.contains_key(&disk));
        let slots: Vec<u16> = rig.geometry.slots().map(Slot::get).filter(copied).collect();
        let slot = *slots.get((number % slots.len().max(1) as u64) as usize)?;
        let alone = back == Return::All && !rig.limits.beyond && rig.defects.pending_damage() == 0;
        // An array that had no space, or not redone all records, opens as after a crash.
        let status = rig.status();
        let recovered = status.log.is_none_or(|log| log.recovering == 0);
        let alone = alone && !status.counters.out_of_space && recovered;
        (alone && rig.survives(Fault::Clone, slot)).then_some(slot)
    }

    /// Puts the copy of the member in `slot` into the slot.
    pub(super) fn put(&mut self, rig: &mut Rig<'_>, shelf: &mut Shelf, slot: u16) -> Option<Put> {
        let disk = rig.disk_at(slot)?;
        let (session, mut copy) = self.taken.remove(&disk)?;
        let original = &shelf.disks()[disk];
        if copy.identity() != original.identity() {
            return None;
        }
        rig.count_fault(Fault::Clone);
        copy.forget_taints();
        if session < shelf.sessions() {
            copy.miss_a_session();
        }
        let start = rig.geometry.data_start().get();
        let data = start..start + rig.geometry.stored().layout.length;
        // (After a stop nothing that counts is on a journal device.)
        let holds_data = !rig.geometry.is_for_journal(Slot::new(slot));
        let lacks = holds_data && !copy.holds_the_same(original, data);
        shelf.note(|| format!("disk {disk} is its copy, which lacks something: {lacks}"));
        shelf.disks_mut()[disk] = copy;
        Some(Put { slot, disk, lacks })
    }

    /// Checks, after the array was opened with a copy, that an older copy was not accepted.
    pub(super) fn check(&mut self, rig: &Rig<'_>, put: Put) -> Result<(), Violation> {
        let believed = rig.standing().contains(&put.disk);
        if believed && put.lacks {
            return Err(Violation::Believed(format!("a copy of disk {}, which is older", put.disk)));
        }
        self.left_out = Some(put.slot).filter(|_| !believed);
        Ok(())
    }
}
