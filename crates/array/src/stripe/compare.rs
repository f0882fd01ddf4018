//! Comparing a stripe for a scrub, and repairing what does not fit.

use parlour_units::Unit;

use crate::code::UnitSet;
use crate::columns::Columns;
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Action;
use crate::ids::JobId;
use crate::job::{Locate, Purpose, Stage, StripeJob};
use crate::log::Logs;
use crate::report::Repair;
use crate::signal::Signal;
use crate::stripe::state::Stripes;

impl Stripes {
    /// A stripe's comparison, or its repair, is done.
    pub(crate) fn compared(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
        repair: Repair,
    ) {
        let repaired = std::mem::take(&mut cx.jobs.stripe(id).repairing);
        let mut differs = !cx.jobs.get(id).differing.is_empty();
        let locate = cx.jobs.stripe(id).locate;
        match locate {
            Locate::NotYet if differs && can_locate(cx) => {
                let job = cx.jobs.stripe(id);
                (job.locate, job.differs, job.stage) = (Locate::Now, true, Stage::Plan);
                cx.runnable.push(id);
                return;
            }
            Locate::Now => {
                differs = true;
                let found = explains(cx, id);
                cx.jobs.stripe(id).locate = Locate::Found(found);
            }
            _ => {}
        }
        cx.jobs.stripe(id).differs = false;
        if let Some(targets) = self.scrub_targets(cx, id, repair).filter(|_| differs) {
            self.repair_scrubbed(cx, durable, id, targets);
            return;
        }
        if repaired || differs {
            self.report_mismatch(cx, id, repaired);
        }
        for _ in 0..lost_blocks(cx, id) {
            cx.signal(Signal::Uncompared);
        }
        self.next_window(cx, durable, logs, id);
    }

    /// The units to rewrite, if a repair was requested and is possible.
    fn scrub_targets(&self, cx: &Context, id: JobId, repair: Repair) -> Option<UnitSet> {
        let layout = cx.geometry.layout();
        match repair {
            Repair::Nothing => None,
            Repair::ParityFromData => Some(layout.units().filter(|unit| !layout.is_data(*unit)).collect()),
            Repair::Majority => self.outvoted(cx, id),
        }
    }

    /// The copies that differ from the content of more than half of them.
    fn outvoted(&self, cx: &Context, id: JobId) -> Option<UnitSet> {
        let job = cx.jobs.get(id);
        let units: Vec<Unit> = cx.geometry.layout().units().collect();
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

    /// Repairs a mismatch under the lock that the comparison holds.
    fn repair_scrubbed(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId, targets: UnitSet) {
        let job = cx.jobs.stripe(id);
        (job.targets, job.repairing, job.stage) = (targets, true, Stage::Plan);
        let region = job.region;
        durable.bitmap_mut().note_repair(cx, region);
        cx.runnable.push(id);
    }

    /// A window that a scrub could not read could not be repaired either. The comparison continues
    /// block by block, so that it skips only the blocks that fail. Returns whether it continues in
    /// this way.
    pub(crate) fn compare_on(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        logs: &mut Logs,
        id: JobId,
    ) -> bool {
        let (block, unit) = (cx.geometry.block(), cx.geometry.layout().unit_length());
        let StripeJob { purpose, window, .. } = *cx.jobs.stripe(id);
        let scrubs = matches!(purpose, Purpose::Scrub { .. });
        if !scrubs || !cx.roster.missing(&cx.geometry, window.stripe).is_empty() {
            return false;
        }
        let Columns { from, to } = window.columns;
        let from = if to - from > block { from } else { to };
        if from == to {
            cx.signal(Signal::Uncompared);
        }
        if from == unit {
            self.end_stripe(cx, durable, logs, id, Ok(()));
            return true;
        }
        let job = cx.jobs.stripe(id);
        (job.block_by_block, job.attempts) = (true, 0);
        job.window.columns = Columns::new(from, from + block);
        self.replan(cx, id);
        true
    }
}

/// Whether check units can show which unit of a stripe is wrong: several of them are computed from
/// the data. (With one, each unit explains a mismatch.)
fn can_locate(cx: &Context) -> bool {
    !cx.geometry.keeps_copies() && cx.geometry.fault_tolerance() > 1
}

/// The unit that alone explains the mismatch: without it, all others fit. The job's plan was
/// [`Builder::locate`](crate::plan::Builder::locate).
fn explains(cx: &Context, id: JobId) -> Option<Unit> {
    let job = cx.jobs.get(id);
    let layout = cx.geometry.layout();
    let compares = job.plan.steps.iter().enumerate().filter(|(_, step)| step.action == Action::Compare);
    let fits: Vec<bool> = compares.map(|(step, _)| !job.differing.contains(&(step as u32))).collect();
    let each = fits.chunks(usize::from(layout.check_units()) - 1);
    let mut found = layout.units().zip(each).filter(|(_, fits)| fits.iter().all(|fits| *fits));
    found.next().map(|(unit, _)| unit).filter(|_| found.next().is_none())
}

/// The number of blocks of the job's window that are lost to hosts.
fn lost_blocks(cx: &mut Context, id: JobId) -> usize {
    let window = cx.jobs.stripe(id).window;
    let places = cx.geometry.layout().units().map(|unit| cx.home_of(window, unit));
    let lost = places.map(|(slot, at)| cx.roster.listed().lost(slot, at, window.columns.length()).count());
    lost.sum()
}
