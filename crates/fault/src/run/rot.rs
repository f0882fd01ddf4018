//! Makes a unit rot, and looks whether a scrub finds and repairs it.

use parlour_array::Repair;
use parlour_units::{Sector, Stripe, Unit};

use super::Run;
use crate::content::SECTOR;
use crate::coverage::Fault;
use crate::violation::Violation;

/// A rotten sector.
struct Rot {
    disk: usize,
    sector: u64,
    /// The slot of its member.
    slot: u16,
    good: Vec<u8>,
    rotten: Vec<u8>,
    /// The scrub can know what is right.
    repairable: bool,
}

impl Run<'_> {
    /// Makes a unit rot: a bit is flipped, or a sector holds the content of another sector. Checks
    /// that a scrub that may not repair reports this and changes nothing, and that a scrub that may
    /// repair does so where the redundancy shows which content is right.
    pub(super) fn rot(&mut self, number: u64) -> Result<(), Violation> {
        self.settle()?;
        let hurt = self.rig.defects.has_read_errors() || self.rig.defects.cost_any();
        if !self.rig.is_serving() || hurt || self.rig.limits.beyond || !self.rig.survives(Fault::Rot, 0) {
            return Ok(());
        }
        self.run_scrub(Repair::Nothing)?;
        if !self.rig.is_whole() {
            return Ok(());
        }
        self.rig.count_fault(Fault::Rot);
        let Some(rot) = self.draw_rot(number).filter(|rot| rot.rotten != rot.good) else { return Ok(()) };
        self.write(&rot, &rot.rotten);
        self.rig.defects.set_rotting(true);
        let result = self.look_at(&rot);
        self.rig.defects.set_rotting(false);
        result
    }

    /// What rots, and how.
    fn draw_rot(&self, number: u64) -> Option<Rot> {
        let layout = self.rig.geometry.layout();
        let stripe = Stripe::new(number % layout.stripes());
        let data = number >> 60 > 8;
        let (first, units) =
            if data { (0, layout.data_units()) } else { (layout.data_units(), layout.check_units()) };
        let unit = Unit::new(first + (number >> 40) as u16 % units);
        let column = number / layout.stripes() % layout.unit_length().get();
        let (disk, sector) = self.rig.column(stripe, unit, column)?;
        let slot = self.rig.place(stripe, unit).0;
        let good = self.rig.world.disk(disk).sector(sector).bytes().to_vec();
        let rotten = self.rotten(disk, &good, number);
        // With two copies it is unknown which one is right. Where data and parity do not fit, the
        // data is trusted.
        let repairable = if self.rig.geometry.keeps_copies() { layout.check_units() > 1 } else { !data };
        Some(Rot { disk, sector, slot, good, rotten, repairable })
    }

    /// The rotten content in place of `good`: one bit differs, or it is the content of another
    /// sector of the member.
    fn rotten(&self, disk: usize, good: &[u8], number: u64) -> Vec<u8> {
        if (number >> 58).is_multiple_of(2) {
            let mut rotten = good.to_vec();
            rotten[(number >> 32) as usize % SECTOR] ^= 0x10;
            return rotten;
        }
        let start = self.rig.geometry.data_start().get();
        let elsewhere = start + (number >> 20) % self.rig.geometry.stored().layout.length;
        self.rig.world.disk(disk).sector(elsewhere).bytes().to_vec()
    }

    fn write(&mut self, rot: &Rot, bytes: &[u8]) {
        self.rig.world.disk_mut(rot.disk).write(Sector::new(rot.sector), bytes, true);
    }

    fn holds(&self, rot: &Rot, bytes: &[u8]) -> bool {
        self.rig.world.disk(rot.disk).sector(rot.sector).bytes() == bytes
    }

    fn look_at(&mut self, rot: &Rot) -> Result<(), Violation> {
        let report = self.run_scrub(Repair::Nothing)?;
        if !self.holds(rot, &rot.rotten) {
            return Err(Violation::Repair("a scrub repaired what it was not asked to".into()));
        }
        if report.mismatches != 1 {
            return Err(Violation::Repair(format!("a scrub found {} rotten places of 1", report.mismatches)));
        }
        let geometry = &self.rig.geometry;
        let shows = !geometry.keeps_copies() && geometry.fault_tolerance() > 1;
        let located = report.listed.first().and_then(|mismatch| mismatch.located);
        if located != shows.then_some(rot.slot) {
            let what = format!("a scrub says that member {located:?} has what rotted on member {}", rot.slot);
            return Err(Violation::Repair(what));
        }
        if !rot.repairable {
            self.write(rot, &rot.good);
            return Ok(());
        }
        let copies = self.rig.geometry.keeps_copies();
        self.run_scrub(if copies { Repair::Majority } else { Repair::ParityFromData })?;
        // A repair is not durable until a flush, like any write.
        self.rig.world.disk_mut(rot.disk).flushed_all();
        if !self.holds(rot, &rot.good) {
            return Err(Violation::Repair("a scrub did not repair what it was asked to".into()));
        }
        Ok(())
    }
}
