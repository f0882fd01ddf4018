//! The fault atlas: the faults that the organization promises to survive in the array's current
//! state. The tester injects no other faults, unless `Limits::beyond` is set.

use parlour_units::Slot;

use super::Rig;
use crate::area::Area;
use crate::coverage::Fault;
use crate::disk::{Disk, Flushes};

impl Rig<'_> {
    /// Whether the array promises to survive `fault` at `slot` now.
    pub(crate) fn survives(&self, fault: Fault, slot: u16) -> bool {
        match fault {
            // The promises allow these faults in every state.
            Fault::PowerCut | Fault::Kill | Fault::Scrub | Fault::RepairingScrub | Fault::SlowMember => true,
            Fault::Stop | Fault::Spare | Fault::Comeback | Fault::LateWrite | Fault::Rival => true,
            Fault::Replacement | Fault::Removal if self.is_failed(slot) => true,
            Fault::Removal => false,
            // The data lost by its lying flushes would be found missing before its exclusion can be
            // recorded.
            Fault::FailedFlush if self.lies(slot) => false,
            Fault::Death
            | Fault::Exclusion
            | Fault::Hang
            | Fault::FailedFlush
            | Fault::LyingFlush
            | Fault::Replacement => self.serves() && self.can_do_without(slot),
            // A sector that still cannot be read after it was rewritten has more than a transient
            // error.
            Fault::TransientError if self.is_weak(slot) => false,
            Fault::LatentError | Fault::TransientError => {
                self.is_serving() && !self.is_full() && self.can_do_without(slot)
            }
            // A repair needs free space.
            Fault::OutOfSpace | Fault::OutOfAllSpace | Fault::Starvation => {
                self.serves() && self.is_sound() && !self.world.disks().iter().any(Disk::ails)
            }
            Fault::Absence | Fault::ForeignMember | Fault::WipedMember | Fault::TruncatedMember => {
                // Members with a valid superblock of this array must outnumber the foreign one.
                let rotting = if fault == Fault::ForeignMember { self.defects.pending_damage() } else { 0 };
                let others = usize::from(self.geometry.members()) - 1;
                // A vacant slot has no member that could be absent.
                let occupied = self.disk_at(slot).is_some();
                occupied && self.is_whole() && self.can_do_without(slot) && others > 1 + rotting
            }
            Fault::Clone => self.is_sound() && !self.is_full() && self.can_do_without(slot),
            Fault::MetadataError => !self.is_full() && self.can_do_without(slot),
            Fault::LostWrite | Fault::MisdirectedWrite | Fault::RottenWrite => {
                self.serves() && !self.is_opening() && self.is_whole() && self.rests_beside(slot)
            }
            Fault::DamagedMetadata => {
                self.serves() && !self.is_opening() && self.is_whole() && self.can_do_without(slot)
            }
            Fault::Rot => {
                let ails = self.world.disks().iter().any(Disk::ails_in_writing)
                    || self.defects.has_wrong_parity()
                    || self.defects.pending_damage() > 0;
                self.is_whole() && !self.is_full() && !ails && self.is_redundant()
            }
        }
    }

    /// Counts the fault and returns true, if the array promises to survive it or `beyond` is set.
    pub(crate) fn dares(&mut self, fault: Fault, slot: u16) -> bool {
        // If a flush fails on a member that must be kept, it is unknown what is durable.
        let dares = match self.limits.beyond {
            true if fault == Fault::FailedFlush => false,
            // Copies on members without space may differ, and the copy that was read may not
            // remain.
            true if fault.is_of_space() && self.geometry.keeps_copies() => self.survives(fault, slot),
            true => true,
            false => self.survives(fault, slot),
        };
        if dares {
            self.count_fault(fault);
        }
        dares
    }

    /// The same for a member that has this fault when the array is opened next.
    pub(crate) fn dares_absence(&mut self, fault: Fault, slot: u16) -> bool {
        let dares = self.survives(fault, slot) && !self.defects.has_read_errors() && !self.is_full();
        if dares {
            self.count_fault(fault);
        }
        dares
    }

    /// Whether all members are present, and no content is wrong or was unreadable.
    fn is_sound(&self) -> bool {
        !self.defects.has_read_errors() && !self.defects.has_wrong_parity() && self.is_whole()
    }

    fn lies(&self, slot: u16) -> bool {
        self.member(slot).is_some_and(|disk| disk.flushes() == Flushes::Lie)
    }

    /// Whether the other members alone can supply all data of the member in `slot`.
    fn can_do_without(&self, slot: u16) -> bool {
        let weak = self.weak_peers(slot).count();
        // A copy is complete by itself. With the journal, records are redone after a crash, so the
        // lost member leaves no region unsynced. (A write that finds no memory does.)
        let starves = self.world.disks().iter().any(Disk::is_starved);
        let synced = self.geometry.keeps_copies() || !self.is_unsynced() && !starves;
        let of_domain = |other: u16| self.geometry.share_a_domain(Slot::new(slot), Slot::new(other));
        (weak < usize::from(self.geometry.fault_tolerance()) || self.weak_peers(slot).all(of_domain))
            && self.is_redundant()
            && synced
            && !self.weak_peers(slot).any(|other| self.misleads(other))
            && self.entries_remain_without(slot)
    }

    /// Whether all that shares stripes with `slot` is well, so that something there may silently
    /// become wrong. (What is computed from it is wrong too, however much else is left.)
    fn rests_beside(&self, slot: u16) -> bool {
        self.can_do_without(slot) && self.weak_peers(slot).next().is_none()
    }

    /// The other slots that hold units of the same stripes, or entries, and are weak.
    fn weak_peers(&self, slot: u16) -> impl Iterator<Item = u16> + '_ {
        let layout = self.geometry.layout();
        let for_journal = |slot: u16| self.geometry.is_for_journal(Slot::new(slot));
        let shares = move |other: u16| match (for_journal(slot), for_journal(other)) {
            (true, true) => true,
            (false, false) => layout.share_stripes(Slot::new(slot), Slot::new(other)),
            _ => false,
        };
        let slots = self.geometry.slots().map(Slot::get);
        slots.filter(move |other| *other != slot && shares(*other) && self.is_weak(*other))
    }

    /// Whether journal devices keep a copy of each entry, or no member is weak: what was under way
    /// is resynced after a crash that costs all copies of an entry, from all members.
    fn entries_remain_without(&self, slot: u16) -> bool {
        let weak = |other: &Slot| other.get() == slot || self.is_weak(other.get());
        let weak = self.geometry.slots().filter(weak);
        let (journals, members): (Vec<Slot>, Vec<Slot>) =
            weak.partition(|slot| self.geometry.is_for_journal(*slot));
        members.is_empty() || journals.len() < usize::from(self.geometry.journal_copies())
    }

    /// Whether parity on the member in `slot` may be silently wrong: it stands in for nothing, and
    /// what is computed from it is wrong.
    fn misleads(&self, slot: u16) -> bool {
        let armed = self.member(slot).is_some_and(|disk| disk.is_armed_for(Area::Parity));
        armed || self.defects.stripes_with_wrong_parity().any(|stripe| self.holds_check(stripe, slot))
    }

    /// Whether some data on the member in `slot` cannot be read, or soon may not be.
    fn is_weak(&self, slot: u16) -> bool {
        let (disk, defects) = (self.disk_at(slot), &self.defects);
        let ails = disk.is_some_and(|disk| self.world.disk(disk).ails());
        ails || self.is_gone(slot) && !self.is_in_spare_room(slot)
            || defects.has_read_errors_on(disk)
            || defects.has_pending_damage(disk)
            || self.misleads(slot)
    }

    /// The sets of disks of members of which any one may be lost in a power cut at this moment:
    /// those with a single disk first, and failure domains last. Where the array does not promise
    /// this, it reports the loss when it is opened, and the oracle forgives the data that the array
    /// reports as lost.
    pub(crate) fn expendable(&self) -> Vec<Vec<usize>> {
        let sure = !self.promises.opens_unclean_and_degraded || !self.is_unsynced();
        let all = self.disks_if_all_there().filter(|_| sure && self.is_redundant());
        let mut sets =
            all.as_ref().map_or_else(Vec::new, |all| subsets(all, self.geometry.fault_tolerance()));
        for (slot, disk) in (0..).map(Slot::new).zip(all.iter().flatten()) {
            let of_domain = |other: &(Slot, &usize)| self.geometry.share_a_domain(slot, other.0);
            let disks = (0..).map(Slot::new).zip(all.iter().flatten()).filter(of_domain);
            let domain: Vec<usize> = disks.map(|(_, disk)| *disk).collect();
            if domain.len() > 1 && domain.first() == Some(disk) {
                sets.push(domain);
            }
        }
        sets
    }

    /// The same, also while some members are absent: as many others as may be lost beside them. An
    /// absent member whose units are in spare room does not count. Returns the number of absent
    /// members too.
    pub(crate) fn expendable_beside_absent(&self) -> (Vec<Vec<usize>>, usize) {
        let absent: Vec<u16> = self.gone().collect();
        if absent.is_empty() {
            return (self.expendable(), 0);
        }
        let lacking = absent.iter().filter(|slot| !self.is_in_spare_room(**slot)).count();
        let left = self.geometry.fault_tolerance().saturating_sub(lacking as u16);
        let sure = !self.promises.opens_unclean_and_degraded || !self.is_unsynced();
        let there = (0..self.geometry.members()).filter(|slot| !absent.contains(slot));
        let mut there: Vec<usize> = there.filter_map(|slot| self.disk_at(slot)).collect();
        there.sort_unstable();
        (if sure { subsets(&there, left) } else { Vec::new() }, absent.len())
    }
}

/// The sets of up to `most` of `disks`, small ones first.
fn subsets(disks: &[usize], most: u16) -> Vec<Vec<usize>> {
    let mut sets: Vec<Vec<usize>> = Vec::new();
    let mut last = vec![Vec::new()];
    for _ in 0..most {
        let more = |set: &Vec<usize>| {
            let (set, behind) = (set.clone(), set.last().copied());
            let further = disks.iter().copied().filter(move |disk| behind.is_none_or(|last| *disk > last));
            further.map(move |disk| [set.as_slice(), &[disk]].concat())
        };
        last = last.iter().flat_map(more).collect();
        sets.extend(last.iter().cloned());
    }
    sets
}
