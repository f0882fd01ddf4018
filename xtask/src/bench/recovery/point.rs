//! The results of one kill.

use std::time::Duration;

use serde_json::Value;

/// The number of members of each array.
pub(super) const MEMBERS: u32 = 5;

/// The results of one kill.
#[derive(Debug)]
pub(super) struct Point {
    /// The array's geometry, from `parlour examine`.
    pub(super) geometry: Value,
    /// The time from the start of a new array's server to the first answered read.
    pub(super) fresh: Duration,
    /// The same time after the kill.
    pub(super) first_read: Duration,
    pub(super) recovered: Recovered,
    /// The number of regions whose parity was brought up to date from their records.
    pub(super) redone: u64,
    /// The peak memory of the recovering server, in bytes.
    pub(super) peak_memory: u64,
    /// The number of live records at the time of the kill.
    pub(super) live_records: Option<u64>,
    pub(super) dirty: u64,
    pub(super) regions: u64,
}

/// The time from the server's start until recovery is complete.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recovered {
    /// The measured time.
    After(Duration),
    /// The bench did not wait for the end; this is an estimate from the progress.
    Projected(Duration),
    /// The bench did not wait for the end, and no parity had been written yet.
    Unknown,
}
