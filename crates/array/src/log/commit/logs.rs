//! The commit logs of members as values: their rings, the jobs that wait for space or for an entry,
//! and the entries that are kept.

use crate::exec::waiting::WaitList;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{EntryContent, FoundLog};
use crate::format::segment::Record;
use crate::geometry::Geometry;
use crate::ids::JobId;
use crate::log::ring::{Entry, Ring};
use parlour_units::{Region, Sectors, Slot};
use std::collections::{BTreeMap, VecDeque};

/// An entry is closed when it has the records of this many jobs.
pub(in crate::log) const GROUP: usize = 256;
/// An entry is closed when it takes about this part of its ring (one sixth). An entry does not wrap
/// around the end of the ring, so as much may stay unused there.
pub(in crate::log) const LONGEST: u64 = 6;

/// One member's commit log.
#[derive(Debug)]
pub(in crate::log) struct CommitLog {
    pub(in crate::log) records: Ring,
    pub(in crate::log) intents: Ring,
    /// Sectors of the ring of records that jobs have reserved.
    pub(in crate::log) reserved: Sectors,
    /// Jobs whose records go into the next entry.
    pub(in crate::log) waiting: VecDeque<JobId>,
    /// Intents that are still to be written, each as an entry of its own.
    pub(in crate::log) announced: VecDeque<Waiting>,
}

/// The commit logs of all members, by slot.
#[derive(Debug, Default)]
pub(crate) struct CommitLogs {
    pub(in crate::log) logs: Vec<CommitLog>,
    /// Jobs that wait for space.
    pub(in crate::log) waiters: WaitList,
    /// The number of flushes that have begun, and the number of the last complete one.
    pub(in crate::log) begun: u64,
    pub(in crate::log) complete: u64,
    pub(in crate::log) flushing: bool,
    /// Entries that are kept until it is durable that their regions are to be resynced.
    pub(in crate::log) orphans: Vec<EntryName>,
    /// By region: the last entry with a record without payload.
    pub(in crate::log) bare: BTreeMap<Region, EntryName>,
}

/// An intent that waits to be written: what a reintegration is about to do to a region's parity.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(in crate::log) region: Region,
    pub(in crate::log) content: EntryContent,
}

/// An entry with records that is being written.
#[derive(Debug)]
pub(crate) struct CommitEntry {
    pub(in crate::log) slot: Slot,
    pub(in crate::log) number: u64,
    /// The jobs whose records it has.
    pub(in crate::log) jobs: Vec<(JobId, Vec<Record>)>,
}

/// The name of an entry of a member's commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryName {
    pub(in crate::log) slot: Slot,
    pub(in crate::log) part: CommitPart,
    pub(in crate::log) number: u64,
}

impl CommitLog {
    /// Whether the oldest records should be stored elsewhere.
    pub(in crate::log) fn is_low_on_space(&self) -> bool {
        self.records.used() > self.records.length() / 3
    }

    pub(in crate::log) fn part(&self, part: CommitPart) -> &Ring {
        match part {
            CommitPart::Records => &self.records,
            CommitPart::Intents => &self.intents,
        }
    }

    /// Whether space for a host's entry can be reserved.
    pub(in crate::log) fn has_room(&self, length: Sectors) -> bool {
        // The last quarter is kept free for the space that is left unused where the ring ends.
        let most = self.records.length() / 4 * 3;
        let fits = self.records.used() + (self.reserved + length).get() <= most;
        // A single entry always fits: the ring has room for several of the longest.
        fits || self.records.is_empty() && self.reserved.is_zero()
    }

    pub(in crate::log) fn ring(&mut self, part: CommitPart) -> &mut Ring {
        match part {
            CommitPart::Records => &mut self.records,
            CommitPart::Intents => &mut self.intents,
        }
    }
}

