//! Recovery of regions after a crash: data and parity are brought up to the durable records.
//! Recovery always redoes and never decides whether to: a durable record is a committed write.
//!
//! After a crash the commit log holds the records whose data may not have been written.
//! Each sector that they name is read. Its checksum shows how many records of its chain it already
//! contains, and the missing differences are xored in; or it is replaced by the content that the
//! last of its records holds, if it is not that. So every sector ends at the last record of
//! its chain, wherever the crash came and however often recovery itself is interrupted. A region is
//! not used before that is done.
//!
//! The record of a whole stripe that is written in place has no payload. If a crash has cut off
//! such a write, units that lack it are computed from those that have it. Where too few have it,
//! data stays old or new, sector by sector, what is missing is lost, and check units are computed
//! from that.
//!
//! For parity that was being rewritten in place, the checksums of an intent show which sectors are
//! already new: these are left alone when the reintegration is done again.

mod budget;
mod cut_off;
mod places;
pub(super) mod recoveries;
pub(super) mod redo;
pub(super) mod remembered;
mod zeroed;

use self::budget::part_of;
use self::cut_off::{CutOff, Settled};
use self::redo::{Redo, Run, Verdict};
use std::collections::{BTreeMap, BTreeSet};

use parlour_units::{Region, Sectors, Slot, Unit};

use self::remembered::{Recovery, Settling};

use super::{Logs, RegionLog};
use crate::buffer::BufferId;
use crate::code::UnitSet;
use crate::columns::{Columns, Window};
use crate::context::Context;
use crate::durable::Durable;
use crate::durable::bad_blocks;
use crate::effect::{Action, Class, Fault};
use crate::exec::job::FailedAccess;
use crate::format::bad_block_log::Full;
use crate::format::commit_entry::Committed;
use crate::format::segment::Record;
use crate::ids::JobId;
use crate::job::Kind;
use crate::plan::{Expected, Plan, Source, Span, Strategy};
use crate::signal::Signal;
use crate::status::Event;

impl Logs {
    /// After a crash: queues all regions that the commit log names for recovery. A few are
    /// recovered at a time, so memory for only these few is needed.
    pub(crate) fn start_recovery(&mut self) {
        let waiting = self.regions.iter().filter(|(_, log)| log.recovery.is_some());
        self.recoveries.waiting = waiting.map(|(region, _)| region).collect();
    }

    /// Hosts wait for `region`: it is recovered before regions that no host waits for.
    pub(crate) fn hasten_recovery(&mut self, region: Region) {
        let waits = self.regions.get(region).is_some_and(|log| log.waits_for_recovery());
        if waits && !self.recoveries.wanted.contains(&region) {
            self.recoveries.wanted.push_back(region);
        }
    }

    /// The content of the region's positions is known: reads the sectors that the records of commit
    /// logs name.
    pub(crate) fn start_redo(&mut self, cx: &mut Context, region: Region) {
        let recovery = self.region(region).recovery.take().expect("there is something to redo");
        self.remember_in_memory(cx, region, &recovery);
        let redo = self.plan_comparison(cx, region, &recovery);
        self.region(region).recovery = Some(recovery);
        let plan = self.comparison_plan(cx, &redo);
        let id = cx.jobs.start(Kind::Redo(redo), Class::Log);
        cx.jobs.get_mut(id).plan = plan;
        cx.run_own(id);
    }

    /// Records that are in no position get room in memory, as if they had just been committed.
    fn remember_in_memory(&mut self, cx: &mut Context, region: Region, recovery: &Recovery) {
        if !self.have_positions() {
            // They are over when what they say is in its place.
            return;
        }
        let segments = self.region(region).segments.clone();
        let known: BTreeSet<u64> = segments
            .iter()
            .flat_map(|index| self.segment(*index).records.iter().map(|record| record.sequence))
            .collect();
        let buffers = &mut cx.buffers;
        for remembered in &recovery.records {
            let record = remembered.committed.record;
            if !known.contains(&record.sequence) {
                let reservation =
                    self.reservation_for(region, self.stored(&record), |length| buffers.take(length));
                let record = Record { start: reservation.start, ..record };
                self.commit_record(reservation.segment, record, Some(remembered.name));
            }
        }
    }

