//! What may change from one opening of an array to the next: bounds on memory, thresholds, pace.

use parlour_units::{Duration, Sectors};
use serde::{Deserialize, Serialize};

use crate::geometry::Geometry;
use crate::plan::Merging;

/// How log buffers are shared among regions (Stodolsky §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogPool {
    /// All buffers are in one pool; a write waits only when the whole pool is exhausted.
    Global,
    /// Each region has one buffer of its own; a write waits while its region's buffer is full.
    Static,
}

/// When a full log buffer is appended to the log (Stodolsky §2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFlush {
    /// As soon as it is full.
    WhenFull,
    /// When this many buffers of the pool are in use: then the region with the most full buffers is
    /// appended, several buffers in one access.
    Watermark(u32),
}

/// How a full-stripe write passes the log (Stodolsky §2.5). Where records are durable before their
/// data, all but [`LargeWrite::Cancel`] log differences: a stripe that is written in place and cut
/// short by a crash loses the unit of a member that is lost at the same time, and where it is
/// written to in part before a second crash, blocks of it are called damaged. It is for
/// simulations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargeWrite {
    /// New parity goes to the log as an overwrite record.
    Overwrite,
    /// New parity is written in place; a cancel record voids what the log holds (footnote 3).
    Cancel,
}

/// What only the drives of a simulation can do, or only an array without payload may leave undone:
/// the papers' machines need it ([`Array::open_simulated`](crate::Array::open_simulated)). What is
/// off is done as everywhere else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Simulated {
    /// Whether a small write reads what it overwrites, and what it makes of parity, in the same
    /// access ([`Action::ReadModifyWrite`](crate::Action::ReadModifyWrite); Stodolsky §3, footnote
    /// 4), parity's after the data's if it needs what that reads (footnote 9). Nowhere where
    /// records are durable before their data: they come between.
    pub combined: bool,
    /// Whether what is about to be overwritten is always known, so that it need not be read
    /// (Stodolsky §3: the data is "cached"). Parity is read still. It is not known, but taken for
    /// zeroes: what is computed from it is wrong.
    pub old_data_known: bool,
}

/// Bounds, thresholds and pace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tuning {
    /// Payload memory that hosts' requests may hold at once.
    pub host_memory: Sectors,
    /// Memory for prereads, parity and reconstruction.
    pub scratch_memory: Sectors,
    /// At most this many columns of a stripe are worked on at once (256 KiB).
    pub slice: Sectors,
    /// Accesses to a member are merged up to this length.
    pub longest_access: Sectors,
    /// Between what is read of a member, what is not wanted is read along if it is at most so long,
    /// as parity in large reads (Chen §8.1.3: else it costs a drive without read-ahead a
    /// revolution). A read that does takes as much more memory.
    pub read_through: Sectors,
    /// Whether a copy is written only when the one before it is, and not all at the same time
    /// (Stodolsky §8.2, footnote 11).
    pub copies_in_turn: bool,
    /// Memory for log buffers.
    pub log_memory: Sectors,
    /// How log buffers are shared.
    pub log_pool: LogPool,
    /// When they are appended.
    pub log_flush: LogFlush,
    /// Room at the end of a log segment that nothing was put into is not written where it is
    /// at least so long: its second header takes an access of its own then.
    pub segment_gap: Sectors,
    /// How full-stripe writes pass the log. None: cancel where logs are shorter than parity (A < 1)
    /// and records are not durable before their data.
    pub large_write: Option<LargeWrite>,
    /// Reintegrations at once: each has a buffer of [`Tuning::reintegration_memory`].
    pub reintegration_buffers: u32,
    /// Memory of one reintegration; what does not fit is done in series.
    pub reintegration_memory: Sectors,
    /// Parity between two changed places is read and written along when the gap is at most this.
    pub reintegration_gap: Sectors,
    /// Records that may be live at once in all logs; beyond, the region that logs is reintegrated.
    pub live_records: u64,
    /// Memory for data that need not be read before it is overwritten. Zero: no cache.
    pub preread_cache: Sectors,
    /// Read errors beyond which a member is reported as failing; half of them are forgotten in each
    /// hour.
    pub error_threshold: u32,
    /// A region is marked clean again after it was idle this long.
    pub clean_after: Duration,
    /// Stripes of rebuild, resync and scrub at once while no host waits.
    pub maintenance_depth: u32,
    /// The same while hosts wait.
    pub maintenance_depth_busy: u32,
    /// Rebuild makes its frontier durable each time it has gone this many bytes of stripes, in
    /// sectors.
    pub checkpoint: Sectors,
    /// How often superblocks are read back, at least, to see whether another server has opened the
    /// array. None: never, where no other server can be.
    pub fence: Option<Duration>,
    /// Records and segments after which a session takes the numbers of a further one, by
    /// superblocks that say so: a quarter of a session's at the most.
    pub session_records: u64,
    /// Whether regions are marked dirty durably. A simulation of the papers' machines does without.
    pub bitmap: bool,
}

impl Tuning {
    /// How a host's reads of a member become fewer.
    pub(crate) fn merging(&self) -> Merging {
        Merging { longest: self.longest_access, gap: self.read_through }
    }

    /// How full-stripe writes pass the logs of an array.
    ///
    /// # Panics
    /// Where the array has no logs.
    pub(crate) fn large_write(&self, geometry: &Geometry) -> LargeWrite {
        let logs = geometry.layout().logs().expect("only a layout with logs is asked");
        let parity = u64::from(logs.shape().stripes) * geometry.layout().unit_length().get();
        let short = u64::from(logs.segments()) * logs.shape().segment < parity;
        let usual =
            if short && !geometry.is_journaled() { LargeWrite::Cancel } else { LargeWrite::Overwrite };
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
            log_flush: LogFlush::WhenFull,
            segment_gap: Sectors::new(256),
            large_write: None,
            reintegration_buffers: 2,
            reintegration_memory: mib(64),
            reintegration_gap: Sectors::new(32),
            live_records: 4 << 20,
            preread_cache: Sectors::ZERO,
            error_threshold: 16,
            clean_after: Duration::from_secs(5),
            maintenance_depth: 16,
            maintenance_depth_busy: 1,
            checkpoint: mib(256),
            fence: None,
            session_records: 1 << 38,
            bitmap: true,
        }
    }
}
