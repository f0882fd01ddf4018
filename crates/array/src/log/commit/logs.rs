//! The commit log as a value: its streams, the jobs that wait for space or for an entry, and the
//! entries that are kept.

use crate::exec::job::FailedAccess;
use crate::exec::waiting::WaitList;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::EntryContent;
use crate::geometry::Geometry;
use crate::ids::JobId;
use crate::log::commit::untold::Untold;
use crate::log::found::{Found, FoundEntry, FoundLog};
use crate::log::lane::Lane;
use crate::log::lanes::Lanes;
use crate::log::ring::{Entry, Ring};
use parlour_units::{Region, Sectors, Slot};
use std::collections::{BTreeMap, VecDeque};

/// An entry is closed when it has the records of this many jobs.
pub(in crate::log) const GROUP: usize = 256;
/// An entry is closed when it takes about this part of its lane (one sixth). An entry does not wrap
/// around the end of the lane, so as much may stay unused there.
pub(in crate::log) const LONGEST: u64 = 6;
/// So many stripes with such records are remembered in any case.
const MANY_OVERRULING: usize = 4_096;

/// The commit log: streams of entries: records, intents, perhaps writes. Each entry stands on
/// several members, in the same place of each member's area.
#[derive(Debug, Default)]
pub(crate) struct CommitLogs {
    pub(in crate::log) streams: Option<Box<Streams>>,
    /// Jobs that wait for space.
    pub(in crate::log) waiters: WaitList,
    /// The number of flushes that have begun, and the number of the last complete one.
    pub(in crate::log) begun: u64,
    pub(in crate::log) complete: u64,
    pub(in crate::log) flushing: bool,
    /// Entries of writes that were found when the array was opened, until the stage takes them.
    pub(in crate::log) found_writes: Vec<FoundEntry>,
    /// Entries that are kept until it is durable that their regions are to be resynced.
    pub(in crate::log) orphans: Vec<EntryName>,
    /// By region and stripe: the number of the last entry with a record that overrules what was
    /// written since without one.
    pub(in crate::log) overruling: BTreeMap<(Region, u32), u64>,
    /// With more of them, those of entries that would not be found any more are dropped.
    pub(in crate::log) many_overruling: usize,
}

/// The streams, and what waits for them.
#[derive(Debug)]
pub(in crate::log) struct Streams {
    /// By [`CommitPart`].
    streams: Vec<Stream>,
    /// Jobs whose records go into the next entry.
    pub(in crate::log) waiting: VecDeque<JobId>,
    /// Intents that are still to be written, each as an entry of its own.
    pub(in crate::log) announced: VecDeque<Waiting>,
    /// Entries of records whose jobs are not told yet.
    pub(in crate::log) untold: Untold,
    /// Jobs whose entries were given up, with the entry's lane and what failed: they are told when
    /// a newer entry of that lane is durable.
    pub(in crate::log) given_up: Vec<(Lane, JobId, Vec<FailedAccess>)>,
    /// Jobs that wait until records would not be found after a crash.
    pub(in crate::log) forgetting: WaitList,
    /// Slots whose members stand and could not write an entry.
    pub(in crate::log) full: Vec<Slot>,
    /// Newest entries that were found on fewer members than they need.
    pub(in crate::log) copies: Vec<Copy>,
    /// The lane whose newest entry is being copied.
    pub(in crate::log) copying: Option<(CommitPart, Lane)>,
    /// Entries up to this number may stand on journal devices that are gone: see
    /// [`CommitLogs::number_apart`].
    pub(in crate::log) apart: u64,
    /// Entries of writes were found that are still to be read.
    pub(in crate::log) unread_writes: bool,
    /// Members have come or gone since it was found out which entries are exposed.
    pub(in crate::log) unchecked: bool,
}