    /// Which sectors of the next part are compared, and where the payloads of its records go.
    fn plan_comparison(&mut self, cx: &mut Context, region: Region, recovery: &Recovery) -> Redo {
        let units = cx.geometry.layout().width();
        let (stripes, goes_on) = recovery.next_part(units, part_of(cx.tuning.scratch_memory));
        let mut redo = Redo {
            region,
            stripes,
            goes_on,
            runs: Vec::new(),
            blanks: Vec::new(),
            payloads: BTreeMap::new(),
            buffers: Vec::new(),
            found: None,
        };
        self.place_payloads(cx, recovery, &mut redo);
        for (stripe, unit, columns) in recovery.runs(&redo.stripes, units, cx.geometry.block()) {
            if self.is_unit_there(cx, region, stripe, unit) {
                let buffer = cx.buffers.take(columns.length());
                redo.buffers.push(buffer);
                redo.runs.push(Run { stripe, unit, columns, buffer });
            }
        }
        self.plan_blanks(cx, region, recovery, &mut redo);
        redo
    }

    /// Where payloads are to be in memory: in their records' segments, or in buffers of their own.
    fn place_payloads(&mut self, cx: &mut Context, recovery: &Recovery, redo: &mut Redo) {
        let segments = self.regions[redo.region].segments.iter().map(|index| self.segment(*index));
        let in_memory: BTreeMap<u64, (BufferId, Sectors)> = segments
            .filter_map(|segment| Some((segment.buffer?, segment)))
            .flat_map(|(buffer, segment)| {
                segment.records.iter().map(move |record| (record.sequence, (buffer, record.start)))
            })
            .collect();
        for index in redo.stripes.values().flatten() {
            if !recovery.needs_payload(*index) {
                continue;
            }
            let record = recovery.record(*index);
            let length = record.payload();
            let (buffer, start) = in_memory.get(&record.sequence).copied().unwrap_or_else(|| {
                let buffer = cx.buffers.take(length);
                redo.buffers.push(buffer);
                (buffer, Sectors::ZERO)
            });
            redo.payloads.insert(*index, Span::new(Source::Buffer(buffer), start, length));
        }
    }

    fn comparison_plan(&self, cx: &Context, redo: &Redo) -> Plan {
        let mut plan = Plan::of(Strategy::Redo);
        let log = &self.regions[redo.region];
        let recovery = log.recovery.as_ref().expect("there is something to redo");
        let mut reads: Vec<(u32, Span, &Committed)> = Vec::new();
        for (index, span) in &redo.payloads {
            let remembered = &recovery.records[*index];
            reads.push((plan.steps.len() as u32, *span, &remembered.committed));
            plan.read(remembered.slot(cx), remembered.at, *span);
        }
        for run in redo.runs.iter().filter(|run| !recovery.unread.contains(&run.first_block())) {
            let (member, at) = self.run_at(cx, redo.region, run);
            plan.read(member, at, Span::new(Source::Buffer(run.buffer), Sectors::ZERO, run.columns.length()));
        }
        plan.next_phase();
        // The records were checked for plausibility when the array was opened, so they fit.
        for (read, span, committed) in reads {
            let sums = committed.changes.iter().map(|change| change.old ^ change.new).collect();
            let part = Columns::new(Sectors::ZERO, span.length);
            plan.verify(span, read, part, Expected::Sums(sums));
        }
        for run in &redo.runs {
            plan.checksum(Span::new(Source::Buffer(run.buffer), Sectors::ZERO, run.columns.length()));
        }
        plan
    }

