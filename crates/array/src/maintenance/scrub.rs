//! Scrub: all redundancy is read and compared. Mismatches are counted and listed, with the unit
//! that alone explains each, if several check units show it. They are repaired only on request,
//! because a comparison alone does not show which side is right.

use parlour_units::{Slot, Stripe};

use super::state::{Maintenance, Scrub};
use crate::admin_error::AdminError;
use crate::code::UnitSet;
use crate::columns::Window;
use crate::context::Context;
use crate::durable::Durable;
use crate::frontier::Frontier;
use crate::job::Purpose;
use crate::mode::Mode;
use crate::report::{Located, Mismatch, Repair, ScrubReport, Task};
use crate::request::RequestError;
use crate::status::Event;
use crate::stripe::Stripes;

/// The greatest number of mismatches that are listed; more are only counted.
const LISTED: usize = 1_000;

impl Maintenance {
    /// Begins a scrub of the whole array.
    pub(crate) fn begin_scrub(&mut self, cx: &mut Context, repair: Repair) -> Result<(), AdminError> {
        let layout = cx.geometry.layout();
        if cx.mode != Mode::Serving {
            return Err(AdminError::ReadOnly);
        }
        if self.scrub.is_some() {
            return Err(AdminError::ScrubUnderWay);
        }
        if !cx.geometry.code().has_checks() {
            return Err(AdminError::NothingToScrub);
        }
        let copies = cx.geometry.keeps_copies();
        if repair == Repair::Majority && (!copies || layout.check_units() < 2) {
            return Err(AdminError::WrongRepair(
                "a majority takes three or more copies; this array has fewer",
            ));
        }
        if repair == Repair::ParityFromData && copies {
            return Err(AdminError::WrongRepair("this array keeps copies, not parity; repair by majority"));
        }
        let report = ScrubReport::default();
        self.scrub = Some(Scrub { front: Frontier::at(0), repair, began: (cx.now, 0), report });
        Ok(())
    }

    /// The scrub that is under way ends when the stripes that it has begun are finished.
    pub(crate) fn end_scrub(&mut self) -> Result<(), AdminError> {
        let scrub = self.scrub.as_mut().ok_or(AdminError::NoScrub)?;
        scrub.report.cancelled = true;
        Ok(())
    }

    pub(crate) fn scrub_task(&self, cx: &Context) -> Option<Task> {
        let scrub = self.scrub.as_ref()?;
        Some(self.task(cx, scrub.front.done(), cx.geometry.layout().stripes(), scrub.began, false))
    }

    /// Begins the next stripe. Returns whether it did anything.
    pub(crate) fn step_scrub(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        stripes: &mut Stripes,
    ) -> bool {
        let end = cx.geometry.layout().stripes();
        let Some(scrub) = &mut self.scrub else { return false };
        if scrub.report.cancelled {
            return self.finish_scrub(cx, false);
        }
        if scrub.front.next() == end {
            return self.finish_scrub(cx, true);
        }
        let stripe = Stripe::new(scrub.front.next());
        // A region that is still to be resynced is known not to fit.
        let unsynced = durable.bitmap().needs_resync(cx.geometry.layout().region_of(stripe).0);
        if unsynced || !cx.roster.missing(&cx.geometry, stripe).is_empty() {
            let scrub = self.scrub.as_mut().expect("it is under way");
            scrub.report.skipped += 1;
            scrub.front.skip();
            return true;
        }
        scrub.report.stripes += 1;
        scrub.front.begin();
        let repair = scrub.repair;
        self.start_maintenance(cx, stripes, Purpose::Scrub { repair }, stripe, UnitSet::NONE);
        true
    }

    /// A stripe that was begun is not compared after all.
    pub(crate) fn skip_scrubbed(&mut self) {
        if let Some(scrub) = &mut self.scrub {
            scrub.report.stripes -= 1;
            scrub.report.skipped += 1;
        }
    }

    /// Units do not fit.
    pub(crate) fn note_mismatch(
        &mut self,
        cx: &mut Context,
        window: Window,
        (repaired, located): (bool, Option<Slot>),
    ) {
        let at = (cx.geometry.layout().stripe_data() * window.stripe.get()).bytes().get();
        let Some(scrub) = &mut self.scrub else { return };
        scrub.report.mismatches += 1;
        scrub.report.repaired += u64::from(repaired);
        if scrub.report.listed.len() < LISTED {
            let column = window.columns.from.bytes().get();
            let (stripe, located) = (window.stripe.get(), located.map(Slot::get));
            scrub.report.listed.push(Mismatch { stripe, at, column, located, repaired });
        }
        let Some(slot) = located.map(Slot::get) else { return };
        match scrub.report.located.iter_mut().find(|found| found.slot == slot) {
            Some(found) => found.mismatches += 1,
            None => scrub.report.located.push(Located { slot, mismatches: 1 }),
        }
    }

    /// A block could be neither read nor repaired.
    pub(crate) fn note_uncompared(&mut self) {
        if let Some(scrub) = &mut self.scrub {
            scrub.report.unreadable += 1;
        }
    }

    pub(crate) fn scrubbed_stripe(
        &mut self,
        cx: &mut Context,
        stripe: Stripe,
        result: Result<(), RequestError>,
    ) {
        let missing = !cx.roster.missing(&cx.geometry, stripe).is_empty();
        let Some(scrub) = &mut self.scrub else { return };
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
    pub(crate) fn finish_scrub(&mut self, cx: &mut Context, complete: bool) -> bool {
        let idle = self.scrub.as_ref().is_some_and(|scrub| scrub.front.is_idle());
        if let Some(mut scrub) = self.scrub.take_if(|_| idle) {
            scrub.report.complete = complete;
            self.last_scrub = Some(scrub.report.clone());
            cx.events.push_back(Event::ScrubDone(scrub.report));
        }
        idle
    }
}