/// One stream of entries.
#[derive(Debug)]
pub(in crate::log) struct Stream {
    pub(in crate::log) lanes: Lanes,
    /// Up to this number, entries stand on fewer members than they could.
    pub(in crate::log) exposed: u64,
    /// It is waited for that entries up to this number would not be found after a crash.
    pub(in crate::log) awaited: u64,
    /// No members that stand could take an entry: none is tried before members have come or gone,
    /// apart from empty ones.
    pub(in crate::log) stuck: bool,
    /// Entries of this session, apart from empty ones.
    pub(in crate::log) written: u64,
    /// What they hold: records, intents or writes.
    pub(in crate::log) content: u64,
}

impl Stream {
    fn new(lanes: Lanes) -> Stream {
        Stream { lanes, exposed: 0, awaited: 0, stuck: false, written: 0, content: 0 }
    }

    /// An entry with this content is begun.
    pub(in crate::log) fn count(&mut self, content: &EntryContent) {
        let count = content.records.len() + content.intents.len() + content.writes.len();
        self.written += u64::from(count > 0);
        self.content += count as u64;
    }
}

/// An entry that is to be written to further members.
#[derive(Debug)]
pub(in crate::log) struct Copy {
    pub(in crate::log) part: CommitPart,
    pub(in crate::log) lane: Lane,
    pub(in crate::log) number: u64,
    /// Its start, counted in sectors since the lane was new.
    pub(in crate::log) at: u64,
    pub(in crate::log) bytes: Vec<u8>,
}

/// An intent that waits to be written: what a reintegration is about to do to a region's parity.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(in crate::log) region: Region,
    pub(in crate::log) content: EntryContent,
}

/// The name of an entry of the commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryName {
    pub(in crate::log) part: CommitPart,
    pub(in crate::log) number: u64,
}

impl Streams {
    /// Members that could not write an entry get no others, if there are enough without them.
    /// Returns whether this is new for one of them.
    pub(in crate::log) fn note_full(&mut self, slots: Vec<Slot>) -> bool {
        let before = self.full.len();
        for slot in slots {
            if !self.full.contains(&slot) {
                self.full.push(slot);
            }
        }
        self.full.len() > before
    }

    /// Whether the oldest records should be stored elsewhere.
    pub(in crate::log) fn is_low_on_space(&self) -> bool {
        self.records().all().iter().any(is_low)
    }

    /// The newest entry of records that stands on fewer members than it could, or that jobs wait to
    /// be forgotten.
    pub(in crate::log) fn exposed_record(&self) -> Option<u64> {
        let last = self.last_unwanted(CommitPart::Records);
        self.records().oldest().is_some_and(|oldest| oldest <= last).then_some(last)
    }

    /// Whether an empty entry would say that entries do not count which stand on too few members,
    /// or which jobs wait to be forgotten.
    pub(in crate::log) fn forgets_with_mark(&self, part: CommitPart) -> bool {
        self.part(part).forgets_with_mark(self.last_unwanted(part))
    }

    /// Entries up to this number stand on too few members, or are waited for to be forgotten.
    pub(in crate::log) fn last_unwanted(&self, part: CommitPart) -> u64 {
        let stream = &self.streams[part as usize];
        stream.exposed.max(stream.awaited)
    }

    pub(in crate::log) fn is_stuck(&self, part: CommitPart) -> bool {
        self.streams[part as usize].stuck
    }

    /// Lanes of `part` in which an entry may be begun, that with the most room first.
    pub(in crate::log) fn free_lanes(&self, part: CommitPart) -> Vec<Lane> {
        self.part(part).free()
    }

    pub(in crate::log) fn part(&self, part: CommitPart) -> &Lanes {
        &self.streams[part as usize].lanes
    }

    /// The stream, if the array has it.
    pub(in crate::log) fn get(&self, part: CommitPart) -> Option<&Lanes> {
        self.streams.get(part as usize).map(|stream| &stream.lanes)
    }

    pub(in crate::log) fn records(&self) -> &Lanes {
        self.part(CommitPart::Records)
    }

    pub(in crate::log) fn all(&self) -> &[Stream] {
        &self.streams
    }

    pub(in crate::log) fn all_mut(&mut self) -> &mut [Stream] {
        &mut self.streams
    }

