//! The parity log (Stodolsky §2): buffers and segments, and the records in them, region by region.
//!
//! A write reserves room in its region's open buffer *before* it takes its stripe's lock, and
//! commits its records *before* it overwrites data. A buffer that is full, and whose reservations
//! are all committed or given back, is sealed and appended to the region's log as one segment. When
//! the log has no free position the region is reintegrated: records on members and in memory are
//! folded into the parity and dropped.
//!
//! This file holds the bookkeeping; [`append`], [`reintegrate`] and [`load`] act on it.
//!
//! Invariants:
//! - A segment's `unfilled` counts reservations that are neither committed nor given back.
//! - A stripe's entry in `live` counts its committed records that are not yet in the parity.
//! - A job that uses the parity in place (`holders` > 0) and a reintegration exclude each other:
//!   while one runs, the other does not start.

mod append;
mod commit;
mod facts;
mod failure;
mod gates;
mod load;
mod lost;
mod outcome;
mod pool;
mod pump;
mod recover;
mod reintegrate;
mod ring;
mod scan;
mod status;
mod suits;
mod want;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use parlour_units::{Region, Sectors, Slot, Unit};

use crate::buffer::BufferId;
use crate::columns::Columns;
use crate::format::bitmap::{Bits, Stored, TableEntry};
use crate::format::horizon::{Horizon, SESSION_RECORDS, first_sequence};
use crate::format::segment::{self, Record, RecordKind, header_length};
use crate::geometry::Geometry;
use crate::hash::ByStripe;
use crate::ids::JobId;
use crate::plan::Fragment;
use crate::planted::{Bug, is_planted};
use crate::tuning::{LogPool, Tuning};

pub(crate) use append::closing::Closing;
pub(crate) use commit::logs::{CommitLogs, EntryName};
pub(crate) use load::headers::Load;
pub(crate) use pool::waiter::PoolWaiter;
pub(crate) use recover::recoveries::Recoveries;
pub(crate) use recover::redo::Redo;
pub(crate) use recover::remembered::{Recovery, remember};
pub(crate) use reintegrate::state::{HalfDone, Reintegration};
pub use scan::{CommitLogContent, CommitLogReader};

/// Room in a segment for one record's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reservation {
    pub(crate) segment: u32,
    pub(crate) start: Sectors,
    pub(crate) length: Sectors,
}

/// The result of asking for room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reserved {
    /// The fragments, cut where a segment ended, and the room for each.
    Granted(Vec<Fragment>, Vec<Reservation>),
    /// There is room only when a buffer becomes free.
    Later,
    /// The fragments would never fit into the pool.
    Never,
}

/// How far a segment has come on its way to the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentState {
    /// Takes reservations.
    Open,
    /// Takes no more reservations. Waits until they are committed or given back, then for its turn
    /// to be appended.
    Sealed,
    /// It is being written to its position.
    Appending,
    /// Is written to its position.
    Stored,
}

#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) region: Region,
    pub(crate) state: SegmentState,
    pub(crate) buffer: Option<BufferId>,
    pub(crate) position: Option<u32>,
    pub(crate) used: Sectors,
    pub(crate) reserved: u32,
    pub(crate) unfilled: u32,
    pub(crate) records: Vec<Record>,
    /// For each record: the entry of a commit log that is kept until the record is stored
    /// elsewhere.
    pub(crate) commits: Vec<Option<EntryName>>,
    /// How many of the records are being reintegrated now.
    pub(crate) taken: usize,
    /// When its position was written: a member that came to the slot later does not hold it.
    pub(crate) turn: u64,
    /// Its stamp in the header; 0 while it is in no position.
    pub(crate) stamp: u64,
}

/// Whether the log's headers on the members are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoadState {
    /// The headers are to be read before the region is used.
    Unknown,
    /// The headers are being read.
    Loading,
    /// The headers are known.
    Known,
    /// A member had no space or memory for an access that loading needed. The headers stay unknown
    /// until the array is opened again.
    Stalled,
}

