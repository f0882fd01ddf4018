//! A segment: a log buffer that fills, or what of it is stored in a position of the log.

use crate::buffer::BufferId;
use crate::format::segment::Record;
use crate::log::commit::logs::EntryName;
use crate::log::copies::LogCopies;
use crate::plan::Fragment;
use parlour_units::{Region, Sectors};

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
    pub(in crate::log) region: Region,
    pub(in crate::log) state: SegmentState,
    pub(in crate::log) buffer: Option<BufferId>,
    pub(in crate::log) position: Option<u32>,
    pub(in crate::log) used: Sectors,
    pub(in crate::log) reserved: u32,
    pub(in crate::log) unfilled: u32,
    pub(in crate::log) records: Vec<Record>,
    /// For each record: the entry of the commit log that is kept until the record is stored
    /// elsewhere.
    pub(in crate::log) commits: Vec<Option<EntryName>>,
    /// How many of the records are being reintegrated now.
    pub(in crate::log) taken: usize,
    /// The copies of the log in which it stands, apart from those that could not be read.
    pub(in crate::log) copies: LogCopies,
    /// When its position was written: a member that came to the slot later does not hold it.
    pub(in crate::log) turn: u64,
    /// Its stamp in the header; 0 while it is in no position.
    pub(in crate::log) stamp: u64,
}

impl Segment {
    pub(in crate::log) fn in_memory(region: Region, buffer: BufferId) -> Segment {
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
            copies: LogCopies::default(),
            turn: 0,
            stamp: 0,
        }
    }
}
