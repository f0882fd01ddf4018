//! Stopping the array: running work is finished, logs are closed, all members are flushed, and the
//! superblocks record a clean shutdown.

use crate::core::{Core, Stop};
use crate::effect::Class;
use crate::job::Kind;
use crate::log::Closing;
use crate::mode::Mode;

impl Core {
    /// Begins to finish running work, and to record a clean shutdown.
    pub(crate) fn begin_stop(&mut self) {
        if matches!(self.cx.mode, Mode::Serving | Mode::ReadOnly) {
            self.cx.mode = Mode::Stopping;
            self.stop = Some(Stop::Draining);
            self.wake_all();
        }
    }

    /// The metadata that was written for the stop is no longer true: the stop begins again.
    pub(crate) fn stop_again(&mut self) {
        if self.cx.mode == Mode::Stopping {
            self.durable.take_back_clean();
            self.stop = Some(Stop::Draining);
        }
    }

    /// Something was lost, perhaps while superblocks with a clean shutdown are being written: the
    /// stop begins again.
    pub(crate) fn take_back_that_all_is_well(&mut self) {
        if self.durable.is_clean() {
            self.stop_again();
            self.durable.record_change(&self.cx);
        }
    }

    /// Carries out the next stage of a stop, if the one before has ended.
    pub(crate) fn pump_stop(&mut self, hosts_wait: bool, acknowledged: bool) -> bool {
        // Metadata is written for the stop when no other work is under way.
        let quiet = self.cx.jobs.alive() == 0 && !hosts_wait && !self.durable.is_looking();
        let Some(stage) = self.stop.filter(|_| quiet) else { return false };
        if !self.cx.writes {
            self.end_stop();
            return true;
        }
        match stage {
            Stop::Draining => match self.logs.close_logs(&mut self.cx, &mut self.durable) {
                Closing::UnderWay => {}
                Closing::Done => self.stop = Some(Stop::Flushing),
                // The records in memory are lost: the next opening treats the array as after a
                // crash.
                Closing::Stuck => self.end_stop(),
            },
            Stop::Flushing => {
                let id = self.cx.jobs.start(Kind::StopFlush, Class::Metadata);
                self.cx.plan_flushes(id);
                self.cx.run_own(id);
            }
            // A member that was kept has not flushed, or something is still to be redone or
            // destaged: the next opening treats the array as after a crash.
            Stop::Table | Stop::Bitmap | Stop::Superblock
                if acknowledged || self.cx.roster.has_lost_writes() || self.logs.is_to_be_recovered() =>
            {
                self.end_stop();
            }
            Stop::Table if !self.logs.exist() => self.stop = Some(Stop::Bitmap),
            Stop::Table => self.write_table(),
            Stop::Bitmap => {
                self.stop = Some(Stop::Superblock);
                self.write_last_bitmap();
            }
            Stop::Superblock => {
                self.stop = None;
                self.durable.record_clean(&self.cx);
            }
        }
        true
    }

    fn end_stop(&mut self) {
        self.stop = None;
        self.cx.mode = Mode::Stopped;
    }
}
