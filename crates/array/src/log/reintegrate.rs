//! Reintegration: a region's log is folded into its parity in bulk (Stodolsky §2, §2.5).
//!
//! The index in memory shows which records still count: going back from the newest record of a
//! stripe, everything that a later overwrite or cancel record covers is left out. Parity that an
//! overwrite record covers starts from zero. All remaining records are xored in, in any order. So
//! log and parity are read in parallel. If memory is short, the parity is done in slices, and for
//! each slice the log is read part by part.
//!
//! The parity is updated in place, so a pass that has begun to write is never repeated. If a member
//! is lost meanwhile, its parity is lost with it, and the parity of the others is complete. Parity
//! that cannot be read is repaired first.

mod intent;
mod parity_repair;
pub(super) mod state;
mod suspend;
mod unrecoverable;

use self::state::{Apply, Reintegration, Run, SegmentRead, Suspect, is_suspect};
use std::collections::BTreeSet;

use parlour_units::{Region, Sector, Sectors, Slot};

use super::{LoadState, Logs, SegmentState};
use crate::array::Array;
use crate::buffer::BufferId;
use crate::columns::{Columns, uncovered};
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::format::segment::{Record, RecordKind};
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{Expected, Plan, Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::roster::SlotState;

impl Array {
    /// A job needs `region`'s parity to be up to date, or room in its log: the region is
    /// reintegrated.
    pub(crate) fn want_parity(&mut self, region: Region) {
        let suspended = self.is_suspended(region);
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        let log = logs.region(region);
        log.wanted = true;
        match log.load {
            LoadState::Unknown => self.start_load(region),
            LoadState::Loading | LoadState::Stalled => {}
            LoadState::Known if !self.cx.writes || suspended => {}
            LoadState::Known if log.queued || log.reintegrating.is_some() => {}
            LoadState::Known => {
                log.queued = true;
                logs.queue.push_back(region);
            }
        }
    }

    /// Reintegrates all regions that have live records.
    pub(crate) fn want_all_parity(&mut self) {
        let Some(logs) = &self.logs else { return };
        let live: Vec<Region> =
            logs.regions.keys().copied().filter(|region| logs.region_is_live(*region)).collect();
        live.into_iter().for_each(|region| self.want_parity(region));
    }

    /// A job no longer uses `region`'s parity in place.
    pub(crate) fn let_go_of_parity(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are held").region(region);
        assert!(log.holders > 0, "parity is let go of as often as it is held");
        log.holders -= 1;
    }

    /// Starts queued reintegrations, as far as there are reintegration buffers. Returns whether it
    /// started any.
    pub(crate) fn start_reintegrations(&mut self) -> bool {
        let mut any = false;
        loop {
            let logs = self.logs.as_mut().expect("only logs are reintegrated");
            if logs.running >= self.cx.tuning.reintegration_buffers.max(1) {
                return any;
            }
            let one_a_log = |region: &Region| {
                let slot = self.commit_slot(*region);
                let logs = self.logs.as_ref().expect("it was there");
                let mut running = logs.regions.iter().filter(|(_, log)| log.reintegrating.is_some());
                !self.cx.geometry.is_journaled() || running.all(|(other, _)| self.commit_slot(*other) != slot)
            };
            let logs = self.logs.as_ref().expect("only logs are reintegrated");
            let mut queue = logs.queue.iter();
            let free = queue.position(|region| {
                // Records that were given up count after a crash until it is durable that they do
                // not: the table must not say before that they are in the parity.
                let given_up =
                    self.cx.geometry.is_journaled() && !self.durable.bitmap().resync_is_durable(*region);
                // One at a time tells of its parity; one that a crash cut off, before all others.
                let slot = self.commit_slot(*region);
                let log = &logs.regions[region];
                let busy = logs.commits.as_ref().is_some_and(|commits| !commits.intents_are_over(slot));
                log.holders == 0 && one_a_log(region) && !given_up && (!busy || log.half_done.is_some())
            });
            let logs = self.logs.as_mut().expect("it was there");
            let Some(region) = free.and_then(|index| logs.queue.remove(index)) else { return any };
            any = true;
            self.start_reintegration(region);
        }
    }

    fn start_reintegration(&mut self, region: Region) {
        let log = &self.logs.as_ref().expect("only logs are reintegrated").regions[&region];
        let begun = log.half_done.as_ref().map(|half| half.newest);
        let (mut applies, mut newest) = self.collect_applies(region, begun.unwrap_or(u64::MAX));
        let half = self.take_half_done(region);
        if !is_planted(Bug::IntentsForgotten) {
            applies = without_done(applies, &half.done);
        }
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let memory: Vec<(u32, BufferId)> = logs.regions[&region]
            .segments
            .iter()
            .filter_map(|index| Some((*index, logs.segment(*index).buffer?)))
            .collect();
        let mut passes = self.split_passes(&applies, &memory, &[]);
        // A reintegration that a crash cut off takes the same records again, and its intents are
        // already in the commit log.
        while begun.is_none()
            && !self.intents_fit(region, &passes, &applies)
            && let Some(middle) = self.middle_record(region)
        {
            (applies, newest) = self.collect_applies(region, middle);
            passes = self.split_passes(&applies, &memory, &[]);
        }
        memory.iter().for_each(|(_, buffer)| self.cx.buffers.hold(*buffer));
        let logs = self.logs.as_mut().expect("it was there");
        logs.running += 1;
        let log = logs.region(region);
        (log.queued, log.wanted) = (false, false);
        let epoch = log.epoch;
        log.epoch = 1 - epoch;
        let reintegration = Reintegration {
            applies,
            passes,
            held: memory,
            newest,
            turn: self.cx.roster.turn(),
            buffers: Vec::new(),
            done: half.done,
            parity_repairs: 0,
            suspects: Vec::new(),
            intents: half.intents,
            told: half.told,
            waiting: None,
            epoch,
            finishing: false,
            flush: 0,
        };
        self.logs.as_mut().expect("it was there").region(region).reintegrating =
            Some(Box::new(reintegration));
        self.next_pass(region);
    }

    /// The parts of records up to number `limit` that are to be xored in, in the order of slots;
    /// and the number of the newest of these records.
    fn collect_applies(&mut self, region: Region, limit: u64) -> (Vec<Apply>, u64) {
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        let indices = logs.region(region).segments.clone();
        // Records with numbers above `limit` wait for a later reintegration: they were committed
        // after a reintegration that a crash cut off, or there is no room for their intents.
        let counts = |record: &&Record| record.sequence <= limit;
        let mut records: Vec<(Record, u32)> = Vec::new();
        for index in indices {
            let segment = logs.segment_mut(index);
            segment.taken = segment.records.iter().take_while(counts).count();
            records.extend(segment.records.iter().map(|record| (*record, index)));
        }
        let taken = records.iter().map(|(record, _)| record).filter(counts);
        let newest = taken.map(|record| record.sequence).max().unwrap_or(0);
        records.sort_unstable_by_key(|(record, _)| (record.stripe, u64::MAX - record.sequence));
        let mut applies = Vec::with_capacity(records.len());
        for stripe in records.chunk_by(|(a, _), (b, _)| a.stripe == b.stripe) {
            self.applies_of_stripe(region, stripe, limit, &mut applies);
        }
        applies.sort_unstable_by_key(|apply| (apply.member, apply.at));
        (applies, newest)
    }

    /// `records` are all records of one stripe, newest first. Records after `limit` are not applied
    /// now, but may cover earlier ones, which then do not count.
    fn applies_of_stripe(
        &self,
        region: Region,
        records: &[(Record, u32)],
        limit: u64,
        applies: &mut Vec<Apply>,
    ) {
        let Some((first, _)) = records.first() else { return };
        let layout = self.cx.geometry.layout();
        let stripe = layout.stripe_in(region, u64::from(first.stripe)).expect("a record is of its region");
        let check = Logs::check_unit(&self.cx.geometry);
        if self.cx.roster.missing(&self.cx.geometry, stripe).has(check) {
            return;
        }
        let location = layout.locate(stripe, check);
        let mut covered: Vec<Columns> = Vec::new();
        for (record, segment) in records {
            for columns in uncovered(record.columns, &covered) {
                if record.kind.has_payload() && record.sequence <= limit {
                    applies.push(Apply {
                        member: location.slot,
                        at: self.cx.geometry.absolute(location.at + columns.from),
                        length: columns.length(),
                        segment: *segment,
                        start: record.start + (columns.from - record.columns.from),
                        overwrites: record.kind == RecordKind::Overwrite,
                    });
                }
            }
            if record.kind != RecordKind::Update && !is_planted(Bug::OverwriteOrderIgnored) {
                covered.push(record.columns);
            }
        }
    }

    /// Cuts the work into passes that fit the reintegration buffer.
    fn split_passes(
        &self,
        applies: &[Apply],
        memory: &[(u32, BufferId)],
        suspects: &[Suspect],
    ) -> Vec<Vec<Run>> {
        let runs = self.runs(applies, suspects);
        let parity = runs.iter().fold(Sectors::ZERO, |sum, run| sum + run.length);
        let stored = self.stored_segments(applies, memory).len() as u64;
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let budget = self.reintegration_budget();
        if parity + logs.segment_length * stored <= budget {
            return if runs.is_empty() { Vec::new() } else { vec![runs] };
        }
        let slice = Sectors::new(budget.get() / 2);
        let mut passes: Vec<Vec<Run>> = Vec::new();
        let mut filled = slice;
        for run in runs {
            if filled + run.length > slice {
                passes.push(Vec::new());
                filled = Sectors::ZERO;
            }
            filled += run.length;
            passes.last_mut().expect("one was pushed").push(run);
        }
        passes.reverse();
        passes
    }

    /// Memory of one reintegration. Each pass takes room in the commit log until all are done: with
    /// a commit log, the budget is larger so that few passes are enough.
    fn reintegration_budget(&self) -> Sectors {
        let regions = self.cx.geometry.layout().logs().expect("a logged layout");
        let log = Sectors::new(regions.shape().segment) * u64::from(regions.segments());
        let least = if self.cx.geometry.is_journaled() { log * 2 } else { Sectors::ZERO };
        self.cx.tuning.reintegration_memory.max(least)
    }

    /// Joins neighbouring applies to runs, across small gaps; suspect sectors are not joined.
    fn runs(&self, applies: &[Apply], suspects: &[Suspect]) -> Vec<Run> {
        let slice = Sectors::new(self.reintegration_budget().get() / 2).max(self.cx.geometry.block());
        let longest = self.cx.tuning.longest_access.min(slice);
        let mut runs: Vec<Run> = Vec::new();
        let block = self.cx.geometry.block();
        for (index, apply) in applies.iter().enumerate() {
            // A reintegration that was cut off may leave single sectors: they are rounded to
            // blocks.
            let at = Sector::ZERO + apply.at.from_start().round_down(block);
            let end = Sector::ZERO + (apply.at + apply.length).from_start().round_up(block);
            let merged = runs.last_mut().filter(|run| {
                run.member == apply.member
                    && at <= run.at + run.length + self.cx.tuning.reintegration_gap
                    && end - run.at <= longest
                    && !self.cx.roster.listed.has(run.member, run.at, end - run.at)
                    && !is_suspect(suspects, run.member, run.at, end - run.at)
            });
            match merged {
                Some(run) => {
                    run.length = run.length.max(end - run.at);
                    run.applies.end = index + 1;
                }
                // An apply that overlaps the last run belongs to it, however long the run gets.
                None => {
                    match runs.last_mut().filter(|run| run.member == apply.member && at < run.at + run.length)
                    {
                        Some(run) => {
                            run.length = run.length.max(end - run.at);
                            run.applies.end = index + 1;
                        }
                        None => runs.push(Run {
                            member: apply.member,
                            at,
                            length: end - at,
                            applies: index..index + 1,
                        }),
                    }
                }
            }
        }
        runs
    }

    /// The segments that `applies` need and that are not in memory, in the order of positions.
    fn stored_segments(&self, applies: &[Apply], memory: &[(u32, BufferId)]) -> Vec<u32> {
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let mut stored: Vec<u32> = applies
            .iter()
            .map(|apply| apply.segment)
            .filter(|index| memory.iter().all(|(held, _)| held != index))
            .collect();
        stored.sort_unstable_by_key(|index| (logs.segment(*index).position, *index));
        stored.dedup();
        stored
    }

    fn next_pass(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let turn = reintegration.turn;
        let Some(runs) = reintegration.passes.last().cloned() else {
            self.reintegrated(region);
            return;
        };
        let id = self.cx.jobs.start(Kind::Reintegrate { region }, Class::Log);
        let mut plan = std::mem::take(&mut self.cx.jobs.get_mut(id).plan);
        self.plan_pass(&mut plan, region, &runs);
        self.cx.jobs.get_mut(id).plan = plan;
        self.start_plan_of(id, turn, None, &[]);
    }

    fn plan_pass(&mut self, plan: &mut Plan, region: Region, runs: &[Run]) {
        plan.strategy = Strategy::Reintegrate;
        // The pass writes more than the blocks that it has read and updated. Parity that came on
        // the bad-block log meanwhile is as unrecoverable as before, and must stay listed.
        plan.keeps_listed = true;
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let reintegration = log.reintegrating.take().expect("it is under way");
        let applies: Vec<Apply> =
            runs.iter().flat_map(|run| reintegration.applies[run.applies.clone()].iter().copied()).collect();
        let parity: Vec<BufferId> = runs.iter().map(|run| self.cx.buffers.take(run.length)).collect();
        for (run, buffer) in runs.iter().zip(&parity) {
            plan.read(run.member, run.at, Span::new(Source::Buffer(*buffer), Sectors::ZERO, run.length));
        }
        let logged = self.cx.geometry.is_journaled();
        let stored = self.stored_segments(&applies, &reintegration.held);
        let chunk = self.chunk_segments(runs).min(stored.len().max(1));
        let segment_length = self.logs.as_ref().expect("only logs are reintegrated").segment_length;
        let chunk_buffers: Vec<BufferId> =
            (0..chunk.min(stored.len())).map(|_| self.cx.buffers.take(segment_length)).collect();
        // The first part of the log is read in parallel with the parity.
        let mut parts = stored.chunks(chunk);
        let first = parts.next().unwrap_or(&[]);
        let reads = self.plan_log_reads(plan, region, (first, &chunk_buffers), &reintegration.suspects);
        plan.next_phase();
        self.verify_payloads(plan, &reads);
        if logged {
            plan_checksums(plan, runs, &parity);
        }
        plan.next_phase();
        zero_overwritten(plan, runs, &parity, &reintegration.applies);
        plan.next_phase();
        let mut sources = reintegration.held.clone();
        sources.extend(first.iter().copied().zip(chunk_buffers.iter().copied()));
        self.plan_applies(plan, runs, &parity, &reintegration, &sources, first);
        for part in parts {
            plan.next_phase();
            let reads = self.plan_log_reads(plan, region, (part, &chunk_buffers), &reintegration.suspects);
            plan.next_phase();
            self.verify_payloads(plan, &reads);
            plan.next_phase();
            let sources: Vec<(u32, BufferId)> =
                part.iter().copied().zip(chunk_buffers.iter().copied()).collect();
            self.plan_applies(plan, runs, &parity, &reintegration, &sources, part);
        }
        plan.next_phase();
        if logged {
            plan_checksums(plan, runs, &parity);
            plan.next_phase();
            plan.commit_before = Some(plan.phase());
        }
        let forgotten = usize::from(is_planted(Bug::LogTruncatedBeforeParity));
        for (run, buffer) in runs.iter().zip(&parity).skip(forgotten) {
            plan.write(
                run.member,
                run.at,
                Span::new(Source::Buffer(*buffer), Sectors::ZERO, run.length),
                false,
            );
        }
        let mut reintegration = reintegration;
        reintegration.buffers = parity;
        reintegration.buffers.extend(chunk_buffers);
        self.logs.as_mut().expect("it was there").region(region).reintegrating = Some(reintegration);
    }

    /// How many segments fit into memory beside the parity of a pass.
    fn chunk_segments(&self, runs: &[Run]) -> usize {
        let parity = runs.iter().fold(Sectors::ZERO, |sum, run| sum + run.length);
        let left = self.reintegration_budget().saturating_sub(parity);
        let segment = self.logs.as_ref().expect("only logs are reintegrated").segment_length;
        ((left / segment) as usize).max(1)
    }

    /// Verifies that segments hold what was appended: a payload that was not written, or has
    /// rotted, must not go into the parity.
    fn verify_payloads(&self, plan: &mut Plan, reads: &[SegmentRead]) {
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        for read in reads.iter().filter(|_| !is_planted(Bug::PayloadsUnverified)) {
            let segment = logs.segment(read.segment);
            let part = Columns::new(read.behind, read.behind + read.length);
            let taken = segment.records[..segment.taken].iter();
            for record in taken.filter(|record| !record.payload().is_zero()) {
                let start = logs.header + record.start;
                let span = Span::new(Source::Buffer(read.buffer), start, record.payload());
                plan.verify(span, read.step, part, Expected::Digest(record.digest));
            }
        }
    }

    /// Reads segments into buffers. Segments that are neighbours on a sublog, and not suspect, are
    /// read in one access.
    fn plan_log_reads(
        &self,
        plan: &mut Plan,
        region: Region,
        (segments, buffers): (&[u32], &[BufferId]),
        suspects: &[Suspect],
    ) -> Vec<SegmentRead> {
        type Stored = ((Slot, Sector), u32, BufferId);
        let stored =
            |(segment, buffer): (&u32, &BufferId)| (self.segment_at(region, *segment), *segment, *buffer);
        let mut stored: Vec<Stored> = segments.iter().zip(buffers).map(stored).collect();
        stored.sort_unstable_by_key(|(location, ..)| *location);
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let (whole, gap) = (logs.segment_length, self.cx.tuning.segment_gap);
        let neighbours = |(a, segment, _): &Stored, (b, ..): &Stored| {
            let full = whole - logs.header - logs.told_length(*segment) < gap;
            full && a.0 == b.0 && a.1 + whole == b.1 && !is_suspect(suspects, a.0, a.1, whole * 2)
        };
        let mut reads = Vec::with_capacity(stored.len());
        for access in stored.chunk_by(neighbours) {
            let (from, step) = (plan.spans.len() as u32, plan.steps.len() as u32);
            let ((slot, at), ..) = access[0];
            let mut behind = Sectors::ZERO;
            for (number, (_, segment, buffer)) in access.iter().enumerate() {
                let last = number + 1 == access.len();
                let length = if last { logs.told_length(*segment) } else { whole };
                plan.spans.push(Span::new(Source::Buffer(*buffer), Sectors::ZERO, length));
                reads.push(SegmentRead { segment: *segment, buffer: *buffer, step, behind, length });
                behind += length;
            }
            plan.close(Action::Read { member: slot.into(), at, length: behind }, from);
        }
        reads
    }

    /// Where a segment that is not in memory is stored.
    fn segment_at(&self, region: Region, index: u32) -> (Slot, Sector) {
        let logs = self.logs.as_ref().expect("only logs are reintegrated");
        let position = logs.segment(index).position.expect("what is not in memory is in a position");
        let layout = self.cx.geometry.layout();
        let (sublog, offset) = layout.logs().expect("a logged layout").segment_at(position);
        let location = layout.sublog_at(region, sublog).expect("a logged layout");
        (location.slot, self.cx.geometry.absolute(location.at + offset))
    }

    /// Xors in the payloads in `sources`. `stored` are the sources that were read with their
    /// header.
    fn plan_applies(
        &self,
        plan: &mut Plan,
        runs: &[Run],
        parity: &[BufferId],
        reintegration: &Reintegration,
        sources: &[(u32, BufferId)],
        stored: &[u32],
    ) {
        let header = self.logs.as_ref().expect("only logs are reintegrated").header;
        for (run, buffer) in runs.iter().zip(parity) {
            for apply in &reintegration.applies[run.applies.clone()] {
                let Some((index, source)) = sources.iter().find(|(index, _)| *index == apply.segment) else {
                    continue;
                };
                let before = if stored.contains(index) { header } else { Sectors::ZERO };
                let record = Span::new(Source::Buffer(*source), before + apply.start, apply.length);
                let destination = Span::new(Source::Buffer(*buffer), apply.at - run.at, apply.length);
                plan.xor_into(destination, [record]);
            }
        }
    }

    pub(crate) fn reintegrate_pass_done(&mut self, id: JobId) {
        let Some(Kind::Reintegrate { region }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a reintegration")
        };
        self.cx.jobs.end(id);
        self.release_pass(region);
        self.reintegration(region).passes.pop();
        self.next_pass(region);
    }

    fn release_pass(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let buffers = std::mem::take(&mut reintegration.buffers);
        buffers.into_iter().for_each(|buffer| self.cx.buffers.release(buffer));
    }

    /// All passes are done. With `journal`, data and parity have to be durable before the records
    /// are dropped: the array waits for the data, flushes all members, and writes the table of
    /// applied records.
    fn reintegrated(&mut self, region: Region) {
        if !self.cx.geometry.is_journaled() {
            return self.drop_reintegrated(region);
        }
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        log.reintegrating.as_mut().expect("it is under way").finishing = true;
        if !log.unlanded.is_empty() {
            return self.give_up_reintegration(region);
        }
        self.reintegration_landed(region);
    }

    /// Data of committed writes was written: a reintegration may have waited for it.
    pub(crate) fn reintegration_landed(&mut self, region: Region) {
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let Some(reintegration) = &mut log.reintegrating else { return };
        if !reintegration.finishing || log.landing[reintegration.epoch] > 0 {
            return;
        }
        reintegration.finishing = false;
        self.flush_reintegration(region);
    }

    fn flush_reintegration(&mut self, region: Region) {
        let turn = self.begin_covering_flush();
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        log.reintegrating.as_mut().expect("it is under way").flush = turn;
        let id = self.cx.jobs.start(Kind::ReintegrateFlush { region }, Class::Log);
        if !is_planted(Bug::ReintegrationFlushSkipped) {
            self.cx.plan_flushes(id);
        }
        self.start_plan(id, None, &[]);
    }

    /// Data and parity are durable, or (unless `whole`) a member failed meanwhile.
    pub(crate) fn reintegration_flushed(&mut self, id: JobId, whole: bool) {
        let Some(Kind::ReintegrateFlush { region }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a flush after a reintegration")
        };
        self.cx.jobs.end(id);
        if !whole {
            return self.flush_reintegration(region);
        }
        // Missing data is computed from the parity, so the parity must not lack any record.
        if self.durable.bitmap().needs_resync(region) && !self.misses_data(region) {
            // Some data was never written: the committed records count until the parity is computed
            // from the data.
            let newer = self.has_newer_records(region);
            self.end_reintegration(region, false);
            return if newer { self.drop_unapplied(region) } else { self.drop_log(region) };
        }
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        let reintegration = logs.region(region).reintegrating.as_ref().expect("it is under way");
        let (turn, newest) = (reintegration.flush, reintegration.newest);
        let known = &mut logs.applied[region.as_usize()];
        *known = (*known).max(newest);
        self.flush_covered(turn);
        if is_planted(Bug::LogEmptiedBeforeTable) {
            self.write_table();
            return self.drop_reintegrated(region);
        }
        self.durable.record_applied(region);
    }

    /// Whether there are records newer than those that are being reintegrated.
    fn has_newer_records(&self, region: Region) -> bool {
        let log = &self.logs.as_ref().expect("only logs are reintegrated").regions[&region];
        let newest = log.reintegrating.as_ref().expect("it is under way").newest;
        let logs = self.logs.as_ref().expect("it was there");
        let mut records = log.segments.iter().flat_map(|index| &logs.segment(*index).records);
        records.any(|record| record.sequence > newest)
    }

    /// The records are in the parity, and nothing needs them any more.
    pub(crate) fn drop_reintegrated(&mut self, region: Region) {
        self.end_reintegration(region, true);
        self.cx.counters.reintegrations += 1;
        self.logs.as_mut().expect("it was there").region(region).reintegrations += 1;
        self.append_ready(region);
        self.check_log_members(region);
    }

    /// Drops the records that were taken (as applied, if `applied`) and wakes the jobs that waited.
    fn end_reintegration(&mut self, region: Region, applied: bool) {
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        let reintegration = logs.region(region).reintegrating.take().expect("it is under way");
        logs.running -= 1;
        if let Some(commits) = &mut logs.commits {
            for name in &reintegration.intents {
                if applied { commits.stored(*name) } else { commits.orphan(*name) }
            }
        }
        reintegration.held.iter().for_each(|(_, buffer)| self.cx.buffers.release(*buffer));
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        for index in logs.region(region).segments.clone() {
            let logs = self.logs.as_mut().expect("only logs are reintegrated");
            let taken = logs.segment(index).taken;
            logs.drop_records(index, if applied { taken } else { 0 });
            self.retire_segment(index);
        }
        let logs = self.logs.as_mut().expect("only logs are reintegrated");
        logs.freed = true;
        if applied {
            let known = &mut logs.applied[region.as_usize()];
            *known = (*known).max(reintegration.newest);
        }
        let log = self.logs.as_mut().expect("it was there").region(region);
        // A job that still needs up-to-date parity asks again.
        log.wanted = false;
        self.cx.runnable.extend(log.waiters.drain(..));
        self.durable.bitmap_mut().touch(&self.cx, region);
        self.resume_hosts();
    }

    /// Part of a pass failed.
    pub(crate) fn reintegrate_broken(&mut self, id: JobId, failures: &[FailedAccess]) {
        let job = self.cx.jobs.get_mut(id);
        let wrote =
            job.plan.steps[job.next_step as usize - 1].phase == job.plan.steps.last().expect("steps").phase;
        let Some(Kind::Reintegrate { region }) = job.kind else { unreachable!("a reintegration") };
        self.release_pass(region);
        if !wrote && self.start_parity_repair(id, region, failures) {
            return;
        }
        self.cx.jobs.end(id);
        if !wrote {
            self.pass_lost(region, failures);
        } else if self.cx.only_members_lost(failures) {
            // The parity on the lost member is lost. The rest is written, and must not be xored in
            // again.
            self.reintegration(region).passes.pop();
            self.next_pass(region);
        } else {
            self.give_up_reintegration(region);
        }
    }

    /// A pass has written nothing, and what it could not read could not be repaired.
    fn pass_lost(&mut self, region: Region, failures: &[FailedAccess]) {
        self.exclude_unreadable_joining_members(failures);
        if self.cx.only_members_lost(failures) && !self.log_is_lost(region) {
            self.drop_missing_runs(region);
            self.next_pass(region);
        } else if self.leave_out(region, failures) {
            self.next_pass(region);
        } else {
            self.give_up_reintegration(region);
        }
    }

    /// The log is given up, and the parity is computed from the data. But if only space or memory
    /// was lacking, the reintegration is suspended.
    fn give_up_reintegration(&mut self, region: Region) {
        if self.may_suspend(region) {
            return self.suspend_reintegration(region);
        }
        self.end_reintegration(region, false);
        self.discard_log(region);
    }

    /// Drops parity whose member was lost: it is no longer updated.
    fn drop_missing_runs(&mut self, region: Region) {
        let health = &self.cx.roster;
        let log = self.logs.as_mut().expect("only logs are reintegrated").region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let turn = reintegration.turn;
        for pass in &mut reintegration.passes {
            pass.retain(|run| health.member_since(run.member, turn).is_some());
        }
        reintegration.passes.retain(|pass| !pass.is_empty());
    }

    /// Whether a segment of `region` is on a member that was failed.
    pub(crate) fn log_is_lost(&self, region: Region) -> bool {
        let Some(logs) = &self.logs else { return false };
        let Some(log) = logs.regions.get(&region) else { return false };
        let lost = |index: &u32| {
            let segment = logs.segment(*index);
            let stored = segment.state == SegmentState::Stored && !segment.records.is_empty();
            stored && !self.segment_stands(region, *index)
        };
        log.segments.iter().any(lost)
    }

    /// Whether the member to which a segment was appended still stands.
    pub(crate) fn segment_stands(&self, region: Region, index: u32) -> bool {
        let (slot, _) = self.segment_at(region, index);
        let turn = self.logs.as_ref().expect("segments are in logs").segment(index).turn;
        self.cx.roster.member_since(slot, turn).is_some()
    }

    /// Whether some of `region`'s data is on no active member.
    pub(crate) fn misses_data(&self, region: Region) -> bool {
        let mut slots = (0..self.cx.geometry.members()).map(Slot::new);
        slots.any(|slot| {
            self.cx.roster.state(slot) != SlotState::Active
                && self.cx.geometry.layout().region_has_data_on(region, slot)
        })
    }
}

/// Adds the computation of the checksums of all parity of a pass.
fn plan_checksums(plan: &mut Plan, runs: &[Run], parity: &[BufferId]) {
    for (run, buffer) in runs.iter().zip(parity) {
        plan.checksum(Span::new(Source::Buffer(*buffer), Sectors::ZERO, run.length));
    }
}

/// `applies` without the sectors whose parity contains them already.
fn without_done(applies: Vec<Apply>, done: &BTreeSet<(Slot, Sector)>) -> Vec<Apply> {
    if done.is_empty() {
        return applies;
    }
    let sectors = applies.into_iter().flat_map(sectors);
    let mut left: Vec<Apply> = sectors.filter(|apply| !done.contains(&(apply.member, apply.at))).collect();
    left.sort_by_key(|apply| (apply.member, apply.at));
    left
}

/// Cuts an apply into single sectors.
fn sectors(apply: Apply) -> impl Iterator<Item = Apply> {
    (0..apply.length.get()).map(Sectors::new).map(move |offset| Apply {
        at: apply.at + offset,
        start: apply.start + offset,
        length: Sectors::new(1),
        ..apply
    })
}

/// Parity that an overwrite record replaces starts from zero.
fn zero_overwritten(plan: &mut Plan, runs: &[Run], parity: &[BufferId], applies: &[Apply]) {
    for (run, buffer) in runs.iter().zip(parity) {
        for apply in applies[run.applies.clone()].iter().filter(|apply| apply.overwrites) {
            plan.xor(Span::new(Source::Buffer(*buffer), apply.at - run.at, apply.length), []);
        }
    }
}
