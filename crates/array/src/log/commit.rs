//! The commit log: what makes a record durable before the data that it tells of (`consistency =
//! journal`).
//!
//! Each member has a small log, of two rings. A record goes to that of one member that holds its
//! region's log, and so none of its data. What is to be committed while an entry is being written
//! goes into the next, all together: one sequential write for many records. Later the records reach
//! their region's log in whole segments, as without a commit log. The other ring has the intents of
//! reintegrations.
//!
//! Invariants:
//! - One entry a ring is being written at a time, so records of a region become durable in their
//!   order.
//! - An entry keeps its place until its records stand in segments on members or in durable parity,
//!   *and* the data that they tell of was written before a flush that is complete. So what is found
//!   in commit logs after a crash is all that has to be redone, and their length bounds the time
//!   that this takes.
//! - Space for records is reserved before the stripe's lock is taken. What keeps the oldest of them
//!   may be a region that waits for its reintegration: so these have a ring of their own, and one
//!   does not begin before all that was told of others there is over (and tells in few enough words
//!   of itself). However full the one ring is, the other gets empty.

use std::collections::{BTreeMap, VecDeque};

use parlour_units::{Region, Sectors, Slot, Unit};

use super::ring::{Entry, Placed, Ring};
use super::{Logs, RegionLog, Reservation, SegmentState};
use crate::array::Array;
use crate::columns::Columns;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{
    Change, Committed, EntryHeader, FoundLog, Told, entry_length, payload_digest,
};
use crate::format::segment::{Record, RecordKind};
use crate::geometry::Geometry;
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{LogMethod, Source, Span, Strategy};
use crate::planted::{Bug, is_planted};

/// An entry is closed when it has this many records, …
const GROUP: usize = 256;
/// … or is about this part of its ring: an entry does not wrap around the end, and may leave as
/// much unused there.
const LONGEST: u64 = 6;

/// One member's commit log.
#[derive(Debug)]
struct CommitLog {
    records: Ring,
    intents: Ring,
    /// Sectors of the one for records that jobs hold.
    reserved: Sectors,
    /// To be committed by the next entry.
    waiting: VecDeque<JobId>,
    /// To be told of, each by an entry of its own.
    announced: VecDeque<Waiting>,
}

/// The commit logs of all members, by slot.
#[derive(Debug)]
pub(crate) struct CommitLogs {
    logs: Vec<CommitLog>,
    /// Jobs that wait for space.
    pub(crate) waiters: VecDeque<JobId>,
    /// Flushes begun and, of these, the last that is complete.
    begun: u64,
    complete: u64,
    flushing: bool,
    /// Entries that are kept until it is durable that their regions are to be resynced.
    orphans: Vec<EntryName>,
    /// By region: the last entry with a zero record.
    zeroes: BTreeMap<Region, EntryName>,
}

/// What is about to happen to a region's parity, to be written before it happens.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) region: Region,
    pub(crate) told: Told,
}

/// An entry of a member's commit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryName {
    pub(crate) slot: Slot,
    pub(crate) part: CommitPart,
    pub(crate) number: u64,
}

impl CommitLog {
    /// Whether the oldest records are to be stored elsewhere.
    fn is_low_on_space(&self) -> bool {
        self.records.used() > self.records.length() / 3
    }

    fn part(&self, part: CommitPart) -> &Ring {
        match part {
            CommitPart::Records => &self.records,
            CommitPart::Intents => &self.intents,
        }
    }

    /// Whether space for a host's entry can be reserved.
    fn has_room(&self, length: Sectors) -> bool {
        // The last quarter is for what is left over where the ring ends.
        let most = self.records.length() / 4 * 3;
        let fits = self.records.used() + (self.reserved + length).get() <= most;
        // A lone one always goes: the log has room for several of the longest.
        fits || self.records.is_empty() && self.reserved.is_zero()
    }

    fn ring(&mut self, part: CommitPart) -> &mut Ring {
        match part {
            CommitPart::Records => &mut self.records,
            CommitPart::Intents => &mut self.intents,
        }
    }
}

