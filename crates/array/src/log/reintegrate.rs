//! Reintegration: a region's log is folded into its parity in bulk (Stodolsky §2, §2.5).
//!
//! The index in memory shows which records still count: going back from the newest record of a
//! stripe, everything that a later overwrite or cancel record covers is left out. Parity that an
//! overwrite record covers starts from zero. All remaining records are xored in, in any order. So
//! log and parity are read in parallel. If memory is short, the parity is done in slices, and for
//! each slice the log is read part by part.
//!
//! The parity is updated in place, so a pass that has begun to write is never repeated. If a member
//! is lost meanwhile, its parity is lost with it, and the parity of the others is complete. Parity
//! that cannot be read is repaired first.

mod effect;
mod intent;
mod parity_repair;
mod passes;
mod plan;
pub(super) mod state;
mod suspend;
mod unrecoverable;

use parlour_units::{Region, Sectors};

use crate::buffer::BufferId;
use crate::context::Context;
use crate::durable::Durable;
use crate::exec::job::FailedAccess;
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::log::reintegrate::plan::without_done;
use crate::log::reintegrate::state::{HalfDone, Reintegration};
use crate::signal::Signal;

impl Logs {
    /// All parity that a pass could not read was repaired, or (if `lost`) could not be.
    pub(crate) fn parity_repaired(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        pass: JobId,
        region: Region,
        lost: bool,
    ) {
        let failures = std::mem::take(&mut cx.jobs.get_mut(pass).failures);
        cx.jobs.end(pass);
        if self.lacks_data(region) {
            self.give_up_reintegration(cx, durable, region);
        } else if lost && self.leave_out_listed(cx, region) {
            self.next_pass(cx, durable, region);
        } else if lost {
            cx.signal(Signal::PassLost(region, failures));
        } else {
            self.next_pass(cx, durable, region);
        }
    }

    /// Whether reintegrations that a crash interrupted are still to be finished.
    fn any_half_done(&self) -> bool {
        self.commits.exist()
            && self.regions.values().any(|log| {
                log.half_done.is_some()
                    || log.recovery.as_ref().is_some_and(|recovery| recovery.has_intents())
            })
    }

    pub(super) fn take_half_done(&mut self, region: Region) -> HalfDone {
        let log = self.region(region);
        log.half_done.take().unwrap_or_default()
    }

    /// Starts queued reintegrations, as far as there are reintegration buffers. Returns whether it
    /// started any.
    pub(crate) fn start_reintegrations(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let mut any = false;
        if self.queue.is_empty() {
            return any;
        }
        loop {
            if !self.has_reintegration_memory(cx) {
                return any;
            }
            let has_room = !self.commits.exist() || self.commits.has_intent_room(self.running);
            let half_done = self.any_half_done();
            let mut queue = self.queue.iter();
            let free = queue.position(|region| {
                // Records that were given up count after a crash until it is durable that they do
                // not: the table must not say before that they are in the parity.
                let given_up = cx.geometry.is_journaled() && !durable.bitmap().resync_is_durable(*region);
                // Those that a crash interrupted come first: their intents stand at the front of
                // the stream.
                let log = &self.regions[*region];
                let may = log.half_done.is_some() || has_room && !half_done;
                log.holders == 0 && !given_up && may
            });
            let Some(region) = free.and_then(|index| self.queue.remove(index)) else { return any };
            any = true;
            self.start_reintegration(cx, durable, region);
        }
    }

    fn start_reintegration(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let share = self.reintegration_share(cx);
        self.region(region).reintegration_memory = share;
        self.reintegration_memory += share.unwrap_or(Sectors::ZERO);
        let log = &self.regions[region];
        let begun = log.half_done.as_ref().map(|half| half.newest);
        let (applies, mut newest) = self.collect_applies(cx, region, begun.unwrap_or(u64::MAX));
        let half = self.take_half_done(region);
        let mut applies = without_done(applies, &half.done);
        let memory: Vec<(u32, BufferId)> = self.regions[region]
            .segments
            .iter()
            .filter_map(|index| Some((*index, self.segment(*index).buffer?)))
            .collect();
        let mut passes = self.split_passes(cx, region, &applies, (&memory, &[]));
        // A reintegration that a crash cut off takes the same records again, and its intents are
        // already in the commit log.
        while begun.is_none()
            && !self.intents_fit(cx, &passes, &applies)
            && let Some(middle) = self.middle_record(region)
        {
            (applies, newest) = self.collect_applies(cx, region, middle);
            passes = self.split_passes(cx, region, &applies, (&memory, &[]));
        }
        memory.iter().for_each(|(_, buffer)| cx.buffers.hold(*buffer));
        self.running += 1;
        let log = self.region(region);
        (log.queued, log.wanted) = (false, false);
        let epoch = log.epoch;
        log.epoch = 1 - epoch;
        let reintegration = Reintegration {
            applies,
            passes,
            held: memory,
            newest,
            turn: cx.roster.turn(),
            buffers: Vec::new(),
            parity_repairs: 0,
            suspects: Vec::new(),
            intents: half.intents,
            intended: half.intended,
            waiting: None,
            epoch,
            finishing: false,
            flush: 0,
        };
        self.region(region).reintegrating = Some(Box::new(reintegration));
        self.next_pass(cx, durable, region);
    }

