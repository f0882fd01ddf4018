//! Stopping the array: running work is finished, logs are closed, all members are flushed, and the
//! superblocks record a clean shutdown.

use parlour_units::Instant;

use crate::array::Array;
use crate::effect::Class;
use crate::job::Kind;
use crate::log::Closing;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};

/// The stages of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stop {
    Draining,
    Flushing,
    Table,
    Bitmap,
    Superblock,
}

impl Array {
    /// Finishes running work, records a clean shutdown, and stops.
    pub fn stop(&mut self, now: Instant) {
        self.advance_clock(now);
        if matches!(self.core.cx.mode, Mode::Serving | Mode::ReadOnly) {
            self.core.cx.mode = Mode::Stopping;
            self.stop = Some(Stop::Draining);
            self.wake_all();
        }
        self.work();
    }

    /// The metadata that was written for the stop is no longer true: the stop begins again.
    pub(crate) fn stop_again(&mut self) {
        if self.core.cx.mode == Mode::Stopping {
            self.core.durable.take_back_clean();
            self.stop = Some(Stop::Draining);
        }
    }

    /// Something was lost, perhaps while superblocks with a clean shutdown are being written: the
    /// stop begins again.
    pub(crate) fn take_back_that_all_is_well(&mut self) {
        if self.core.durable.is_clean() {
            self.stop_again();
            self.core.durable.record_change(&self.core.cx);
        }
    }

    /// Whether no work is under way, apart from metadata.
    fn quiet(&self) -> bool {
        self.core.cx.jobs.alive() == 0 && self.hosts.is_empty()
    }

    /// Carries out the next stage of a stop, if the one before has ended.
    pub(crate) fn pump_stop(&mut self) -> bool {
        let Some(stage) = self.stop.filter(|_| self.quiet()) else { return false };
        if !self.core.cx.writes {
            self.end_stop();
            return true;
        }
        match stage {
            Stop::Draining => match self.core.logs.close_logs(&mut self.core.cx, &mut self.core.durable) {
                Closing::UnderWay => {}
                Closing::Done => self.stop = Some(Stop::Flushing),
                // The records in memory are lost: the next opening treats the array as after a
                // crash.
                Closing::Stuck => self.end_stop(),
            },
            Stop::Flushing => {
                let id = self.core.cx.jobs.start(Kind::StopFlush, Class::Metadata);
                if !is_planted(Bug::StopWithoutFlush) {
                    self.core.cx.plan_flushes(id);
                }
                self.start_plan(id, None, &[]);
            }
            // A member that was kept has not flushed, or something is still to be redone: the next
            // opening treats the array as after a crash.
            Stop::Table | Stop::Bitmap | Stop::Superblock
                if self.core.cx.roster.has_lost_writes() || self.core.logs.recovery_is_left() =>
            {
                self.end_stop();
            }
            Stop::Table if !self.core.logs.exist() => self.stop = Some(Stop::Bitmap),
            Stop::Table => self.write_table(),
            Stop::Bitmap => {
                self.stop = Some(Stop::Superblock);
                self.write_last_bitmap();
            }
            Stop::Superblock => {
                self.stop = None;
                self.core.durable.record_clean(&self.core.cx);
            }
        }
        true
    }

    fn end_stop(&mut self) {
        self.stop = None;
        self.core.cx.mode = Mode::Stopped;
    }

    /// Goes on to the next stage, unless the stop has begun again meanwhile.
    pub(crate) fn next_stop(&mut self, from: Stop, to: Stop) {
        if self.stop == Some(from) {
            self.stop = Some(to);
        }
    }
}
