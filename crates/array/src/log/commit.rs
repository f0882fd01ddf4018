//! The commit log makes a record durable before the data that the record describes (`consistency =
//! journal`).
//!
//! The commit log has a stream of records and one of the intents of reintegrations, and with
//! write-back one of writes. Each member has an area for each. An entry goes to f + 1 members of
//! one parity group (or f + 1 journal devices), where f members may be lost: those with the least
//! to do ([`places`]). While all lanes have an entry under way, new records wait and are written
//! together in the next entry: one sequential write for many records. Later the records reach their
//! region's log in whole segments, as they do without a commit log.
//!
//! Invariants:
//! - A stream has lanes, each with one entry being written at a time. It counts when it is durable
//!   on all of its members. If one of them fails meanwhile, the entry is given up, and another one
//!   of the lane takes its place and names the same predecessor.
//! - Of each region, records are told of in the order of their entries: data is written, segments
//!   are filled and parity is brought up when no older entry with records of the region is under
//!   way in another lane.
//! - An entry has the same place in each area. So whatever members the entries stand on, all that
//!   count and all space that is reserved fit into any area.
//! - An entry keeps its place until its records are in segments on members or in durable parity
//!   (parity that is updated in place is written with its data), *and* the data that they describe
//!   was written before a flush that is complete. So the entries that are found after a crash are
//!   all that has to be redone, and the length of the commit log bounds the time for it.
//! - Space for records is reserved before the stripe's lock is taken. The oldest records may be
//!   kept by a region that waits for its reintegration. Therefore intents have a stream of their
//!   own. A reintegration begins only if there is room for all of its intents, and for those of the
//!   others that are under way. So each comes to its end, however full the stream of records is.
//! - An entry that was found on fewer members than it needs is copied before anything is redone:
//!   what is redone must still be known after the next crash and the loss of a member.
//! - While entries stand on fewer members than they could, their records are stored elsewhere as
//!   soon as possible. No member becomes active before that is done.

pub(super) mod entry;
mod fresh;
pub(super) mod given_up;
pub(super) mod logs;
pub(super) mod places;
mod space;
pub(super) mod untold;
pub(super) mod writes;

use self::logs::{EntryName, GROUP, LONGEST};
use self::untold::CommitEntry;

use parlour_units::{Region, Sectors, Unit};

use self::places::is_any_left;
use super::{Logs, Reservation};
use crate::buffer::Slice;
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
use crate::log::lane::{INTENTS, Lane};
use crate::plan::{Fragment, LogMethod, Recorded, Source, Span};
use crate::signal::Signal;

/// Whether a lane has room for an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Room {
    /// It has, or space that was reserved is not there.
    Enough,
    /// It has none, and an empty entry was begun that makes some.
    Made,
    /// It has none before an entry of another lane is written.
    Later,
}

impl Logs {
    /// Writes entries, flushes and frees space, as far as there is a reason to. Returns whether it
    /// did anything.
    pub(crate) fn pump_commits(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        if !self.commits.exist() {
            return false;
        }
        if self.tell_committed(cx, durable) {
            return true;
        }
        if !self.commits.orphans.is_empty() && durable.bitmap().all_resync_is_durable() {
            self.commits.adopt();
        }
        // (A member whose exclusion is not durable would be believed after a crash, with what it
        // has not flushed. Until then nothing is forgotten.)
        if !durable.barrier() && self.commits.release(|| durable.flushes_hold(cx)) {
            self.wake_commit_waiters(cx);
            return true;
        }
        self.start_entry(cx, durable) || self.press_commits(cx, durable)
    }

    /// Writes intents and records that wait, in lanes where no entry is being written. Returns
    /// whether there were any.
    fn start_entry(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        if self.start_copy(cx, durable) || self.start_needed_mark(cx, durable) {
            return true;
        }
        let log = self.commits.log();
        let announced = !log.announced.is_empty() && !log.free_lanes(CommitPart::Intents).is_empty();
        let waiting = !log.waiting.is_empty();
        let lanes = if waiting { log.free_lanes(CommitPart::Records) } else { Vec::new() };
        // (Perhaps nobody is left who could hide an entry that was given up.)
        let waits = waiting && log.records().owes();
        let may = announced || !lanes.is_empty() || waits;
        if !may || durable.barrier() || self.break_waiting(cx, durable) {
            return false;
        }
        if announced {
            let block = cx.geometry.block();
            let next = self.commits.log().announced.front();
            let length = next.map_or(Sectors::ZERO, |waiting| waiting.content.header_length(block));
            match self.make_room(cx, durable, INTENTS, length) {
                Room::Enough => self.write_intent(cx, durable),
                Room::Made => {}
                Room::Later => return false,
            }
            return true;
        }
        lanes.into_iter().any(|lane| self.start_commit(cx, durable, lane))
    }

