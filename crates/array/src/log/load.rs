//! After a clean shutdown a region's log is still on its members: its headers are read before the
//! region is used.
//!
//! The table of the regions' logs says how much stands there. So no more is read than shows that it
//! does: of each header the first copy, a few positions at a time, as they were filled by turns.
//! The second copies are read where something is missing.

use std::collections::{BTreeMap, BTreeSet};

use parlour_units::{Region, Sectors};

use super::{LoadState, Segment, SegmentState};
use crate::array::Array;
use crate::effect::{Class, Fault};
use crate::exec::job::FailedAccess;
use crate::format::bitmap::Stored;
use crate::format::horizon::{first_sequence, session_of};
use crate::format::segment::{Header, Record};
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{Plan, Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::status::Event;

/// Positions whose headers are read first; each time after, twice as many.
const FIRST_SLOTS: u32 = 8;

/// A log whose headers are being read.
#[derive(Debug)]
pub(crate) struct Load {
    region: Region,
    /// When that began: who came to stand in a slot later does not hold it.
    turn: u64,
    /// By position: its header, where one could be read.
    found: BTreeMap<u32, Header>,
    /// Positions of which neither copy could be read so far.
    unreadable: BTreeSet<u32>,
    /// The copies that are being read, …
    copy: Copy,
    /// … of these positions.
    asked: Vec<u32>,
}

/// A copy of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copy {
    First,
    Second,
}

impl Load {
    /// What is read next of a log of so many positions; none once all is.
    fn next(&self, positions: u32) -> Option<(Copy, Vec<u32>)> {
        let from = self.asked.last().map_or(0, |last| last + 1);
        if self.copy == Copy::First && from < positions {
            let count = (self.asked.len() as u32 * 2).max(FIRST_SLOTS);
            return Some((Copy::First, (from..positions.min(from + count)).collect()));
        }
        let missing: Vec<u32> =
            (0..positions).filter(|position| !self.found.contains_key(position)).collect();
        (self.copy == Copy::First && !missing.is_empty()).then_some((Copy::Second, missing))
    }

    /// The headers, the newest segment first: what was appended twice, because a crash came
    /// between, counts where it was appended last.
    fn newest_first(&self) -> Vec<(u32, &Header)> {
        let mut headers: Vec<(u32, &Header)> =
            self.found.iter().map(|(position, header)| (*position, header)).collect();
        headers.sort_by_key(|(_, header)| std::cmp::Reverse(header.stamp));
        headers
    }
}

/// Whether all live records are in `headers`, the newest segment first, that the table says are
/// `stored`.
///
/// Records that are `held` by a commit log and stood in a segment before the table's session were
/// used in that session as the commit log holds them, and were not counted; unless the commit log
/// counted for nothing then, because the session before had been stopped cleanly, and counts again
/// because this one did not begin it anew. Then all of them were.
fn is_complete(headers: &[(u32, &Header)], stored: Stored, applied: u64, held: &BTreeSet<u64>) -> bool {
    let session = first_sequence(session_of(stored.stamp));
    let mut seen = BTreeSet::new();
    let (mut all, mut unheld) = (Stored::up_to(stored.stamp), Stored::up_to(stored.stamp));
    for (_, header) in headers.iter().filter(|(_, header)| header.stamp <= stored.stamp) {
        for record in header.records.iter().filter(|record| record.sequence > applied) {
            if seen.insert(record.sequence) {
                all.add(record.sequence, record.digest);
                if header.stamp > session || !held.contains(&record.sequence) {
                    unheld.add(record.sequence, record.digest);
                }
            }
        }
    }
    stored == unheld || stored == all
}

impl Array {
    /// Reads as many headers of `region`'s log as it takes to know what stands there.
    pub(crate) fn start_load(&mut self, region: Region) {
        let turn = self.cx.roster.turn();
        let logs = self.logs.as_mut().expect("only logs are loaded");
        logs.begin_recovery(region);
        logs.region(region).load = LoadState::Loading;
        self.go_on_loading(Load {
            region,
            turn,
            found: BTreeMap::new(),
            unreadable: BTreeSet::new(),
            copy: Copy::First,
            asked: Vec::new(),
        });
    }

