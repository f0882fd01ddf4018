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

use crate::array::Array;
use crate::ids::JobId;
use crate::planted::{Bug, is_planted};

impl Array {
    /// Whether `region` is not reintegrated until the array is opened again. Either its own
    /// reintegration was suspended, or the same commit log holds intents that must be finished
    /// before any others.
    pub(crate) fn is_suspended(&self, region: Region) -> bool {
        let Some(logs) = self.logs.as_ref().filter(|_| self.cx.geometry.is_journaled()) else { return false };
        let own = logs.regions.get(&region).is_some_and(|log| log.suspended);
        own || logs.blocked.contains(&self.commit_slot(region))
    }

    /// Whether the region's log is as complete as before the reintegration, so that it can be
    /// suspended.
    pub(super) fn may_suspend(&self, region: Region) -> bool {
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let reintegration = logs.regions[&region].reintegrating.as_ref().expect("it is under way");
        let stood = |slot| self.cx.roster.member_since(slot, reintegration.turn).is_some();
        self.keeps_log_without_space(region) && self.log_slots(region).all(stood)
    }

    fn keeps_log_without_space(&self, region: Region) -> bool {
        self.cx.geometry.is_journaled()
            && self.cx.counters.out_of_space
            && !self.log_is_lost(region)
            && !is_planted(Bug::LogGivenUpForSpace)
    }

    /// There was no space or memory for the data of a committed write: its record counts, and is
    /// redone after the next opening. Returns `false` if the region's log does not count.
    pub(crate) fn leave_to_redo(&mut self, id: JobId) -> bool {
        let job = self.cx.jobs.stripe(id);
        let (region, stripe, committed) = (job.region, job.window.stripe, job.entry.is_some());
        let counts = || self.log_stands(region) && !self.durable.bitmap().needs_resync(region);
        if !committed || !counts() || !self.keeps_log_without_space(region) {
            return false;
        }
        self.cx.jobs.stripe(id).entry = None;
        let index = self.cx.geometry.region_of(stripe).1;
        let logs = self.logs.as_mut().expect("committed writes are logged");
        let log = logs.region(region);
        log.suspended = true;
        log.unlanded.insert(index);
        if log.reintegrating.as_ref().is_some_and(|reintegration| reintegration.finishing) {
            self.give_up_reintegration(region);
        }
        self.let_go_of_suspended();
        true
    }

    /// Whether `stripe` cannot be read until the array is opened again, because a committed write
    /// may have written a part of its data.
    pub(crate) fn is_left_to_redo(&self, stripe: Stripe) -> bool {
        let Some(logs) = self.logs.as_ref().filter(|_| self.cx.counters.out_of_space) else { return false };
        let (region, index) = self.cx.geometry.region_of(stripe);
        logs.regions.get(&region).is_some_and(|log| log.unlanded.contains(&index))
    }

    /// Suspends the reintegration; jobs that wait for it look again.
    pub(super) fn suspend_reintegration(&mut self, region: Region) {
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        let log = logs.region(region);
        let reintegration = log.reintegrating.take().expect("it is under way");
        (log.suspended, log.wanted) = (true, false);
        if !reintegration.intents.is_empty() {
            log.half_done = Some(HalfDone::of(&reintegration));
            self.block_commit_slot(region);
        }
        let logs = self.logs.as_mut().expect("it was there");
        logs.running -= 1;
        logs.freed = true;
        reintegration.held.iter().for_each(|(_, buffer)| self.cx.buffers.release(*buffer));
        self.let_go_of_suspended();
        self.resume_hosts();
    }

    /// The intents of `region` are not finished before the next opening: no other reintegration
    /// with intents in the same commit log begins.
    pub(crate) fn block_commit_slot(&mut self, region: Region) {
        let slot = self.commit_slot(region);
        self.logs.as_mut().expect("intents are of logs").blocked.insert(slot);
    }

    /// Jobs that wait for a suspended reintegration look again.
    pub(crate) fn let_go_of_suspended(&mut self) {
        let Some(logs) = &self.logs else { return };
        let idle =
            |region: &Region| logs.regions[region].reintegrating.is_none() && self.is_suspended(*region);
        let suspended: Vec<Region> = logs.regions.keys().copied().filter(idle).collect();
        let logs = self.logs.as_mut().expect("it was there");
        for region in suspended {
            let log = logs.region(region);
            log.queued = false;
            self.cx.runnable.extend(log.waiters.drain(..));
        }
        let regions = &logs.regions;
        logs.queue.retain(|region| regions[region].queued);
    }
}