    /// The content of these blocks matches none of the values that were written there: they are
    /// treated as unreadable. The rest of the part is compared again without them.
    fn leave_out_damaged(&mut self, cx: &mut Context, redo: Redo, damaged: BTreeSet<(u32, Unit, Sectors)>) {
        let Redo { region, buffers, .. } = redo;
        buffers.into_iter().for_each(|buffer| cx.buffers.release(buffer));
        cx.counters.unlike_records += damaged.len() as u64;
        let length = cx.geometry.block();
        for (stripe, unit, from) in &damaged {
            let columns = Columns::new(*from, *from + length);
            let run = Run { stripe: *stripe, unit: *unit, columns, buffer: BufferId::ZEROES };
            let (slot, at) = self.run_at(cx, region, &run);
            cx.events.push_back(Event::BlockDamaged { slot, at, length });
        }
        let log = self.region(region);
        let recovery = log.recovery.as_mut().expect("there is something to redo");
        recovery.block_by_block = true;
        recovery.unreadable.extend(damaged);
        self.start_redo(cx, region);
    }

    /// One of the two plans of a redo is done.
    pub(crate) fn redo_done(&mut self, cx: &mut Context, durable: &mut Durable, id: JobId, mut redo: Redo) {
        let sums = std::mem::take(&mut cx.jobs.get_mut(id).checksums);
        cx.jobs.end(id);
        if redo.found.is_some() {
            self.redone(cx, durable, redo);
            return;
        }
        let plan = self.compare_with_records(cx, &mut redo, &sums);
        let damaged = redo.found.as_mut().map(|found| std::mem::take(&mut found.damaged)).unwrap_or_default();
        if !damaged.is_empty() {
            return self.leave_out_damaged(cx, redo, damaged);
        }
        let id = cx.jobs.start(Kind::Redo(redo), Class::Log);
        cx.jobs.get_mut(id).plan = plan;
        cx.run_own(id);
    }

    /// Finds the place of each sector in its chain. The returned plan brings the sectors up that
    /// lack something and writes those that changed.
    fn compare_with_records(&self, cx: &Context, redo: &mut Redo, sums: &[u64]) -> Plan {
        let log = &self.regions[redo.region];
        let recovery = log.recovery.as_ref().expect("there is something to redo");
        let mut plan = Plan::of(Strategy::Redo);
        redo.fill_blanks(&mut plan, recovery);
        let (mut verdict, mut changed) = (Verdict::default(), Vec::new());
        let mut cut_off: BTreeMap<(u32, Sectors), UnitSet> = BTreeMap::new();
        let mut sums = sums.iter().copied();
        for (number, run) in redo.runs.iter().enumerate() {
            let is_read = !recovery.unread.contains(&run.first_block());
            let of_run = sums.by_ref().take(run.columns.length().get() as usize);
            let of_run = of_run.map(|sum| is_read.then_some(sum));
            let check = !cx.geometry.layout().is_data(run.unit);
            let found = compare_run(recovery, redo, (run, check), of_run);
            for column in found.cut_off {
                cut_off.entry((run.stripe, column)).or_default().insert(run.unit);
            }
            let blocks = found.damaged.into_iter().map(|column| column.round_down(cx.geometry.block()));
            verdict.damaged.extend(blocks.map(|from| (run.stripe, run.unit, from)));
            let missing = found.missing;
            for (index, parts) in &missing {
                for part in parts {
                    let into =
                        Span::new(Source::Buffer(run.buffer), part.from - run.columns.from, part.length());
                    redo.bring_up(&mut plan, (*index, recovery.record(*index)), (into, *part));
                }
            }
            if !missing.is_empty() {
                changed.push(number);
            }
        }
        plan.next_phase();
        for ((stripe, column), units) in cut_off {
            let sector = CutOff { redo, stripe, column, units };
            if let Some(runs) = sector.finish(cx, &mut plan) {
                changed.extend(runs);
                continue;
            }
            let Settled { runs, lost } = sector.settle(cx, &mut plan);
            changed.extend(runs);
            verdict.torn = true;
            verdict.lost.extend(lost);
        }
        plan.next_phase();
        changed.sort_unstable();
        changed.dedup();
        for run in changed.into_iter().map(|number| redo.runs[number]) {
            let (member, at) = self.run_at(cx, redo.region, &run);
            let span = Span::new(Source::Buffer(run.buffer), Sectors::ZERO, run.columns.length());
            plan.write(member, at, span, false);
        }
        self.write_blanks(cx, &mut plan, redo);
        // What hosts read from here on must not change back, even if the log's member is lost in
        // the next crash. (Hosts read nothing of the region before its last part is done.)
        plan.next_phase();
        if !redo.goes_on {
            for (slot, _) in cx.roster.standing() {
                plan.push(Action::Flush { member: slot.into() }, &[]);
            }
        }
        redo.found = Some(verdict);
        plan
    }