    pub(in crate::log) fn stream(&mut self, part: CommitPart) -> &mut Stream {
        &mut self.streams[part as usize]
    }

    pub(in crate::log) fn lanes(&mut self, part: CommitPart) -> &mut Lanes {
        &mut self.stream(part).lanes
    }

    /// Whether the newest entry of a lane is still to be written to further members.
    pub(in crate::log) fn is_to_be_copied(&self, part: CommitPart, lane: Lane) -> bool {
        let waits = |copy: &Copy| (copy.part, copy.lane) == (part, lane);
        self.copying == Some((part, lane)) || self.copies.iter().any(waits)
    }

    /// Space that is reserved in one lane is reserved in another instead, if that has room for it.
    /// Returns whether it has.
    pub(in crate::log) fn moves(&mut self, length: Sectors, from: Lane, to: Lane) -> bool {
        let records = self.lanes(CommitPart::Records);
        if from == to {
            return true;
        }
        let has_room = records.lane(to).has_room(length);
        if has_room {
            records.lane_mut(from).give_back(length);
            records.lane_mut(to).reserve(length);
        }
        has_room
    }
}

/// Whether what the oldest entries of a lane hold should be stored elsewhere.
fn is_low(ring: &Ring) -> bool {
    ring.used() > ring.length() / 2
}

impl CommitLogs {
    /// The commit log that goes on with the entries that were found. Entries of this session are
    /// numbered from `first`, so that their numbers are higher than those of entries which could
    /// not be found.
    pub(crate) fn new(found: &FoundLog, first: u64, geometry: &Geometry) -> CommitLogs {
        let lanes =
            |part| Lanes::new(found.part(part), first, &geometry.lane_lengths(part), geometry.block());
        let newest = |part| {
            let lanes = (0..).map(Lane).zip(&found.part(part).lanes);
            lanes.filter_map(move |(lane, found)| {
                let newest = found.entries.last().map(|entry| &entry.header)?;
                let empty = newest.content == EntryContent::default();
                let bytes = || found.last.clone();
                (!empty).then(|| Copy { part, lane, number: newest.number, at: newest.at, bytes: bytes() })
            })
        };
        let parts = || geometry.commit_parts().iter().copied();
        let streams = Streams {
            streams: parts().map(|part| Stream::new(lanes(part))).collect(),
            untold: Untold::default(),
            waiting: VecDeque::new(),
            announced: VecDeque::new(),
            given_up: Vec::new(),
            forgetting: WaitList::default(),
            full: Vec::new(),
            copies: parts().rev().flat_map(newest).collect(),
            copying: None,
            apart: 0,
            unread_writes: false,
            unchecked: true,
        };
        CommitLogs {
            streams: Some(Box::new(streams)),
            waiters: WaitList::default(),
            begun: 1,
            complete: 0,
            flushing: false,
            found_writes: Vec::new(),
            orphans: Vec::new(),
            overruling: overruling_records_of(&found.records).collect(),
            many_overruling: 0,
        }
    }

    /// Whether there is a commit log at all.
    pub(crate) fn exist(&self) -> bool {
        self.streams.is_some()
    }

    pub(in crate::log) fn log(&mut self) -> &mut Streams {
        self.streams.as_mut().expect("an array with a commit log")
    }

    fn streams(&self) -> &Streams {
        self.streams.as_ref().expect("an array with a commit log")
    }

    /// The last entry with a record of this stripe that overrules what was written since without
    /// one, if it would be found after a crash.
    pub(crate) fn overruling_record(&mut self, region: Region, stripe: u32) -> Option<u64> {
        let number = self.overruling.get(&(region, stripe)).copied()?;
        self.streams().records().would_be_found(number).then_some(number)
    }

    /// Entry `number` has such a record of this stripe.
    pub(crate) fn note_overruling(&mut self, region: Region, stripe: u32, number: u64) {
        self.overruling.insert((region, stripe), number);
        if self.overruling.len() > self.many_overruling.max(MANY_OVERRULING) {
            let Some(streams) = &self.streams else { return };
            self.overruling.retain(|_, number| streams.records().would_be_found(*number));
            self.many_overruling = self.overruling.len() * 2;
        }
    }