#[derive(Debug)]
pub(crate) struct RegionLog {
    pub(crate) load: LoadState,
    /// The newest stamp at the time when the headers became known.
    pub(crate) read_at: u64,
    /// The last count of its stored records, unless they have changed since.
    counted: Option<TableEntry>,
    /// The records in its positions when the log was given up. Until it is durable that the region
    /// is to be resynced, they still count after a crash, so tables go on naming them.
    given_up: Option<Stored>,
    pub(crate) open: Option<u32>,
    /// Sealed, in the order to be appended.
    pub(crate) sealed: VecDeque<u32>,
    /// All segments with records or reservations.
    pub(crate) segments: Vec<u32>,
    pub(crate) positions: Vec<bool>,
    /// Positions whose records a commit log holds as well: the copies of the commit log are used.
    /// These positions are not overwritten while a table counts on them.
    pub(crate) shadows: Vec<u32>,
    pub(crate) next_position: u32,
    /// Committed records that are not in the parity, by stripe.
    pub(crate) live: ByStripe<u32, u32>,
    /// Jobs that use the parity in place now.
    pub(crate) holders: u32,
    /// A job or a scan needs the parity to be up to date.
    pub(crate) wanted: bool,
    pub(crate) queued: bool,
    pub(crate) reintegrating: Option<Box<Reintegration>>,
    pub(crate) waiters: Vec<JobId>,
    /// Committed writes whose data is still being written, by epoch.
    pub(crate) landing: [u32; 2],
    /// Changes when a reintegration begins. The reintegration waits for the writes of the epoch
    /// before.
    pub(crate) epoch: usize,
    /// Records and intents of the region that commit logs hold since a crash.
    pub(crate) recovery: Option<Box<Recovery>>,
    /// The work that a reintegration had done before that crash.
    pub(crate) half_done: Option<HalfDone>,
    /// A reintegration had no space or memory: none runs until the array is opened again.
    pub(crate) suspended: bool,
    /// Stripes with committed writes for whose data there was no space or memory.
    pub(crate) unlanded: BTreeSet<u32>,
    /// How often the region was reintegrated since the array was opened.
    pub(crate) reintegrations: u64,
}

/// The logs of all regions.
#[derive(Debug)]
pub(crate) struct Logs {
    pub(crate) segment_length: Sectors,
    pub(crate) header: Sectors,
    positions: u32,
    pool: LogPool,
    pool_limit: u32,
    /// The least number of buffers: as many as the longest write takes.
    least_buffers: u32,
    pub(crate) in_memory: u32,
    /// Segments that are being appended.
    pub(crate) appending: u32,
    /// Regions that have an open segment.
    open: Bits,
    /// Regions that have sealed segments.
    sealed: Bits,
    pub(crate) regions: BTreeMap<Region, RegionLog>,
    segments: Vec<Option<Segment>>,
    free: Vec<u32>,
    sequence: u64,
    /// The numbers that earlier sessions have used.
    pub(crate) before: Horizon,
    /// The highest record number that superblocks on the members permit this session to use.
    last_sequence: u64,
    /// The stamp of the last segment that was appended.
    pub(crate) stamp: u64,
    pub(crate) records: u64,
    /// Jobs that wait for a buffer.
    pub(crate) pool_waiters: VecDeque<PoolWaiter>,
    /// Parity repairs that wait for a stripe's lock.
    pub(crate) parity_repairers: Vec<JobId>,
    /// Regions that wait for a reintegration buffer.
    pub(crate) queue: VecDeque<Region>,
    pub(crate) running: u32,
    /// After a crash: what is still to be redone.
    recoveries: Recoveries,
    /// By region: records up to this sequence number are in the parity.
    pub(crate) applied: Vec<u64>,
    /// By region: the records that the newest table counts in its log.
    pub(crate) stored: Vec<Stored>,
    /// Segments, with their stamps, that no durable table counts yet: commit logs hold their
    /// records until a table does.
    uncounted: Vec<(u32, u64)>,
    /// Buffers were freed since waiting jobs last looked.
    pub(crate) freed: bool,
    /// Progress of a stop in taking buffers out of memory.
    closing: append::closing::ClosingProgress,
    /// Used if records are durable before their data is written.
    pub(crate) commits: CommitLogs,
    /// Slots in whose commit log there are intents that cannot be finished until the array is
    /// opened again.
    pub(crate) blocked: BTreeSet<Slot>,
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
    fn of(geometry: &Geometry, tuning: &Tuning) -> Sizes {
        let layout = geometry.layout();
        let Some(regions) = layout.logs() else { return Sizes::default() };
        let segment = Sectors::new(regions.shape().segment);
        let header = header_length(segment, geometry.block());
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
        tuning: &Tuning,
        first_sequence: u64,
        table: &[TableEntry],
    ) -> Logs {
        let Sizes { segment, header, positions, pool_limit, least_buffers } = Sizes::of(geometry, tuning);
        Logs {
            segment_length: segment,
            header,
            positions,
            pool: tuning.log_pool,
            pool_limit,
            least_buffers,
            in_memory: 0,
            closing: append::closing::ClosingProgress::default(),
            appending: 0,
            open: Bits::new(geometry.layout().region_count()),
            sealed: Bits::new(geometry.layout().region_count()),
            regions: BTreeMap::new(),
            segments: Vec::new(),
            free: Vec::new(),
            sequence: first_sequence,
            before: Horizon::of((first_sequence / SESSION_RECORDS).saturating_sub(1)),
            last_sequence: first_sequence + (SESSION_RECORDS - 1),
            stamp: first_sequence,
            records: 0,
            pool_waiters: VecDeque::new(),
            parity_repairers: Vec::new(),
            queue: VecDeque::new(),
            running: 0,
            recoveries: Recoveries::default(),
            applied: table.iter().map(|entry| entry.applied).collect(),
            stored: table.iter().map(|entry| entry.stored).collect(),
            uncounted: Vec::new(),
            freed: false,
            commits: CommitLogs::default(),
            blocked: BTreeSet::new(),
        }
    }