impl CommitLogs {
    /// What was found goes on. Entries of this session are numbered from `first`, so that they come
    /// after whatever could not be found.
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
            waiters: VecDeque::new(),
            begun: 1,
            complete: 0,
            flushing: false,
            orphans: Vec::new(),
            zeroes: (0..).map(Slot::new).zip(found).flat_map(zeroes_of).collect(),
        }
    }

    /// Whether a zero record of `region` would be done again after a crash.
    pub(crate) fn zeroes_count(&mut self, region: Region) -> bool {
        self.zeroes.get(&region).copied().is_some_and(|name| self.entry(name).is_some())
    }

    fn log(&mut self, slot: Slot) -> &mut CommitLog {
        &mut self.logs[slot.as_usize()]
    }

    fn entry(&mut self, name: EntryName) -> Option<&mut Entry> {
        self.log(name.slot).ring(name.part).entry(name.number)
    }

    /// Reserves space for a host's entry. Says whether there is any now.
    pub(crate) fn reserve(&mut self, slot: Slot, length: Sectors) -> bool {
        let log = self.log(slot);
        let fits = log.has_room(length);
        if fits {
            log.reserved += length;
        }
        fits
    }

    /// Whether nobody waits for space, and [`CommitLogs::reserve`] would find some.
    pub(crate) fn nobody_waits_and_has_room(&self, slot: Slot, length: Sectors) -> bool {
        self.waiters.is_empty() && self.logs[slot.as_usize()].has_room(length)
    }

    pub(crate) fn give_back(&mut self, slot: Slot, length: Sectors) {
        let log = self.log(slot);
        log.reserved = log.reserved - length;
    }

    /// Something of an entry is now where it should be.
    pub(crate) fn stored(&mut self, name: EntryName) {
        if let Some(entry) = self.entry(name) {
            entry.stored();
        }
    }

    /// After a crash: the data of one of an entry's records was brought up to it just now.
    pub(crate) fn redone(&mut self, name: EntryName) {
        let begun = self.begun;
        if let Some(entry) = self.entry(name) {
            entry.stored();
            entry.covered_after(begun);
        }
    }

    /// What an entry tells of is no longer in memory, but still counts after a crash.
    pub(crate) fn orphan(&mut self, name: EntryName) {
        self.orphans.push(name);
    }

    /// It is durable that all regions that are to be resynced are: nothing in those regions' logs
    /// counts.
    fn adopt(&mut self) {
        for name in std::mem::take(&mut self.orphans) {
            self.stored(name);
        }
    }

    pub(crate) fn await_intent(&mut self, slot: Slot, waiting: Waiting) {
        self.log(slot).announced.push_back(waiting);
    }

    /// An entry was written, or (unless `whole`) could not be.
    pub(crate) fn written(&mut self, slot: Slot, part: CommitPart, whole: bool) {
        self.log(slot).ring(part).written(whole);
    }

    /// An entry is to be kept until something more is stored.
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

    /// Forgets entries that no longer count. Says whether there were any.
    fn release(&mut self) -> bool {
        let complete = self.complete;
        let each = |log: &mut CommitLog| log.records.release(complete) | log.intents.release(complete);
        self.logs.iter_mut().fold(false, |any, log| each(log) | any)
    }

    fn low_on_space(&self) -> bool {
        self.logs.iter().any(CommitLog::is_low_on_space)
    }

    /// Whether some log is half full, or has no room for a job: a table is worth its writing.
    fn wants_table(&self) -> bool {
        let half = |log: &CommitLog| log.records.used() * 2 > log.records.length();
        !self.waiters.is_empty() || self.logs.iter().any(half)
    }

    /// Sectors that the intents of one reintegration may take: the other half is for what a crash
    /// makes it tell anew.
    pub(crate) fn intent_room(&self, slot: Slot) -> u64 {
        self.logs[slot.as_usize()].intents.room() / 2
    }

    /// Whether nothing that was told of parity still counts.
    pub(crate) fn intents_are_over(&self, slot: Slot) -> bool {
        self.logs[slot.as_usize()].intents.is_empty()
    }

    /// Whether old entries are in somebody's way.
    pub(crate) fn presses(&self) -> bool {
        self.low_on_space() || !self.waiters.is_empty()
    }

    /// Whether a flush would free something.
    fn wants_flush(&self) -> bool {
        self.logs.iter().any(|log| log.records.wants_flush())
    }
}

/// The entries that tell of zero records in what was found on `slot`, in their order.
fn zeroes_of((slot, found): (Slot, &FoundLog)) -> impl Iterator<Item = (Region, EntryName)> {
    found.records.entries.iter().flat_map(move |entry| {
        let name = EntryName { slot, part: CommitPart::Records, number: entry.number };
        let zeroes = entry.told.records.iter().filter(|told| told.record.kind == RecordKind::Zero);
        zeroes.map(move |told| (told.region, name))
    })
}

