//! The commit log makes a record durable before the data that the record describes (`consistency =
//! journal`).
//!
//! Each member has a small commit log of two rings. One ring holds records, the other the intents
//! of reintegrations. A record goes to the commit log of one member that holds its region's log,
//! and therefore none of the region's data. While one entry is being written, new records wait and
//! are written together in the next entry: one sequential write for many records. Later the records
//! reach their region's log in whole segments, as they do without a commit log.
//!
//! Invariants:
//! - A ring has one entry being written at a time, so records of a region become durable in their
//!   order.
//! - An entry keeps its place until its records are in segments on members or in durable parity,
//!   *and* the data that they describe was written before a flush that is complete. So the entries
//!   that are found after a crash are all that has to be redone, and the length of the commit logs
//!   bounds the time for it.
//! - Space for records is reserved before the stripe's lock is taken. The oldest records may be
//!   kept by a region that waits for its reintegration. Therefore intents have a ring of their own,
//!   and a reintegration does not begin before all earlier intents in that ring are over. Its own
//!   intents must fit into half of the ring. So the ring of intents always becomes empty, however
//!   full the ring of records is.

pub(super) mod entry;
mod fresh;
pub(super) mod logs;
mod space;

use self::logs::{CommitEntry, CommitLog, EntryName, GROUP, LONGEST};

use parlour_units::{Sectors, Slot, Unit};

use super::{Logs, Reservation, SegmentState};
use crate::columns::Columns;
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::Class;
use crate::exec::job::FailedAccess;
use crate::format::commit_entry::CommitPart;
use crate::format::commit_entry::{Change, Committed, EntryContent, payload_digest};
use crate::format::segment::{Record, RecordKind};
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{LogMethod, Source, Span};
use crate::signal::Signal;

impl Logs {
    /// Writes entries, flushes and frees space, as far as there is a reason to. Returns whether it
    /// did anything.
    pub(crate) fn pump_commits(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        if !self.commits.exist() {
            return false;
        }
        if !self.commits.orphans.is_empty() && durable.bitmap().all_resync_is_durable() {
            self.commits.adopt();
        }
        if self.commits.release() {
            self.wake_commit_waiters(cx);
            return true;
        }
        self.start_entry(cx, durable) || self.press_commits(cx, durable)
    }

    /// Writes intents and records that wait, in rings where no entry is being written. Returns
    /// whether there were any.
    fn start_entry(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        if self.start_fresh_ring(cx, durable) {
            return true;
        }
        let logs = &self.commits.logs;
        let announced = logs.iter().position(|log| !log.intents.is_writing() && !log.announced.is_empty());
        let waiting = logs.iter().position(|log| !log.records.is_writing() && !log.waiting.is_empty());
        let Some(index) = announced.or(waiting).filter(|_| !durable.barrier()) else { return false };
        let slot = Slot::new(index as u16);
        let block = cx.geometry.block();
        let part = if announced.is_some() { CommitPart::Intents } else { CommitPart::Records };
        let log = self.commits.log(slot);
        let length = match part {
            CommitPart::Intents => {
                log.announced.front().map_or(Sectors::ZERO, |waiting| waiting.content.header_length(block))
            }
            CommitPart::Records => self.group(cx, slot).1,
        };
        let ring = self.commits.log(slot).ring(part);
        if !ring.fits(length) && ring.lags() {
            self.write_mark(cx, slot, part);
            return true;
        }
        match announced.and_then(|_| self.commits.log(slot).announced.pop_front()) {
            Some(intent) => self.write_intent(cx, slot, intent),
            None => self.start_commit(cx, slot),
        }
        true
    }

    /// The number of waiting jobs of `slot` that the next entry takes, and the entry's greatest
    /// length.
    fn group(&mut self, cx: &mut Context, slot: Slot) -> (usize, Sectors) {
        let log = &self.commits.logs[slot.as_usize()];
        let most = Sectors::new(log.records.length() / LONGEST);
        let waiting: Vec<JobId> = log.waiting.iter().take(GROUP).copied().collect();
        let mut length = Sectors::ZERO;
        for (index, id) in waiting.iter().enumerate() {
            let space = cx.jobs.stripe(*id).logging.commit_space;
            if index > 0 && length + space > most {
                return (index, length);
            }
            length += space;
        }
        (waiting.len(), length)
    }