    /// Whether there are logs at all.
    pub(crate) fn exist(&self) -> bool {
        self.positions > 0
    }

    /// Whether commit logs hold records that are to be redone, or intents of a reintegration that
    /// is to be finished.
    pub(crate) fn is_to_be_recovered(&self) -> bool {
        let redone = |log: &RegionLog| log.half_done.is_some() || !log.unlanded.is_empty();
        let unfinished = |log: &RegionLog| log.waits_for_opening() && redone(log);
        self.recoveries.left > 0 || self.regions.values().any(unfinished)
    }

    /// Sectors of payload in a segment.
    pub(crate) fn payload(&self) -> Sectors {
        self.segment_length - self.header * 2
    }

    /// The sectors of a segment in a position that its header and the payloads of its records take.
    /// The sectors behind them may never have been written.
    pub(crate) fn told_length(&self, index: u32) -> Sectors {
        let ends = self.segment(index).records.iter().map(|record| record.start + record.payload());
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
        let positions = self.positions as usize;
        self.regions.entry(region).or_insert_with(|| RegionLog::new(positions))
    }

    /// Whether `stripe` (its number in the region) has records that are not in the parity.
    pub(crate) fn is_live(&self, region: Region, stripe: u32) -> bool {
        self.regions.get(&region).is_some_and(|log| log.live.contains_key(&stripe))
    }

    /// Whether `region` has, or may have, records that are not in the parity.
    pub(crate) fn region_is_live(&self, region: Region) -> bool {
        self.regions.get(&region).is_some_and(|log| !log.live.is_empty() || log.load != LoadState::Known)
    }

    /// Whether any region has, or may have, records that are not in the parity.
    pub(crate) fn any_live(&self) -> bool {
        self.regions.values().any(|log| !log.live.is_empty() || log.load != LoadState::Known)
    }

    /// Whether the headers of some region stay unknown until the array is opened again.
    pub(crate) fn any_stalled(&self) -> bool {
        self.regions.values().any(|log| log.load == LoadState::Stalled)
    }

    /// Reserves room for `fragments` in `region`, all or nothing. `take` gives a buffer of a given
    /// length.
    pub(crate) fn reserve(
        &mut self,
        region: Region,
        fragments: &[Fragment],
        mut take: impl FnMut(Sectors) -> BufferId,
    ) -> Reserved {
        let more = self.buffers_needed(region, fragments);
        let limit = match self.pool {
            LogPool::Global => self.pool_limit,
            LogPool::Static => self.least_buffers,
        };
        if more > limit {
            return Reserved::Never;
        }
        let in_use = match self.pool {
            LogPool::Global => self.in_memory,
            // A region may use one buffer that fills and one that is being appended: the paper's K
            // tracks, doubled.
            LogPool::Static => self.region_buffers(region),
        };
        if in_use + more > limit {
            return Reserved::Later;
        }
        let before = self.in_memory;
        let mut cut = Vec::with_capacity(fragments.len());
        let mut reservations = Vec::with_capacity(fragments.len());
        for fragment in fragments {
            self.reserve_one(region, *fragment, &mut take, &mut cut, &mut reservations);
        }
        assert_eq!(self.in_memory, before + more, "the pool was asked for the buffers that are taken");
        Reserved::Granted(cut, reservations)
    }