    /// If an entry of `length` has no room in a lane, and an empty entry would make some: writes
    /// one.
    pub(in crate::log) fn make_room(
        &mut self,
        cx: &mut Context,
        durable: &Durable,
        (part, lane): (CommitPart, Lane),
        length: Sectors,
    ) -> Room {
        let lanes = self.commits.log().part(part);
        if lanes.lane(lane).fits(length) || !lanes.lags(lane) {
            return Room::Enough;
        }
        // (An entry of any lane says for all which ones are forgotten.)
        let has_room = |lane: &Lane| !lanes.lane(*lane).is_writing() && lanes.has_room_for_mark(*lane);
        let others = lanes.names().map(Lane);
        let Some(with_room) = [lane].into_iter().chain(others).find(has_room) else { return Room::Later };
        self.write_mark(cx, durable, (part, with_room));
        Room::Made
    }

    /// Beyond what the array survives, no member may be left for an entry: jobs do not wait for it.
    fn break_waiting(&mut self, cx: &mut Context, durable: &Durable) -> bool {
        let none = !is_any_left(cx, durable);
        if none {
            let lanes = self.commits.log().records().names();
            lanes.for_each(|lane| self.tell_given_up(cx, (CommitPart::Records, Lane(lane))));
            for job in std::mem::take(&mut self.commits.log().waiting) {
                cx.release_buffers(job);
                cx.signal(Signal::Broken(job, Vec::new()));
            }
        }
        none
    }

    /// The waiting jobs that the next entry of `lane` takes, and the entry's greatest length: those
    /// that have reserved their space there, and others, if there is room for them.
    fn group(&mut self, cx: &mut Context, lane: Lane) -> (Vec<JobId>, Sectors) {
        let log = self.commits.log();
        let most = Sectors::new(log.records().lane(lane).length() / LONGEST);
        let (mut group, mut length) = (Vec::new(), Sectors::ZERO);
        for id in std::mem::take(&mut log.waiting) {
            let logging = &mut cx.jobs.stripe(id).logging;
            let space = logging.commit_space;
            let fits = group.len() < GROUP && (group.is_empty() || length + space <= most);
            if fits && log.moves(space, logging.lane, lane) {
                logging.lane = lane;
                length += space;
                group.push(id);
            } else {
                log.waiting.push_back(id);
            }
        }
        (group, length)
    }

    /// Where the commit log fills up, makes old entries superfluous: their records go to their
    /// regions' logs, and their data is flushed.
    fn press_commits(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let exposed = self.last_exposed(cx, durable);
        let commits = &mut self.commits;
        let Some(last) = commits.unwanted() else { return false };
        let frees = commits.is_waited_for() || durable.flushes_hold(cx);
        if !commits.flushing && commits.wants_flush() && frees && !durable.barrier() {
            self.start_commit_flush(cx);
            return true;
        }
        let due = self.due_region(last).filter(|_| durable.session_is_known(cx));
        let all_stored = due.is_none() && self.appending == 0;
        let wanted = (exposed.is_some() || all_stored || self.wants_table()) && self.awaits_table();
        // (The one that is being written may count what waits for one.)
        if wanted && !durable.is_writing_table() {
            durable.want_table();
        }
        if let Some(region) = due {
            self.append_all(cx, durable, region);
        }
        due.is_some()
    }

    /// Whether it is worth writing a table: it would let go of much of the commit log, or jobs wait
    /// for space.
    fn wants_table(&self) -> bool {
        let uncounted = self.payload() * self.uncounted.len() as u64;
        self.commits.is_waited_for() || self.commits.is_much(uncounted)
    }

    /// Appends all log buffers of `region`, the open one too if it can be closed.
    fn append_all(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if let Some(open) = self.closable(region) {
            self.close(open);
            cx.counters.short_segments += 1;
        }
        self.append_ready(cx, durable, region);
    }

