//! Suspending a reintegration for lack of space or memory, with `journal`.
//!
//! If a reintegration, or the data of a committed write, gets no space or memory, the region's
//! reintegration is suspended until the array is opened again. The array writes nothing any more.
//!
//! No record is given up: logged records are still in the log, and intents show how much of the
//! parity is rewritten, as after a crash. Until the next opening, jobs that need the parity of a
//! stripe with records are refused, and so are reads of data that a committed write may have half
//! written.
//!
//! (Without `journal` there are no intents, and records that are in memory only would make the stop
//! unclean: there the log is given up.)

use super::state::HalfDone;
use parlour_units::{Region, Stripe};

use crate::context::Context;
use crate::durable::Durable;
use crate::ids::JobId;
use crate::log::Logs;
use crate::log::commit::commit_slot;
use crate::planted::{Bug, is_planted};
use crate::signal::Signal;
use crate::update;

impl Logs {
    /// Whether `region` is not reintegrated until the array is opened again. Either its own
    /// reintegration was suspended, or the same commit log holds intents that must be finished
    /// before any others.
    pub(crate) fn is_suspended(&self, cx: &Context, region: Region) -> bool {
        if !cx.geometry.is_journaled() {
            return false;
        }
        let own = self.regions.get(&region).is_some_and(|log| log.suspended);
        own || self.blocked.contains(&commit_slot(cx, region))
    }

    /// Whether the region's log is as complete as before the reintegration, so that it can be
    /// suspended.
    pub(super) fn may_suspend(&self, cx: &Context, region: Region) -> bool {
        let reintegration = self.regions[&region].reintegrating.as_ref().expect("it is under way");
        let stood = |slot| cx.roster.member_since(slot, reintegration.turn).is_some();
        self.keeps_log_without_space(cx, region) && update::log_slots(cx.geometry.layout(), region).all(stood)
    }

    fn keeps_log_without_space(&self, cx: &Context, region: Region) -> bool {
        cx.geometry.is_journaled()
            && cx.counters.out_of_space
            && !self.log_is_lost(cx, region)
            && !is_planted(Bug::LogGivenUpForSpace)
    }

    /// There was no space or memory for the data of a committed write: its record counts, and is
    /// redone after the next opening. Returns `false` if the region's log does not count.
    pub(crate) fn leave_to_redo(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) -> bool {
        let job = cx.jobs.stripe(id);
        let (region, stripe, committed) = (job.region, job.window.stripe, job.entry.is_some());
        let counts = || self.log_stands(cx, region) && !durable.bitmap().needs_resync(region);
        if !committed || !counts() || !self.keeps_log_without_space(cx, region) {
            return false;
        }
        cx.jobs.stripe(id).entry = None;
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

    /// Whether `stripe` cannot be read until the array is opened again, because a committed write
    /// may have written a part of its data.
    pub(crate) fn is_left_to_redo(&self, cx: &Context, stripe: Stripe) -> bool {
        if !cx.counters.out_of_space {
            return false;
        }
        let (region, index) = cx.geometry.region_of(stripe);
        self.regions.get(&region).is_some_and(|log| log.unlanded.contains(&index))
    }

    /// Suspends the reintegration; jobs that wait for it look again.
    pub(super) fn suspend_reintegration(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        let reintegration = log.reintegrating.take().expect("it is under way");
        (log.suspended, log.wanted) = (true, false);
        if !reintegration.intents.is_empty() {
            log.half_done = Some(HalfDone::of(&reintegration));
            self.block_commit_slot(cx, region);
        }
        self.running -= 1;
        self.freed = true;
        reintegration.held.iter().for_each(|(_, buffer)| cx.buffers.release(*buffer));
        self.let_go_of_suspended(cx);
        cx.signal(Signal::FlushesMayStart);
    }

    /// The intents of `region` are not finished before the next opening: no other reintegration
    /// with intents in the same commit log begins.
    pub(crate) fn block_commit_slot(&mut self, cx: &mut Context, region: Region) {
        let slot = commit_slot(cx, region);
        self.blocked.insert(slot);
    }

    /// Jobs that wait for a suspended reintegration look again.
    pub(crate) fn let_go_of_suspended(&mut self, cx: &mut Context) {
        let idle =
            |region: &Region| self.regions[region].reintegrating.is_none() && self.is_suspended(cx, *region);
        let suspended: Vec<Region> = self.regions.keys().copied().filter(idle).collect();
        for region in suspended {
            let log = self.region(region);
            log.queued = false;
            cx.runnable.extend(log.waiters.drain(..));
        }
        let regions = &self.regions;
        self.queue.retain(|region| regions[region].queued);
    }
}