    /// A journal device is about to be failed: entries that it may have are numbered apart from
    /// those that come. Returns the last number of the former; each stream is to have an entry with
    /// a higher one. So an opening knows whether newer entries may be missing with the device.
    pub(in crate::log) fn number_apart(&mut self) -> u64 {
        let log = self.log();
        let apart = log.streams.iter().map(|stream| stream.lanes.highest()).max().unwrap_or(0);
        log.streams.iter_mut().for_each(|stream| stream.lanes.number_from(apart + 1));
        log.apart = apart;
        apart
    }

    pub(in crate::log) fn entry(&mut self, name: EntryName) -> Option<&mut Entry> {
        self.log().lanes(name.part).entry(name.number)
    }

    /// Reserves space for a host's entry. Returns the lane, if there was room.
    pub(crate) fn reserve(&mut self, length: Sectors) -> Option<Lane> {
        let records = self.log().lanes(CommitPart::Records);
        let lane = records.with_room(length)?;
        records.lane_mut(lane).reserve(length);
        Some(lane)
    }

    /// Whether no job waits for space and [`CommitLogs::reserve`] would succeed.
    pub(crate) fn nobody_waits_and_has_room(&self, length: Sectors) -> bool {
        self.waiters.is_empty() && self.streams().records().with_room(length).is_some()
    }

