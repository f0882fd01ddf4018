//! Settings that may change from one opening of an array to the next: limits of memory, thresholds,
//! pace.

use parlour_units::{Duration, Sectors};
use serde::{Deserialize, Serialize};

use crate::compression::Compression;
use crate::geometry::Geometry;
use crate::plan::Merging;

/// How log buffers are shared among regions (Stodolsky §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPool {
    /// All buffers are in one pool; a write waits only when the whole pool is exhausted.
    Global,
    /// Each region has its own buffers; a write waits while its region's buffers are full.
    Static,
}

/// When full log buffers are appended to the log (Stodolsky §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFlush {
    /// Each as soon as it is full.
    WhenFull,
    /// When this many buffers of the pool are in use, or the pool is exhausted, or the commit log
    /// needs the space that their records take there. Then all full buffers of a region go
    /// together, in one access where the log has room for them in a row.
    Watermark(u32),
}

/// How a full-stripe write uses the log (Stodolsky §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeWrite {
    /// New parity goes to the log as an overwrite record. With `journal` it is differences: after a
    /// crash between the writes of a stripe's units, new parity does not say what they held.
    Overwrite,
    /// New parity is written in place; a cancel record is logged, and earlier records no longer
    /// count (footnote 3). With `journal`, if a crash cuts the write off and a member is lost with
    /// it, what was being written to that member is unrecoverable. So no more is written in this
    /// way at a time than the bad-block log has room for; the rest is differences.
    Cancel,
}

/// Settings for simulations of the papers' machines: abilities that only simulated drives have, and
/// work that only an array without payload may leave out
/// ([`Array::open_simulated`](crate::Array::open_simulated)). By default all are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// Whether a small write reads the old data and writes the new data in the same access, and
    /// likewise for parity ([`Action::ReadModifyWrite`](crate::Action::ReadModifyWrite); Stodolsky
    /// §3, footnote 4). The access to the parity follows that to the data if it needs the old data
    /// (footnote 9). With `journal` the records have to be written between reading and writing:
    /// there it has an effect only where journal devices take them, and the driver lets the arm
    /// wait ([`Array::is_written_next`](crate::Array::is_written_next)).
    pub combined: bool,
    /// Whether old data counts as known and is not read (Stodolsky §3: the data is "cached").
    /// Parity is still read. The array does not really know the data but uses zeroes: results of
    /// computations are wrong.
    pub old_data_known: bool,
    /// How much shorter update records are in log buffers and segments. Entries of a commit log
    /// hold them whole. Nothing is really compressed: computations name a record's whole length,
    /// wherever a compressed one begins, so their results are wrong.
    #[serde(default)]
    pub compression: Compression,
}

/// Hosts count as idle after they were silent for this long; until then maintenance leaves them
/// room.
pub const QUIET: Duration = Duration::from_millis(50);

