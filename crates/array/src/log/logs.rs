//! The logs of all regions: their state, their sizes, and what is asked of them most.
//!
//! There are always [`Logs`]. Where parity is updated in place, regions have no positions: with a
//! commit log, its records are all that there is ([`Logs::have_positions`]). Without one there are
//! no regions either, and these logs answer as empty ones do ([`Logs::exist`]).

use crate::compression::Compression;
use crate::exec::waiting::WaitList;
use crate::format::bitmap::{Bits, Stored, TableEntry};
use crate::format::horizon::{Horizon, SESSION_RECORDS};
use crate::format::segment::{Record, RecordKind, header_length};
use crate::geometry::Geometry;
use crate::log::append::closing::ClosingProgress;
use crate::log::at_risk::AtRisk;
use crate::log::commit::logs::CommitLogs;
use crate::log::pool::shared::{SharedMemory, minima, most_of_reintegrations};
use crate::log::pool::waiter::PoolWaiter;
use crate::log::recover::recoveries::Recoveries;
use crate::log::region::{LoadState, RegionLog};
use crate::log::regions::RegionLogs;
use crate::log::segment::Segment;
use crate::plan::LogMethod;
use crate::tuning::{LogPool, Simulated, Tuning};
use parlour_units::{Region, Sectors, Stripe};
use std::collections::{BTreeSet, VecDeque};

/// The logs of all regions.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(in crate::log) segment_length: Sectors,
    pub(in crate::log) header: Sectors,
    pub(in crate::log) positions: u32,
    /// How much shorter update records are here.
    pub(in crate::log) compression: Compression,
    pub(in crate::log) pool: LogPool,
    pub(in crate::log) pool_limit: u32,
    /// The least number of buffers: as many as the longest write takes.
    pub(in crate::log) least_buffers: u32,
    /// If memory is shared: the pool. Then `pool_limit` is what other uses of it leave.
    pub(in crate::log) shared: Option<SharedMemory>,
    /// At most so many full buffers are kept back.
    pub(in crate::log) most_kept: u32,
    /// Memory of the reintegrations under way, if it is shared.
    pub(in crate::log) reintegration_memory: Sectors,
    pub(in crate::log) in_memory: u32,
    /// Segments that are being appended.
    pub(in crate::log) appending: u32,
    /// Regions that have an open segment.
    pub(in crate::log) open: Bits,
    /// Regions that have sealed segments.
    pub(in crate::log) sealed: Bits,
    pub(in crate::log) regions: RegionLogs,
    pub(in crate::log) segments: Vec<Option<Segment>>,
    pub(in crate::log) free: Vec<u32>,
    pub(in crate::log) sequence: u64,
    /// The numbers that earlier sessions have used.
    pub(in crate::log) before: Horizon,
    /// The highest record number that superblocks on the members permit this session to use.
    pub(in crate::log) last_sequence: u64,
    /// The stamp of the last segment that was appended.
    pub(in crate::log) stamp: u64,
    pub(in crate::log) records: u64,
    /// Whole stripes that are being written in place.
    pub(in crate::log) at_risk: AtRisk,
    /// Jobs that wait for a buffer.
    pub(in crate::log) pool_waiters: VecDeque<PoolWaiter>,
    /// Parity repairs that wait for a stripe's lock.
    pub(in crate::log) parity_repairers: WaitList,
    /// Regions that wait for a reintegration buffer.
    pub(in crate::log) queue: VecDeque<Region>,
    pub(in crate::log) running: u32,
    /// After a crash: what is still to be redone.
    pub(in crate::log) recoveries: Recoveries,
    /// By region: records up to this sequence number are in the parity.
    pub(in crate::log) applied: Vec<u64>,
    /// By region: records up to this sequence number are not redone after a crash, as the newest
    /// table says.
    pub(in crate::log) landed: Vec<u64>,
    /// By region: the records that the newest table counts in its log.
    pub(in crate::log) stored: Vec<Stored>,
    /// Segments, with their stamps, that no durable table counts yet: the commit log holds their
    /// records until a table does.
    pub(in crate::log) uncounted: Vec<(u32, u64)>,
    /// Buffers were freed since waiting jobs last looked.
    pub(in crate::log) freed: bool,
    /// Progress of a stop in taking buffers out of memory.
    pub(in crate::log) closing: ClosingProgress,
    /// Used if records are durable before their data is written.
    pub(in crate::log) commits: CommitLogs,
    /// Stripes with refused writes that may be in their place after the next opening.
    pub(in crate::log) doubtful: BTreeSet<Stripe>,
    /// Whether the commit log has intents that cannot be finished until the array is opened again.
    pub(in crate::log) blocked: bool,
}

