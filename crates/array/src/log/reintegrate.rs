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
use crate::buffer::BufferId;
use crate::columns::{Columns, uncovered};
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Action, Class};
use crate::exec::job::FailedAccess;
use crate::format::segment::{Record, RecordKind};
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::commit::commit_slot;
use crate::plan::{Expected, Plan, Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::roster::SlotState;
use crate::signal::Signal;

impl Logs {
    /// A job needs `region`'s parity to be up to date, or room in its log: the region is
    /// reintegrated.
    pub(crate) fn want_parity(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let suspended = self.is_suspended(cx, region);
        let log = self.region(region);
        log.wanted = true;
        match log.load {
            LoadState::Unknown => self.start_load(cx, durable, region),
            LoadState::Loading | LoadState::Stalled => {}
            LoadState::Known if !cx.writes || suspended => {}
            LoadState::Known if log.queued || log.reintegrating.is_some() => {}
            LoadState::Known => {
                log.queued = true;
                self.queue.push_back(region);
            }
        }
    }

    /// Reintegrates all regions that have live records.
    pub(crate) fn want_all_parity(&mut self, cx: &mut Context, durable: &mut Durable) {
        let live: Vec<Region> =
            self.regions.keys().copied().filter(|region| self.region_is_live(*region)).collect();
        live.into_iter().for_each(|region| self.want_parity(cx, durable, region));
    }

    /// A job no longer uses `region`'s parity in place.
    pub(crate) fn let_go_of_parity(&mut self, region: Region) {
        let log = self.region(region);
        assert!(log.holders > 0, "parity is let go of as often as it is held");
        log.holders -= 1;
    }

    /// Starts queued reintegrations, as far as there are reintegration buffers. Returns whether it
    /// started any.
    pub(crate) fn start_reintegrations(&mut self, cx: &mut Context, durable: &mut Durable) -> bool {
        let mut any = false;
        loop {
            if self.running >= cx.tuning.reintegration_buffers.max(1) {
                return any;
            }
            let one_a_log = |region: &Region| {
                let slot = commit_slot(cx, *region);
                let mut running = self.regions.iter().filter(|(_, log)| log.reintegrating.is_some());
                !cx.geometry.is_journaled() || running.all(|(other, _)| commit_slot(cx, *other) != slot)
            };
            let mut queue = self.queue.iter();
            let free = queue.position(|region| {
                // Records that were given up count after a crash until it is durable that they do
                // not: the table must not say before that they are in the parity.
                let given_up = cx.geometry.is_journaled() && !durable.bitmap().resync_is_durable(*region);
                // One at a time tells of its parity; one that a crash cut off, before all others.
                let slot = commit_slot(cx, *region);
                let log = &self.regions[region];
                let busy = self.commits.exist() && !self.commits.intents_are_over(slot);
                log.holders == 0 && one_a_log(region) && !given_up && (!busy || log.half_done.is_some())
            });
            let Some(region) = free.and_then(|index| self.queue.remove(index)) else { return any };
            any = true;
            self.start_reintegration(cx, durable, region);
        }
    }

    fn start_reintegration(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let log = &self.regions[&region];
        let begun = log.half_done.as_ref().map(|half| half.newest);
        let (mut applies, mut newest) = self.collect_applies(cx, region, begun.unwrap_or(u64::MAX));
        let half = self.take_half_done(region);
        if !is_planted(Bug::IntentsForgotten) {
            applies = without_done(applies, &half.done);
        }
        let memory: Vec<(u32, BufferId)> = self.regions[&region]
            .segments
            .iter()
            .filter_map(|index| Some((*index, self.segment(*index).buffer?)))
            .collect();
        let mut passes = self.split_passes(cx, &applies, &memory, &[]);
        // A reintegration that a crash cut off takes the same records again, and its intents are
        // already in the commit log.
        while begun.is_none()
            && !self.intents_fit(cx, region, &passes, &applies)
            && let Some(middle) = self.middle_record(region)
        {
            (applies, newest) = self.collect_applies(cx, region, middle);
            passes = self.split_passes(cx, &applies, &memory, &[]);
        }
        memory.iter().for_each(|(_, buffer)| cx.buffers.hold(*buffer));
        self.running += 1;
        let log = self.region(region);
        (log.queued, log.wanted) = (false, false);
        let epoch = log.epoch;
        log.epoch = 1 - epoch;
        let reintegration = Reintegration {
            applies,
            passes,
            held: memory,
            newest,
            turn: cx.roster.turn(),
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
        self.region(region).reintegrating = Some(Box::new(reintegration));
        self.next_pass(cx, durable, region);
    }

    /// The parts of records up to number `limit` that are to be xored in, in the order of slots;
    /// and the number of the newest of these records.
    fn collect_applies(&mut self, cx: &mut Context, region: Region, limit: u64) -> (Vec<Apply>, u64) {
        let indices = self.region(region).segments.clone();
        // Records with numbers above `limit` wait for a later reintegration: they were committed
        // after a reintegration that a crash cut off, or there is no room for their intents.
        let counts = |record: &&Record| record.sequence <= limit;
        let mut records: Vec<(Record, u32)> = Vec::new();
        for index in indices {
            let segment = self.segment_mut(index);
            segment.taken = segment.records.iter().take_while(counts).count();
            records.extend(segment.records.iter().map(|record| (*record, index)));
        }
        let taken = records.iter().map(|(record, _)| record).filter(counts);
        let newest = taken.map(|record| record.sequence).max().unwrap_or(0);
        records.sort_unstable_by_key(|(record, _)| (record.stripe, u64::MAX - record.sequence));
        let mut applies = Vec::with_capacity(records.len());
        for stripe in records.chunk_by(|(a, _), (b, _)| a.stripe == b.stripe) {
            self.applies_of_stripe(cx, region, stripe, limit, &mut applies);
        }
        applies.sort_unstable_by_key(|apply| (apply.member, apply.at));
        (applies, newest)
    }

    /// `records` are all records of one stripe, newest first. Records after `limit` are not applied
    /// now, but may cover earlier ones, which then do not count.
    fn applies_of_stripe(
        &self,
        cx: &Context,
        region: Region,
        records: &[(Record, u32)],
        limit: u64,
        applies: &mut Vec<Apply>,
    ) {
        let Some((first, _)) = records.first() else { return };
        let layout = cx.geometry.layout();
        let stripe = layout.stripe_in(region, u64::from(first.stripe)).expect("a record is of its region");
        let check = Logs::check_unit(&cx.geometry);
        if cx.roster.missing(&cx.geometry, stripe).has(check) {
            return;
        }
        let location = layout.locate(stripe, check);
        let mut covered: Vec<Columns> = Vec::new();
        for (record, segment) in records {
            for columns in uncovered(record.columns, &covered) {
                if record.kind.has_payload() && record.sequence <= limit {
                    applies.push(Apply {
                        member: location.slot,
                        at: cx.geometry.absolute(location.at + columns.from),
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
        cx: &Context,
        applies: &[Apply],
        memory: &[(u32, BufferId)],
        suspects: &[Suspect],
    ) -> Vec<Vec<Run>> {
        let runs = self.runs(cx, applies, suspects);
        let parity = runs.iter().fold(Sectors::ZERO, |sum, run| sum + run.length);
        let stored = self.stored_segments(applies, memory).len() as u64;
        let budget = self.reintegration_budget(cx);
        if parity + self.segment_length * stored <= budget {
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
    fn reintegration_budget(&self, cx: &Context) -> Sectors {
        let regions = cx.geometry.layout().logs().expect("a logged layout");
        let log = Sectors::new(regions.shape().segment) * u64::from(regions.segments());
        let least = if cx.geometry.is_journaled() { log * 2 } else { Sectors::ZERO };
        cx.tuning.reintegration_memory.max(least)
    }

    /// Joins neighbouring applies to runs, across small gaps; suspect sectors are not joined.
    fn runs(&self, cx: &Context, applies: &[Apply], suspects: &[Suspect]) -> Vec<Run> {
        let slice = Sectors::new(self.reintegration_budget(cx).get() / 2).max(cx.geometry.block());
        let longest = cx.tuning.longest_access.min(slice);
        let mut runs: Vec<Run> = Vec::new();
        let block = cx.geometry.block();
        for (index, apply) in applies.iter().enumerate() {
            // A reintegration that was cut off may leave single sectors: they are rounded to
            // blocks.
            let at = Sector::ZERO + apply.at.from_start().round_down(block);
            let end = Sector::ZERO + (apply.at + apply.length).from_start().round_up(block);
            let merged = runs.last_mut().filter(|run| {
                run.member == apply.member
                    && at <= run.at + run.length + cx.tuning.reintegration_gap
                    && end - run.at <= longest
                    && !cx.roster.listed.has(run.member, run.at, end - run.at)
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
        let mut stored: Vec<u32> = applies
            .iter()
            .map(|apply| apply.segment)
            .filter(|index| memory.iter().all(|(held, _)| held != index))
            .collect();
        stored.sort_unstable_by_key(|index| (self.segment(*index).position, *index));
        stored.dedup();
        stored
    }

    fn next_pass(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let log = self.region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let turn = reintegration.turn;
        let Some(runs) = reintegration.passes.last().cloned() else {
            self.reintegrated(cx, durable, region);
            return;
        };
        let id = cx.jobs.start(Kind::Reintegrate { region }, Class::Log);
        let mut plan = std::mem::take(&mut cx.jobs.get_mut(id).plan);
        self.plan_pass(cx, &mut plan, region, &runs);
        cx.jobs.get_mut(id).plan = plan;
        cx.run(id, turn, None, &[]);
    }

    fn plan_pass(&mut self, cx: &mut Context, plan: &mut Plan, region: Region, runs: &[Run]) {
        plan.strategy = Strategy::Reintegrate;
        // The pass writes more than the blocks that it has read and updated. Parity that came on
        // the bad-block log meanwhile is as unrecoverable as before, and must stay listed.
        plan.keeps_listed = true;
        let log = self.region(region);
        let reintegration = log.reintegrating.take().expect("it is under way");
        let applies: Vec<Apply> =
            runs.iter().flat_map(|run| reintegration.applies[run.applies.clone()].iter().copied()).collect();
        let parity: Vec<BufferId> = runs.iter().map(|run| cx.buffers.take(run.length)).collect();
        for (run, buffer) in runs.iter().zip(&parity) {
            plan.read(run.member, run.at, Span::new(Source::Buffer(*buffer), Sectors::ZERO, run.length));
        }
        let logged = cx.geometry.is_journaled();
        let stored = self.stored_segments(&applies, &reintegration.held);
        let chunk = self.chunk_segments(cx, runs).min(stored.len().max(1));
        let segment_length = self.segment_length;
        let chunk_buffers: Vec<BufferId> =
            (0..chunk.min(stored.len())).map(|_| cx.buffers.take(segment_length)).collect();
        // The first part of the log is read in parallel with the parity.
        let mut parts = stored.chunks(chunk);
        let first = parts.next().unwrap_or(&[]);
        let reads = self.plan_log_reads(cx, plan, region, (first, &chunk_buffers), &reintegration.suspects);
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
            let reads =
                self.plan_log_reads(cx, plan, region, (part, &chunk_buffers), &reintegration.suspects);
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
        self.region(region).reintegrating = Some(reintegration);
    }

    /// How many segments fit into memory beside the parity of a pass.
    fn chunk_segments(&self, cx: &Context, runs: &[Run]) -> usize {
        let parity = runs.iter().fold(Sectors::ZERO, |sum, run| sum + run.length);
        let left = self.reintegration_budget(cx).saturating_sub(parity);
        let segment = self.segment_length;
        ((left / segment) as usize).max(1)
    }

    /// Verifies that segments hold what was appended: a payload that was not written, or has
    /// rotted, must not go into the parity.
    fn verify_payloads(&self, plan: &mut Plan, reads: &[SegmentRead]) {
        for read in reads.iter().filter(|_| !is_planted(Bug::PayloadsUnverified)) {
            let segment = self.segment(read.segment);
            let part = Columns::new(read.behind, read.behind + read.length);
            let taken = segment.records[..segment.taken].iter();
            for record in taken.filter(|record| !record.payload().is_zero()) {
                let start = self.header + record.start;
                let span = Span::new(Source::Buffer(read.buffer), start, record.payload());
                plan.verify(span, read.step, part, Expected::Digest(record.digest));
            }
        }
    }

    /// Reads segments into buffers. Segments that are neighbours on a sublog, and not suspect, are
    /// read in one access.
    fn plan_log_reads(
        &self,
        cx: &Context,
        plan: &mut Plan,
        region: Region,
        (segments, buffers): (&[u32], &[BufferId]),
        suspects: &[Suspect],
    ) -> Vec<SegmentRead> {
        type Stored = ((Slot, Sector), u32, BufferId);
        let stored =
            |(segment, buffer): (&u32, &BufferId)| (self.segment_at(cx, region, *segment), *segment, *buffer);
        let mut stored: Vec<Stored> = segments.iter().zip(buffers).map(stored).collect();
        stored.sort_unstable_by_key(|(location, ..)| *location);
        let (whole, gap) = (self.segment_length, cx.tuning.segment_gap);
        let neighbours = |(a, segment, _): &Stored, (b, ..): &Stored| {
            let full = whole - self.header - self.told_length(*segment) < gap;
            full && a.0 == b.0 && a.1 + whole == b.1 && !is_suspect(suspects, a.0, a.1, whole * 2)
        };
        let mut reads = Vec::with_capacity(stored.len());
        for access in stored.chunk_by(neighbours) {
            let (from, step) = (plan.spans.len() as u32, plan.steps.len() as u32);
            let ((slot, at), ..) = access[0];
            let mut behind = Sectors::ZERO;
            for (number, (_, segment, buffer)) in access.iter().enumerate() {
                let last = number + 1 == access.len();
                let length = if last { self.told_length(*segment) } else { whole };
                plan.spans.push(Span::new(Source::Buffer(*buffer), Sectors::ZERO, length));
                reads.push(SegmentRead { segment: *segment, buffer: *buffer, step, behind, length });
                behind += length;
            }
            plan.close(Action::Read { member: slot.into(), at, length: behind }, from);
        }
        reads
    }

    /// Where a segment that is not in memory is stored.
    fn segment_at(&self, cx: &Context, region: Region, index: u32) -> (Slot, Sector) {
        let position = self.segment(index).position.expect("what is not in memory is in a position");
        let layout = cx.geometry.layout();
        let (sublog, offset) = layout.logs().expect("a logged layout").segment_at(position);
        let location = layout.sublog_at(region, sublog).expect("a logged layout");
        (location.slot, cx.geometry.absolute(location.at + offset))
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
        let header = self.header;
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

    pub(crate) fn reintegrate_pass_done(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId) {
        let Some(Kind::Reintegrate { region }) = cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a reintegration")
        };
        cx.jobs.end(id);
        self.release_pass(cx, region);
        self.reintegration(region).passes.pop();
        self.next_pass(cx, durable, region);
    }

    fn release_pass(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let buffers = std::mem::take(&mut reintegration.buffers);
        buffers.into_iter().for_each(|buffer| cx.buffers.release(buffer));
    }

    /// All passes are done. With `journal`, data and parity have to be durable before the records
    /// are dropped: the array waits for the data, flushes all members, and writes the table of
    /// applied records.
    fn reintegrated(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if !cx.geometry.is_journaled() {
            return self.drop_reintegrated(cx, durable, region);
        }
        let log = self.region(region);
        log.reintegrating.as_mut().expect("it is under way").finishing = true;
        if !log.unlanded.is_empty() {
            return self.give_up_reintegration(cx, durable, region);
        }
        self.reintegration_landed(cx, region);
    }

    /// Data of committed writes was written: a reintegration may have waited for it.
    pub(crate) fn reintegration_landed(&mut self, cx: &mut Context, region: Region) {
        let log = self.region(region);
        let Some(reintegration) = &mut log.reintegrating else { return };
        if !reintegration.finishing || log.landing[reintegration.epoch] > 0 {
            return;
        }
        reintegration.finishing = false;
        self.flush_reintegration(cx, region);
    }

    fn flush_reintegration(&mut self, cx: &mut Context, region: Region) {
        let turn = self.begin_covering_flush();
        let log = self.region(region);
        log.reintegrating.as_mut().expect("it is under way").flush = turn;
        let id = cx.jobs.start(Kind::ReintegrateFlush { region }, Class::Log);
        if !is_planted(Bug::ReintegrationFlushSkipped) {
            cx.plan_flushes(id);
        }
        cx.run_own(id);
    }

    /// Data and parity are durable, or (unless `whole`) a member failed meanwhile.
    pub(crate) fn reintegration_flushed(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        whole: bool,
    ) {
        let Some(Kind::ReintegrateFlush { region }) = cx.jobs.get_mut(id).kind.take() else {
            unreachable!("a flush after a reintegration")
        };
        cx.jobs.end(id);
        if !whole {
            return self.flush_reintegration(cx, region);
        }
        // Missing data is computed from the parity, so the parity must not lack any record.
        if durable.bitmap().needs_resync(region) && !self.misses_data(cx, region) {
            // Some data was never written: the committed records count until the parity is computed
            // from the data.
            let newer = self.has_newer_records(region);
            self.end_reintegration(cx, durable, region, false);
            return if newer { self.drop_unapplied(cx, durable, region) } else { self.drop_log(cx, region) };
        }
        let reintegration = self.region(region).reintegrating.as_ref().expect("it is under way");
        let (turn, newest) = (reintegration.flush, reintegration.newest);
        let known = &mut self.applied[region.as_usize()];
        *known = (*known).max(newest);
        self.flush_covered(turn);
        if is_planted(Bug::LogEmptiedBeforeTable) {
            let table = self.table();
            let (id, progress) = durable.write_table(cx, table);
            cx.signal_progress(id, progress);
            return self.drop_reintegrated(cx, durable, region);
        }
        durable.record_applied(region);
    }

    /// Whether there are records newer than those that are being reintegrated.
    fn has_newer_records(&self, region: Region) -> bool {
        let log = &self.regions[&region];
        let newest = log.reintegrating.as_ref().expect("it is under way").newest;
        let mut records = log.segments.iter().flat_map(|index| &self.segment(*index).records);
        records.any(|record| record.sequence > newest)
    }

    /// The records are in the parity, and nothing needs them any more.
    pub(crate) fn drop_reintegrated(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        self.end_reintegration(cx, durable, region, true);
        cx.counters.reintegrations += 1;
        self.region(region).reintegrations += 1;
        self.append_ready(cx, durable, region);
        self.check_log_members(cx, durable, region);
    }

    /// Drops the records that were taken (as applied, if `applied`) and wakes the jobs that waited.
    fn end_reintegration(&mut self, cx: &mut Context, durable: &mut Durable, region: Region, applied: bool) {
        let reintegration = self.region(region).reintegrating.take().expect("it is under way");
        self.running -= 1;
        for name in &reintegration.intents {
            if applied { self.commits.stored(*name) } else { self.commits.orphan(*name) }
        }
        reintegration.held.iter().for_each(|(_, buffer)| cx.buffers.release(*buffer));
        for index in self.region(region).segments.clone() {
            let taken = self.segment(index).taken;
            self.drop_records(index, if applied { taken } else { 0 });
            self.retire_segment(cx, index);
        }
        self.freed = true;
        if applied {
            let known = &mut self.applied[region.as_usize()];
            *known = (*known).max(reintegration.newest);
        }
        let log = self.region(region);
        // A job that still needs up-to-date parity asks again.
        log.wanted = false;
        cx.runnable.extend(log.waiters.drain(..));
        durable.bitmap_mut().touch(cx, region);
        cx.signal(Signal::FlushesMayStart);
    }

    /// Part of a pass failed.
    pub(crate) fn reintegrate_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        failures: &[FailedAccess],
    ) {
        let job = cx.jobs.get_mut(id);
        let wrote =
            job.plan.steps[job.next_step as usize - 1].phase == job.plan.steps.last().expect("steps").phase;
        let Some(Kind::Reintegrate { region }) = job.kind else { unreachable!("a reintegration") };
        self.release_pass(cx, region);
        if !wrote && self.start_parity_repair(cx, id, region, failures) {
            return;
        }
        cx.jobs.end(id);
        if !wrote {
            cx.signal(Signal::PassLost(region, failures.to_vec()));
        } else if cx.only_members_lost(failures) {
            // The parity on the lost member is lost. The rest is written, and must not be xored in
            // again.
            self.reintegration(region).passes.pop();
            self.next_pass(cx, durable, region);
        } else {
            self.give_up_reintegration(cx, durable, region);
        }
    }

    /// A pass has written nothing, and what it could not read could not be repaired.
    pub(crate) fn pass_lost(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        region: Region,
        failures: &[FailedAccess],
    ) {
        if cx.only_members_lost(failures) && !self.log_is_lost(cx, region) {
            self.drop_missing_runs(cx, region);
            self.next_pass(cx, durable, region);
        } else if self.leave_out(cx, region, failures) {
            self.next_pass(cx, durable, region);
        } else {
            self.give_up_reintegration(cx, durable, region);
        }
    }

    /// The log is given up, and the parity is computed from the data. But if only space or memory
    /// was lacking, the reintegration is suspended.
    fn give_up_reintegration(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        if self.may_suspend(cx, region) {
            return self.suspend_reintegration(cx, region);
        }
        self.end_reintegration(cx, durable, region, false);
        self.discard_log(cx, durable, region);
    }

    /// Drops parity whose member was lost: it is no longer updated.
    fn drop_missing_runs(&mut self, cx: &mut Context, region: Region) {
        let roster = &cx.roster;
        let log = self.region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let turn = reintegration.turn;
        for pass in &mut reintegration.passes {
            pass.retain(|run| roster.member_since(run.member, turn).is_some());
        }
        reintegration.passes.retain(|pass| !pass.is_empty());
    }

    /// Whether a segment of `region` is on a member that was failed.
    pub(crate) fn log_is_lost(&self, cx: &Context, region: Region) -> bool {
        let Some(log) = self.regions.get(&region) else { return false };
        let lost = |index: &u32| {
            let segment = self.segment(*index);
            let stored = segment.state == SegmentState::Stored && !segment.records.is_empty();
            stored && !self.segment_stands(cx, region, *index)
        };
        log.segments.iter().any(lost)
    }

    /// Whether the member to which a segment was appended still stands.
    pub(crate) fn segment_stands(&self, cx: &Context, region: Region, index: u32) -> bool {
        let (slot, _) = self.segment_at(cx, region, index);
        let turn = self.segment(index).turn;
        cx.roster.member_since(slot, turn).is_some()
    }

    /// Whether some of `region`'s data is on no active member.
    pub(crate) fn misses_data(&self, cx: &Context, region: Region) -> bool {
        let mut slots = (0..cx.geometry.members()).map(Slot::new);
        slots.any(|slot| {
            cx.roster.state(slot) != SlotState::Active
                && cx.geometry.layout().region_has_data_on(region, slot)
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