    /// Where a commit log fills up, makes old entries superfluous: their records go to their
    /// regions' logs, and their data is flushed.
    fn press_commits(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let commits = &mut self.commits;
        if !commits.presses() {
            return false;
        }
        if !commits.flushing && commits.wants_flush() {
            self.start_commit_flush(cx);
            return true;
        }
        if let Some(region) = self.kept_back(cx, durable) {
            self.append_ready(cx, durable, region);
            return true;
        }
        if self.commits.wants_table() && self.awaits_table() {
            durable.want_table();
        }
        let open = self.low_space_segment();
        if let Some(index) = open {
            let region = self.segment(index).region;
            self.close(index);
            cx.counters.short_segments += 1;
            self.append_ready(cx, durable, region);
        }
        open.is_some()
    }

    /// An open segment that can be closed and whose records keep the older half of a commit log in
    /// use. Only commit logs that are low on space are considered, unless jobs wait for space.
    fn low_space_segment(&self) -> Option<u32> {
        let commits = &self.commits;
        let waited_for = !commits.waiters.is_empty();
        let middle = |log: &CommitLog| log.is_low_on_space().then(|| log.records.middle());
        let middles: Vec<Option<u64>> = commits.logs.iter().map(middle).collect();
        let in_older_half = |name: EntryName| {
            let middle = middles[name.slot.as_usize()];
            middle.is_some_and(|middle| name.number <= middle)
        };
        let old = |index: &u32| {
            let segment = self.segment(*index);
            let can_be_closed = segment.unfilled == 0 && segment.state == SegmentState::Open;
            let first = || segment.commits.iter().copied().flatten().next();
            can_be_closed && first().is_some_and(|name| waited_for || in_older_half(name))
        };
        self.open_segments().find(old)
    }

    /// Writes the records of all waiting jobs that fit, as one entry.
    fn start_commit(&mut self, cx: &mut Context, slot: Slot) {
        let (mut content, mut spans, mut jobs) = (EntryContent::default(), Vec::new(), Vec::new());
        let (count, _) = self.group(cx, slot);
        let group: Vec<JobId> = self.commits.log(slot).waiting.drain(..count).collect();
        for id in group {
            let records = self.add_records(cx, id, &mut content, &mut spans);
            jobs.push((id, records));
        }
        let unlanded = jobs.len() as u32;
        let header = self.begin_entry(cx, slot, CommitPart::Records, content, 0, unlanded);
        let kind = Kind::Commit(CommitEntry { slot, number: header.number, jobs });
        self.write_entry(cx, slot, header, spans, kind);
    }

    /// Adds what a job commits to an entry: its records, with the checksums that the job's plan has
    /// computed, and the location of their payload.
    fn add_records(
        &mut self,
        cx: &mut Context,
        id: JobId,
        content: &mut EntryContent,
        spans: &mut Vec<Span>,
    ) -> Vec<Record> {
        let units = cx.geometry.layout().width();
        let stripe = cx.jobs.stripe(id).window.stripe;
        let stripe = cx.geometry.region_of(stripe).1;
        let job = cx.jobs.get_mut(id);
        let sums = std::mem::take(&mut job.checksums);
        let Some(Kind::Stripe(job)) = &job.kind else { unreachable!("a stripe job commits records") };
        let (region, mut sums) = (job.region, sums.iter().copied());
        let mut payload = content.payload();
        let mut records = Vec::with_capacity(job.logging.fragments.len().max(1));
        let mut add = |unit, kind, columns: Columns, start, changes: Vec<Change>| {
            let digest = payload_digest(kind, &changes);
            let sequence = self.next_sequence();
            let record = Record { sequence, stripe, unit, kind, columns, start, digest };
            let stored = Record { start: payload, ..record };
            payload += record.payload();
            content.records.push(Committed { region, record: stored, changes });
            records.push(record);
        };
        if let Some(LogMethod::Cancel | LogMethod::Zero) = job.logging.method {
            let columns = job.pieces[0].columns;
            let (kind, count) = match job.logging.method {
                Some(LogMethod::Zero) => (RecordKind::Zero, 0),
                _ => (RecordKind::Cancel, columns.length().get() as usize * usize::from(units)),
            };
            let changes = sums.by_ref().take(count).map(|new| Change { old: 0, new }).collect();
            let start =
                job.logging.reservations.first().map_or(Sectors::ZERO, |reservation| reservation.start);
            add(Unit::new(units - 1), kind, columns, start, changes);
            return records;
        }
        for (fragment, reservation) in job.logging.fragments.iter().zip(&job.logging.reservations) {
            let count = fragment.columns.length().get() as usize;
            let old: Vec<u64> = sums.by_ref().take(count).collect();
            let new = sums.by_ref().take(count);
            let changes = old.into_iter().zip(new).map(|(old, new)| Change { old, new }).collect();
            add(fragment.unit, RecordKind::Update, fragment.columns, reservation.start, changes);
        }
        let span = |reservation: &Reservation| {
            let buffer = self
                .segment(reservation.segment)
                .buffer
                .expect("what is reserved is in memory until it is filled");
            Span::new(Source::Buffer(buffer), reservation.start, reservation.length)
        };
        spans.extend(job.logging.reservations.iter().map(span));
        assert!(!records.is_empty(), "a write that waits for the commit log has something to commit");
        records
    }