    pub(crate) fn give_back(&mut self, lane: Lane, length: Sectors) {
        self.log().lanes(CommitPart::Records).lane_mut(lane).give_back(length);
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

    pub(crate) fn await_intent(&mut self, waiting: Waiting) {
        self.log().announced.push_back(waiting);
    }

    /// An entry was written, or (unless `whole`) could not be written. Returns whether it stands on
    /// all members that it needs.
    pub(crate) fn written(&mut self, (part, lane): (CommitPart, Lane), whole: bool) -> bool {
        self.log().lanes(part).written(lane, whole)
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

    /// The highest number of an entry of writes.
    pub(in crate::log) fn highest_write_entry(&self) -> u64 {
        let ring = self.streams.as_ref().and_then(|log| log.get(CommitPart::Writes));
        ring.map_or(0, Lanes::highest)
    }

    /// Forgets entries that no longer count. Returns whether there were any. They are forgotten
    /// only if flushes `hold`: if they are of all members, and believed after a crash. (If jobs
    /// wait for space, records are forgotten all the same, and acknowledged writes are not.)
    pub(in crate::log) fn release(&mut self, hold: impl Fn() -> bool) -> bool {
        let (complete, waits) = (self.complete, self.is_waited_for());
        let streams = self.log().all_mut().iter_mut().zip(CommitPart::ALL);
        let forgotten = streams.filter(|(_, part)| hold() || waits && *part != CommitPart::Writes);
        forgotten.fold(false, |any, (stream, _)| stream.lanes.release(complete) | any)
    }

    /// Whether jobs wait for space.
    pub(in crate::log) fn is_waited_for(&self) -> bool {
        !self.waiters.is_empty()
    }

    /// Whether records of this length are much of the space that there is for records: a sixteenth.
    pub(in crate::log) fn is_much(&self, length: Sectors) -> bool {
        let length_of_all = self.streams().records().all().iter().map(Ring::length).sum::<u64>();
        length.get() * 16 >= length_of_all
    }

    /// Sectors that the intents of one reintegration may take. Two are under way at a time; the
    /// rest of the ring is for those of earlier ones that are not over.
    pub(crate) fn intent_room(&self) -> u64 {
        self.streams().part(CommitPart::Intents).room() / 6
    }

    /// Whether the intents of one more reintegration find room beside `running` others.
    pub(crate) fn has_intent_room(&self, running: u32) -> bool {
        let (ring, share) = (self.streams().part(CommitPart::Intents), self.intent_room());
        running < 2 && ring.used() + share * (u64::from(running) + 1) <= ring.room() / 6 * 5
    }

    /// Records of entries up to this number are to be stored elsewhere: the entries take space that
    /// is needed, or stand on too few members.
    pub(in crate::log) fn unwanted(&self) -> Option<u64> {
        let streams = self.streams.as_ref()?;
        let oldest = streams.is_low_on_space().then(|| streams.records().oldest_part());
        // (Jobs that wait where little is used, and nothing reserved that ends by itself, need most
        // of the space.)
        let waits = self.is_waited_for() && !streams.records().is_reserved();
        let all = (oldest.is_none() && waits).then_some(u64::MAX);
        oldest.max(all).max(streams.exposed_record())
    }

    /// Whether a flush would free something.
    pub(in crate::log) fn wants_flush(&self) -> bool {
        self.streams().records().wants_flush()
    }
}

/// The entries among `found` that hold records which overrule what was written since without one,
/// in order, each with its region and stripe.
pub(in crate::log) fn overruling_records_of(found: &Found) -> impl Iterator<Item = ((Region, u32), u64)> {
    found.entries().into_iter().flat_map(|FoundEntry { header, .. }| {
        let records = header.content.records.iter();
        let overruling = records.filter(|committed| committed.record.kind.overrules());
        overruling.map(|committed| ((committed.region, committed.record.stripe), header.number))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::EntryHeader;
    use crate::format::commit_entry::tests::something;
    use crate::log::found::FoundLane;

    /// A commit log whose stream of records has 96 sectors, and this many entries of one block
    /// each, numbered from 1.
    fn logs(entries: u64) -> CommitLogs {
        let header = |number| EntryHeader {
            number,
            at: (number - 1) * 8,
            tail: 1,
            previous: number - 1,
            content: something(),
        };
        let entry =
            |number| FoundEntry { lane: Lane::FIRST, header: header(number), slots: vec![Slot::new(0)] };
        let entries: Vec<FoundEntry> = (1..=entries).map(entry).collect();
        let (newest, head) = (entries.len() as u64, entries.len() as u64 * 8);
        let lane = FoundLane { entries, newest, head, ..FoundLane::default() };
        let found = Found { lanes: vec![lane], ..Found::default() };
        let lanes = |found, length| Lanes::new(found, 1, &[Sectors::new(length)], Sectors::new(8));
        let streams = Streams {
            streams: vec![Stream::new(lanes(&found, 96)), Stream::new(lanes(&Found::default(), 32))],
            untold: Untold::default(),
            waiting: VecDeque::new(),
            announced: VecDeque::new(),
            given_up: Vec::new(),
            forgetting: WaitList::default(),
            full: Vec::new(),
            copies: Vec::new(),
            copying: None,
            apart: 0,
            unread_writes: false,
            unchecked: true,
        };
        CommitLogs { streams: Some(Box::new(streams)), begun: 1, ..CommitLogs::default() }
    }

    #[test]
    fn hosts_have_three_quarters_of_a_ring() {
        let mut log = logs(5);
        let mut reserve = |length| log.reserve(Sectors::new(length)).is_some();
        assert!(reserve(16) && reserve(16));
        assert!(!reserve(8), "9 blocks are three quarters of it");
        log.give_back(Lane::FIRST, Sectors::new(16));
        assert!(log.reserve(Sectors::new(8)).is_some());
        // An empty ring always has room for one entry.
        let mut other = logs(0);
        assert!(other.reserve(Sectors::new(80)).is_some());
        assert!(other.reserve(Sectors::new(8)).is_none());
    }

    #[test]
    fn a_log_is_low_on_space_beyond_a_half() {
        assert_eq!(logs(6).unwanted(), None, "six blocks are a half");
        assert_eq!(logs(8).unwanted(), Some(2), "the oldest quarter");
        let mut waited_for = logs(6);
        waited_for.waiters.park(JobId { index: 0, generation: 0 });
        assert_eq!(waited_for.unwanted(), Some(u64::MAX));
    }
}
