//! The checks on an array at rest: all data is read, a scrub and a direct look at the members find
//! that check units fit, and the array holds no unused resources.

use parlour_units::Bytes;

use super::Run;
use crate::disk::Disk;
use crate::violation::Violation;

impl Run<'_> {
    /// Repairs all faulty members, replaces missing ones, and waits until the array has full
    /// redundancy.
    pub(crate) fn make_whole(&mut self) -> Result<(), Violation> {
        if self.rig.limits.beyond {
            return Ok(());
        }
        let rounds = 4 + 3 * self.rig.geometry.slots().count();
        for round in 0..rounds {
            self.rig.world.disks_mut().iter_mut().for_each(Disk::make_room);
            self.settle()?;
            if !self.rig.is_serving() {
                self.restart()?;
                continue;
            }
            if self.rig.is_whole() {
                return Ok(());
            }
            let gone = self.rig.gone_of_all().next();
            match gone.filter(|_| self.rig.is_redundant()) {
                Some(slot) if self.remove(slot)? => {}
                Some(slot) => self.put_new(slot)?,
                // A resync cannot use data that is unreadable.
                None => {
                    self.rig.repair_errors();
                    if round > 0 {
                        self.restart()?;
                    }
                }
            }
        }
        let status = self.rig.status();
        let states: Vec<&str> = status.slots().map(|member| member.state).collect();
        Err(Violation::NotWhole(format!(
            "members {states:?}, rebuild {:?}, resync {:?}, mode {}",
            status.rebuild, status.resync, status.mode
        )))
    }

    /// Does all checks that the array's state allows.
    pub(crate) fn verify(&mut self) -> Result<(), Violation> {
        self.settle()?;
        self.read_all()?;
        self.settle()?;
        if self.rig.is_serving() {
            self.rig.defects.forget_cut_off();
        }
        if self.lost || self.rig.limits.beyond {
            return Ok(());
        }
        if self.rig.is_serving() && self.rig.is_redundant() && self.rig.is_whole() {
            self.verify_redundancy()?;
        }
        self.rig.memory_is_bounded()?;
        self.rig.nothing_leaks()
    }

    /// Checks that all units can be read and fit.
    fn verify_redundancy(&mut self) -> Result<(), Violation> {
        // Failed flushes are repaired first: if a scrub loses a member for them, it proves nothing
        // about the scrub.
        self.rig.world.disks_mut().iter_mut().for_each(Disk::repair_flushes);
        self.repair_silent_faults()?;
        self.clean_scrub()?;
        if !self.rig.is_whole() || !self.rig.is_serving() {
            return Ok(());
        }
        self.rig.no_sector_is_bad()?;
        self.rig.redundancy_fits()?;
        self.rig.repair_errors();
        self.rig.defects.forget_read_errors();
        if self.rig.status().unreadable == Bytes::ZERO {
            self.rig.defects.forget_given_up();
        }
        Ok(())
    }
}