impl Array {
    /// The slot whose commit log has `region`'s records and intents.
    pub(crate) fn commit_slot(&self, region: Region) -> Slot {
        self.cx.geometry.layout().commit_slot(region).expect("a logged layout")
    }

    /// Reserves what the job's records will take in the commit log, or parks it.
    pub(crate) fn pass_commit_space(&mut self, id: JobId) -> bool {
        let block = self.cx.geometry.block();
        let units = u64::from(self.cx.geometry.layout().data_units()) + 1;
        let job = self.cx.jobs.stripe(id);
        let (region, held) = (job.region, job.commit_space);
        if !held.is_zero() {
            return true;
        }
        let columns = job.pieces.iter().fold(Sectors::ZERO, |sum, piece| sum + piece.columns.length());
        let need = match job.method {
            Some(LogMethod::Cancel) => {
                entry_length(1, job.pieces[0].columns.length() * units, Sectors::ZERO, block)
            }
            Some(LogMethod::Zero) => entry_length(1, Sectors::ZERO, Sectors::ZERO, block),
            // Cut where segments end, a piece becomes a record more for each segment that it
            // touches.
            _ => {
                let segments = columns / self.logs.as_ref().expect("writes are logged").payload() + 2;
                entry_length(job.pieces.len() as u64 + segments, columns, columns, block)
            }
        };
        let slot = self.commit_slot(region);
        let commits = self.commits();
        let fits = commits.reserve(slot, need);
        if fits {
            self.cx.jobs.stripe(id).commit_space = need;
        } else {
            commits.waiters.push_back(id);
            self.cx.counters.pool_waits += 1;
        }
        fits
    }

    /// Gives back what [`Array::pass_commit_space`] reserved.
    pub(crate) fn give_back_commit_space(&mut self, id: JobId) {
        let job = self.cx.jobs.stripe(id);
        let (region, length) = (job.region, std::mem::take(&mut job.commit_space));
        if !length.is_zero() {
            let slot = self.commit_slot(region);
            self.commits().give_back(slot, length);
            self.wake_commit_waiters();
        }
    }

    pub(crate) fn commits(&mut self) -> &mut CommitLogs {
        self.logs.as_mut().and_then(|logs| logs.commits.as_mut()).expect("records are committed durably")
    }

    pub(crate) fn wake_commit_waiters(&mut self) {
        let commits = self.logs.as_mut().and_then(|logs| logs.commits.as_mut());
        if let Some(commits) = commits {
            self.cx.runnable.extend(commits.waiters.drain(..));
        }
    }

    /// A job's records are to be durable before it goes on.
    pub(crate) fn await_commit(&mut self, id: JobId) {
        let region = self.cx.jobs.stripe(id).region;
        let slot = self.commit_slot(region);
        self.commits().log(slot).waiting.push_back(id);
    }

    /// Writes entries, flushes and frees, as far as there is reason to. Says whether it did.
    pub(crate) fn pump_commits(&mut self) -> bool {
        let Some(commits) = self.logs.as_mut().and_then(|logs| logs.commits.as_mut()) else { return false };
        if !commits.orphans.is_empty() && self.records.all_resync_is_durable() {
            commits.adopt();
        }
        if commits.release() {
            self.wake_commit_waiters();
            return true;
        }
        self.start_entry() || self.press_commits()
    }

    /// Writes what is announced or waits, where nothing is being written. Says whether there was
    /// anything.
    fn start_entry(&mut self) -> bool {
        if self.start_fresh_ring() {
            return true;
        }
        let logs = &self.commits().logs;
        let announced = logs.iter().position(|log| !log.intents.is_writing() && !log.announced.is_empty());
        let waiting = logs.iter().position(|log| !log.records.is_writing() && !log.waiting.is_empty());
        let Some(index) = announced.or(waiting).filter(|_| !self.records.barrier()) else { return false };
        let slot = Slot::new(index as u16);
        let block = self.cx.geometry.block();
        let part = if announced.is_some() { CommitPart::Intents } else { CommitPart::Records };
        let log = self.commits().log(slot);
        let length = match part {
            CommitPart::Intents => {
                log.announced.front().map_or(Sectors::ZERO, |waiting| waiting.told.header_length(block))
            }
            CommitPart::Records => self.group(slot).1,
        };
        let ring = self.commits().log(slot).ring(part);
        if !ring.fits(length) && ring.lags() {
            self.write_mark(slot, part);
            return true;
        }
        match announced.and_then(|_| self.commits().log(slot).announced.pop_front()) {
            Some(intent) => self.write_intent(slot, intent),
            None => self.start_commit(slot),
        }
        true
    }