    fn reserve_one(
        &mut self,
        region: Region,
        fragment: Fragment,
        take: &mut impl FnMut(Sectors) -> BufferId,
        cut: &mut Vec<Fragment>,
        reservations: &mut Vec<Reservation>,
    ) {
        let mut columns = fragment.columns;
        loop {
            let open = self.open_segment(region, take);
            let (told, length) = match fragment.bare {
                true => (columns.length(), Sectors::ZERO),
                false => {
                    let length = columns.length().min(self.payload() - self.segment(open).used);
                    (length, length)
                }
            };
            reservations.push(self.take_reservation(open, length));
            let from = columns.from;
            cut.push(Fragment { columns: Columns::new(from, from + told), ..fragment });
            columns.from = from + told;
            if columns.is_empty() {
                return;
            }
        }
    }

    /// Room in memory for a record that is already committed. The pool's limit is not checked: it
    /// may be exceeded by as much as commit logs hold.
    pub(crate) fn reservation_for(
        &mut self,
        region: Region,
        length: Sectors,
        mut take: impl FnMut(Sectors) -> BufferId,
    ) -> Reservation {
        if let Some(open) = self.region(region).open
            && self.segment(open).used + length > self.payload()
        {
            self.close(open);
        }
        let open = self.open_segment(region, &mut take);
        self.take_reservation(open, length)
    }

    /// Takes the next room of an open segment, and closes the segment once it is full.
    fn take_reservation(&mut self, open: u32, length: Sectors) -> Reservation {
        let (payload, most) = (self.payload(), self.most_records());
        let segment = self.segment_mut(open);
        let reservation = Reservation { segment: open, start: segment.used, length };
        segment.used += length;
        segment.reserved += 1;
        segment.unfilled += 1;
        if segment.used == payload || segment.reserved == most {
            self.close(open);
        }
        reservation
    }

    pub(in crate::log) fn most_records(&self) -> u32 {
        segment::header_records(self.header) as u32
    }

    fn region_buffers(&self, region: Region) -> u32 {
        let log = self.regions.get(&region);
        log.map_or(0, |log| {
            log.segments.iter().filter(|index| self.segment(**index).buffer.is_some()).count() as u32
        })
    }

    /// The number of buffers, beyond the open one, that `fragments` would take.
    fn buffers_needed(&self, region: Region, fragments: &[Fragment]) -> u32 {
        let open = self.regions.get(&region).and_then(|log| log.open).map(|index| self.segment(index));
        let (mut left, mut records) = open.map_or((Sectors::ZERO, 0), |segment| {
            (self.payload() - segment.used, self.most_records() - segment.reserved)
        });
        let mut more = 0;
        for fragment in fragments {
            let mut length = if fragment.bare { Sectors::ZERO } else { fragment.columns.length() };
            loop {
                if left.is_zero() || records == 0 {
                    (left, records) = (self.payload(), self.most_records());
                    more += 1;
                }
                let part = length.min(left);
                (length, left, records) = (length - part, left - part, records - 1);
                if length.is_zero() {
                    break;
                }
            }
        }
        more
    }

    fn open_segment(&mut self, region: Region, take: &mut impl FnMut(Sectors) -> BufferId) -> u32 {
        if let Some(open) = self.region(region).open {
            return open;
        }
        let buffer = take(self.payload());
        self.in_memory += 1;
        let index = self.insert(Segment::in_memory(region, buffer));
        let log = self.region(region);
        log.open = Some(index);
        log.segments.push(index);
        self.open.set(region);
        index
    }

    pub(crate) fn insert(&mut self, segment: Segment) -> u32 {
        match self.free.pop() {
            Some(index) => {
                self.segments[index as usize] = Some(segment);
                index
            }
            None => {
                self.segments.push(Some(segment));
                self.segments.len() as u32 - 1
            }
        }
    }

