//! The passes of a reintegration, one after the other, up to its end.

use parlour_units::Region;

use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Class;
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::log::commit::logs::EntryName;
use crate::signal::Signal;

impl Logs {
    pub(in crate::log) fn next_pass(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let log = self.region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let turn = reintegration.turn;
        let Some(runs) = reintegration.passes.last().cloned() else {
            self.reintegrated(cx, durable, region);
            return;
        };
        let id = cx.jobs.start(Kind::Reintegrate { region }, Class::Log);
        let mut plan = std::mem::take(&mut cx.jobs.get_mut(id).plan);
        self.plan_pass(cx, &mut plan, region, &runs);
        cx.jobs.get_mut(id).plan = plan;
        cx.run(id, turn, None, &[]);
    }

    pub(in crate::log) fn release_pass(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let buffers = std::mem::take(&mut reintegration.buffers);
        buffers.into_iter().for_each(|buffer| cx.buffers.release(buffer));
    }

    /// All passes are done. With `journal`, data and parity have to be durable before the records
    /// are dropped: the array waits for the data, flushes all members, and writes the table of
    /// applied records.
    fn reintegrated(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if !cx.geometry.is_journaled() {
            return self.drop_reintegrated(cx, durable, region);
        }
        let log = self.region(region);
        log.reintegrating.as_mut().expect("it is under way").finishing = true;
        if !log.unlanded.is_empty() {
            return self.give_up_reintegration(cx, durable, region);
        }
        self.reintegration_landed(cx, region);
    }

    /// Data of committed writes was written: a reintegration may have waited for it.
    pub(crate) fn reintegration_landed(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        let Some(reintegration) = &mut log.reintegrating else { return };
        if !reintegration.finishing || log.landing[reintegration.epoch] > 0 {
            return;
        }
        reintegration.finishing = false;
        self.flush_reintegration(cx, region);
    }

    /// The data of a committed write was written, or never will be.
    pub(crate) fn landed(&mut self, cx: &mut Context, region: Region, name: EntryName, epoch: usize) {
        self.commits.landed(name);
        let log = self.region(region);
        log.landing[epoch] -= 1;
        if log.landing[epoch] == 0 {
            self.reintegration_landed(cx, region);
        }
    }

    pub(in crate::log) fn flush_reintegration(&mut self, cx: &mut Context, region: Region) {
        let turn = self.begin_covering_flush();
        let log = self.region(region);
        log.reintegrating.as_mut().expect("it is under way").flush = turn;
        let id = cx.jobs.start(Kind::ReintegrateFlush { region }, Class::Log);
        cx.plan_flushes(id);
        cx.run_own(id);
    }

    /// The records are in the parity, and nothing needs them any more.
    pub(crate) fn drop_reintegrated(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        self.end_reintegration(cx, durable, region, true);
        cx.counters.reintegrations += 1;
        self.region(region).reintegrations += 1;
        self.append_ready(cx, durable, region);
        self.check_log_members(cx, durable, region);
    }

    /// Drops the records that were taken (as applied, if `applied`) and wakes the jobs that waited.
    pub(in crate::log) fn end_reintegration(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        region: Region,
        applied: bool,
    ) {
        let reintegration = self.region(region).reintegrating.take().expect("it is under way");
        self.running -= 1;
        self.give_back_memory(region);
        for name in &reintegration.intents {
            if applied { self.commits.stored(*name) } else { self.commits.orphan(*name) }
        }
        reintegration.held.iter().for_each(|(_, buffer)| cx.buffers.release(*buffer));
        for index in self.region(region).segments.clone() {
            let taken = self.segment(index).taken;
            self.drop_records(index, if applied { taken } else { 0 });
            self.retire_segment(cx, index);
        }
        self.freed = true;
        if applied {
            let known = &mut self.applied[region.as_usize()];
            *known = (*known).max(reintegration.newest);
        }
        let log = self.region(region);
        // A job that still needs up-to-date parity asks again.
        log.wanted = false;
        log.waiters.wake(&mut cx.runnable);
        durable.bitmap_mut().touch(cx, region);
        cx.signal(Signal::FlushesMayStart);
    }

    /// The log is given up, and the parity is computed from the data. But if only space or memory
    /// was lacking, the reintegration is suspended.
    pub(in crate::log) fn give_up_reintegration(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        region: Region,
    ) {
        if self.may_suspend(cx, region) {
            return self.suspend_reintegration(cx, region);
        }
        self.end_reintegration(cx, durable, region, false);
        self.discard_log(cx, durable, region);
    }

    /// There was no space or memory for the data of a committed write: its record counts, and is
    /// redone after the next opening. Returns `false` if the region's log does not count.
    pub(crate) fn leave_to_redo(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) -> bool {
        let job = cx.jobs.stripe(id);
        let (region, stripe, committed) = (job.region, job.window.stripe, job.logging.entry.is_some());
        let counts = || self.log_stands(cx, region) && !durable.bitmap().needs_resync(region);
        if !committed || !counts() || !self.keeps_log_without_space(cx, region) {
            return false;
        }
        cx.jobs.stripe(id).logging.entry = None;
        let index = cx.geometry.region_of(stripe).1;
        let log = self.region(region);
        log.suspended = true;
        log.unlanded.insert(index);
        if log.reintegrating.as_ref().is_some_and(|reintegration| reintegration.finishing) {
            self.give_up_reintegration(cx, durable, region);
        }
        self.let_go_of_suspended(cx);
        true
    }
}