/// The sizes of logs and of the pool of buffers. All are 0 in a layout without logs.
#[derive(Debug, Default)]
struct Sizes {
    segment: Sectors,
    header: Sectors,
    positions: u32,
    pool_limit: u32,
    least_buffers: u32,
}

impl Sizes {
    fn of(geometry: &Geometry, tuning: &Tuning, compression: Compression) -> Sizes {
        let layout = geometry.layout();
        let Some(regions) = layout.logs() else { return Sizes::default() };
        let segment = Sectors::new(regions.shape().segment);
        // A header has room for as many records as if they were as long as what they change. Four
        // times as many are one for each sector: there are never more.
        let changed = compression.changed(segment).min(segment * 4);
        let header = header_length(changed, geometry.block());
        // With `journal` a write must be logged before it overwrites data: each write must fit into
        // the pool.
        let longest = tuning.slice.min(layout.unit_length()) * u64::from(layout.data_units());
        let least = if geometry.is_journaled() { longest / (segment - header * 2) + 3 } else { 2 };
        let pool_limit = (tuning.log_memory / segment).max(least);
        Sizes {
            segment,
            header,
            positions: regions.segments(),
            pool_limit: u32::try_from(pool_limit).unwrap_or(u32::MAX),
            least_buffers: u32::try_from(least).unwrap_or(u32::MAX),
        }
    }
}

impl Logs {
    pub(crate) fn new(
        geometry: &Geometry,
        (tuning, simulated): (&Tuning, Simulated),
        first_sequence: u64,
        table: &[TableEntry],
    ) -> Logs {
        let compression = simulated.compression;
        let sizes = Sizes::of(geometry, tuning, compression);
        let Sizes { segment, header, positions, pool_limit, least_buffers } = sizes;
        let least = segment * u64::from(least_buffers);
        let shared = tuning.shared_memory;
        let shared = shared.map(|total| {
            let most = most_of_reintegrations(geometry, tuning);
            SharedMemory::new(total, minima(geometry, tuning, least), most)
        });
        let regions = if geometry.records_updates() { geometry.layout().region_count() } else { 0 };
        Logs {
            segment_length: segment,
            header,
            positions,
            compression,
            pool: if shared.is_some() { LogPool::Global } else { tuning.log_pool },
            pool_limit,
            least_buffers,
            shared,
            most_kept: pool_limit,
            reintegration_memory: Sectors::ZERO,
            in_memory: 0,
            closing: ClosingProgress::default(),
            appending: 0,
            open: Bits::new(geometry.layout().region_count()),
            sealed: Bits::new(geometry.layout().region_count()),
            regions: RegionLogs::new(regions as usize, positions as usize),
            segments: Vec::new(),
            free: Vec::new(),
            sequence: first_sequence,
            before: Horizon::of((first_sequence / SESSION_RECORDS).saturating_sub(1)),
            last_sequence: first_sequence + (SESSION_RECORDS - 1),
            stamp: first_sequence,
            records: 0,
            at_risk: AtRisk::default(),
            pool_waiters: VecDeque::new(),
            parity_repairers: WaitList::default(),
            queue: VecDeque::new(),
            running: 0,
            recoveries: Recoveries::default(),
            applied: table.iter().map(|entry| entry.applied).collect(),
            landed: table.iter().map(|entry| entry.landed).collect(),
            stored: table.iter().map(|entry| entry.stored).collect(),
            uncounted: Vec::new(),
            freed: false,
            commits: CommitLogs::default(),
            doubtful: BTreeSet::new(),
            blocked: false,
        }
    }

