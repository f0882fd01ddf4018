//! The stage: writes that are acknowledged, and whose data is on its way to its place (write-back).
//!
//! A write is staged when the entry of the commit log that holds it counts. It is destaged by a
//! write of the array's own, which is carried out as a host's would be.
//! `docs/decisions/write-back.md` has the rules. This room knows which writes are where;
//! `host/write_back.rs` carries them on.
//!
//! Invariants:
//! - An entry is forgotten only when the map has nothing of it that waits to be destaged.
//! - No write passes by while a staged one of its sectors would be found after a crash.
//! - What passes by and what is staged never overlap while they are under way.
//! - Each sector is destaged once at a time.

mod batch;
mod list;
mod map;
mod short;

use std::collections::{BTreeMap, VecDeque};

use parlour_units::{Instant, Member, Sector, Sectors};

use crate::buffer::BufferId;
use crate::format::commit_entry::StagedWrite;
use crate::ids::HostId;
use crate::log::Lane;

pub(crate) use batch::{Batch, Destage};
use list::take;
pub(crate) use map::{Range, StageMap, Staged};
pub(crate) use short::is_short;

/// A write of a host that waits for its entry.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) host: HostId,
    pub(crate) write: StagedWrite,
    /// It was in an entry of this lane that was given up.
    pub(crate) given_up: Option<Lane>,
}

impl Waiting {
    pub(crate) fn range(&self) -> Range {
        Range::of(&self.write)
    }
}

/// An entry that was found when the array was opened, and whose payload is still to be read.
#[derive(Debug)]
pub(crate) struct Unread {
    pub(crate) number: u64,
    /// Where it starts on each of its members.
    pub(crate) at: Sector,
    /// The length of its header.
    pub(crate) header: Sectors,
    pub(crate) writes: Vec<StagedWrite>,
    /// Members that were asked for it.
    pub(crate) asked: Vec<Member>,
    /// Where its payload is read to, or is.
    pub(crate) buffer: Option<BufferId>,
    pub(crate) is_read: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    pub(crate) map: StageMap,
    /// Entries that are still to be read, oldest first. No host is served before all are.
    pub(crate) unread: VecDeque<Unread>,
    /// Writes that are on their way into an entry: each with its range.
    pub(crate) pending: Vec<(HostId, Range)>,
    /// Those of them that wait for the next entry.
    pub(crate) waiting: VecDeque<Waiting>,
    /// Those in entries that are being written, by the entry's number.
    pub(crate) entries: BTreeMap<u64, Vec<Waiting>>,
    /// Requests that pass by and are under way.
    pub(crate) passing: Vec<(HostId, Range)>,
    /// Requests that wait until they may pass by.
    pub(crate) parked: VecDeque<(HostId, Range)>,
    /// The array was opened with force: writes may be lost that were acknowledged.
    pub(crate) may_lose: bool,
    pub(crate) batch: Batch,
    /// Writes wait for room in the stream.
    pub(crate) is_full: bool,
    /// Something could not be destaged: when it is tried again.
    pub(crate) stuck: Option<Instant>,
    /// The number of requests that have passed by and were answered, and of those that a complete
    /// flush covers.
    pub(crate) passed: u64,
    pub(crate) flushed: u64,
}

impl Stage {
    /// Whether writes that were acknowledged are not in their place yet.
    pub(crate) fn holds_data(&self) -> bool {
        !self.map.is_empty() || !self.unread.is_empty()
    }

    /// Whether a write of `range` must not be staged, because another passes by there.
    pub(crate) fn is_passed(&self, range: Range) -> bool {
        let mut others = self.passing.iter().chain(&self.parked);
        others.any(|(_, other)| other.overlaps(range))
    }

    /// Whether a write of `range` is on its way into an entry.
    pub(crate) fn is_pending(&self, range: Range) -> bool {
        self.pending.iter().any(|(_, other)| other.overlaps(range))
    }

    /// The writes of an entry, which is no longer being written.
    pub(crate) fn take_entry(&mut self, number: u64) -> Vec<Waiting> {
        self.entries.remove(&number).expect("an entry is on the list until it ends")
    }

    /// A write is no longer on its way into an entry.
    pub(crate) fn end_pending(&mut self, host: HostId) {
        take(&mut self.pending, host);
    }

    /// A request that passed by has ended.
    pub(crate) fn end_passing(&mut self, host: HostId) {
        self.passed += u64::from(take(&mut self.passing, host).is_some());
    }

    /// The destage that `host` stands for has ended.
    pub(crate) fn end_running(&mut self, host: HostId) -> Option<Destage> {
        self.batch.end_running(host)
    }

    /// The array is abandoned: requests are answered, and nothing goes on.
    pub(crate) fn abandon(&mut self) {
        *self = Stage::default();
    }
}