impl CommitLogs {
    /// Commit logs that go on with the entries that were found. Entries of this session are
    /// numbered from `first`, so that their numbers are higher than those of entries which could
    /// not be found.
    pub(crate) fn new(found: &[FoundLog], first: u64, geometry: &Geometry) -> CommitLogs {
        let ring = |found: &FoundLog, part| {
            Ring::new(found.part(part), first, geometry.commit_part(part).1, geometry.block())
        };
        let log = |found: &FoundLog| CommitLog {
            records: ring(found, CommitPart::Records),
            intents: ring(found, CommitPart::Intents),
            reserved: Sectors::ZERO,
            waiting: VecDeque::new(),
            announced: VecDeque::new(),
        };
        CommitLogs {
            logs: found.iter().map(log).collect(),
            waiters: WaitList::default(),
            begun: 1,
            complete: 0,
            flushing: false,
            orphans: Vec::new(),
            bare: (0..).map(Slot::new).zip(found).flat_map(bare_records_of).collect(),
        }
    }

    /// Whether there are commit logs at all.
    pub(crate) fn exist(&self) -> bool {
        !self.logs.is_empty()
    }

    /// Whether a record without payload of `region` would be redone after a crash.
    pub(crate) fn bare_records_count(&mut self, region: Region) -> bool {
        let name = self.bare.get(&region).copied();
        name.is_some_and(|name| self.log(name.slot).ring(name.part).would_be_found(name.number))
    }

    pub(in crate::log) fn log(&mut self, slot: Slot) -> &mut CommitLog {
        &mut self.logs[slot.as_usize()]
    }

    pub(in crate::log) fn entry(&mut self, name: EntryName) -> Option<&mut Entry> {
        self.log(name.slot).ring(name.part).entry(name.number)
    }

    /// Reserves space for a host's entry. Returns whether there was room.
    pub(crate) fn reserve(&mut self, slot: Slot, length: Sectors) -> bool {
        let log = self.log(slot);
        let fits = log.has_room(length);
        if fits {
            log.reserved += length;
        }
        fits
    }

    /// Whether no job waits for space and [`CommitLogs::reserve`] would succeed.
    pub(crate) fn nobody_waits_and_has_room(&self, slot: Slot, length: Sectors) -> bool {
        self.waiters.is_empty() && self.logs[slot.as_usize()].has_room(length)
    }

    pub(crate) fn give_back(&mut self, slot: Slot, length: Sectors) {
        let log = self.log(slot);
        log.reserved = log.reserved - length;
    }

    /// One record or intent of an entry no longer needs it.
    pub(crate) fn stored(&mut self, name: EntryName) {
        if let Some(entry) = self.entry(name) {
            entry.stored();
        }
    }

    /// After a crash: the data of one of the entry's records has just been redone.
    pub(crate) fn redone(&mut self, name: EntryName) {
        let begun = self.begun;
        if let Some(entry) = self.entry(name) {
            entry.stored();
            entry.covered_after(begun);
        }
    }

    /// The entry's records are no longer in memory, but still count after a crash: the entry is
    /// kept until [`CommitLogs::adopt`].
    pub(crate) fn orphan(&mut self, name: EntryName) {
        self.orphans.push(name);
    }

    /// It is durable that the regions of all orphaned entries are to be resynced. The logs of those
    /// regions no longer count, so the entries need not be kept for them.
    pub(in crate::log) fn adopt(&mut self) {
        for name in std::mem::take(&mut self.orphans) {
            self.stored(name);
        }
    }

    pub(crate) fn await_intent(&mut self, slot: Slot, waiting: Waiting) {
        self.log(slot).announced.push_back(waiting);
    }

    /// An entry was written, or (unless `whole`) could not be written.
    pub(crate) fn written(&mut self, slot: Slot, part: CommitPart, whole: bool) {
        self.log(slot).ring(part).written(whole);
    }

    /// The entry is kept until one more of its records or intents is stored elsewhere.
    pub(crate) fn keep(&mut self, name: EntryName) {
        if let Some(entry) = self.entry(name) {
            entry.keep();
        }
    }

    /// The data of one of an entry's writes has been written.
    pub(crate) fn landed(&mut self, name: EntryName) {
        let begun = self.begun;
        if let Some(entry) = self.entry(name) {
            entry.landed(begun);
        }
    }

    /// Forgets entries that no longer count. Returns whether there were any.
    pub(in crate::log) fn release(&mut self) -> bool {
        let complete = self.complete;
        let each = |log: &mut CommitLog| log.records.release(complete) | log.intents.release(complete);
        self.logs.iter_mut().fold(false, |any, log| each(log) | any)
    }