/// Limits, thresholds and pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Payload memory that hosts' requests may hold at once.
    pub host_memory: Sectors,
    /// Memory for prereads, parity and reconstruction. After a crash the redo takes up to as much
    /// again.
    pub scratch_memory: Sectors,
    /// The greatest number of columns of a stripe that are processed at once (256 KiB).
    pub slice: Sectors,
    /// The greatest length of merged accesses to a member.
    pub longest_access: Sectors,
    /// The greatest gap between two reads of a member that is read along, for example parity in
    /// large reads (Chen §8.1.3: without this, a drive without read-ahead loses a revolution). Such
    /// a read takes more memory accordingly.
    pub read_through: Sectors,
    /// Whether copies are written one after the other, instead of all at the same time (Stodolsky
    /// §8.2, footnote 11).
    pub copies_in_turn: bool,
    /// Memory for log buffers.
    pub log_memory: Sectors,
    /// How log buffers are shared.
    pub log_pool: LogPool,
    /// When log buffers are appended. `None`: with `journal` and a global pool as late as possible,
    /// since their records are durable already; otherwise when they are full.
    pub log_flush: Option<LogFlush>,
    /// The least length of unused room at the end of a log segment that is not written. If it is
    /// left out, the second header takes an access of its own.
    pub segment_gap: Sectors,
    /// How full-stripe writes use the log. `None`: cancel, if logs are shorter than parity (A < 1)
    /// or the consistency is `journal`; otherwise overwrite.
    pub large_write: Option<LargeWrite>,
    /// The number of reintegrations at once; each has a buffer of [`Tuning::reintegration_memory`].
    pub reintegration_buffers: u32,
    /// Memory of one reintegration. If it is not enough, the work is done in several passes.
    pub reintegration_memory: Sectors,
    /// The greatest gap between two changed places of parity that is read and written along.
    pub reintegration_gap: Sectors,
    /// One pool of memory for prereads (and parity and reconstruction), log buffers and
    /// reintegrations, instead of [`Tuning::scratch_memory`], [`Tuning::log_memory`] and
    /// [`Tuning::reintegration_memory`] for each. `log_memory` is then the most that log buffers
    /// keep back to be appended together, and `reintegration_memory` the most that one
    /// reintegration takes. `None`: each has its own.
    pub shared_memory: Option<Sectors>,
    /// The number of records that may be live at once in all logs. Beyond it, the region that logs
    /// more is reintegrated.
    pub live_records: u64,
    /// Memory for old data that need not be read before it is overwritten. Zero: no cache.
    pub preread_cache: Sectors,
    /// A member with more read errors than this is reported as failing. Half of the errors are
    /// forgotten in each hour.
    pub error_threshold: u32,
    /// A region is marked clean again after it was idle this long, and twelve times as long while
    /// others are in use.
    pub clean_after: Duration,
    /// The number of stripes of rebuild, resync and scrub at once while no host waits.
    pub maintenance_depth: u32,
    /// The same number while hosts wait.
    pub maintenance_depth_busy: u32,
    /// The number of destages at once for each member (write-back). Members that choose the nearest
    /// access among those that wait gain by more; with members that do not, entries wait behind
    /// them.
    pub destage_depth: u32,
    /// Rebuild makes its frontier durable each time it has written this much to the member, in
    /// sectors.
    pub checkpoint: Sectors,
    /// The greatest time between two readings of superblocks, which detect whether another server
    /// has opened the array. `None`: never, if no other server is possible.
    pub fence: Option<Duration>,
    /// The number of records and segments after which a session takes the numbers of one more
    /// session, and records that in superblocks. It is at most a quarter of a session's numbers.
    pub session_records: u64,
    /// Whether regions are marked dirty durably. A simulation of the papers' machines does without.
    pub bitmap: bool,
}

impl Tuning {
    /// How a host's reads of a member are merged.
    pub(crate) fn merging(&self) -> Merging {
        Merging { longest: self.longest_access, gap: self.read_through }
    }

    /// When log buffers are appended in an array of this geometry.
    pub fn log_flush(&self, geometry: &Geometry) -> LogFlush {
        // (Where each region has few buffers, what is kept back is soon waited for.)
        let late = geometry.is_journaled() && self.log_pool == LogPool::Global;
        let usual = if late { LogFlush::Watermark(u32::MAX) } else { LogFlush::WhenFull };
        self.log_flush.unwrap_or(usual)
    }

    /// How full-stripe writes are recorded.
    pub(crate) fn large_write(&self, geometry: &Geometry) -> LargeWrite {
        let Some(logs) = geometry.layout().logs() else { return LargeWrite::Cancel };
        let parity = u64::from(logs.shape().stripes) * geometry.layout().unit_length().get();
        let short = u64::from(logs.segments()) * logs.shape().segment < parity;
        let usual = if short || geometry.is_journaled() { LargeWrite::Cancel } else { LargeWrite::Overwrite };
        self.large_write.unwrap_or(usual)
    }
}

impl Default for Tuning {
    fn default() -> Tuning {
        let mib = |count: u64| Sectors::new(count * 2_048);
        Tuning {
            host_memory: mib(64),
            scratch_memory: mib(64),
            slice: Sectors::new(512),
            longest_access: mib(1),
            read_through: Sectors::ZERO,
            copies_in_turn: false,
            log_memory: mib(64),
            log_pool: LogPool::Global,
            log_flush: None,
            segment_gap: Sectors::new(256),
            large_write: None,
            reintegration_buffers: 2,
            reintegration_memory: mib(64),
            reintegration_gap: Sectors::new(32),
            shared_memory: None,
            live_records: 4 << 20,
            preread_cache: Sectors::ZERO,
            error_threshold: 16,
            clean_after: Duration::from_secs(5),
            maintenance_depth: 16,
            maintenance_depth_busy: 1,
            destage_depth: 16,
            checkpoint: mib(256),
            fence: None,
            session_records: 1 << 38,
            bitmap: true,
        }
    }
}