    /// For tests: `region`'s log is full, and a holder of its parity never releases it.
    #[cfg(test)]
    pub(crate) fn block(&mut self, region: Region) {
        let log = self.region(region);
        log.positions.fill(true);
        log.holders = 1;
    }

    /// Whether updates are recorded at all.
    pub(crate) fn exist(&self) -> bool {
        self.have_positions() || self.commits.exist()
    }

    /// Whether each region has a log in which records are collected.
    pub(crate) fn have_positions(&self) -> bool {
        self.positions > 0
    }

    /// Whether the commit log holds records that are to be redone, or intents of a reintegration
    /// that is to be finished.
    pub(crate) fn is_to_be_recovered(&self) -> bool {
        let redone = |log: &RegionLog| log.half_done.is_some() || !log.unlanded.is_empty();
        let unfinished = |log: &RegionLog| log.waits_for_opening() && redone(log);
        self.recoveries.left > 0 || self.regions.values().any(unfinished)
    }

    /// Sectors of payload in a segment.
    pub(crate) fn payload(&self) -> Sectors {
        self.segment_length - self.header * 2
    }

    /// How much shorter the records of such a write are: new parity is no difference.
    pub(in crate::log) fn compression_of(&self, method: LogMethod) -> Compression {
        if method == LogMethod::Update { self.compression } else { Compression::NONE }
    }

    /// The sectors of a segment's payload that a record takes.
    pub(in crate::log) fn stored(&self, record: &Record) -> Sectors {
        match record.kind {
            RecordKind::Update => self.compression.stored(record.payload()),
            _ => record.payload(),
        }
    }

    /// The sectors of a segment in a position that its header and the payloads of its records take.
    /// The sectors behind them may never have been written.
    pub(crate) fn told_length(&self, index: u32) -> Sectors {
        let ends = self.segment(index).records.iter().map(|record| record.start + self.stored(record));
        self.header + ends.max().unwrap_or(Sectors::ZERO)
    }

    pub(crate) fn pool_limit(&self) -> u32 {
        self.pool_limit
    }

    pub(crate) fn alive(&self, index: u32) -> Option<&Segment> {
        self.segments[index as usize].as_ref()
    }

    pub(crate) fn segment(&self, index: u32) -> &Segment {
        self.segments[index as usize].as_ref().expect("a segment is named only while it lives")
    }

    pub(crate) fn segment_mut(&mut self, index: u32) -> &mut Segment {
        self.segments[index as usize].as_mut().expect("a segment is named only while it lives")
    }

    pub(crate) fn region(&mut self, region: Region) -> &mut RegionLog {
        self.regions.used(region)
    }

    /// Whether `stripe` (its number in the region) has records that are not in the parity.
    pub(crate) fn is_live(&self, region: Region, stripe: u32) -> bool {
        self.regions.get(region).is_some_and(|log| log.live.contains_key(&stripe))
    }

    /// Whether `region` has, or may have, records that are not in the parity.
    pub(crate) fn region_is_live(&self, region: Region) -> bool {
        self.regions.get(region).is_some_and(|log| !log.live.is_empty() || log.load != LoadState::Known)
    }

    /// Whether any region has, or may have, records that are not in the parity.
    pub(crate) fn any_live(&self) -> bool {
        self.regions.values().any(|log| !log.live.is_empty() || log.load != LoadState::Known)
    }

    /// Whether the headers of some region stay unknown until the array is opened again.
    pub(crate) fn any_stalled(&self) -> bool {
        self.regions.values().any(|log| log.load == LoadState::Stalled)
    }
}