    /// Writes the records of all waiting jobs that fit, as one entry of `lane`. Returns whether it
    /// did anything.
    fn start_commit(&mut self, cx: &mut Context, durable: &Durable, lane: Lane) -> bool {
        let (group, length) = self.group(cx, lane);
        if group.is_empty() {
            return false;
        }
        let room = self.make_room(cx, durable, (CommitPart::Records, lane), length);
        if room != Room::Enough {
            group.into_iter().rev().for_each(|id| self.commits.log().waiting.push_front(id));
            return room == Room::Made;
        }
        let (mut content, mut spans, mut jobs) = (EntryContent::default(), Vec::new(), Vec::new());
        for id in group {
            let records = self.add_records(cx, id, &mut content, &mut spans);
            jobs.push((id, records));
        }
        let unlanded = jobs.len() as u32;
        let regions = jobs.iter().map(|(job, _)| cx.jobs.stripe(*job).region).collect();
        let place = (CommitPart::Records, lane);
        let (header, slots) = self.begin_entry(cx, durable, place, content, (0, unlanded));
        self.commits.log().untold.begin(header.number, regions);
        for Committed { region, record, .. } in &header.content.records {
            if record.kind.overrules() {
                self.commits.note_overruling(*region, record.stripe, header.number);
            }
        }
        let kind = Kind::Commit(CommitEntry { number: header.number, lane, jobs });
        self.write_entry(cx, &slots, header, spans, kind);
        true
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
        let (plan, slices) = (&job.plan, &job.slices);
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
        for Recorded { unit, columns, step } in &plan.recorded {
            let Some(step) = step else {
                add(*unit, RecordKind::Void, *columns, Sectors::ZERO, Vec::new());
                continue;
            };
            let new = sums.by_ref().take(columns.length().get() as usize);
            let changes = new.map(|new| Change { old: 0, new }).collect();
            add(*unit, RecordKind::Content, *columns, Sectors::ZERO, changes);
            let Slice { buffer, start, length } = slices[plan.steps[*step as usize].spans.start as usize];
            spans.push(Span::new(Source::Buffer(buffer), start, length));
        }
        for (fragment, reservation) in job.logging.fragments.iter().zip(&job.logging.reservations) {
            let count = fragment.columns.length().get() as usize;
            let old: Vec<u64> = sums.by_ref().take(count).collect();
            let new = sums.by_ref().take(count);
            let changes = old.into_iter().zip(new).map(|(old, new)| Change { old, new }).collect();
            add(fragment.unit, RecordKind::Update, fragment.columns, reservation.start, changes);
        }
        // (The entry holds the whole record, also where its reservation is shorter.)
        let span = |(fragment, reservation): (&Fragment, &Reservation)| {
            let buffer = self
                .segment(reservation.segment)
                .buffer
                .expect("what is reserved is in memory until it is filled");
            Span::new(Source::Buffer(buffer), reservation.start, fragment.columns.length())
        };
        spans.extend(job.logging.fragments.iter().zip(&job.logging.reservations).map(span));
        assert!(!records.is_empty(), "a write that waits for the commit log has something to commit");
        records
    }

    /// The entry is durable: its records count. If one of the entry's members was failed meanwhile,
    /// the entry is given up.
    pub(crate) fn commit_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        entry: CommitEntry,
    ) {
        cx.jobs.end(id);
        let place = (CommitPart::Records, entry.lane);
        if !self.commits.written(place, true) {
            self.give_entry_up(cx, entry, &[]);
        } else {
            self.plan_given_up_again(cx, place);
            self.commits.log().untold.is_durable(entry);
        }
        self.tell_committed(cx, durable);
    }

    /// Jobs of durable entries go on to write the data, as far as its members are there. Returns
    /// whether there were any.
    fn tell_committed(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let told = self.commits.log().untold.take();
        let any = !told.is_empty();
        for (number, job, records) in told {
            let name = EntryName { part: CommitPart::Records, number };
            self.committed(cx, durable, job, name, &records);
        }
        any
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
        entry: CommitEntry,
        failures: &[FailedAccess],
    ) {
        cx.jobs.end(id);
        self.commits.written((CommitPart::Records, entry.lane), false);
        self.give_entry_up(cx, entry, failures);
    }

    pub(super) fn start_commit_flush(&mut self, cx: &mut Context) {
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