    pub(in crate::log) fn low_on_space(&self) -> bool {
        self.logs.iter().any(CommitLog::is_low_on_space)
    }

    /// Whether a commit log is half full, or jobs wait for space: then it is worth writing a table.
    pub(in crate::log) fn wants_table(&self) -> bool {
        let half = |log: &CommitLog| log.records.used() * 2 > log.records.length();
        !self.waiters.is_empty() || self.logs.iter().any(half)
    }

    /// Sectors that the intents of one reintegration may take. The other half is for intents that
    /// have to be written again after a crash.
    pub(crate) fn intent_room(&self, slot: Slot) -> u64 {
        self.logs[slot.as_usize()].intents.room() / 2
    }

    /// Whether no intent in the commit log of `slot` still counts.
    pub(crate) fn intents_are_over(&self, slot: Slot) -> bool {
        self.logs[slot.as_usize()].intents.is_empty()
    }

    /// Whether old entries take space that is needed.
    pub(crate) fn presses(&self) -> bool {
        self.low_on_space() || !self.waiters.is_empty()
    }

    /// Whether a flush would free something.
    pub(in crate::log) fn wants_flush(&self) -> bool {
        self.logs.iter().any(|log| log.records.wants_flush())
    }
}

/// The entries among `found` on `slot` that hold records without payload, in order, each with its
/// region.
pub(in crate::log) fn bare_records_of(
    (slot, found): (Slot, &FoundLog),
) -> impl Iterator<Item = (Region, EntryName)> {
    found.records.entries.iter().flat_map(move |entry| {
        let name = EntryName { slot, part: CommitPart::Records, number: entry.number };
        let bare = entry.content.records.iter().filter(|committed| committed.record.payload().is_zero());
        bare.map(move |committed| (committed.region, name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::tests::something;
    use crate::format::commit_entry::{EntryHeader, Found};

    const PLACE: Slot = Slot::new(0);

    /// Commit logs whose rings of records have 96 sectors. The first one holds this many entries of
    /// one block each, numbered from 1.
    fn logs(entries: u64) -> CommitLogs {
        let entry = |number| EntryHeader {
            number,
            at: (number - 1) * 8,
            tail: 1,
            previous: number - 1,
            content: something(),
        };
        let found = Found {
            entries: (1..=entries).map(entry).collect(),
            newest: entries,
            head: entries * 8,
            floor: 0,
            whole: true,
        };
        let log = |found| {
            let ring = |found, length| Ring::new(found, 1, Sectors::new(length), Sectors::new(8));
            CommitLog {
                records: ring(&found, 96),
                intents: ring(&Found::default(), 32),
                reserved: Sectors::ZERO,
                waiting: VecDeque::new(),
                announced: VecDeque::new(),
            }
        };
        CommitLogs {
            logs: vec![log(found), log(Found::default())],
            waiters: WaitList::default(),
            begun: 1,
            complete: 0,
            flushing: false,
            orphans: Vec::new(),
            bare: BTreeMap::new(),
        }
    }

    #[test]
    fn hosts_have_three_quarters_of_a_ring() {
        let mut logs = logs(5);
        assert!(logs.reserve(PLACE, Sectors::new(16)));
        assert!(logs.reserve(PLACE, Sectors::new(16)));
        assert!(!logs.reserve(PLACE, Sectors::new(8)), "9 blocks are three quarters of it");
        logs.give_back(PLACE, Sectors::new(16));
        assert!(logs.reserve(PLACE, Sectors::new(8)));
        // An empty ring always has room for one entry.
        let other = Slot::new(1);
        assert!(logs.reserve(other, Sectors::new(80)));
        assert!(!logs.reserve(other, Sectors::new(8)));
    }

    #[test]
    fn a_log_is_low_on_space_beyond_a_third() {
        assert!(!logs(4).presses(), "four blocks are a third");
        assert!(logs(5).presses());
        let mut waited_for = logs(0);
        waited_for.waiters.park(JobId { index: 0, generation: 0 });
        assert!(waited_for.presses());
    }
}
