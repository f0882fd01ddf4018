//! The report of the logs about themselves.

use parlour_units::Sectors;

use super::Logs;
use super::commit::logs::Stream;
use super::commit::places::places;
use crate::context::Context;
use crate::durable::Durable;
use crate::status::{JournalStatus, LogStatus, StreamStatus};

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

    /// Whether the next entry goes to journal devices.
    pub(crate) fn take_entries_on_devices(&self, cx: &Context, durable: &Durable) -> bool {
        let Some(log) = &self.commits.streams else { return false };
        let next = places(cx, durable, &log.full);
        next.first().is_some_and(|slot| cx.geometry.is_for_journal(*slot))
    }

    /// The state of the commit log, if there is one.
    pub(crate) fn journal_status(&self, cx: &Context, durable: &Durable) -> Option<JournalStatus> {
        let log = self.commits.streams.as_ref()?;
        let stream = |(stream, of): (&Stream, &'static str)| {
            let (entries, oldest) = stream.lanes.oldest_since();
            StreamStatus {
                of,
                used: Sectors::new(stream.lanes.used()).bytes(),
                room: Sectors::new(stream.lanes.length()).bytes(),
                entries,
                oldest_seconds: oldest.map(|began| cx.now.since(began).as_secs_f64()),
                written: stream.written,
                content: stream.content,
            }
        };
        Some(JournalStatus {
            on_devices: self.take_entries_on_devices(cx, durable),
            streams: log.all().iter().zip(["records", "intents", "writes"]).map(stream).collect(),
        })
    }
}
