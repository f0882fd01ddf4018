//! One kill, and what came of it.

use std::time::Duration;

use serde_json::Value;

/// Of every array.
pub(super) const MEMBERS: u32 = 5;

/// One kill.
#[derive(Debug)]
pub(super) struct Point {
    /// The array's shape, as `parlour examine` tells it.
    pub(super) geometry: Value,
    /// From the start of a new array's server to the first answered read.
    pub(super) fresh: Duration,
    /// The same after the kill.
    pub(super) first_read: Duration,
    pub(super) recovered: Recovered,
    /// Regions that were brought up to their records.
    pub(super) redone: u64,
    /// The most memory of the server that recovered, in bytes.
    pub(super) peak_memory: u64,
    /// When it was killed.
    pub(super) live_records: Option<u64>,
    pub(super) dirty: u64,
    pub(super) regions: u64,
}

/// From the server's start until nothing is left to recover.
#[derive(Debug, Clone, Copy)]
pub(super) enum Recovered {
    /// So long it took.
    After(Duration),
    /// It was not waited for; at its pace it would have taken so long.
    Projected(Duration),
    /// It was not waited for, and had not begun to write.
    Unknown,
}
