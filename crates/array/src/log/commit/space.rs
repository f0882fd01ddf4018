//! Space in the commit log: reserved before a stripe's lock is taken, and given back.

use parlour_units::Sectors;

use crate::columns::{Columns, hull};
use crate::context::Context;
use crate::format::commit_entry::entry_length;
use crate::ids::JobId;
use crate::log::Logs;
use crate::plan::LogMethod;

impl Logs {
    /// Reserves the space that the job's records take in the commit log, or parks the job.
    pub(crate) fn pass_commit_space(&mut self, cx: &mut Context, id: JobId) -> bool {
        let block = cx.geometry.block();
        let units = u64::from(cx.geometry.layout().width());
        let job = cx.jobs.stripe(id);
        let held = job.logging.commit_space;
        if !held.is_zero() {
            return true;
        }
        let columns = job.pieces.iter().fold(Sectors::ZERO, |sum, piece| sum + piece.columns.length());
        let need = match job.logging.method {
            Some(LogMethod::Cancel) => {
                entry_length(1, job.pieces[0].columns.length() * units, Sectors::ZERO, block)
            }
            Some(LogMethod::Zero) => entry_length(1, Sectors::ZERO, Sectors::ZERO, block),
            // Each piece, and of each check unit a few parts between ends of pieces.
            Some(LogMethod::Content) => {
                let checks = u64::from(cx.geometry.layout().check_units());
                let hull = hull(&job.pieces).map_or(Sectors::ZERO, Columns::length);
                let content = columns + hull * checks;
                let parts = job.pieces.len() as u64;
                entry_length(parts + checks * (parts * 2), content, content, block)
            }
            // A piece is cut where a segment ends: each segment that it touches adds one record.
            _ => {
                let segments = columns / self.payload() + 2;
                entry_length(job.pieces.len() as u64 + segments, columns, columns, block)
            }
        };
        let commits = &mut self.commits;
        let lane = commits.reserve(need);
        if let Some(lane) = lane {
            let logging = &mut cx.jobs.stripe(id).logging;
            (logging.commit_space, logging.lane) = (need, lane);
        } else {
            commits.waiters.park(id);
            cx.counters.pool_waits += 1;
        }
        lane.is_some()
    }

    /// Gives back the space that [`Logs::pass_commit_space`] reserved.
    pub(crate) fn give_back_commit_space(&mut self, cx: &mut Context, id: JobId) {
        let job = cx.jobs.stripe(id);
        let length = std::mem::take(&mut job.logging.commit_space);
        if !length.is_zero() {
            self.commits.give_back(job.logging.lane, length);
            self.wake_commit_waiters(cx);
        }
    }

    /// The job goes on when its records are durable.
    pub(crate) fn await_commit(&mut self, id: JobId) {
        self.commits.log().waiting.push_back(id);
    }
}