    /// One part of the region is brought up to its records.
    fn redone(&mut self, cx: &mut Context, durable: &mut Durable, redo: Redo) {
        let Redo { region, stripes, goes_on, buffers, found, .. } = redo;
        buffers.into_iter().for_each(|buffer| cx.buffers.release(buffer));
        let Verdict { torn, lost, .. } = found.expect("the data was compared");
        let log = self.region(region);
        let recovery = log.recovery.as_mut().expect("it was redone");
        recovery.torn |= torn;
        recovery.lost.extend(lost);
        match stripes.last_key_value() {
            Some((last, _)) if goes_on => {
                recovery.redone = last + 1;
                self.start_redo(cx, region);
            }
            _ => self.region_redone(cx, durable, region),
        }
    }

    /// The whole region is brought up to its records.
    fn region_redone(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        cx.counters.redone += 1;
        let recovery = self.region(region).recovery.as_mut().expect("it was redone");
        if !recovery.torn {
            return self.recovered(cx, durable, region);
        }
        // What could not be compared must be on the list before the table says that all is redone:
        // it will not be compared again.
        let recovery = self.region(region).recovery.take().expect("it was redone");
        self.record_unread(cx, region, &recovery);
        self.region(region).recovery = Some(recovery);
        self.await_settled(cx, durable, region);
    }

    /// Puts blocks that are lost on the bad-block log, and waits for a table that says that
    /// the region is redone. Members whose exclusion is not durable would be believed after a
    /// crash: until then, nothing of this is said.
    fn await_settled(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let mut settling = Settling::Unlisted;
        if !durable.barrier() {
            if self.list_lost(cx, region).is_err() {
                return self.give_log_up(cx, durable, region);
            }
            settling = Settling::Listed;
        }
        let recovery = self.region(region).recovery.as_mut().expect("it was redone");
        recovery.settling = settling;
        durable.await_table(region);
    }

    /// What a missing unit held of a stripe whose write was cut off is lost: it goes on the
    /// bad-block log.
    fn list_lost(&mut self, cx: &mut Context, region: Region) -> Result<(), Full> {
        let recovery = self.region(region).recovery.as_mut().expect("it was redone");
        let lost = std::mem::take(&mut recovery.lost);
        lost.into_iter().try_for_each(|(stripe, unit, from)| {
            let window = block_window(cx, region, stripe, from);
            bad_blocks::record_lost(cx, window, unit)
        })
    }

    /// A table is durable. If it says that `region` is redone, a later recovery takes what stands
    /// there as it is, whichever part of a write that was cut off it may be, and hosts may use the
    /// region. Returns whether the region waited for that.
    pub(crate) fn settle(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) -> bool {
        if !self.regions.get(region).is_some_and(RegionLog::is_settling) {
            return false;
        }
        let settles = self.regions[region].settles();
        if settles.is_some_and(|settles| self.landed[region.as_usize()] >= settles) {
            self.recovered(cx, durable, region);
        } else {
            self.await_settled(cx, durable, region);
        }
        true
    }

