//! The plan of a reintegration: which parts of records are applied, in which passes, and the steps
//! of a pass.

use std::collections::BTreeSet;

use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};

use crate::buffer::BufferId;
use crate::columns::{Columns, uncovered};
use crate::context::Context;
use crate::effect::Action;
use crate::format::commit_entry::intents_length;
use crate::format::segment::Record;
use crate::log::Logs;
use crate::log::pool::shared::least_of_reintegration;
use crate::log::reintegrate::state::{Apply, Reintegration, Run, SegmentRead, Suspect, is_suspect};
use crate::plan::{Expected, Plan, Source, Span, Strategy};

impl Logs {
    /// The parts of records up to number `limit` that are to be xored in, in the order of slots;
    /// and the number of the newest of these records.
    pub(in crate::log) fn collect_applies(
        &mut self,
        cx: &mut Context,
        region: Region,
        limit: u64,
    ) -> (Vec<Apply>, u64) {
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
    pub(in crate::log) fn applies_of_stripe(
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
        let missing = cx.roster.missing(&cx.geometry, stripe);
        for check in layout.checks().filter(|check| !missing.has(*check)) {
            self.applies_of_check(cx, (stripe, check), records, limit, applies);
        }
    }

    /// The same for one check unit.
    pub(in crate::log) fn applies_of_check(
        &self,
        cx: &Context,
        (stripe, check): (Stripe, Unit),
        records: &[(Record, u32)],
        limit: u64,
        applies: &mut Vec<Apply>,
    ) {
        let location = cx.roster.places(&cx.geometry).locate(stripe, check);
        let mut covered: Vec<Columns> = Vec::new();
        for (record, segment) in records {
            let Some(effect) = record.effect_on(check, cx.geometry.code()) else { continue };
            let parts = uncovered(record.columns, &covered);
            if effect.replaces {
                covered.push(record.columns);
            }
            let Some(coefficient) = effect.adds.filter(|_| record.sequence <= limit) else { continue };
            applies.extend(parts.into_iter().map(|columns| Apply {
                member: location.slot,
                at: cx.geometry.absolute(location.at + columns.from),
                length: columns.length(),
                segment: *segment,
                record: record.start,
                start: record.start + (columns.from - record.columns.from),
                coefficient,
                overwrites: effect.replaces,
            }));
        }
    }

    /// Cuts the work into passes that fit the reintegration buffer.
    pub(in crate::log) fn split_passes(
        &self,
        cx: &Context,
        region: Region,
        applies: &[Apply],
        (memory, suspects): (&[(u32, BufferId)], &[Suspect]),
    ) -> Vec<Vec<Run>> {
        let budget = self.reintegration_budget(cx, region);
        let runs = runs(cx, budget, applies, suspects);
        let parity = runs.iter().fold(Sectors::ZERO, |sum, run| sum + run.length);
        let stored = self.stored_segments(applies, memory).len() as u64;
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

    /// Memory of the region's reintegration. With a commit log, it is enough for few passes.
    fn reintegration_budget(&self, cx: &Context, region: Region) -> Sectors {
        let least = match cx.geometry.is_journaled() {
            true => least_of_reintegration(&cx.geometry),
            false => Sectors::ZERO,
        };
        let share = self.regions.get(region).and_then(|log| log.reintegration_memory);
        share.unwrap_or(cx.tuning.reintegration_memory).max(least)
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

    pub(in crate::log) fn plan_pass(
        &mut self,
        cx: &mut Context,
        plan: &mut Plan,
        region: Region,
        runs: &[Run],
    ) {
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
        let chunk = self.chunk_segments(cx, region, runs).min(stored.len().max(1));
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
        plan_parity_writes(plan, runs, &parity, logged);
        let mut reintegration = reintegration;
        reintegration.buffers = parity;
        reintegration.buffers.extend(chunk_buffers);
        self.region(region).reintegrating = Some(reintegration);
    }

    /// How many segments fit into memory beside the parity of a pass.
    fn chunk_segments(&self, cx: &Context, region: Region, runs: &[Run]) -> usize {
        let parity = runs.iter().fold(Sectors::ZERO, |sum, run| sum + run.length);
        let left = self.reintegration_budget(cx, region).saturating_sub(parity);
        let segment = self.segment_length;
        ((left / segment) as usize).max(1)
    }

    /// Verifies that segments hold what was appended: a payload that was not written, or has
    /// rotted, must not go into the parity.
    fn verify_payloads(&self, plan: &mut Plan, reads: &[SegmentRead]) {
        for read in reads {
            let segment = self.segment(read.segment);
            let part = Columns::new(read.behind, read.behind + read.length);
            let taken = segment.records[..segment.taken].iter();
            for record in taken.filter(|record| !record.payload().is_zero()) {
                let start = self.header + record.start;
                let span = Span::new(Source::Buffer(read.buffer), start, self.stored(record));
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
                plan.add(destination, [(record, apply.coefficient)]);
            }
        }
    }

    /// Whether the commit log has room for the intents of `passes`, at their greatest length.
    pub(in crate::log) fn intents_fit(&self, cx: &Context, passes: &[Vec<Run>], applies: &[Apply]) -> bool {
        if !self.commits.exist() {
            return true;
        }
        let lengths = |run: &Run| applies[run.applies.clone()].iter().map(|apply| apply.length.get());
        let entry = |runs: &Vec<Run>| {
            let parts: Vec<u64> = runs.iter().flat_map(lengths).collect();
            intents_length(parts.len() as u64, parts.iter().sum(), cx.geometry.block()).get()
        };
        passes.iter().map(entry).sum::<u64>() <= self.commits.intent_room()
    }

    /// The number of the record in the middle of those that a reintegration is about to take,
    /// unless it is the only one.
    pub(in crate::log) fn middle_record(&self, region: Region) -> Option<u64> {
        let segments = self.regions[region].segments.iter().map(|index| self.segment(*index));
        let mut taken: Vec<u64> = segments
            .flat_map(|segment| segment.records[..segment.taken].iter().map(|record| record.sequence))
            .collect();
        taken.sort_unstable();
        (taken.len() > 1).then(|| taken[(taken.len() - 1) / 2])
    }
}

/// Joins neighbouring applies to runs, across small gaps; suspect sectors are not joined.
fn runs(cx: &Context, budget: Sectors, applies: &[Apply], suspects: &[Suspect]) -> Vec<Run> {
    let slice = Sectors::new(budget.get() / 2).max(cx.geometry.block());
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
                && !cx.roster.listed().has(run.member, run.at, end - run.at)
                && !is_suspect(suspects, run.member, run.at, end - run.at)
        });
        match merged {
            Some(run) => {
                run.length = run.length.max(end - run.at);
                run.applies.end = index + 1;
            }
            // An apply that overlaps the last run belongs to it, however long the run gets.
            None => {
                match runs.last_mut().filter(|run| run.member == apply.member && at < run.at + run.length) {
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

/// Writes the parity of a pass; if there are intents for it (`intended`), once these are durable.
fn plan_parity_writes(plan: &mut Plan, runs: &[Run], parity: &[BufferId], intended: bool) {
    plan.next_phase();
    if intended {
        plan_checksums(plan, runs, parity);
        plan.next_phase();
        plan.commit_before = Some(plan.phase());
    }
    for (run, buffer) in runs.iter().zip(parity) {
        let span = Span::new(Source::Buffer(*buffer), Sectors::ZERO, run.length);
        plan.write(run.member, run.at, span, false);
    }
}

/// Adds the computation of the checksums of all parity of a pass.
pub(in crate::log) fn plan_checksums(plan: &mut Plan, runs: &[Run], parity: &[BufferId]) {
    for (run, buffer) in runs.iter().zip(parity) {
        plan.checksum(Span::new(Source::Buffer(*buffer), Sectors::ZERO, run.length));
    }
}

/// `applies` without the sectors whose parity contains them already.
pub(in crate::log) fn without_done(applies: Vec<Apply>, done: &BTreeSet<(Slot, Sector)>) -> Vec<Apply> {
    if done.is_empty() {
        return applies;
    }
    let sectors = applies.into_iter().flat_map(sectors);
    let mut left: Vec<Apply> = sectors.filter(|apply| !done.contains(&(apply.member, apply.at))).collect();
    left.sort_by_key(|apply| (apply.member, apply.at));
    left
}

/// Cuts an apply into single sectors.
pub(in crate::log) fn sectors(apply: Apply) -> impl Iterator<Item = Apply> {
    (0..apply.length.get()).map(Sectors::new).map(move |offset| Apply {
        at: apply.at + offset,
        start: apply.start + offset,
        length: Sectors::new(1),
        ..apply
    })
}

/// Parity that an overwrite record replaces starts from zero.
pub(in crate::log) fn zero_overwritten(
    plan: &mut Plan,
    runs: &[Run],
    parity: &[BufferId],
    applies: &[Apply],
) {
    for (run, buffer) in runs.iter().zip(parity) {
        for apply in applies[run.applies.clone()].iter().filter(|apply| apply.overwrites) {
            plan.xor(Span::new(Source::Buffer(*buffer), apply.at - run.at, apply.length), []);
        }
    }
}
