//! What the array tells: its events, each checked against what has happened to it.

use parlour_array::{Event, FailureCause};
use parlour_units::{Region, Slot};

use super::Rig;
use crate::disk::Disk;
use crate::violation::Violation;

impl Rig<'_> {
    /// Checks an event, and remembers what follows from it.
    pub(crate) fn hear(&mut self, told: &Event) -> Result<(), Violation> {
        match told {
            Event::MemberFailed { slot, cause } => self.hear_of_failure(told, *slot, *cause),
            Event::OutOfSpace { .. } => {
                self.world.disks_mut().iter_mut().for_each(Disk::lack_is_known);
                Ok(())
            }
            Event::MemberKept { .. } => {
                self.hosts.member_kept();
                Ok(())
            }
            Event::BadBlocksRecorded { slot, at, length, .. } => self.listed(*slot, *at, *length),
            Event::BlocksLost { slot, at, length, .. } => self.lost(*slot, *at, *length),
            // A sequence number may be reported as implausible although it is right: see
            // docs/reliability.md. The consequences are not checked.
            Event::Implausible { .. } => {
                self.defects.set_behind(true);
                Ok(())
            }
            Event::CommitLogDamaged if self.may_lack_entries() => Ok(()),
            Event::AcknowledgedLost { .. }
            | Event::CommitLogDamaged
            | Event::LogDamaged { .. }
            | Event::BlockDamaged { .. } => self.must_be_damaged(told),
            Event::ScrubDone(report)
                if report.mismatches > 0 && !self.defects.may_mismatch() && !self.limits.beyond =>
            {
                Err(Violation::Scrub {
                    mismatches: report.mismatches,
                    unreadable: report.unreadable,
                    skipped: report.skipped,
                })
            }
            _ => Ok(()),
        }
    }

    /// Whether entries may have stood on a journal device alone that is gone. (With write-through
    /// that is promised to cost no more than a resync.)
    fn may_lack_entries(&self) -> bool {
        let mut journals = self.geometry.slots().filter(|slot| self.geometry.is_for_journal(*slot));
        let alone = self.geometry.journal_copies() <= self.geometry.fault_tolerance();
        alone && journals.any(|slot| self.is_gone(slot.get()))
    }

    fn hear_of_failure(&mut self, told: &Event, slot: Slot, cause: FailureCause) -> Result<(), Violation> {
        self.member_excluded();
        // The member was excluded at an arbitrary moment, and unsynced parity may be the only other
        // source of its data; beyond the tolerance, also of what other members held that are gone.
        let chosen = cause != FailureCause::Unfaithful && !self.limits.beyond;
        if cause == FailureCause::Older {
            self.must_be_damaged(told)?;
        }
        if !chosen && self.is_unsynced() && self.geometry.keeps_parity() {
            let regions = (0..self.geometry.layout().region_count()).map(Region::new);
            let others = self.gone().filter(|_| self.limits.beyond).map(Slot::new);
            let slots: Vec<Slot> = others.chain([slot]).collect();
            self.hosts.oracle_mut().forgive_members(&self.geometry, &slots, regions);
        }
        Ok(())
    }
}