    pub(crate) fn reintegrate_pass_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        region: Region,
    ) {
        cx.jobs.end(id);
        self.release_pass(cx, region);
        self.reintegration(region).passes.pop();
        self.next_pass(cx, durable, region);
    }

    /// Data and parity are durable, or (unless `whole`) a member failed meanwhile.
    pub(crate) fn reintegration_flushed(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        (region, whole): (Region, bool),
    ) {
        cx.jobs.end(id);
        if !whole {
            return self.flush_reintegration(cx, region);
        }
        // Missing data is computed from the parity, so the parity must not lack any record.
        if durable.bitmap().needs_resync(region) && !self.misses_data(cx, region) {
            // Some data was never written: the committed records count until the parity is computed
            // from the data.
            let newer = self.has_newer_records(region);
            self.end_reintegration(cx, durable, region, false);
            return if newer { self.drop_unapplied(cx, durable, region) } else { self.drop_log(cx, region) };
        }
        let reintegration = self.region(region).reintegrating.as_ref().expect("it is under way");
        let (turn, newest) = (reintegration.flush, reintegration.newest);
        let known = &mut self.applied[region.as_usize()];
        *known = (*known).max(newest);
        self.flush_covered(turn);
        durable.await_table(region);
    }

    /// Whether there are records newer than those that are being reintegrated.
    fn has_newer_records(&self, region: Region) -> bool {
        let log = &self.regions[region];
        let newest = log.reintegrating.as_ref().expect("it is under way").newest;
        let mut records = log.segments.iter().flat_map(|index| &self.segment(*index).records);
        records.any(|record| record.sequence > newest)
    }

    /// Part of a pass failed.
    pub(crate) fn reintegrate_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, region): (JobId, Region),
        failures: &[FailedAccess],
    ) {
        let job = cx.jobs.get_mut(id);
        let wrote =
            job.plan.steps[job.next_step as usize - 1].phase == job.plan.steps.last().expect("steps").phase;
        self.release_pass(cx, region);
        if !wrote && self.start_parity_repair(cx, id, region, failures) {
            cx.jobs.get_mut(id).kind = Some(Kind::Reintegrate { region });
            return;
        }
        cx.jobs.end(id);
        if !wrote {
            cx.signal(Signal::PassLost(region, failures.to_vec()));
        } else if cx.only_members_lost(failures) {
            // The parity on the lost member is lost. The rest is written, and must not be xored in
            // again.
            self.reintegration(region).passes.pop();
            self.next_pass(cx, durable, region);
        } else {
            self.give_up_reintegration(cx, durable, region);
        }
    }

    /// A pass has written nothing, and what it could not read could not be repaired.
    pub(crate) fn pass_lost(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        region: Region,
        failures: &[FailedAccess],
    ) {
        if cx.only_members_lost(failures) && !self.log_is_lost(cx, region) {
            self.drop_missing_runs(cx, region);
            self.next_pass(cx, durable, region);
        } else if self.leave_out(cx, region, failures) {
            self.next_pass(cx, durable, region);
        } else {
            self.give_up_reintegration(cx, durable, region);
        }
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::{Instant, Region};

    use crate::commands::tests::{submit_write, written};
    use crate::effect::{Class, Outcome};

    #[test]
    fn records_that_are_written_during_a_reintegration_are_newer() {
        let (mut array, region) = (written(), Region::new(0));
        array.rooms.change(Instant::ZERO, |rooms| {
            let core = &mut rooms.core;
            core.logs.start_reintegration(&mut core.cx, &mut core.durable, region);
        });
        assert!(!array.rooms.core.logs.has_newer_records(region));
        submit_write(&mut array);
        while let Some(effect) = array.poll_effect() {
            // The reintegration stays under way.
            if effect.class != Class::Log {
                array.complete(Instant::ZERO, effect.id, Outcome::Done);
            }
        }
        assert_eq!(array.poll_completion().map(|completion| completion.result), Some(Ok(())));
        assert!(array.rooms.core.logs.has_newer_records(region));
    }
}
