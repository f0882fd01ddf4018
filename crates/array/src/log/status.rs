//! The report of the logs about themselves.

use super::Logs;
use crate::status::LogStatus;

impl Logs {
    /// The state of the logs, if there are any.
    pub(crate) fn status(&self) -> Option<LogStatus> {
        let regions = || self.regions.values();
        self.exist().then(|| LogStatus {
            live_records: self.records,
            buffers: self.in_memory,
            buffer_limit: self.pool_limit(),
            regions: regions().filter(|log| !log.segments.is_empty()).count() as u32,
            reintegrating: self.running,
            recovering: regions().filter(|log| log.recovery.is_some()).count() as u32,
            least_reintegrations: regions().map(|log| log.reintegrations).min().unwrap_or(0),
        })
    }
}
