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

use parlour_units::Region;

use crate::context::Context;
use crate::log::Logs;
use crate::log::reintegrate::state::HalfDone;
use crate::signal::Signal;

impl Logs {
    /// A member had no space or memory for an access that loading or recovering `region` needed.
    /// Nothing is lost: the region's log and the commit log hold the records. The array writes
    /// nothing any more, and the region is recovered at the next opening, as after a crash. Until
    /// then requests that need the region's log are refused.
    pub(crate) fn stall_region(&mut self, cx: &mut Context, region: Region) {
        self.stall(cx, region);
        let log = &self.regions[region];
        let has_intents = log.recovery.as_ref().is_some_and(|recovery| recovery.has_intents());
        if has_intents || log.half_done.is_some() {
            self.blocked = true;
        }
        self.let_go_of_suspended(cx);
        cx.signal(Signal::ReadsMayGoOn);
    }

    /// Whether the region's log is as complete as before the reintegration, so that it can be
    /// suspended.
    pub(in crate::log) fn may_suspend(&self, cx: &Context, region: Region) -> bool {
        let reintegration = self.regions[region].reintegrating.as_ref().expect("it is under way");
        let stood = self.log_stood_since(cx, region, reintegration.turn);
        self.keeps_log_without_space(cx, region) && stood
    }

    pub(in crate::log) fn keeps_log_without_space(&self, cx: &Context, region: Region) -> bool {
        cx.geometry.is_journaled() && cx.lacks_space && !self.log_is_lost(cx, region)
    }

    /// Suspends the reintegration; jobs that wait for it look again.
    pub(in crate::log) fn suspend_reintegration(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        let reintegration = log.reintegrating.take().expect("it is under way");
        (log.suspended, log.wanted) = (true, false);
        if !reintegration.intents.is_empty() {
            log.half_done = Some(HalfDone::of(&reintegration));
            self.blocked = true;
        }
        self.running -= 1;
        self.give_back_memory(region);
        self.freed = true;
        reintegration.held.iter().for_each(|(_, buffer)| cx.buffers.release(*buffer));
        self.let_go_of_suspended(cx);
        cx.signal(Signal::FlushesMayStart);
    }

    /// Jobs that wait for a suspended reintegration look again.
    pub(crate) fn let_go_of_suspended(&mut self, cx: &mut Context) {
        let idle =
            |region: &Region| self.regions[*region].reintegrating.is_none() && self.is_suspended(cx, *region);
        let suspended: Vec<Region> = self.regions.regions().filter(idle).collect();
        for region in suspended {
            let log = self.region(region);
            log.queued = false;
            log.waiters.wake(&mut cx.runnable);
        }
        let regions = &self.regions;
        self.queue.retain(|region| regions[*region].queued);
    }
}