    /// The open segment takes no more reservations.
    pub(crate) fn close(&mut self, index: u32) {
        let segment = self.segment_mut(index);
        assert_eq!(segment.state, SegmentState::Open, "only an open segment is closed");
        segment.state = SegmentState::Sealed;
        let region = segment.region;
        self.region(region).open = None;
        self.open.clear(region);
        self.await_append(region, index);
    }

    /// Queues a sealed segment to be appended.
    pub(in crate::log) fn await_append(&mut self, region: Region, index: u32) {
        self.region(region).sealed.push_back(index);
        self.sealed.set(region);
    }

    /// Takes a segment out of the queue: it is not appended.
    pub(in crate::log) fn leave_queue(&mut self, region: Region, index: u32) {
        let log = self.region(region);
        log.sealed.retain(|other| *other != index);
        if log.sealed.is_empty() {
            self.sealed.clear(region);
        }
    }

    /// The open segments of regions that are not being recovered.
    pub(in crate::log) fn open_segments(&self) -> impl Iterator<Item = u32> + '_ {
        let logs = self.open.iter().map(|region| &self.regions[&region]);
        logs.filter(|log| log.recovery.is_none()).filter_map(|log| log.open)
    }

    /// The next record number: higher than all before, lower than those of the next session.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        assert!(self.sequence < self.last_sequence, "no write goes on before a session has further numbers");
        self.sequence += 1;
        self.sequence
    }

    /// Whether records or segments have used up at least `records` of the numbers of session
    /// `session_number` (at most a quarter of a session's numbers is asked for).
    pub(crate) fn have_used(&self, session_number: u64, records: u64) -> bool {
        self.sequence.max(self.stamp) >= first_sequence(session_number) + records.min(SESSION_RECORDS / 4)
    }

    /// Superblocks now give this session the numbers of session `session_number` as well.
    pub(crate) fn may_number_up_to(&mut self, session_number: u64) {
        self.last_sequence = self.last_sequence.max(first_sequence(session_number + 1) - 1);
    }

    /// The number of the newest record.
    pub(crate) fn newest_sequence(&self) -> u64 {
        self.sequence
    }

    /// The payloads of a job's reservations are in memory: its records count from now on. `digests`
    /// are the digests of the payloads.
    pub(crate) fn commit(
        &mut self,
        stripe: u32,
        fragments: &[Fragment],
        reservations: &[Reservation],
        kind: RecordKind,
        mut digests: impl Iterator<Item = u32>,
    ) {
        for (fragment, reservation) in fragments.iter().zip(reservations) {
            let sequence = self.next_sequence();
            let (unit, columns) = (fragment.unit, fragment.columns);
            let digest = digests.next().expect("each payload has a digest");
            let record = Record { sequence, stripe, unit, kind, columns, start: reservation.start, digest };
            self.commit_record(reservation.segment, record, None);
        }
    }

    /// The room that was reserved in `segment` holds the payload of `record`: the record counts
    /// from now on. `entry` is kept until the record is stored elsewhere.
    pub(crate) fn commit_record(&mut self, segment: u32, record: Record, entry: Option<EntryName>) {
        self.records += 1;
        let segment = self.segment_mut(segment);
        segment.unfilled -= 1;
        segment.records.push(record);
        segment.commits.push(entry);
        let region = segment.region;
        *self.region(region).live.entry(record.stripe).or_default() += 1;
        if let Some(entry) = entry {
            self.commits.keep(entry);
        }
    }

    /// The first `count` records of a segment are in a position, or are dropped: the commit log
    /// need not keep them.
    fn let_go_of_commits(&mut self, index: u32, count: usize) {
        let segment = self.segments[index as usize].as_mut().expect("a segment is named only while it lives");
        let commits = &mut self.commits;
        for entry in segment.commits.iter_mut().take(count).filter_map(Option::take) {
            commits.stored(entry);
        }
    }

    /// The commit log keeps a segment's records until [`CommitLogs::adopt`].
    pub(crate) fn orphan_records(&mut self, index: u32) {
        let segment = self.segments[index as usize].as_mut().expect("a segment is named only while it lives");
        let commits = &mut self.commits;
        segment.commits.iter_mut().filter_map(Option::take).for_each(|entry| commits.orphan(entry));
    }

    /// The segment is in its position. If a commit log holds its records, it keeps them until a
    /// table counts them: the loss of a record from a log would stay unnoticed if no table counted
    /// it.
    pub(crate) fn segment_stored(&mut self, index: u32) {
        let region = self.segment(index).region;
        self.region(region).forget_count();
        if is_planted(Bug::RecordsForgottenBeforeTable) {
            self.let_go_of_commits(index, usize::MAX);
        } else if self.commits.exist() {
            self.uncounted.push((index, self.segment(index).stamp));
        }
    }

    /// Whether commit logs hold records that wait for a table.
    pub(crate) fn awaits_table(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// The table of all regions' logs as they are now. For a region that is not yet read, it
    /// repeats the entry of the last table.
    pub(crate) fn table(&mut self) -> Vec<TableEntry> {
        let last = self.applied.iter().zip(&self.stored);
        let mut table: Vec<TableEntry> =
            last.map(|(applied, stored)| TableEntry { applied: *applied, stored: *stored }).collect();
        let read: Vec<Region> =
            self.regions.iter().filter(|(_, log)| log.is_read()).map(|(region, _)| *region).collect();
        for region in read {
            let entry = &mut table[region.as_usize()];
            let RegionLog { counted, given_up, .. } = self.regions[&region];
            if let Some(stored) = given_up {
                entry.stored = stored;
                continue;
            }
            entry.stored = match counted.filter(|counted| counted.applied == entry.applied) {
                Some(counted) => Stored { stamp: self.stamp, ..counted.stored },
                None => self.count_stored(region, entry.applied),
            };
        }
        table
    }

    /// The knowledge of the region's positions is about to be dropped, before its parity is
    /// computed anew.
    pub(crate) fn give_up_positions(&mut self, region: Region) {
        let log = self.region(region);
        if log.given_up.is_none() {
            let stored = match log.is_read() {
                true => self.count_stored(region, self.applied[region.as_usize()]),
                false => self.stored[region.as_usize()],
            };
            self.region(region).given_up = Some(stored);
        }
    }

    /// The log of `region` was given up before the array was opened.
    pub(crate) fn stay_given_up(&mut self, region: Region) {
        let stored = self.stored[region.as_usize()];
        if stored.records > 0 {
            self.region(region).given_up = Some(stored);
        }
    }

    /// The region is logged again.
    pub(crate) fn forget_given_up(&mut self, region: Region) {
        self.region(region).given_up = None;
    }

    /// The records in the region's positions no longer count: its parity was computed anew.
    pub(crate) fn outdate_positions(&mut self, region: Region) {
        self.applied[region.as_usize()] = self.newest_sequence();
        self.region(region).given_up = None;
    }

    /// Counts the live records in the positions of `region`. A segment that is being written to a
    /// position, or failed to be written, may or may not be there after a crash: neither it nor any
    /// newer segment is counted.
    fn count_stored(&mut self, region: Region, applied: u64) -> Stored {
        let log = &self.regions[&region];
        let segments = || log.segments.iter().map(|index| self.segment(*index));
        let unsure = segments().filter(|segment| segment.state != SegmentState::Stored && segment.stamp > 0);
        let oldest = unsure.map(|segment| segment.stamp).min();
        let mut stored = Stored::up_to(oldest.map_or(self.stamp, |stamp| stamp - 1));
        let counts =
            |segment: &&Segment| segment.state == SegmentState::Stored && segment.stamp <= stored.stamp;
        let records = segments().filter(counts).flat_map(|segment| &segment.records);
        let live = records.filter(|record| record.sequence > applied);
        let live: Vec<(u64, u32)> = live.map(|record| (record.sequence, record.digest)).collect();
        live.into_iter().for_each(|(sequence, digest)| stored.add(sequence, digest));
        if oldest.is_none() {
            self.region(region).counted = Some(TableEntry { applied, stored });
        }
        stored
    }

    /// `table` is durable: commit logs need not hold records that it counts, and positions that it
    /// no longer counts may be overwritten.
    pub(crate) fn table_written(&mut self, table: &[TableEntry]) {
        for (stored, entry) in self.stored.iter_mut().zip(table) {
            *stored = entry.stored;
        }
        for (region, log) in self.regions.iter_mut().filter(|(_, log)| log.is_read()) {
            // If the log was read after this table was put together, its shadows are still counted
            // by the table.
            if table[region.as_usize()].stored.stamp >= log.read_at {
                log.shadows.drain(..).for_each(|position| log.positions[position as usize] = false);
            }
        }
        for (index, stamp) in std::mem::take(&mut self.uncounted) {
            let segment = self.alive(index).filter(|segment| segment.stamp == stamp);
            let Some(region) = segment.map(|segment| segment.region) else { continue };
            if stamp <= table[region.as_usize()].stored.stamp {
                self.let_go_of_commits(index, usize::MAX);
            } else {
                self.uncounted.push((index, stamp));
            }
        }
    }

    /// A job gives its reservations back unused.
    pub(crate) fn give_back(&mut self, reservations: &[Reservation]) {
        for reservation in reservations {
            self.segment_mut(reservation.segment).unfilled -= 1;
        }
    }

    /// Forgets `count` records at the front of a segment.
    pub(crate) fn drop_records(&mut self, index: u32, count: usize) {
        self.let_go_of_commits(index, count);
        let segment = self.segment_mut(index);
        segment.commits.drain(..count);
        let region = segment.region;
        let dropped: Vec<u32> = segment.records.drain(..count).map(|record| record.stripe).collect();
        segment.taken = 0;
        self.records -= dropped.len() as u64;
        let log = self.region(region);
        log.forget_count();
        for stripe in dropped {
            let count = log.live.get_mut(&stripe).expect("a committed record is counted");
            *count -= 1;
            if *count == 0 {
                log.live.remove(&stripe);
            }
        }
    }

    /// Frees a segment that nothing needs any more; returns its buffer.
    pub(crate) fn retire(&mut self, index: u32) -> Option<BufferId> {
        let segment = self.segment(index);
        let needed = !segment.records.is_empty()
            || segment.unfilled > 0
            || matches!(segment.state, SegmentState::Open | SegmentState::Appending);
        if needed {
            return None;
        }
        let segment = self.segments[index as usize].take().expect("it was there");
        self.free.push(index);
        let log = self.region(segment.region);
        log.segments.retain(|other| *other != index);
        if let Some(position) = segment.position {
            log.positions[position as usize] = false;
        }
        self.leave_queue(segment.region, index);
        if segment.buffer.is_some() {
            self.in_memory -= 1;
        }
        segment.buffer
    }

    /// A free position of `region`; positions are used in turn.
    pub(crate) fn free_position(&mut self, region: Region) -> Option<u32> {
        let log = self.region(region);
        let count = log.positions.len() as u32;
        let position = (0..count)
            .map(|step| (log.next_position + step) % count)
            .find(|position| !log.positions[*position as usize])?;
        log.positions[position as usize] = true;
        log.next_position = (position + 1) % count;
        Some(position)
    }

    /// The unit that records of new parity name.
    pub(crate) fn check_unit(geometry: &Geometry) -> Unit {
        Unit::new(geometry.layout().data_units())
    }
}