    /// Writes the first entry of this session, which is empty, to a ring that has none. A ring
    /// without one was lost. Says whether there was such a ring.
    fn start_fresh_ring(&mut self) -> bool {
        if !self.records.enabled || !self.records_are_informed() {
            return false;
        }
        let Some((slot, part)) = self.fresh_ring(|ring| !ring.is_writing()) else { return false };
        self.write_mark(slot, part);
        true
    }

    /// A ring of a standing member that has no entry of this session.
    fn fresh_ring(&self, wanted: impl Fn(&Ring) -> bool) -> Option<(Slot, CommitPart)> {
        let logs = &self.logs.as_ref()?.commits.as_ref()?.logs;
        let rings = self
            .cx
            .roster
            .standing()
            .flat_map(|(slot, _)| [CommitPart::Records, CommitPart::Intents].map(|part| (slot, part)));
        let mut rings = rings.into_iter();
        rings.find(|(slot, part)| {
            let ring = logs[slot.as_usize()].part(*part);
            ring.is_fresh() && wanted(ring)
        })
    }

    /// Whether all commit logs have an entry of this session.
    pub(crate) fn commit_logs_are_begun(&self) -> bool {
        self.fresh_ring(|_| true).is_none()
    }

    /// Writes an entry that holds nothing.
    fn write_mark(&mut self, slot: Slot, part: CommitPart) {
        let header = self.begin_entry(slot, part, Told::default(), 0, 0);
        let kind = Kind::CommitMark { slot, part };
        self.write_entry(slot, header, Vec::new(), kind);
    }

    /// An empty entry is durable, unless its member was failed meanwhile.
    pub(crate) fn mark_done(&mut self, id: JobId) {
        let job = self.cx.jobs.get_mut(id);
        let turn = job.turn;
        let Some(Kind::CommitMark { slot, part }) = job.kind.take() else { unreachable!("a mark") };
        self.end_job(id);
        let stands = self.cx.roster.member_since(slot, turn).is_some();
        self.commits().written(slot, part, stands);
    }