    /// The entry is durable: its records count, and their jobs go on to write the data, as far as
    /// its members are there. If the entry's member was failed meanwhile, the entry is lost with
    /// it.
    pub(crate) fn commit_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        entry: CommitEntry,
    ) {
        if cx.roster.member_since(entry.slot, cx.jobs.get(id).turn).is_none() {
            return self.commit_broken(cx, id, entry, &[]);
        }
        let CommitEntry { slot, number, jobs } = entry;
        cx.jobs.end(id);
        self.commits.written(slot, CommitPart::Records, true);
        let name = EntryName { slot, part: CommitPart::Records, number };
        for (job, records) in jobs {
            self.committed(cx, durable, job, name, &records);
        }
    }

    fn committed(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        name: EntryName,
        records: &[Record],
    ) {
        self.give_back_commit_space(cx, id);
        let job = cx.jobs.stripe(id);
        let region = job.region;
        let reservations = std::mem::take(&mut job.logging.reservations);
        job.logging.fragments.clear();
        for (reservation, record) in reservations.iter().zip(records) {
            self.commit_record(reservation.segment, *record, Some(name));
        }
        if records.iter().any(|record| record.payload().is_zero()) {
            self.commits.bare.insert(region, name);
        }
        let log = self.region(region);
        log.landing[log.epoch] += 1;
        let epoch = log.epoch;
        let many = self.records > cx.tuning.live_records;
        let logging = &mut cx.jobs.stripe(id).logging;
        (logging.committed, logging.entry) = (true, Some((name, epoch)));
        self.after_reservations(cx, durable, &reservations);
        if durable.bitmap().needs_resync(region) {
            self.append_ready(cx, durable, region);
        } else if many {
            self.want_parity(cx, region);
        }
        cx.go_on(id);
    }

    /// The entry could not be written: its jobs are planned again for the array as it now is.
    pub(crate) fn commit_broken(
        &mut self,
        cx: &mut Context,
        id: JobId,
        CommitEntry { slot, jobs, .. }: CommitEntry,
        failures: &[FailedAccess],
    ) {
        cx.jobs.end(id);
        self.commits.written(slot, CommitPart::Records, false);
        for (job, _) in jobs {
            cx.release_buffers(job);
            cx.signal(Signal::Broken(job, failures.to_vec()));
        }
    }

    fn start_commit_flush(&mut self, cx: &mut Context) {
        let turn = self.begin_covering_flush();
        self.commits.flushing = true;
        let id = cx.jobs.start(Kind::CommitFlush { turn }, Class::Log);
        cx.plan_flushes(id);
        cx.run_own(id);
    }

    /// All data that was written before the flush began is durable. If a member failed meanwhile,
    /// the flush is tried again.
    pub(crate) fn commit_flushed(&mut self, cx: &mut Context, id: JobId, turn: u64, whole: bool) {
        cx.jobs.end(id);
        self.commits.flushing = false;
        if whole {
            self.flush_covered(turn);
        }
    }
}
