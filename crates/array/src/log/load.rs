//! After a proper stop a region's log is still on its members: its headers are read before the region is used.

use std::collections::BTreeSet;

use parlour_units::{Region, Sectors};

use super::{Header, LoadState, Record, Segment, SegmentState};
use crate::array::Array;
use crate::dirty::Stored;
use crate::effect::{Action, Class, Fault};
use crate::horizon::{first_sequence, session_of};
use crate::job::{JobId, Kind, Trouble};
use crate::plan::{Source, Span, Step, Strategy};
use crate::planted::{Bug, is_planted};
use crate::status::Event;

/// Whether all live records are in `headers`, the newest segment first, that the table says are `stored`.
///
/// Records that are `held` by a commit log and stood in a segment before the table's session were used in that session as
/// the commit log holds them, and were not counted; unless the commit log counted for nothing then, because the session
/// before had been stopped cleanly, and counts again because this one did not begin it anew. Then all of them were.
fn is_complete(headers: &[(u32, Header)], stored: Stored, applied: u64, held: &BTreeSet<u64>) -> bool {
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
    stored == unheld || stored == all || is_planted(Bug::MissingRecordsIgnored)
}

impl Array {
    /// Reads both headers of each slot of `region`.
    pub(crate) fn start_load(&mut self, region: Region) {
        let layout = self.geometry.layout();
        let logs = self.logs.as_mut().expect("only logs are loaded");
        logs.begin_recovery(region);
        logs.region(region).load = LoadState::Loading;
        let (header, length) = (logs.header, logs.segment_length);
        let shape = layout.logs().expect("a logged layout");
        let id = self.jobs.start(Kind::Load { region }, Class::Log);
        let job = self.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        let mut start = Sectors::ZERO;
        for slot in 0..shape.segments() {
            let (sublog, offset) = shape.segment_place(slot);
            let place = layout.sublog_place(region, sublog).expect("a logged layout");
            for copy in [offset, offset + length - header] {
                let at = self.geometry.data_start() + (place.at + copy).from_start();
                job.plan.read(place.member, at, Span::new(Source::Metadata, start, header));
                start += header;
            }
        }
        job.metadata.resize(start.bytes().as_usize(), 0);
        self.start_plan(id, None, &[]);
    }

    pub(crate) fn load_done(&mut self, id: JobId) {
        self.understand_headers(id);
    }

