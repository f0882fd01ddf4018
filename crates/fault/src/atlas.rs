//! The fault atlas: which faults the organization promises to survive in the state that the array
//! is in. The tester injects no others, unless it is told to.

use parlour_array::layout::{Location, Occupant};
use parlour_array::organization::Code;
use parlour_array::{MemberStatus, Mode};
use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use crate::coverage::Fault;
use crate::disk::{Disk, Flushes};
use crate::run::Run;
use crate::violation::Violation;

impl Run<'_> {
    /// Whether `fault` at `slot` is to be survived now.
    pub(crate) fn survives(&mut self, fault: Fault, slot: u16) -> bool {
        match fault {
            // No promise depends on when these come.
            Fault::PowerCut | Fault::Kill | Fault::Scrub | Fault::RepairingScrub | Fault::SlowMember => true,
            Fault::Stop | Fault::Spare | Fault::Comeback | Fault::LateWrite | Fault::Rival => true,
            Fault::Replacement if self.is_failed(slot) => true,
            // What it has lost by its lies would show before its exclusion can be recorded.
            Fault::FailedFlush if self.lies(slot) => false,
            Fault::Death
            | Fault::Exclusion
            | Fault::Hang
            | Fault::FailedFlush
            | Fault::LyingFlush
            | Fault::Replacement => self.serves() && self.can_do_without(slot),
            // A place that cannot be read after it was rewritten either is more than a transient
            // error.
            Fault::TransientError if self.is_weak(slot) => false,
            Fault::LatentError | Fault::TransientError => {
                self.world.array.mode() == Mode::Serving && !self.is_full() && self.can_do_without(slot)
            }
            // What is to be repaired needs room.
            Fault::OutOfSpace | Fault::OutOfAllSpace | Fault::Starvation => {
                let ails = self.world.shelf.disks.iter().any(Disk::ails);
                self.serves() && self.is_whole() && self.scars.is_empty() && self.polluted.is_empty() && !ails
            }
            Fault::Absence | Fault::ForeignMember | Fault::WipedMember | Fault::TruncatedMember => {
                // Members with a sound superblock of this array must outnumber the foreign one.
                let rotting = if fault == Fault::ForeignMember { self.rotting_at_rest.len() } else { 0 };
                let others = usize::from(self.geometry.members()) - 1;
                self.is_whole() && self.can_do_without(slot) && others > 1 + rotting
            }
            Fault::Clone => {
                let sound = self.scars.is_empty() && self.polluted.is_empty() && !self.is_full();
                sound && self.is_whole() && self.can_do_without(slot)
            }
            Fault::MetadataError => !self.is_full() && self.can_do_without(slot),
            Fault::LostWrite | Fault::MisdirectedWrite | Fault::RottenWrite | Fault::DamagedMetadata => {
                self.serves() && !self.opening && self.is_whole() && self.can_do_without(slot)
            }
            Fault::Rot => {
                let ails =
                    |disk: &Disk| disk.flushes != Flushes::Work || disk.is_silently_wrong() || disk.starved;
                let ails = self.world.shelf.disks.iter().any(ails)
                    || !self.polluted.is_empty()
                    || !self.rotting_at_rest.is_empty();
                self.is_whole() && !self.is_full() && !ails && self.geometry.fault_tolerance() > 0
            }
        }
    }

    fn lies(&self, slot: u16) -> bool {
        let disk = self.disk_at(slot);
        disk.is_some_and(|disk| self.world.shelf.disks[disk].flushes == Flushes::Lie)
    }

    fn serves(&self) -> bool {
        matches!(self.world.array.mode(), Mode::Serving | Mode::Stopping) && !self.is_full()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.world.shelf.disks.iter().any(|disk| disk.full)
    }

    /// Whether what the member in `slot` holds can be had from the others alone.
    fn can_do_without(&mut self, slot: u16) -> bool {
        let tolerance = usize::from(self.geometry.fault_tolerance());
        let peers: Vec<u16> = (0..self.geometry.members())
            .filter(|other| *other != slot && self.geometry.share_stripes(Slot::new(slot), Slot::new(*other)))
            .collect();
        let weak = peers.iter().filter(|other| self.is_weak(**other)).count();
        // A copy is whole by itself. Where records are redone after a crash, nothing is unsynced by
        // it.
        let copies = self.geometry.organization().code == Code::Copy;
        weak < tolerance && (copies || !self.is_unsynced())
    }

    /// Disks of members any one of which may be lost in the very cut of power that comes now. Where
    /// that is not promised the array says so when it is opened, and what it says is lost is
    /// forgiven.
    pub(crate) fn expendable(&self) -> Vec<usize> {
        let sure = !self.promises.opens_unclean_and_degraded || !self.is_unsynced();
        let all = self.disks_if_all_there().filter(|_| sure && self.geometry.fault_tolerance() > 0);
        all.unwrap_or_default()
    }

    /// By slot: the disk; if all members are there.
    fn disks_if_all_there(&self) -> Option<Vec<usize>> {
        let disk = |member: &MemberStatus| {
            let disk = self.world.disk_of(member.member.filter(|_| member.state == "active")?)?;
            Some(disk).filter(|disk| !self.world.shelf.disks[*disk].answers_not())
        };
        self.world.array.status().members.iter().map(disk).collect()
    }

    /// Whether some redundancy is not there that should be.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.geometry.fault_tolerance() > 0 && self.world.array.unsynced_regions() > 0
    }

    /// Whether all members are there, and all redundancy.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_unsynced() && self.disks_if_all_there().is_some()
    }

    /// Whether something on the member in `slot` cannot be had, or perhaps soon not.
    fn is_weak(&self, slot: u16) -> bool {
        let disk = self.disk_at(slot);
        let ails = disk.is_some_and(|disk| self.world.shelf.disks[disk].ails());
        let polluted = self.polluted.iter().any(|(stripe, _)| self.parity_member(*stripe) == Some(slot));
        let scarred = self.scars.iter().any(|(scarred, _)| Some(*scarred) == disk);
        let rotting = self.rotting_at_rest.iter().any(|(_, rotting, _)| Some(*rotting) == disk);
        self.is_gone(slot) || ails || polluted || scarred || rotting
    }

    /// Whether `slot` has no member that holds all it should.
    pub(crate) fn is_gone(&self, slot: u16) -> bool {
        let active = self.world.array.status().members[usize::from(slot)].state == "active";
        !active || self.disk_at(slot).is_none_or(|disk| self.world.shelf.disks[disk].answers_not())
    }

    /// The array calls blocks unreadable. They must be lost.
    pub(crate) fn listed(&mut self, slot: Slot, at: Sector, length: Sectors) -> Result<(), Violation> {
        let start = self.geometry.data_start();
        for sector in at.get()..(at + length).get() {
            let on_it = Location { slot, at: Sector::ZERO + (Sector::new(sector) - start) };
            let Occupant::Unit { stripe, unit, offset } = self.geometry.layout().occupant(on_it) else {
                return Err(Violation::Repair(format!(
                    "sector {sector} of {slot}, which is no unit's, is listed"
                )));
            };
            let known = self.given_up.contains(&(stripe, offset.get()));
            if !known && !self.limits.beyond && !self.is_lost(stripe, unit, offset) {
                let what = format!("{stripe} is given up at column {}, where nothing is lost", offset.get());
                return Err(Violation::Repair(what));
            }
            self.given_up.insert((stripe, offset.get()));
        }
        Ok(())
    }

    /// Whether what `unit` of `stripe` should hold at this column could not be had from the others:
    /// no copy is left, or a unit is missing that parity needs.
    fn is_lost(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let copies = self.geometry.organization().code == Code::Copy;
        let mut others = self.geometry.layout().units().filter(|other| *other != unit);
        match copies {
            true => others.all(|other| self.is_hurt(stripe, other, column)),
            false => others.any(|other| self.is_hurt(stripe, other, column)),
        }
    }

    /// Whether a unit cannot be read at this column, or could not be.
    fn is_hurt(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let block = self.geometry.block();
        let location = self.geometry.layout().locate(stripe, unit);
        let at = self.geometry.data_start() + location.at.from_start() + column.round_down(block);
        let sectors = at.get()..(at + block).get();
        let disk = self.disk_at(location.slot.get());
        // What a transient error hit is told by the access, not by the sector.
        let ails = disk.is_none_or(|disk| self.world.shelf.disks[disk].hiccup);
        ails || self.is_gone(location.slot.get())
            || self.scars.iter().any(|(on, sector)| Some(*on) == disk && sectors.contains(sector))
    }

    /// Whether a request on these sectors may fail, because a stripe of it has lost more than it
    /// can.
    pub(crate) fn may_be_lost(&self, at: u64, length: u64, durable: bool) -> bool {
        let gone = match self.limits.beyond {
            true => (0..self.geometry.members()).filter(|slot| self.is_gone(*slot)).count(),
            false => 0,
        };
        if self.scars.is_empty() && self.given_up.is_empty() && gone == 0 {
            return false;
        }
        // A log that is lost takes with it what parity lacks; and where somebody cannot flush
        // nothing is called durable.
        let logs = self.geometry.layout().logs().is_some();
        let hurt = gone + usize::from(gone > 0 && !self.scars.is_empty());
        let tolerance = usize::from(self.geometry.fault_tolerance());
        if logs && hurt > tolerance || durable && gone > tolerance {
            return true;
        }
        let layout = self.geometry.layout();
        let data = layout.stripe_data().get();
        let unsure = (self.unsure || self.is_unsynced()) && self.geometry.organization().code == Code::Xor;
        (at / data..(at + length.max(1)).div_ceil(data)).any(|stripe| {
            let stripe = Stripe::new(stripe);
            if self.given_up.range((stripe, 0)..=(stripe, u64::MAX)).next().is_some() {
                return true;
            }
            let scarred = layout.units().filter(|unit| {
                let location = layout.locate(stripe, *unit);
                let start = self.geometry.data_start() + location.at.from_start();
                let end = start + layout.unit_length();
                let disk = self.disk_at(location.slot.get());
                self.is_gone(location.slot.get())
                    || self
                        .scars
                        .iter()
                        .any(|(on, sector)| Some(*on) == disk && (start.get()..end.get()).contains(sector))
            });
            let scarred = scarred.count();
            scarred > usize::from(self.geometry.fault_tolerance()) || unsure && scarred > 0
        })
    }
}
