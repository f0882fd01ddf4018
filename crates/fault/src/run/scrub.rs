//! Scrubs that are waited for, and what they must find.

use parlour_array::{AdminError, Mode, Repair, ScrubReport};
use parlour_units::Bytes;

use super::Run;
use crate::disk::Disk;
use crate::violation::Violation;

impl Run<'_> {
    /// Scrubs the array, and waits for the result.
    pub(super) fn run_scrub(&mut self, repair: Repair) -> Result<ScrubReport, Violation> {
        let refused = |error: AdminError| Violation::Repair(format!("no scrub: {error}"));
        loop {
            let session = self.rig.world.sessions();
            self.rig.world.scrub(repair).map_err(refused)?;
            self.rig.world.drain()?;
            self.until("a scrub does not end", |run| {
                // An array that has become read-only does not resync either.
                let over = run.rig.mode() == Mode::ReadOnly && run.rig.status().scrub.is_none();
                !run.rig.world.array().is_maintaining() || over
            })?;
            self.settle()?;
            // If the array has halted in the meantime, its new session has no scrub. By now there
            // is space again.
            if self.lost || self.rig.world.sessions() == session {
                let report = self.rig.status().last_scrub;
                return report.ok_or_else(|| Violation::Repair("a scrub vanished".into()));
            }
        }
    }

    /// Checks that a scrub finds nothing that it should not.
    pub(super) fn clean_scrub(&mut self) -> Result<(), Violation> {
        let ScrubReport { complete, mismatches, unreadable, skipped, .. } =
            self.run_scrub(Repair::Nothing)?;
        let serving = self.rig.is_serving();
        if !complete && serving {
            return Err(Violation::Repair("a scrub was broken off in an array that serves".into()));
        }
        // Unreadable sectors may have cost a member.
        let excused = self.rig.defects.has_read_errors() || self.rig.defects.cost_any();
        let listed = self.rig.status().unreadable;
        if !excused && listed > Bytes::ZERO {
            return Err(Violation::Repair(format!("{listed} are called unreadable, and nothing was")));
        }
        // A read-only array has no space to repair unreadable sectors.
        if mismatches > 0 || serving && !excused && unreadable + skipped > 0 {
            return Err(Violation::Scrub { mismatches, unreadable, skipped });
        }
        Ok(())
    }

    /// Checks that a scrub finds silent faults where it can, and no other mismatch; and repairs
    /// them.
    pub(super) fn repair_silent_faults(&mut self) -> Result<(), Violation> {
        self.rig.world.disks_mut().iter_mut().for_each(Disk::disarm);
        if self.rig.defects.has_wrong_parity() {
            self.scrub_wrong_parity()?;
        } else if self.rig.world.disks().iter().any(Disk::is_silently_wrong) {
            // A wrong log is found when its region is to be compared. The scrub then resyncs the
            // region and skips it.
            self.run_scrub(Repair::Nothing)?;
        }
        self.rig.world.disks_mut().iter_mut().for_each(Disk::heal_all);
        Ok(())
    }

    /// Checks that a scrub reports wrong parity, and that a repairing scrub computes it anew.
    fn scrub_wrong_parity(&mut self) -> Result<(), Violation> {
        let report = self.run_scrub(Repair::Nothing)?;
        if !self.rig.is_whole() || !self.rig.is_serving() {
            return Ok(());
        }
        let wrong = self.rig.columns_that_do_not_fit();
        if let Some((stripe, column)) = wrong.iter().find(|column| !self.rig.defects.is_wrong_parity(column))
        {
            return Err(Violation::Redundancy { stripe: stripe.get(), column: *column });
        }
        let compared = report.complete && report.skipped == 0;
        if compared && !wrong.is_empty() && report.mismatches == 0 {
            return Err(Violation::Repair(format!("a scrub found nothing, and {wrong:?} do not fit")));
        }
        self.run_scrub(Repair::ParityFromData)?;
        // A repair is not durable until a flush, like any write.
        let answering = self.rig.world.disks_mut().iter_mut().filter(|disk| !disk.answers_not());
        answering.for_each(Disk::flushed_all);
        if self.rig.is_whole() && self.rig.is_serving() {
            self.rig.defects.forget_wrong_parity();
        }
        Ok(())
    }
}
