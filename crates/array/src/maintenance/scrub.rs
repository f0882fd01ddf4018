//! Scrub: all redundancy is read and compared. Mismatches are counted and listed. They are repaired
//! only on request, because a comparison alone does not show which side is right.

use parlour_units::{Instant, Member, Sector, Slot, Stripe, Unit};

use super::AdminError;
use super::report::{Mismatch, Repair, ScrubReport, Task};
use crate::array::Array;
use crate::code::UnitSet;
use crate::columns::Columns;
use crate::effect::Action;
use crate::frontier::Frontier;
use crate::ids::JobId;
use crate::job::{Purpose, StripeJob};
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};
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
        self.start_maintenance(Purpose::Scrub, stripe);
        true
    }

    /// A stripe that was begun is not compared after all.
    pub(crate) fn skip_scrubbed(&mut self) {
        if let Some(scrub) = &mut self.maintenance.scrub {
            scrub.report.stripes -= 1;
            scrub.report.skipped += 1;
        }
    }

    /// A stripe's comparison, or its repair, is done.
    pub(crate) fn scrub_stripe_done(&mut self, id: JobId) {
        let repaired = std::mem::take(&mut self.cx.jobs.stripe(id).repairing);
        let differs = !self.cx.jobs.get(id).differing.is_empty();
        if let Some(targets) = self.scrub_targets(id).filter(|_| differs) {
            self.repair_scrubbed(id, targets);
            return;
        }
        if repaired || differs {
            self.note_mismatch(id, repaired);
        }
        self.next_window(id);
    }

    /// The units to rewrite, if a repair was requested and is possible.
    fn scrub_targets(&self, id: JobId) -> Option<UnitSet> {
        let scrub = self.maintenance.scrub.as_ref()?;
        let layout = self.cx.geometry.layout();
        match scrub.repair {
            Repair::Nothing if !is_planted(Bug::ScrubRepairsUnasked) || self.cx.geometry.keeps_copies() => {
                None
            }
            Repair::Nothing => Some(layout.units().filter(|unit| !layout.is_data(*unit)).collect()),
            Repair::ParityFromData => Some(layout.units().filter(|unit| !layout.is_data(*unit)).collect()),
            Repair::Majority => self.outvoted(id),
        }
    }

    /// The copies that differ from the content of more than half of them.
    fn outvoted(&self, id: JobId) -> Option<UnitSet> {
        let job = self.cx.jobs.get(id);
        let units: Vec<Unit> = self.cx.geometry.layout().units().collect();
        let compares = job.plan.steps.iter().enumerate().filter(|(_, step)| step.action == Action::Compare);
        let mut equal = vec![vec![true; units.len()]; units.len()];
        let pairs = (0..units.len()).flat_map(|a| (a + 1..units.len()).map(move |b| (a, b)));
        for ((a, b), (step, _)) in pairs.zip(compares) {
            let differs = job.differing.contains(&(step as u32));
            equal[a][b] = !differs;
            equal[b][a] = !differs;
        }
        let votes = |a: usize| equal[a].iter().filter(|same| **same).count();
        let winner = (0..units.len()).find(|a| votes(*a) * 2 > units.len())?;
        Some((0..units.len()).filter(|other| !equal[winner][*other]).map(|other| units[other]).collect())
    }

    /// A window that the scrub could not read could not be repaired either. The scrub continues
    /// block by block, so that it skips only the blocks that fail. Returns whether it continues in
    /// this way.
    pub(crate) fn scrub_on(&mut self, id: JobId) -> bool {
        let (block, unit) = (self.cx.geometry.block(), self.cx.geometry.layout().unit_length());
        let StripeJob { purpose, window, .. } = *self.cx.jobs.stripe(id);
        if purpose != Purpose::Scrub || !self.cx.roster.missing(&self.cx.geometry, window.stripe).is_empty() {
            return false;
        }
        let Columns { from, to } = window.columns;
        let from = if to - from > block { from } else { to };
        if from == to
            && let Some(scrub) = &mut self.maintenance.scrub
        {
            scrub.report.unreadable += 1;
        }
        if from == unit {
            self.end_stripe(id, Ok(()));
            return true;
        }
        let job = self.cx.jobs.stripe(id);
        (job.block_by_block, job.attempts) = (true, 0);
        job.window.columns = Columns::new(from, from + block);
        self.replan(id);
        true
    }

    pub(crate) fn note_mismatch(&mut self, id: JobId, repaired: bool) {
        let window = self.cx.jobs.stripe(id).window;
        let at = (self.cx.geometry.layout().stripe_data() * window.stripe.get()).bytes().get();
        let Some(scrub) = &mut self.maintenance.scrub else { return };
        scrub.report.mismatches += 1;
        scrub.report.repaired += u64::from(repaired);
        if scrub.report.listed.len() < LISTED {
            let column = window.columns.from.bytes().get();
            scrub.report.listed.push(Mismatch { stripe: window.stripe.get(), at, column, repaired });
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
