//! Stopping the array: running work is finished, logs are closed, all members are flushed, and the
//! superblocks record a clean shutdown.

use parlour_units::{Instant, Region};

use crate::array::Array;
use crate::effect::Class;
use crate::job::Kind;
use crate::log::Closing;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};

/// The stages of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    Draining,
    Flushing,
    Table,
    Map,
    Superblock,
}

impl Array {
    /// Finishes running work, records a clean shutdown, and stops.
    pub fn stop(&mut self, now: Instant) {
        self.advance_clock(now);
        if matches!(self.cx.mode, Mode::Serving | Mode::ReadOnly) {
            self.cx.mode = Mode::Stopping;
            self.records.stop = Some(Stop::Draining);
            self.wake_all();
        }
        self.work();
    }

    /// The metadata that was written for the stop is no longer true: the stop begins again.
    pub(crate) fn stop_again(&mut self) {
        if self.cx.mode == Mode::Stopping {
            self.records.clean = false;
            self.records.stop = Some(Stop::Draining);
        }
    }

    /// Something was lost, perhaps while superblocks with a clean shutdown are being written: the
    /// stop begins again.
    pub(crate) fn take_back_that_all_is_well(&mut self) {
        if self.records.clean {
            self.stop_again();
            self.record_change();
        }
    }

    /// Whether no work is under way, apart from metadata.
    fn quiet(&self) -> bool {
        self.cx.jobs.alive() == 0 && self.hosts.is_empty()
    }

    pub(super) fn pump_stop(&mut self) -> bool {
        let Some(stage) = self.records.stop.filter(|_| self.quiet()) else { return false };
        if !self.records.enabled {
            // No metadata is written.
            self.records.stop = None;
            self.cx.mode = Mode::Stopped;
            return true;
        }
        match stage {
            Stop::Draining => match self.close_logs() {
                Closing::UnderWay => {}
                Closing::Done => self.records.stop = Some(Stop::Flushing),
                // The records in memory are lost: the next opening treats the array as after a
                // crash.
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
            // A member that was kept has not flushed, or something is still to be redone: the next
            // opening treats the array as after a crash.
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

    /// Goes on to the next stage, unless the stop has begun again meanwhile.
    pub(super) fn next_stop(&mut self, from: Stop, to: Stop) {
        if self.records.stop == Some(from) {
            self.records.stop = Some(to);
        }
    }
}
