//! The admission of whole stripes that are written in place: see [`at_risk`](super::at_risk).

use super::Logs;
use super::at_risk::Admission;
use crate::context::Context;
use crate::ids::JobId;
use crate::job::Blind;

impl Logs {
    /// Admits the job's write of a whole stripe, until [`Logs::end_risk`].
    pub(in crate::log) fn admit_whole_stripe(&mut self, cx: &mut Context, id: JobId) -> Admission {
        let job = cx.jobs.stripe(id);
        // (Where check units are computed anew, a block at a time is written: it is not counted.)
        if !job.logging.at_risk.is_zero() || job.blind == Blind::Anew {
            return Admission::Granted;
        }
        let checks = cx.geometry.layout().checks().count() as u64;
        let need = job.pieces[0].columns.length() * checks;
        // What the last crash has cut off is not all on the list yet.
        let unfinished = self.recoveries.left > 0 || cx.lacks_space && self.is_to_be_recovered();
        let full = cx.geometry.bad_block_log_at(0).is_none() || unfinished;
        let room = cx.roster.listed().room();
        if full || need * 2 > room {
            return Admission::Refused;
        }
        if (self.at_risk.sectors + need) * 2 > room {
            self.at_risk.waiters.park(id);
            cx.counters.pool_waits += 1;
            return Admission::Later;
        }
        self.at_risk.sectors += need;
        cx.jobs.stripe(id).logging.at_risk = need;
        Admission::Granted
    }

    /// The job has ended. (Until then its record counts, however it goes on.)
    pub(in crate::log) fn end_risk(&mut self, cx: &mut Context, id: JobId) {
        let at_risk = std::mem::take(&mut cx.jobs.stripe(id).logging.at_risk);
        if !at_risk.is_zero() {
            self.at_risk.sectors = self.at_risk.sectors - at_risk;
            self.at_risk.waiters.wake(&mut cx.runnable);
        }
    }
}
