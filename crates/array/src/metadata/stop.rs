//! Stopping: what is begun is finished, logs are closed, all is flushed, and the records say that
//! all is well.

use parlour_units::{Instant, Region};

use crate::array::Array;
use crate::effect::Class;
use crate::job::Kind;
use crate::log::Closing;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};

/// How far stopping has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    Draining,
    Flushing,
    Table,
    Map,
    Superblock,
}

impl Array {
    /// Finishes what is begun, records that all is well, and stops.
    pub fn stop(&mut self, now: Instant) {
        self.advance_clock(now);
        if matches!(self.cx.mode, Mode::Serving | Mode::ReadOnly) {
            self.cx.mode = Mode::Stopping;
            self.records.stop = Some(Stop::Draining);
            self.wake_all();
        }
        self.work();
    }

    /// What was recorded for the stop is no longer true: it is done again from the beginning.
    pub(crate) fn stop_again(&mut self) {
        if self.cx.mode == Mode::Stopping {
            self.records.clean = false;
            self.records.stop = Some(Stop::Draining);
        }
    }

    /// Something was lost, perhaps while superblocks are being told that the array was shut down
    /// cleanly.
    pub(crate) fn take_back_that_all_is_well(&mut self) {
        if self.records.clean {
            self.stop_again();
            self.record_change();
        }
    }

    /// Whether nothing is under way but records.
    fn quiet(&self) -> bool {
        self.cx.jobs.alive() == 0 && self.hosts.is_empty()
    }

    pub(super) fn pump_stop(&mut self) -> bool {
        let Some(stage) = self.records.stop.filter(|_| self.quiet()) else { return false };
        if !self.records.enabled {
            // There is nothing to record.
            self.records.stop = None;
            self.cx.mode = Mode::Stopped;
            return true;
        }
        match stage {
            Stop::Draining => match self.close_logs() {
                Closing::UnderWay => {}
                Closing::Done => self.records.stop = Some(Stop::Flushing),
                // What is in memory is lost: the array comes back as after a crash.
                Closing::Stuck => {
                    self.records.stop = None;
                    self.cx.mode = Mode::Stopped;
                }
            },
            Stop::Flushing => {
                let id = self.cx.jobs.start(Kind::StopFlush, Class::Metadata);
                if !is_planted(Bug::StopWithoutFlush) {
                    self.cx.plan_flushes(id);
                }
                self.start_plan(id, None, &[]);
            }
            // A member that was kept has not flushed: the array comes back as after a crash.
            // So it does where something is still to be redone.
            Stop::Table | Stop::Map | Stop::Superblock
                if self.cx.roster.has_lost_writes() || self.recovery_is_left() =>
            {
                self.records.stop = None;
                self.cx.mode = Mode::Stopped;
            }
            Stop::Table => self.write_table(),
            Stop::Map => {
                let clean: Vec<Region> = self.regions_without_log().collect();
                clean.into_iter().for_each(|region| self.records.dirty.clear(region));
                self.records.stop = Some(Stop::Superblock);
                self.write_bitmap();
            }
            Stop::Superblock => {
                self.records.stop = None;
                self.records.clean = true;
                self.record_change();
            }
        }
        true
    }

    fn regions_without_log(&self) -> impl Iterator<Item = Region> + '_ {
        let live = |region: &Region| self.logs.as_ref().is_some_and(|logs| logs.region_is_live(*region));
        self.records.dirty.iter().filter(move |region| !live(region))
    }

    /// Goes on with the stop, unless it has to begin again since.
    pub(super) fn next_stop(&mut self, from: Stop, to: Stop) {
        if self.records.stop == Some(from) {
            self.records.stop = Some(to);
        }
    }
}