    /// An empty entry could not be written, and neither can what waits behind it.
    pub(crate) fn mark_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        let job = self.cx.jobs.get_mut(id);
        let turn = job.turn;
        let Some(Kind::CommitMark { slot, part }) = job.kind.take() else { unreachable!("a mark") };
        self.end_job(id);
        let stands = self.cx.roster.member_since(slot, turn).is_some();
        let log = self.commits().log(slot);
        log.ring(part).written(false);
        if stands {
            log.ring(part).give_up_beginning();
        }
        match part {
            CommitPart::Records => {
                for job in std::mem::take(&mut log.waiting) {
                    self.cx.release_buffers(job);
                    self.stripe_broken(job, failures);
                }
            }
            CommitPart::Intents => {
                for waiting in std::mem::take(&mut log.announced) {
                    self.pass_without_intent(waiting.region);
                }
            }
        }
    }

    /// How many of the jobs that wait for `slot` the next entry takes, and how long it is at the
    /// most.
    fn group(&mut self, slot: Slot) -> (usize, Sectors) {
        let log = &self.logs.as_ref().and_then(|logs| logs.commits.as_ref()).expect("commit logs").logs
            [slot.as_usize()];
        let most = Sectors::new(log.records.length() / LONGEST);
        let waiting: Vec<JobId> = log.waiting.iter().take(GROUP).copied().collect();
        let mut length = Sectors::ZERO;
        for (index, id) in waiting.iter().enumerate() {
            let space = self.cx.jobs.stripe(*id).commit_space;
            if index > 0 && length + space > most {
                return (index, length);
            }
            length += space;
        }
        (waiting.len(), length)
    }

    /// Makes old entries superfluous where a log fills up: their records go to their regions' logs,
    /// their data is flushed.
    fn press_commits(&mut self) -> bool {
        let commits = self.commits();
        if !commits.presses() {
            return false;
        }
        if !commits.flushing && commits.wants_flush() {
            self.start_commit_flush();
            return true;
        }
        if let Some(region) = self.kept_back() {
            self.append_ready(region);
            return true;
        }
        if self.commits().wants_table() && self.logs.as_ref().is_some_and(Logs::awaits_table) {
            self.want_table();
        }
        let open = self.low_space_segment();
        if let Some(index) = open {
            let logs = self.logs.as_mut().expect("a commit log is beside logs");
            let region = logs.segment(index).region;
            logs.close(index);
            self.cx.counters.short_segments += 1;
            self.append_ready(region);
        }
        open.is_some()
    }

    /// A region with segments that could be appended, and that nothing else is done with.
    pub(crate) fn kept_back(&self) -> Option<Region> {
        let logs = self.logs.as_ref().filter(|_| self.records.session_is_known())?;
        let idle = |log: &RegionLog| {
            log.recovery.is_none() && !log.wanted && !log.queued && log.reintegrating.is_none()
        };
        let mut regions = logs.sealed.iter().filter(|region| idle(&logs.regions[region]));
        regions.find(|region| logs.next_ready(*region).is_some())
    }

    /// An open segment that keeps the older half of a low_on_space commit log in use, and can be
    /// closed.
    fn low_space_segment(&self) -> Option<u32> {
        let logs = self.logs.as_ref()?;
        let commits = logs.commits.as_ref()?;
        let waited_for = !commits.waiters.is_empty();
        let middle = |log: &CommitLog| log.is_low_on_space().then(|| log.records.middle());
        let middles: Vec<Option<u64>> = commits.logs.iter().map(middle).collect();
        let old = |index: &u32| {
            let segment = logs.segment(*index);
            let name = segment.commits.iter().copied().flatten().next();
            let middle = |name: EntryName| middles[name.slot.as_usize()];
            let oldest = |name: EntryName| middle(name).is_some_and(|middle| name.number <= middle);
            name.is_some_and(|name| waited_for || oldest(name))
                && segment.unfilled == 0
                && segment.state == SegmentState::Open
        };
        logs.open_segments().find(old)
    }

    /// Writes all that waits, as one entry.
    fn start_commit(&mut self, slot: Slot) {
        let (mut told, mut spans, mut jobs) = (Told::default(), Vec::new(), Vec::new());
        let (count, _) = self.group(slot);
        let group: Vec<JobId> = self.commits().log(slot).waiting.drain(..count).collect();
        for id in group {
            let records = self.tell_records(id, &mut told, &mut spans);
            jobs.push((id, records));
        }
        let unlanded = jobs.len() as u32;
        let header = self.begin_entry(slot, CommitPart::Records, told, 0, unlanded);
        let kind = Kind::Commit { slot, number: header.number, jobs };
        self.write_entry(slot, header, spans, kind);
    }

    /// Gives an entry its number and its place.
    pub(crate) fn begin_entry(
        &mut self,
        slot: Slot,
        part: CommitPart,
        told: Told,
        unstored: u32,
        unlanded: u32,
    ) -> EntryHeader {
        let length = told.header_length(self.cx.geometry.block()) + told.payload();
        let placed = self.commits().log(slot).ring(part).append(length, unstored, unlanded);
        let Placed { number, at, tail, previous } = placed;
        EntryHeader { number, at, tail, previous, told }
    }

    /// Adds what a job commits: its records with the checksums that its plan has found, and where
    /// their payload is.
    fn tell_records(&mut self, id: JobId, told: &mut Told, spans: &mut Vec<Span>) -> Vec<Record> {
        let units = u64::from(self.cx.geometry.layout().data_units()) + 1;
        let stripe = self.cx.jobs.stripe(id).window.stripe;
        let stripe = self.cx.geometry.region_of(stripe).1;
        let job = self.cx.jobs.get_mut(id);
        let sums = std::mem::take(&mut job.checksums);
        let Some(Kind::Stripe(job)) = &job.kind else { unreachable!("a stripe job commits records") };
        let logs = self.logs.as_mut().expect("records are committed to logs");
        let (region, mut sums) = (job.region, sums.iter().copied());
        let mut payload = told.payload();
        let mut records = Vec::with_capacity(job.fragments.len().max(1));
        let mut tell = |unit, kind, columns: Columns, start, changes: Vec<Change>| {
            let digest = payload_digest(kind, &changes);
            let sequence = logs.next_sequence();
            let record = Record { sequence, stripe, unit, kind, columns, start, digest };
            let stored = Record { start: payload, ..record };
            payload += record.payload();
            told.records.push(Committed { region, record: stored, changes });
            records.push(record);
        };
        if let Some(LogMethod::Cancel | LogMethod::Zero) = job.method {
            let columns = job.pieces[0].columns;
            let (kind, count) = match job.method {
                Some(LogMethod::Zero) => (RecordKind::Zero, 0),
                _ => (RecordKind::Cancel, (columns.length().get() * units) as usize),
            };
            let changes = sums.by_ref().take(count).map(|new| Change { old: 0, new }).collect();
            let start = job.reservations.first().map_or(Sectors::ZERO, |reservation| reservation.start);
            tell(Unit::new(units as u16 - 1), kind, columns, start, changes);
            return records;
        }
        for (fragment, reservation) in job.fragments.iter().zip(&job.reservations) {
            let count = fragment.columns.length().get() as usize;
            let old: Vec<u64> = sums.by_ref().take(count).collect();
            let new = sums.by_ref().take(count);
            let changes = old.into_iter().zip(new).map(|(old, new)| Change { old, new }).collect();
            tell(fragment.unit, RecordKind::Update, fragment.columns, reservation.start, changes);
        }
        let span = |reservation: &Reservation| {
            let buffer = logs
                .segment(reservation.segment)
                .buffer
                .expect("what is reserved is in memory until it is filled");
            Span::new(Source::Buffer(buffer), reservation.start, reservation.length)
        };
        spans.extend(job.reservations.iter().map(span));
        assert!(!records.is_empty(), "a write that waits for the commit log has something to commit");
        records
    }

    /// Writes an entry whose payload is `spans`.
    pub(crate) fn write_entry(&mut self, slot: Slot, header: EntryHeader, spans: Vec<Span>, kind: Kind) {
        let (part, lax) = match &kind {
            Kind::CommitMark { part, .. } => (*part, false),
            Kind::Intent { .. } => (CommitPart::Intents, is_planted(Bug::IntentNotDurable)),
            _ => (CommitPart::Records, is_planted(Bug::CommitNotDurable)),
        };
        let (start, length) = self.cx.geometry.commit_part(part);
        let block = self.cx.geometry.block();
        let entry = header.length(block);
        let head = header.told.header_length(block);
        let at = start + Sectors::new(header.at % length.get());
        let class = if matches!(kind, Kind::CommitMark { .. }) { Class::Metadata } else { Class::Log };
        let id = self.cx.jobs.start(kind, class);
        let job = self.cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        job.metadata = header.encode(self.cx.identity, block);
        job.plan.spans.push(Span::new(Source::Metadata, Sectors::ZERO, head));
        job.plan.spans.extend(spans);
        job.plan.close(Action::Write { member: slot.into(), at, length: entry, durable: !lax }, 0);
        self.start_plan(id, None, &[]);
    }

    /// The entry is durable: its records count, and their jobs go on to write the data. Unless its
    /// member was failed meanwhile: what it holds is gone with it.
    pub(crate) fn commit_done(&mut self, id: JobId) {
        let job = self.cx.jobs.get(id);
        if let Some(Kind::Commit { slot, .. }) = &job.kind
            && self.cx.roster.member_since(*slot, job.turn).is_none()
        {
            return self.commit_broken(id, &[]);
        }
        let Some(Kind::Commit { slot, number, jobs }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a commit")
        };
        self.end_job(id);
        self.commits().written(slot, CommitPart::Records, true);
        let name = EntryName { slot, part: CommitPart::Records, number };
        for (job, records) in jobs {
            self.committed(job, name, &records);
        }
    }

    fn committed(&mut self, id: JobId, name: EntryName, records: &[Record]) {
        self.give_back_commit_space(id);
        let job = self.cx.jobs.stripe(id);
        let region = job.region;
        let reservations = std::mem::take(&mut job.reservations);
        job.fragments.clear();
        let logs = self.logs.as_mut().expect("records are committed to logs");
        for (reservation, record) in reservations.iter().zip(records) {
            logs.commit_record(reservation.segment, *record, Some(name));
        }
        if records.iter().any(|record| record.kind == RecordKind::Zero) {
            self.commits().zeroes.insert(region, name);
        }
        let log = self.logs.as_mut().expect("it was there").region(region);
        log.landing[log.epoch] += 1;
        let epoch = log.epoch;
        let many = self.logs.as_ref().is_some_and(|logs| logs.records > self.cx.tuning.live_records);
        let job = self.cx.jobs.stripe(id);
        (job.committed, job.entry) = (true, Some((name, epoch)));
        self.after_reservations(&reservations);
        if self.records.resync.get(region) {
            self.append_ready(region);
        } else if many {
            self.want_parity(region);
        }
        self.go_on(id);
    }

    /// The data of a committed write is where it belongs, or never will be.
    pub(crate) fn landed(&mut self, region: Region, name: EntryName, epoch: usize) {
        self.commits().landed(name);
        let log = self.logs.as_mut().expect("a commit log is beside logs").region(region);
        log.landing[epoch] -= 1;
        if log.landing[epoch] == 0 {
            self.reintegration_landed(region);
        }
    }

    /// The entry could not be written: its jobs are planned again, for the array as it now is.
    pub(crate) fn commit_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        let Some(Kind::Commit { slot, jobs, .. }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a commit")
        };
        self.end_job(id);
        self.commits().written(slot, CommitPart::Records, false);
        for (job, _) in jobs {
            self.cx.release_buffers(job);
            self.stripe_broken(job, failures);
        }
    }

    fn start_commit_flush(&mut self) {
        let turn = self.begin_covering_flush();
        self.commits().flushing = true;
        let id = self.cx.jobs.start(Kind::CommitFlush { turn }, Class::Log);
        if !is_planted(Bug::CommitFlushSkipped) {
            self.cx.plan_flushes(id);
        }
        self.start_plan(id, None, &[]);
    }

    /// All that had landed when the flush began is durable; where a member failed meanwhile, it is
    /// tried again.
    pub(crate) fn commit_flushed(&mut self, id: JobId, whole: bool) {
        let Some(Kind::CommitFlush { turn }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a flush for commit logs")
        };
        self.end_job(id);
        self.commits().flushing = false;
        if whole {
            self.flush_covered(turn);
        }
    }

    /// A flush of all members begins; names it for [`Array::flush_covered`].
    pub(crate) fn begin_covering_flush(&mut self) -> u64 {
        let commits = self.commits();
        commits.begun += 1;
        commits.begun
    }

    /// That flush is complete.
    pub(crate) fn flush_covered(&mut self, turn: u64) {
        let commits = self.commits();
        commits.complete = commits.complete.max(turn);
    }

    /// A member that stood elsewhere perhaps takes `slot`: entries on it from then must not come
    /// after those to come.
    pub(crate) fn renumber_commit_log(&mut self, slot: Slot) {
        if let Some(commits) = self.logs.as_mut().and_then(|logs| logs.commits.as_mut()) {
            let rings = commits.logs.iter().flat_map(|log| [log.records.next(), log.intents.next()]);
            let last = rings.max().unwrap_or(0);
            let log = commits.log(slot);
            log.records.renumber(last);
            log.intents.renumber(last);
        }
    }

    /// What a member that is gone held is gone with it.
    pub(crate) fn forget_commit_log(&mut self, slot: Slot) {
        if let Some(commits) = self.logs.as_mut().and_then(|logs| logs.commits.as_mut()) {
            let log = commits.log(slot);
            log.records.forget();
            log.intents.forget();
            self.wake_commit_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::commit_entry::tests::something;
    use crate::format::commit_entry::{EntryHeader, Found};

    const PLACE: Slot = Slot::new(0);

    /// Logs whose rings for records are of 96 sectors, the first with entries of a block each,
    /// numbered from 1.
    fn logs(entries: u64) -> CommitLogs {
        let entry = |number| EntryHeader {
            number,
            at: (number - 1) * 8,
            tail: 1,
            previous: number - 1,
            told: something(),
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
            waiters: VecDeque::new(),
            begun: 1,
            complete: 0,
            flushing: false,
            orphans: Vec::new(),
            zeroes: BTreeMap::new(),
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
        // In an empty one there is always room for one.
        let other = Slot::new(1);
        assert!(logs.reserve(other, Sectors::new(80)));
        assert!(!logs.reserve(other, Sectors::new(8)));
    }

    #[test]
    fn a_log_is_low_on_space_beyond_a_third() {
        assert!(!logs(4).presses(), "four blocks are a third");
        assert!(logs(5).presses());
        let mut waited_for = logs(0);
        waited_for.waiters.push_back(JobId { index: 0, generation: 0 });
        assert!(waited_for.presses());
    }
}