    fn go_on_loading(&mut self, mut load: Load) {
        let shape = self.cx.geometry.layout().logs().expect("a logged layout");
        // (Something is read always, so that nobody who has this begun finds it ended.)
        let complete = !load.asked.is_empty() && self.is_loaded(&load);
        let Some((copy, positions)) = load.next(shape.segments()).filter(|_| !complete) else {
            return self.understand_headers(load, complete);
        };
        (load.copy, load.asked) = (copy, positions);
        let logs = self.logs.as_ref().expect("only logs are loaded");
        let (header, length) = (logs.header, logs.segment_length);
        let mut plan = Plan::of(Strategy::Metadata);
        let mut start = Sectors::ZERO;
        for position in &load.asked {
            let (sublog, offset) = shape.segment_at(*position);
            let location = self.cx.geometry.layout().sublog_at(load.region, sublog).expect("a logged layout");
            let offset = if copy == Copy::First { offset } else { offset + length - header };
            let at = self.cx.geometry.data_start() + (location.at + offset).from_start();
            plan.read(location.slot, at, Span::new(Source::Metadata, start, header));
            start += header;
        }
        let turn = load.turn;
        let id = self.cx.jobs.start(Kind::Load(Box::new(load)), Class::Log);
        let job = self.cx.jobs.get_mut(id);
        job.plan = plan;
        job.metadata.resize(start.bytes().as_usize(), 0);
        self.start_plan_of(id, turn, None, &[]);
    }

    /// Whether what was read is all that the table says.
    fn is_loaded(&self, load: &Load) -> bool {
        let logs = self.logs.as_ref().expect("only logs are loaded");
        let region = load.region.as_usize();
        is_complete(
            &load.newest_first(),
            logs.stored[region],
            logs.applied[region],
            &self.held_of(load.region),
        )
    }

    /// The records that a commit log holds of `region`. A segment may have been cut off behind its
    /// header: what a commit log still holds is taken from there.
    fn held_of(&self, region: Region) -> BTreeSet<u64> {
        let log = &self.logs.as_ref().expect("only logs are loaded").regions[&region];
        log.recovery.iter().flat_map(|recovery| recovery.sequences()).collect()
    }

    /// Takes in the headers that were read.
    pub(crate) fn load_done(&mut self, id: JobId) {
        let job = self.cx.jobs.get_mut(id);
        let metadata = std::mem::take(&mut job.metadata);
        let Some(Kind::Load(mut load)) = job.kind.take() else { unreachable!("a load") };
        self.end_job(id);
        let length = self.logs.as_ref().expect("only logs are loaded").header.bytes().as_usize();
        for (position, bytes) in load.asked.iter().zip(metadata.chunks(length)) {
            let header =
                Header::decode(bytes, self.cx.identity).filter(|header| header.region == load.region);
            if let Some(header) = header {
                load.unreadable.remove(position);
                load.found.insert(*position, header);
            }
        }
        self.go_on_loading(*load);
    }

    /// All that could be read was, or what was is `complete`.
    fn understand_headers(&mut self, load: Load, complete: bool) {
        let Load { region, turn, found, unreadable, .. } = &load;
        let (region, turn) = (*region, *turn);
        // Where neither copy can be read nobody knows what the log held.
        if !complete && !unreadable.is_empty() {
            return self.give_log_up(region);
        }
        let held = self.held_of(region);
        let logs = self.logs.as_mut().expect("only logs are loaded");
        let (applied, before) = (logs.applied[region.as_usize()], logs.before);
        logs.region(region).read_at = logs.stamp;
        let mut known = held.clone();
        let implausible = found.iter().find(|(_, header)| !header.is_within(before));
        let mut sound = (complete || is_planted(Bug::MissingRecordsIgnored)) && implausible.is_none();
        if let Some((position, _)) = implausible {
            self.report_implausible_segment(region, *position);
        }
        for (position, header) in load.newest_first() {
            let shadow = header.records.iter().any(|record| held.contains(&record.sequence));
            let counts = |record: &Record| {
                let new = known.insert(record.sequence) || is_planted(Bug::RecordCountsTwice);
                new && (record.sequence > applied || is_planted(Bug::AppliedRecordsCount))
            };
            let live: Vec<Record> = header.records.iter().copied().filter(counts).collect();
            sound &= live.iter().all(|record| self.is_sound(record));
            if sound && !live.is_empty() {
                self.restore(region, position, header.stamp, live, turn);
            } else if shadow {
                self.keep_shadow(region, position);
            }
        }
        // A member may have been lost while its headers were read.
        if !sound {
            self.cx.events.push_back(Event::LogDamaged { region, slots: self.log_slots(region).collect() });
        }
        if !sound
            || self.log_is_lost(region)
            || self.is_recovering(region) && !self.remembered_log_stands(region)
        {
            self.give_log_up(region);
        } else if self.is_recovering(region) {
            self.start_redo(region);
        } else {
            self.region_known(region);
        }
    }