    /// The region is redone, and may be used.
    fn recovered(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let recovery = self.end_recovery(region).expect("it was redone");
        let commits = &mut self.commits;
        // Records that were restored to memory have reservations that keep their entries. The
        // differences that were xored in are written, but not all of them are flushed yet.
        recovery.record_names().for_each(|name| commits.redone(name));
        // A member of the log may have been lost meanwhile, and the durable copies of the records
        // with it.
        self.record_unread(cx, region, &recovery);
        if self.log_is_lost(cx, region) || !self.remembered_log_stands(cx, region) {
            let commits = &mut self.commits;
            recovery.intent_names().for_each(|name| commits.orphan(name));
            self.discard_log(cx, durable, region);
        } else if recovery.intents.is_empty() {
            self.region_known(cx, durable, region);
            self.store_recovered(cx, durable, region);
        } else {
            self.finish_intents(cx, region, recovery.intents);
        }
        cx.signal(Signal::ReadsMayGoOn);
    }

    /// Records of many regions, a few in each, must not fill the memory: if it gets tight, segments
    /// are appended although they are not full.
    fn store_recovered(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        let tight = self.in_memory > self.pool_limit() / 4;
        let open = self.region(region).open;
        let open = open.filter(|open| tight && self.segment(*open).unfilled == 0);
        if let Some(open) = open {
            self.close(open);
            cx.counters.short_segments += 1;
            self.append_ready(cx, durable, region);
        }
    }

    /// Blocks that could not be read may lack their records: they go on the bad-block log. No table
    /// counts restored records before the bad-block log is durable, and the commit log keeps the
    /// records until a table counts them. (If the bad-block log has no room, these blocks are not
    /// listed; the array relies on them staying unreadable.)
    fn record_unread(&mut self, cx: &mut Context, region: Region, recovery: &Recovery) {
        for (stripe, unit, from) in &recovery.unreadable {
            let window = block_window(cx, region, *stripe, *from);
            let _full = bad_blocks::record_uncompared(cx, window, *unit);
        }
    }

    /// Some accesses of a redo failed.
    pub(crate) fn redo_broken(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        (id, redo): (JobId, Redo),
        failures: &[FailedAccess],
    ) {
        cx.jobs.end(id);
        let Redo { region, stripes, buffers, .. } = redo;
        buffers.into_iter().for_each(|buffer| cx.buffers.release(buffer));
        let log_lost = !self.remembered_log_stands(cx, region)
            || !self.leave_out_copies(cx, region, failures)
            || cx.still_standing(failures);
        if log_lost {
            return self.give_log_up(cx, durable, region);
        }
        if failures.iter().any(|failure| failure.fault.is_of_space()) {
            return self.stall_region(cx, region);
        }
        self.note_unreadable(cx, region, &stripes, failures);
        self.start_redo(cx, region);
    }

    /// Copies of entries that could not be read, or whose members are gone, are not read again.
    /// Returns whether a copy of each entry is left.
    fn leave_out_copies(&mut self, cx: &Context, region: Region, failures: &[FailedAccess]) -> bool {
        let recovery = self.region(region).recovery.as_mut().expect("there is something to redo");
        let needed: Vec<bool> =
            (0..recovery.records.len()).map(|index| recovery.needs_payload(index)).collect();
        recovery.records.iter_mut().zip(needed).all(|(remembered, needed)| {
            let at = remembered.at;
            let unreadable = |slot: Slot| {
                failures.iter().any(|failure| {
                    let here = failure.at == at && cx.roster.slot_of(failure.member) == Some(slot);
                    failure.fault == Fault::Unreadable && here
                })
            };
            let is_there = |slot: &Slot| cx.roster.member_since(*slot, 0).is_some() && !unreadable(*slot);
            remembered.slots.retain(is_there);
            !remembered.slots.is_empty() || !needed
        })
    }