impl RegionLog {
    /// The last count is no longer valid.
    fn forget_count(&mut self) {
        self.counted = None;
    }

    /// Whether the region makes no progress until the array is opened again.
    fn waits_for_opening(&self) -> bool {
        self.suspended || self.load == LoadState::Stalled
    }

    /// Whether the content of all its positions is known.
    fn is_read(&self) -> bool {
        self.load == LoadState::Known && self.recovery.is_none()
    }

    fn new(positions: usize) -> RegionLog {
        RegionLog {
            load: LoadState::Known,
            open: None,
            sealed: VecDeque::new(),
            segments: Vec::new(),
            positions: vec![false; positions],
            shadows: Vec::new(),
            read_at: 0,
            counted: None,
            given_up: None,
            next_position: 0,
            live: ByStripe::default(),
            holders: 0,
            wanted: false,
            queued: false,
            reintegrating: None,
            waiters: Vec::new(),
            landing: [0; 2],
            epoch: 0,
            recovery: None,
            half_done: None,
            suspended: false,
            unlanded: BTreeSet::new(),
            reintegrations: 0,
        }
    }
}

impl Segment {
    fn in_memory(region: Region, buffer: BufferId) -> Segment {
        Segment {
            region,
            state: SegmentState::Open,
            buffer: Some(buffer),
            position: None,
            used: Sectors::ZERO,
            reserved: 0,
            unfilled: 0,
            records: Vec::new(),
            commits: Vec::new(),
            taken: 0,
            turn: 0,
            stamp: 0,
        }
    }
}