    /// Takes in what the headers say that could be read; the others' bytes are zero.
    fn understand_headers(&mut self, id: JobId) {
        let job = self.jobs.get_mut(id);
        let metadata = std::mem::take(&mut job.metadata);
        let turn = job.turn;
        let Some(Kind::Load { region }) = job.kind.take() else { unreachable!("a load") };
        self.end_job(id);
        let logs = self.logs.as_mut().expect("only logs are loaded");
        let pair = logs.header.bytes().as_usize() * 2;
        let (applied, identity) = (logs.applied[region.as_usize()], self.identity);
        // A segment may have been cut off behind its header: what a commit log still holds is taken from there.
        let log = &logs.regions[&region];
        let held: BTreeSet<u64> = log.recovery.iter().flat_map(|recovery| recovery.sequences()).collect();
        let header = |(slot, copies): (usize, &[u8])| {
            let (first, second) = copies.split_at(pair / 2);
            let header = Header::decode(first, identity).or_else(|| Header::decode(second, identity))?;
            (header.region == region).then_some((slot as u32, header))
        };
        let mut headers: Vec<(u32, Header)> = metadata.chunks(pair).enumerate().filter_map(header).collect();
        // And what was appended twice, because a crash came between, counts where it was appended last.
        headers.sort_by_key(|(_, header)| std::cmp::Reverse(header.stamp));
        let before = logs.before;
        let complete = is_complete(&headers, logs.stored[region.as_usize()], applied, &held);
        logs.region(region).read_at = logs.stamp;
        let mut known = held.clone();
        let implausible = headers.iter().find(|(_, header)| !header.is_within(before));
        let mut sound = complete && implausible.is_none();
        if let Some((slot, _)) = implausible {
            self.report_implausible_segment(region, *slot);
        }
        for (slot, header) in headers {
            let shadow = header.records.iter().any(|record| held.contains(&record.sequence));
            let counts = |record: &Record| {
                let new = known.insert(record.sequence) || is_planted(Bug::RecordCountsTwice);
                new && (record.sequence > applied || is_planted(Bug::AppliedRecordsCount))
            };
            let live: Vec<Record> = header.records.iter().copied().filter(counts).collect();
            sound &= live.iter().all(|record| self.is_sound(record));
            if sound && !live.is_empty() {
                self.restore(region, slot, header.stamp, live, turn);
            } else if shadow {
                self.keep_shadow(region, slot);
            }
        }
        // A member may have been lost while its headers were read.
        if !sound {
            self.events.push_back(Event::LogDamaged { region, places: self.log_places(region).collect() });
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

    fn report_implausible_segment(&mut self, region: Region, slot: u32) {
        let layout = self.geometry.layout();
        let (sublog, _) = layout.logs().expect("a logged layout").segment_place(slot);
        if let Some(place) = layout.sublog_member(region, sublog) {
            self.events.push_back(Event::Implausible { place, what: "log segment" });
        }
    }

    fn is_sound(&self, record: &Record) -> bool {
        let payload = self.logs.as_ref().expect("only logs are loaded").payload();
        let within = record.start + record.columns.length() <= payload;
        record.suits(self.geometry.layout()) && (!record.kind.has_payload() || within)
    }

    /// What stands in `slot` is used as a commit log holds it. The slot stays as it is while a table counts on it.
    fn keep_shadow(&mut self, region: Region, slot: u32) {
        let log = self.logs.as_mut().expect("only logs are loaded").region(region);
        log.slots[slot as usize] = true;
        log.shadows.push(slot);
    }

    fn restore(&mut self, region: Region, slot: u32, stamp: u64, records: Vec<Record>, turn: u64) {
        let logs = self.logs.as_mut().expect("only logs are loaded");
        logs.records += records.len() as u64;
        for record in &records {
            *logs.region(region).live.entry(record.stripe).or_default() += 1;
        }
        let index = logs.insert(Segment {
            region,
            state: SegmentState::Stored,
            buffer: None,
            slot: Some(slot),
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
        log.slots[slot as usize] = true;
    }

    pub(crate) fn region_known(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are loaded").region(region);
        log.load = LoadState::Known;
        let nothing = log.live.is_empty();
        let wanted = std::mem::take(&mut log.wanted) && !nothing && self.health.is_degraded();
        self.runnable.extend(log.waiters.drain(..));
        if wanted {
            self.want_parity(region);
        }
        self.append_ready(region);
        self.resume_hosts();
    }

    /// Some headers could not be read. Each stands twice: where one of the two can be read it says whether the
    /// slot is in use. Where neither can, nobody knows what the log held, and the parity is recomputed from the data.
    pub(crate) fn load_broken(&mut self, id: JobId, troubles: &[Trouble]) {
        let known = troubles.iter().all(|trouble| trouble.fault == Fault::Unreadable);
        let job = self.jobs.get_mut(id);
        let failed = |step: &Step| {
            let Action::Read { member, at, .. } = step.action else { return false };
            troubles.iter().any(|trouble| (trouble.member, trouble.at) == (member, at))
        };
        // Both headers of a slot are read by neighbouring steps.
        let lost = job.plan.steps.chunks(2).any(|both| both.iter().all(failed));
        if known && !lost {
            self.understand_headers(id);
            return;
        }
        let Some(Kind::Load { region }) = job.kind.take() else { unreachable!("a load") };
        self.end_job(id);
        self.give_log_up(region);
    }

    /// A region's log cannot be read: nothing is redone from it, and what commit logs hold of it is worth nothing either.
    pub(crate) fn give_log_up(&mut self, region: Region) {
        let logs = self.logs.as_mut().expect("only logs are read");
        let recovery = logs.end_recovery(region);
        if let Some(recovery) = &recovery {
            let commits = self.commits();
            recovery.record_names().chain(recovery.intent_names()).for_each(|name| commits.orphan(name));
        }
        self.discard_log(region);
        // Who waited for the recovery goes on waiting until it is durable that the log does not count.
        if recovery.is_some() {
            self.resume_recovered_hosts();
        }
    }
}
