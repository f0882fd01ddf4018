//! The array's bounds, thresholds and pace in a recording.

use parlour_units::{Duration, Sectors};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{LargeWrite, LogFlush, LogPool, Tuning};

/// [`Tuning`] in plain numbers: sectors, nanoseconds, counts.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plain {
    host_memory: u64,
    scratch_memory: u64,
    slice: u64,
    longest_access: u64,
    #[serde(default)]
    read_through: u64,
    #[serde(default)]
    copies_in_turn: bool,
    log_memory: u64,
    static_pool: bool,
    flush_watermark: Option<u32>,
    /// Older recordings have buffers that are appended when they are full, unless there is a mark.
    #[serde(default)]
    flush_as_usual: bool,
    #[serde(default = "segment_gap")]
    segment_gap: u64,
    overwrite_large: Option<bool>,
    reintegration_buffers: u32,
    reintegration_memory: u64,
    reintegration_gap: u64,
    #[serde(default)]
    shared_memory: Option<u64>,
    live_records: u64,
    preread_cache: u64,
    error_threshold: u32,
    clean_after: u64,
    maintenance_depth: u32,
    maintenance_depth_busy: u32,
    #[serde(default = "destage_depth")]
    destage_depth: u32,
    checkpoint: u64,
    bitmap: bool,
    #[serde(default)]
    fence: Option<u64>,
    #[serde(default = "session_records")]
    session_records: u64,
}

fn session_records() -> u64 {
    Tuning::default().session_records
}

fn destage_depth() -> u32 {
    Tuning::default().destage_depth
}

fn segment_gap() -> u64 {
    Tuning::default().segment_gap.get()
}

pub(super) fn serialize<S: Serializer>(tuning: &Tuning, serializer: S) -> Result<S::Ok, S::Error> {
    let plain = Plain {
        host_memory: tuning.host_memory.get(),
        scratch_memory: tuning.scratch_memory.get(),
        slice: tuning.slice.get(),
        longest_access: tuning.longest_access.get(),
        read_through: tuning.read_through.get(),
        copies_in_turn: tuning.copies_in_turn,
        log_memory: tuning.log_memory.get(),
        static_pool: tuning.log_pool == LogPool::Static,
        flush_watermark: match tuning.log_flush {
            Some(LogFlush::Watermark(count)) => Some(count),
            Some(LogFlush::WhenFull) | None => None,
        },
        flush_as_usual: tuning.log_flush.is_none(),
        segment_gap: tuning.segment_gap.get(),
        overwrite_large: tuning.large_write.map(|way| way == LargeWrite::Overwrite),
        reintegration_buffers: tuning.reintegration_buffers,
        reintegration_memory: tuning.reintegration_memory.get(),
        reintegration_gap: tuning.reintegration_gap.get(),
        shared_memory: tuning.shared_memory.map(Sectors::get),
        live_records: tuning.live_records,
        preread_cache: tuning.preread_cache.get(),
        error_threshold: tuning.error_threshold,
        clean_after: tuning.clean_after.nanoseconds(),
        maintenance_depth: tuning.maintenance_depth,
        maintenance_depth_busy: tuning.maintenance_depth_busy,
        destage_depth: tuning.destage_depth,
        checkpoint: tuning.checkpoint.get(),
        bitmap: tuning.bitmap,
        fence: tuning.fence.map(Duration::nanoseconds),
        session_records: tuning.session_records,
    };
    plain.serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tuning, D::Error> {
    let plain = Plain::deserialize(deserializer)?;
    let large = |overwrite| if overwrite { LargeWrite::Overwrite } else { LargeWrite::Cancel };
    Ok(Tuning {
        host_memory: Sectors::new(plain.host_memory),
        scratch_memory: Sectors::new(plain.scratch_memory),
        slice: Sectors::new(plain.slice),
        longest_access: Sectors::new(plain.longest_access),
        read_through: Sectors::new(plain.read_through),
        copies_in_turn: plain.copies_in_turn,
        log_memory: Sectors::new(plain.log_memory),
        log_pool: if plain.static_pool { LogPool::Static } else { LogPool::Global },
        log_flush: match plain.flush_watermark {
            _ if plain.flush_as_usual => None,
            Some(count) => Some(LogFlush::Watermark(count)),
            None => Some(LogFlush::WhenFull),
        },
        segment_gap: Sectors::new(plain.segment_gap),
        large_write: plain.overwrite_large.map(large),
        reintegration_buffers: plain.reintegration_buffers,
        reintegration_memory: Sectors::new(plain.reintegration_memory),
        reintegration_gap: Sectors::new(plain.reintegration_gap),
        shared_memory: plain.shared_memory.map(Sectors::new),
        live_records: plain.live_records,
        preread_cache: Sectors::new(plain.preread_cache),
        error_threshold: plain.error_threshold,
        clean_after: Duration::from_nanoseconds(plain.clean_after),
        maintenance_depth: plain.maintenance_depth,
        maintenance_depth_busy: plain.maintenance_depth_busy,
        destage_depth: plain.destage_depth,
        checkpoint: Sectors::new(plain.checkpoint),
        bitmap: plain.bitmap,
        fence: plain.fence.map(Duration::from_nanoseconds),
        session_records: plain.session_records,
    })
}
