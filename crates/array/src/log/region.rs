//! The log of one region.

use crate::exec::waiting::WaitList;
use crate::format::bitmap::Stored;
use crate::hash::ByStripe;
use crate::log::recover::remembered::{Recovery, Settling};
use crate::log::reintegrate::state::{HalfDone, Reintegration};
use parlour_units::Sectors;
use std::collections::{BTreeSet, VecDeque};

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
    pub(in crate::log) load: LoadState,
    /// The newest stamp at the time when the headers became known.
    pub(in crate::log) read_at: u64,
    /// The last count of its stored records that are newer than a sequence number, unless they have
    /// changed since.
    pub(in crate::log) counted: Option<(u64, Stored)>,
    /// The records in its positions when the log was given up. Until it is durable that the region
    /// is to be resynced, they still count after a crash, so tables go on naming them.
    pub(in crate::log) given_up: Option<Stored>,
    pub(in crate::log) open: Option<u32>,
    /// Sealed, in the order to be appended.
    pub(in crate::log) sealed: VecDeque<u32>,
    /// All segments with records or reservations.
    pub(in crate::log) segments: Vec<u32>,
    pub(in crate::log) positions: Vec<bool>,
    /// Positions whose records the commit log holds as well: the copies of the commit log are used.
    /// These positions are not overwritten while a table counts on them.
    pub(in crate::log) shadows: Vec<u32>,
    pub(in crate::log) next_position: u32,
    /// Committed records that are not in the parity, by stripe.
    pub(in crate::log) live: ByStripe<u32, u32>,
    /// Jobs that use the parity in place now.
    pub(in crate::log) holders: u32,
    /// A job or a scan needs the parity to be up to date.
    pub(in crate::log) wanted: bool,
    pub(in crate::log) queued: bool,
    pub(in crate::log) reintegrating: Option<Box<Reintegration>>,
    /// Memory of the reintegration under way, if memory is shared.
    pub(in crate::log) reintegration_memory: Option<Sectors>,
    pub(in crate::log) waiters: WaitList,
    /// Committed writes whose data is still being written, by epoch.
    pub(in crate::log) landing: [u32; 2],
    /// Changes when a reintegration begins. The reintegration waits for the writes of the epoch
    /// before.
    pub(in crate::log) epoch: usize,
    /// Records and intents of the region that the commit log holds since a crash.
    pub(in crate::log) recovery: Option<Box<Recovery>>,
    /// The work that a reintegration had done before that crash.
    pub(in crate::log) half_done: Option<HalfDone>,
    /// A reintegration had no space or memory: none runs until the array is opened again.
    pub(in crate::log) suspended: bool,
    /// Stripes with committed writes for whose data there was no space or memory.
    pub(in crate::log) unlanded: BTreeSet<u32>,
    /// How often the region was reintegrated since the array was opened.
    pub(in crate::log) reintegrations: u64,
}

impl RegionLog {
    /// The last count is no longer valid.
    pub(in crate::log) fn forget_count(&mut self) {
        self.counted = None;
    }

    /// Whether the region makes no progress until the array is opened again.
    pub(in crate::log) fn waits_for_opening(&self) -> bool {
        self.suspended || self.load == LoadState::Stalled
    }

    /// Whether the content of all its positions is known.
    pub(in crate::log) fn is_read(&self) -> bool {
        self.load == LoadState::Known && self.recovery.is_none()
    }

    /// If a recovery waits for that: the sequence number up to which the table must say that
    /// records are redone.
    pub(in crate::log) fn settles(&self) -> Option<u64> {
        let recovery = self.recovery.as_ref().filter(|recovery| recovery.settling == Settling::Listed);
        recovery.and_then(|recovery| recovery.sequences().last())
    }

    /// Whether all is redone, and the region waits for a table that says so.
    pub(in crate::log) fn is_settling(&self) -> bool {
        self.recovery.as_ref().is_some_and(|recovery| recovery.settling != Settling::No)
    }

    pub(in crate::log) fn new(positions: usize) -> RegionLog {
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
            reintegration_memory: None,
            waiters: WaitList::default(),
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