    fn report_implausible_segment(&mut self, region: Region, position: u32) {
        let layout = self.cx.geometry.layout();
        let (sublog, _) = layout.logs().expect("a logged layout").segment_at(position);
        if let Some(slot) = layout.sublog_slot(region, sublog) {
            self.cx.events.push_back(Event::Implausible { slot, what: "log segment" });
        }
    }

    fn is_sound(&self, record: &Record) -> bool {
        let payload = self.logs.as_ref().expect("only logs are loaded").payload();
        let within = record.start + record.columns.length() <= payload;
        record.suits(self.cx.geometry.layout()) && (!record.kind.has_payload() || within)
    }

    /// What stands in `position` is used as a commit log holds it. The position stays as it is
    /// while a table counts on it.
    fn keep_shadow(&mut self, region: Region, position: u32) {
        let log = self.logs.as_mut().expect("only logs are loaded").region(region);
        log.positions[position as usize] = true;
        log.shadows.push(position);
    }

    fn restore(&mut self, region: Region, position: u32, stamp: u64, records: Vec<Record>, turn: u64) {
        let logs = self.logs.as_mut().expect("only logs are loaded");
        logs.records += records.len() as u64;
        for record in &records {
            *logs.region(region).live.entry(record.stripe).or_default() += 1;
        }
        let index = logs.insert(Segment {
            region,
            state: SegmentState::Stored,
            buffer: None,
            position: Some(position),
            used: logs.payload(),
            reserved: records.len() as u32,
            unfilled: 0,
            commits: vec![None; records.len()],
            records,
            taken: 0,
            turn,
            stamp,
        });
        let log = logs.region(region);
        log.segments.push(index);
        log.positions[position as usize] = true;
    }

    pub(crate) fn region_known(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are loaded").region(region);
        log.load = LoadState::Known;
        let nothing = log.live.is_empty();
        let wanted = std::mem::take(&mut log.wanted) && !nothing && self.cx.roster.is_degraded();
        self.cx.runnable.extend(log.waiters.drain(..));
        if wanted {
            self.want_parity(region);
        }
        self.append_ready(region);
        self.resume_hosts();
    }

    /// Some headers could not be read. Each stands twice: where one of the two can be read it says
    /// whether the position is in use.
    pub(crate) fn load_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        let job = self.cx.jobs.get_mut(id);
        let failed: Vec<bool> =
            job.actions().map(|action| failures.iter().any(|failure| failure.is_of(action))).collect();
        let Some(Kind::Load(load)) = &mut job.kind else { unreachable!("a load") };
        let region = load.region;
        if failures.iter().all(|failure| failure.fault == Fault::Unreadable) {
            for (position, failed) in load.asked.iter().zip(failed) {
                match load.copy {
                    Copy::First if failed => _ = load.unreadable.insert(*position),
                    Copy::Second if !failed => _ = load.unreadable.remove(position),
                    Copy::First | Copy::Second => {}
                }
            }
            return self.load_done(id);
        }
        let turn = load.turn;
        job.kind = None;
        self.end_job(id);
        let of_space = failures.iter().any(|failure| failure.fault.is_of_space());
        let stood = |slot| self.cx.roster.member_since(slot, turn).is_some();
        if of_space && self.log_slots(region).all(stood) && !self.log_is_lost(region) {
            self.stall_region(region);
        } else {
            self.give_log_up(region);
        }
    }

    /// A region's log cannot be read: nothing is redone from it, and what commit logs hold of it is
    /// worth nothing either.
    pub(crate) fn give_log_up(&mut self, region: Region) {
        let logs = self.logs.as_mut().expect("only logs are read");
        let recovery = logs.end_recovery(region);
        if let Some(recovery) = &recovery {
            let commits = self.commits();
            recovery.record_names().chain(recovery.intent_names()).for_each(|name| commits.orphan(name));
        }
        self.discard_log(region);
        // Who waited for the recovery goes on waiting until it is durable that the log does not
        // count.
        if recovery.is_some() {
            self.resume_recovered_hosts();
        }
    }
}