    /// The next try reads each block by itself. Blocks that were read by themselves and failed are
    /// not read again.
    ///
    /// A member may have been failed: flushes of earlier parts may not count any more, so the
    /// region is redone from its start.
    fn note_unreadable(
        &mut self,
        cx: &mut Context,
        region: Region,
        stripes: &BTreeMap<u32, Vec<usize>>,
        failures: &[FailedAccess],
    ) {
        let (units, block) = (cx.geometry.layout().width(), cx.geometry.block());
        let recovery = self.regions[region].recovery.as_ref().expect("there is something to redo");
        let hit = |part: &(u32, Unit, Columns)| {
            let run = Run { stripe: part.0, unit: part.1, columns: part.2, buffer: BufferId::ZEROES };
            let (slot, at) = self.run_at(cx, region, &run);
            let here =
                |failure: &FailedAccess| failure.at == at && cx.roster.slot_of(failure.member) == Some(slot);
            failures.iter().any(|failure| failure.fault == Fault::Unreadable && here(failure))
        };
        let hits = recovery.runs(stripes, units, block).into_iter().filter(hit);
        let hits: Vec<(u32, Unit, Columns)> = hits.collect();
        let recovery = self.region(region).recovery.as_mut().expect("it was there");
        if recovery.block_by_block {
            for (stripe, unit, columns) in hits {
                let block = (stripe, unit, columns.from);
                // (What could not even be written is not tried again.)
                let is_new = !recovery.unread.contains(&block);
                match is_new && recovery.holds_content(&stripes[&stripe], unit, columns) {
                    true => recovery.unread.insert(block),
                    false => recovery.unreadable.insert(block),
                };
            }
        }
        recovery.block_by_block |= failures.iter().any(|failure| failure.fault == Fault::Unreadable);
        (recovery.redone, recovery.torn) = (0, false);
        recovery.lost.clear();
    }
}

/// The block at `from` of a stripe of `region`.
fn block_window(cx: &Context, region: Region, stripe: u32, from: Sectors) -> Window {
    let stripe = cx.geometry.layout().stripe_in(region, stripe.into()).expect("it was looked up before");
    Window { stripe, columns: Columns::new(from, from + cx.geometry.block()) }
}

/// How the sectors of a run stand to their records.
#[derive(Default)]
struct Compared {
    /// By record: the columns in which its difference, or its content, is missing.
    missing: BTreeMap<usize, Vec<Columns>>,
    /// Columns that lack a write of the whole stripe.
    cut_off: Vec<Sectors>,
    /// Columns that contain nothing that was written there.
    damaged: Vec<Sectors>,
}

/// Finds the place of each sector of a run in its chain. `sums` are the checksums of the sectors,
/// if these were read. What a check unit holds is known only while no record follows on the write
/// of the whole stripe: those that follow may have been added to it.
fn compare_run(
    recovery: &Recovery,
    redo: &Redo,
    (run, check): (&Run, bool),
    sums: impl Iterator<Item = Option<u64>>,
) -> Compared {
    let mut compared = Compared::default();
    let columns = (run.columns.from.get()..run.columns.to.get()).map(Sectors::new);
    for (column, sum) in columns.zip(sums) {
        let chain = recovery.chain(&redo.stripes[&run.stripe], run.unit, column);
        // (Where nothing was read, the content is recorded.)
        match sum.map_or(Some(0), |sum| chain.position(sum)) {
            Some(position) => {
                for (index, _) in &chain.links[position..] {
                    lengthen(compared.missing.entry(*index).or_default(), column);
                }
            }
            None if chain.whole_last => compared.cut_off.push(column),
            None if check => {}
            None => compared.damaged.push(column),
        }
    }
    compared
}

/// Adds `column` to `parts`, all of which lie before it.
fn lengthen(parts: &mut Vec<Columns>, column: Sectors) {
    let end = column + Sectors::new(1);
    match parts.last_mut() {
        Some(last) if last.to == column => last.to = end,
        _ => parts.push(Columns::new(column, end)),
    }
}
