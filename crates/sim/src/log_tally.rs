//! The work of parity logs, counted.

use parlour_array::{Array, Class, Counters, Traffic};

/// The work of parity logs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogTally {
    /// Appends of log buffers.
    pub appends: u64,
    /// Reintegrations that were completed.
    pub reintegrations: u64,
    /// Accesses to members for logs: appends, reintegrations, entries of the commit log.
    pub traffic: Traffic,
}

impl LogTally {
    /// The work of an array's logs since it was opened.
    pub(crate) fn of(array: &Array) -> LogTally {
        let Counters { appends, reintegrations, .. } = array.counters();
        LogTally { appends, reintegrations, traffic: array.traffic(Class::Log) }
    }

    /// The work of the logs of several arrays.
    pub(crate) fn with(self, other: LogTally) -> LogTally {
        LogTally {
            appends: self.appends + other.appends,
            reintegrations: self.reintegrations + other.reintegrations,
            traffic: self.traffic + other.traffic,
        }
    }

    /// The work since `before`.
    pub(crate) fn since(self, before: LogTally) -> LogTally {
        let (now, then) = (self.traffic, before.traffic);
        LogTally {
            appends: self.appends - before.appends,
            reintegrations: self.reintegrations - before.reintegrations,
            traffic: Traffic {
                reads: now.reads - then.reads,
                read: now.read - then.read,
                writes: now.writes - then.writes,
                written: now.written - then.written,
                flushes: now.flushes - then.flushes,
            },
        }
    }
}
