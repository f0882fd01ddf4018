//! Scrub: all redundancy is read and compared. Mismatches are counted and listed. They are repaired
//! only on request, because a comparison alone does not show which side is right.

use parlour_units::{Instant, Member, Sector, Slot, Stripe};

use super::AdminError;
use super::report::{Mismatch, Repair, ScrubReport, Task};
use crate::array::Array;
use crate::code::UnitSet;
use crate::columns::Window;
use crate::frontier::Frontier;
use crate::job::Purpose;
use crate::mode::Mode;
use crate::request::RequestError;
use crate::status::Event;

/// The greatest number of mismatches that are listed; more are only counted.
const LISTED: usize = 1_000;

/// A scrub that is under way.
#[derive(Debug)]
pub(crate) struct Scrub {
    front: Frontier,
    repair: Repair,
    began: (Instant, u64),
    report: ScrubReport,
}

impl Array {
    /// Starts a scrub of the whole array.
    ///
    /// # Errors
    /// One is under way, or the organization has nothing to compare or no such repair.
    pub fn scrub(&mut self, now: Instant, repair: Repair) -> Result<(), AdminError> {
        self.advance_clock(now);
        let layout = self.cx.geometry.layout();
        if self.cx.mode != Mode::Serving {
            return Err(AdminError::ReadOnly);
        }
        if self.maintenance.scrub.is_some() {
            return Err(AdminError::ScrubUnderWay);
        }
        if !self.cx.geometry.code().has_checks() {
            return Err(AdminError::NothingToScrub);
        }
        let copies = self.cx.geometry.keeps_copies();
        if repair == Repair::Majority && (!copies || layout.check_units() < 2) {
            return Err(AdminError::WrongRepair(
                "a majority takes three or more copies; this array has fewer",
            ));
        }
        if repair == Repair::ParityFromData && copies {
            return Err(AdminError::WrongRepair("this array keeps copies, not parity; repair by majority"));
        }
        let report = ScrubReport::default();
        self.maintenance.scrub =
            Some(Scrub { front: Frontier::at(0), repair, began: (self.cx.now, 0), report });
        self.work();
        Ok(())
    }

    /// Cancels the scrub under way. Stripes that it has begun are finished; its report is kept.
    ///
    /// # Errors
    /// None is under way.
    pub fn cancel_scrub(&mut self, now: Instant) -> Result<(), AdminError> {
        self.advance_clock(now);
        let scrub = self.maintenance.scrub.as_mut().ok_or(AdminError::NoScrub)?;
        scrub.report.cancelled = true;
        self.work();
        Ok(())
    }

    pub(crate) fn scrub_task(&self) -> Option<Task> {
        let scrub = self.maintenance.scrub.as_ref()?;
        Some(self.task(scrub.front.done(), self.cx.geometry.layout().stripes(), scrub.began, false))
    }

    /// Begins the next stripe. Returns whether it did anything.
    pub(crate) fn step_scrub(&mut self) -> bool {
        let stripes = self.cx.geometry.layout().stripes();
        let Some(scrub) = &mut self.maintenance.scrub else { return false };
        if scrub.report.cancelled {
            return self.finish_scrub(false);
        }
        if scrub.front.next() == stripes {
            return self.finish_scrub(true);
        }
        let stripe = Stripe::new(scrub.front.next());
        // A region that is still to be resynced is known not to fit.
        let unsynced = self.durable.bitmap().needs_resync(self.cx.geometry.layout().region_of(stripe).0);
        if unsynced || !self.cx.roster.missing(&self.cx.geometry, stripe).is_empty() {
            let scrub = self.maintenance.scrub.as_mut().expect("it is under way");
            scrub.report.skipped += 1;
            scrub.front.skip();
            return true;
        }
        scrub.report.stripes += 1;
        scrub.front.begin();
        let repair = scrub.repair;
        self.start_maintenance(Purpose::Scrub { repair }, stripe, UnitSet::NONE);
        true
    }

    /// A stripe that was begun is not compared after all.
    pub(crate) fn skip_scrubbed(&mut self) {
        if let Some(scrub) = &mut self.maintenance.scrub {
            scrub.report.stripes -= 1;
            scrub.report.skipped += 1;
        }
    }

    /// Units do not fit.
    pub(crate) fn note_mismatch(&mut self, window: Window, repaired: bool) {
        let at = (self.cx.geometry.layout().stripe_data() * window.stripe.get()).bytes().get();
        let Some(scrub) = &mut self.maintenance.scrub else { return };
        scrub.report.mismatches += 1;
        scrub.report.repaired += u64::from(repaired);
        if scrub.report.listed.len() < LISTED {
            let column = window.columns.from.bytes().get();
            scrub.report.listed.push(Mismatch { stripe: window.stripe.get(), at, column, repaired });
        }
    }

    /// A block could be neither read nor repaired.
    pub(crate) fn note_uncompared(&mut self) {
        if let Some(scrub) = &mut self.maintenance.scrub {
            scrub.report.unreadable += 1;
        }
    }

    pub(crate) fn scrubbed_stripe(&mut self, stripe: Stripe, result: Result<(), RequestError>) {
        let missing = !self.cx.roster.missing(&self.cx.geometry, stripe).is_empty();
        let Some(scrub) = &mut self.maintenance.scrub else { return };
        match result {
            Ok(()) => {}
            // A member was lost meanwhile.
            Err(_) if missing => {
                scrub.report.stripes -= 1;
                scrub.report.skipped += 1;
            }
            Err(_) => scrub.report.unreadable += 1,
        }
        scrub.front.end(stripe);
    }

    /// Ends a scrub once its last job has ended, at the array's end or earlier. Returns whether it
    /// did.
    pub(crate) fn finish_scrub(&mut self, complete: bool) -> bool {
        let idle = self.maintenance.scrub.as_ref().is_some_and(|scrub| scrub.front.is_idle());
        if let Some(mut scrub) = self.maintenance.scrub.take_if(|_| idle) {
            scrub.report.complete = complete;
            self.maintenance.last_scrub = Some(scrub.report.clone());
            self.cx.events.push_back(Event::ScrubDone(scrub.report));
        }
        idle
    }

    /// Where a member's data area starts; tests of drivers damage sectors behind this place.
    pub fn member_data_start(&self) -> Sector {
        self.cx.geometry.data_start()
    }

    /// The slot in which a member stands, for messages.
    pub fn slot_of(&self, member: Member) -> Option<Slot> {
        self.cx.roster.slot_of(member)
    }
}
