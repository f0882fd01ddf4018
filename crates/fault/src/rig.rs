//! The array under test with everything around it: members, hosts, and what is known to be wrong.
//! Most questions of a run are questions to the rig.

mod ailments;
mod atlas;
mod geometry;
mod hearing;
mod losses;
mod memory;
mod redundancy;
mod silence;

use parlour_array::{Geometry, MemberStatus, Mode, Status};
use parlour_units::{Instant, Slot};

use crate::coverage::{Coverage, Fault, State};
use crate::defects::Defects;
use crate::disk::{Disk, Flushes};
use crate::hosts::Hosts;
use crate::limits::Limits;
use crate::oracle::Oracle;
use crate::promises::Promises;
use crate::script::Script;
use crate::trace::Trace;
use crate::world::World;

/// See the module.
#[derive(Debug)]
pub(crate) struct Rig<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) script: &'a Script,
    pub(crate) geometry: Geometry,
    pub(crate) promises: Promises,
    pub(crate) world: World,
    pub(crate) hosts: Hosts,
    pub(crate) defects: Defects,
    trace: Trace,
    coverage: Coverage,
    /// The new session is not recorded yet.
    opening: bool,
}

impl<'a> Rig<'a> {
    /// A rig with an array that was just opened.
    pub(crate) fn around(
        script: &'a Script,
        limits: &'a Limits,
        world: World,
        oracle: Oracle,
        trace: Trace,
    ) -> Rig<'a> {
        Rig {
            limits,
            script,
            geometry: script.options().geometry(),
            promises: script.options().promises(),
            world,
            hosts: Hosts::new(oracle, script.seed()),
            defects: Defects::default(),
            trace,
            coverage: Coverage::default(),
            opening: true,
        }
    }

    /// Another array was opened on the members.
    pub(crate) fn open(&mut self, world: World) -> World {
        self.opening = true;
        std::mem::replace(&mut self.world, world)
    }

    /// Whether the new session is not recorded yet.
    pub(crate) fn is_opening(&self) -> bool {
        self.opening
    }

    /// Looks whether the session is recorded by now.
    pub(crate) fn look_whether_recorded(&mut self) {
        self.opening &= self.world.records();
    }

    /// The faults so far, and the states in which they were injected.
    pub(crate) fn coverage(&self) -> &Coverage {
        &self.coverage
    }

    /// Counts a fault in the array's current state.
    pub(crate) fn count_fault(&mut self, fault: Fault) {
        let (mode, busy) = (self.mode(), self.hosts.are_busy());
        self.coverage.note(fault, State::of(&self.status(), mode, self.opening, busy));
    }

    pub(crate) fn note(&self, line: impl FnOnce() -> String) {
        self.trace.note(self.now(), line);
    }

    /// The number of lines that were noted.
    pub(crate) fn noted(&self) -> usize {
        self.trace.length()
    }

    pub(crate) fn now(&self) -> Instant {
        self.world.now()
    }

    pub(crate) fn mode(&self) -> Mode {
        self.world.mode()
    }

    pub(crate) fn status(&self) -> Status {
        self.world.array().status()
    }

    /// Whether the array is open for writing.
    pub(crate) fn is_serving(&self) -> bool {
        self.mode() == Mode::Serving
    }

    /// Whether the array takes writes, or completes them before it stops.
    pub(crate) fn serves(&self) -> bool {
        matches!(self.mode(), Mode::Serving | Mode::Stopping) && !self.is_full()
    }

    /// Whether some member has no space.
    pub(crate) fn is_full(&self) -> bool {
        self.world.disks().iter().any(Disk::is_full)
    }

    /// Whether members may fail without loss of data.
    pub(crate) fn is_redundant(&self) -> bool {
        self.geometry.fault_tolerance() > 0
    }

    /// The number of the disk in `slot`.
    pub(crate) fn disk_at(&self, slot: u16) -> Option<usize> {
        let member = self.world.array().member_at(Slot::new(slot))?;
        self.world.disk_of(member.get())
    }

    /// The disk in `slot`.
    pub(crate) fn member(&self, slot: u16) -> Option<&Disk> {
        self.disk_at(slot).map(|disk| self.world.disk(disk))
    }

    /// The disks that stand in slots, and the spares.
    pub(crate) fn standing(&self) -> Vec<usize> {
        let status = self.status();
        let members = status.slots().filter(|member| member.state != "failed");
        let members = members.filter_map(|member| member.member).chain(status.spares.iter().copied());
        members.filter_map(|member| self.world.disk_of(member)).collect()
    }

    /// The disks that are being rebuilt.
    pub(crate) fn rebuilding(&self) -> Vec<usize> {
        let status = self.status();
        let members = status.slots().filter(|member| member.state == "rebuilding");
        members.filter_map(|member| self.world.disk_of(member.member?)).collect()
    }

    /// The disk in each slot; none unless all members are present.
    pub(crate) fn disks_if_all_there(&self) -> Option<Vec<usize>> {
        let disk = |member: &MemberStatus| {
            let disk = self.world.disk_of(member.member.filter(|_| member.state == "active")?)?;
            Some(disk).filter(|disk| !self.world.disk(*disk).answers_not())
        };
        self.status().slots().map(disk).collect()
    }

    /// Whether all members are present and all check units fit.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_unsynced() && self.disks_if_all_there().is_some()
    }

    /// Whether some region's check units may not fit although the array has redundancy.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.is_redundant() && self.world.array().unsynced_regions() > 0
    }

    /// Whether there are copies that are not yet equal to the first one.
    pub(crate) fn is_not_copied(&self) -> bool {
        self.geometry.keeps_copies() && self.is_unsynced()
    }

    /// Whether there are copies that are equal to the first one, but perhaps not on stable storage.
    /// After a power cut they are updated again, unless the first copy is lost before.
    pub(crate) fn may_be_uncopied(&self) -> bool {
        self.geometry.keeps_copies() && self.is_redundant() && self.status().dirty_regions > 0
    }

    /// Whether the array has failed the member in `slot`.
    pub(crate) fn is_failed(&self, slot: u16) -> bool {
        self.status().slot(slot).is_some_and(|slot| slot.state == "failed")
    }

    /// Whether the member in `slot` is missing, does not answer, or is not completely rebuilt. In a
    /// vacant slot none is.
    pub(crate) fn is_gone(&self, slot: u16) -> bool {
        let status = self.status();
        let Some(member) = status.slot(slot) else { return false };
        member.state != "active" || self.member(slot).is_none_or(Disk::answers_not)
    }

    /// Whether all that the member in `slot` should hold is on the others.
    pub(crate) fn is_in_spare_room(&self, slot: u16) -> bool {
        self.status().slot(slot).is_some_and(|member| member.in_spare_room)
    }

    /// The slots whose members are missing, do not answer, or are not completely rebuilt.
    pub(crate) fn gone(&self) -> impl Iterator<Item = u16> + '_ {
        (0..self.geometry.members()).filter(|slot| self.is_gone(*slot))
    }

    /// The same, with the slots of journal devices.
    pub(crate) fn gone_of_all(&self) -> impl Iterator<Item = u16> + '_ {
        self.geometry.slots().map(Slot::get).filter(|slot| self.is_gone(*slot))
    }

    /// Whether a kill would make the array forget that a flush failed. The writes before that flush
    /// may be lost at any later time, although flushes of the next session succeed. So only the
    /// promises for a power cut apply.
    pub(crate) fn forgets_failed_flush(&self) -> bool {
        let disks = self.world.disks();
        let failed = |disk: &usize| disks[*disk].flushes() == Flushes::Failed;
        self.standing().iter().any(failed)
            || self.world.records() && (0..disks.len()).any(|disk| failed(&disk))
    }

    /// Data that was read from one member may not be on the others.
    pub(crate) fn member_excluded(&mut self) {
        let not_copied = self.is_not_copied();
        self.hosts.oracle_mut().member_excluded(not_copied);
    }
}
