//! The fault atlas: the faults that the organization promises to survive in the array's current
//! state. The tester injects no other faults, unless `Limits::beyond` is set.

use parlour_array::layout::{Location, Occupant};
use parlour_array::{MemberStatus, Mode};
use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use crate::coverage::Fault;
use crate::disk::{Disk, Flushes};
use crate::run::Run;
use crate::violation::Violation;

impl Run<'_> {
    /// Whether the array promises to survive `fault` at `slot` now.
    pub(crate) fn survives(&mut self, fault: Fault, slot: u16) -> bool {
        match fault {
            // The promises allow these faults in every state.
            Fault::PowerCut | Fault::Kill | Fault::Scrub | Fault::RepairingScrub | Fault::SlowMember => true,
            Fault::Stop | Fault::Spare | Fault::Comeback | Fault::LateWrite | Fault::Rival => true,
            Fault::Replacement if self.is_failed(slot) => true,
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
                self.world.array.mode() == Mode::Serving && !self.is_full() && self.can_do_without(slot)
            }
            // A repair needs free space.
            Fault::OutOfSpace | Fault::OutOfAllSpace | Fault::Starvation => {
                let ails = self.world.shelf.disks.iter().any(Disk::ails);
                self.serves() && self.is_whole() && self.scars.is_empty() && self.polluted.is_empty() && !ails
            }
            Fault::Absence | Fault::ForeignMember | Fault::WipedMember | Fault::TruncatedMember => {
                // Members with a valid superblock of this array must outnumber the foreign one.
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

    /// Whether the other members alone can supply all data of the member in `slot`.
    fn can_do_without(&mut self, slot: u16) -> bool {
        let tolerance = usize::from(self.geometry.fault_tolerance());
        let peers: Vec<u16> = (0..self.geometry.members())
            .filter(|other| {
                *other != slot && self.geometry.layout().share_stripes(Slot::new(slot), Slot::new(*other))
            })
            .collect();
        let weak = peers.iter().filter(|other| self.is_weak(**other)).count();
        // A copy is complete by itself. With the journal, records are redone after a crash, so the
        // lost member leaves no region unsynced.
        let copies = self.geometry.keeps_copies();
        weak < tolerance && (copies || !self.is_unsynced())
    }

    /// The disks of members of which any one may be lost in a power cut at this moment. Where the
    /// array does not promise this, it reports the loss when it is opened, and the oracle forgives
    /// the data that the array reports as lost.
    pub(crate) fn expendable(&self) -> Vec<usize> {
        let sure = !self.promises.opens_unclean_and_degraded || !self.is_unsynced();
        let all = self.disks_if_all_there().filter(|_| sure && self.geometry.fault_tolerance() > 0);
        all.unwrap_or_default()
    }

    /// The disk in each slot; none unless all members are present.
    fn disks_if_all_there(&self) -> Option<Vec<usize>> {
        let disk = |member: &MemberStatus| {
            let disk = self.world.disk_of(member.member.filter(|_| member.state == "active")?)?;
            Some(disk).filter(|disk| !self.world.shelf.disks[*disk].answers_not())
        };
        self.world.array.status().members.iter().map(disk).collect()
    }

    /// Whether some region's check units may not fit although the array has redundancy.
    pub(crate) fn is_unsynced(&self) -> bool {
        self.geometry.fault_tolerance() > 0 && self.world.array.unsynced_regions() > 0
    }

    /// Whether all members are present and all check units fit.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_unsynced() && self.disks_if_all_there().is_some()
    }

    /// Whether some data on the member in `slot` cannot be read, or soon may not be.
    fn is_weak(&self, slot: u16) -> bool {
        let disk = self.disk_at(slot);
        let ails = disk.is_some_and(|disk| self.world.shelf.disks[disk].ails());
        let polluted = self.polluted.iter().any(|(stripe, _)| self.parity_member(*stripe) == Some(slot));
        let scarred = self.scars.iter().any(|(scarred, _)| Some(*scarred) == disk);
        let rotting = self.rotting_at_rest.iter().any(|(_, rotting, _)| Some(*rotting) == disk);
        self.is_gone(slot) || ails || polluted || scarred || rotting
    }

    /// Whether the member in `slot` is missing, does not answer, or is not completely rebuilt.
    pub(crate) fn is_gone(&self, slot: u16) -> bool {
        let active = self.world.array.status().members[usize::from(slot)].state == "active";
        !active || self.disk_at(slot).is_none_or(|disk| self.world.shelf.disks[disk].answers_not())
    }

    /// The array has added blocks to its bad-block log. Checks that they are unrecoverable.
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

    /// Whether the data of `unit` of `stripe` at this column is unrecoverable: no copy is left, or
    /// a unit that parity needs is missing.
    fn is_lost(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let copies = self.geometry.keeps_copies();
        let mut others = self.geometry.layout().units().filter(|other| *other != unit);
        match copies {
            true => others.all(|other| self.is_hurt(stripe, other, column)),
            false => others.any(|other| self.is_hurt(stripe, other, column)),
        }
    }

    /// Whether a unit cannot be read at this column, or could not be read before.
    fn is_hurt(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let block = self.geometry.block();
        let location = self.geometry.layout().locate(stripe, unit);
        let at = self.geometry.data_start() + location.at.from_start() + column.round_down(block);
        let sectors = at.get()..(at + block).get();
        let disk = self.disk_at(location.slot.get());
        // A transient error is reported by the access; the sector itself shows nothing.
        let ails = disk.is_none_or(|disk| self.world.shelf.disks[disk].hiccup);
        ails || self.is_gone(location.slot.get())
            || self.scars.iter().any(|(on, sector)| Some(*on) == disk && sectors.contains(sector))
    }

    /// Whether a request on these sectors may fail because one of its stripes has lost more than
    /// the fault tolerance allows.
    pub(crate) fn may_be_lost(&self, at: u64, length: u64, durable: bool) -> bool {
        let gone = match self.limits.beyond {
            true => (0..self.geometry.members()).filter(|slot| self.is_gone(*slot)).count(),
            false => 0,
        };
        if self.scars.is_empty() && self.given_up.is_empty() && gone == 0 {
            return false;
        }
        // If a log is lost, its updates to parity are lost too. If a member cannot flush, a durable
        // write fails.
        let logs = self.geometry.layout().logs().is_some();
        let hurt = gone + usize::from(gone > 0 && !self.scars.is_empty());
        let tolerance = usize::from(self.geometry.fault_tolerance());
        if logs && hurt > tolerance || durable && gone > tolerance {
            return true;
        }
        let layout = self.geometry.layout();
        let data = layout.stripe_data().get();
        let unsure = (self.unsure || self.is_unsynced()) && self.geometry.keeps_parity();
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
