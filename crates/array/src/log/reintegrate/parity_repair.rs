//! Parity repair: parity that a reintegration cannot read is computed and written again, and the
//! pass is repeated.
//!
//! The repaired parity lacks the stripe's live records, as the parity that could not be read did.
//! So the records still count, and a crash before or after the repair makes no difference.
//!
//! No job may write to the stripe meanwhile. A parity repair cannot queue for the stripe's lock,
//! because the lock's holder may be waiting for this reintegration. But such a holder writes
//! nothing until the reintegration ends: the repair can use its lock. Other holders release the
//! lock in the end, and their number is limited by the room in the log.

use parlour_codec::galois::product;
use parlour_units::{Region, Sector, Sectors, Slot, Stripe, Unit};

use super::state::Apply;

use crate::code::{Term, UnitSet};
use crate::columns::{Columns, Window};
use crate::context::Context;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::exec::locks::Mode;
use crate::format::segment::Record;
use crate::ids::JobId;
use crate::job::{ATTEMPTS, Gate, Kind, Purpose, Stage};
use crate::log::Logs;
use crate::log::reintegrate::plan::sectors;
use crate::plan::{Behind, Held, Lost, OnMember, Source, Span};
use crate::signal::Signal;

impl Logs {
    /// Starts to repair the parity that a pass could not read. Returns whether a repair can
    /// succeed.
    pub(in crate::log) fn start_parity_repair(
        &mut self,
        cx: &mut Context,
        pass: JobId,
        region: Region,
        failures: &[FailedAccess],
    ) -> bool {
        let unreadable = failures.iter().filter(|failure| failure.fault == Fault::Unreadable);
        let windows: Vec<Vec<(Window, Unit)>> =
            unreadable.map(|failure| cx.unreadable_windows(failure)).collect();
        // An unreadable part of a log cannot be computed from anything else.
        if windows.is_empty() || windows.iter().any(Vec::is_empty) || self.log_is_lost(cx, region) {
            return false;
        }
        let reintegration = self.reintegration(region);
        reintegration.parity_repairs += 1;
        if reintegration.parity_repairs > ATTEMPTS {
            return false;
        }
        cx.jobs.get_mut(pass).failures = failures.to_vec();
        for (window, unit) in windows.into_iter().flatten() {
            cx.signal(Signal::Repair { parent: pass, window, targets: UnitSet::of(unit) });
        }
        true
    }

    /// Whether a committed write of `region` has left its data half written.
    pub(in crate::log) fn lacks_data(&self, region: Region) -> bool {
        !self.regions[region].unlanded.is_empty()
    }

    /// Whether the job is a repair that a reintegration waits for.
    pub(crate) fn repairs_parity(&mut self, cx: &mut Context, id: JobId) -> bool {
        match cx.jobs.stripe(id).purpose {
            Purpose::Repair { parent } => {
                matches!(cx.jobs.get(parent).kind, Some(Kind::Reintegrate { .. }))
            }
            _ => false,
        }
    }

    /// Whether a repair that could not read segments goes on with other copies of them.
    pub(crate) fn reads_other_copies(
        &mut self,
        cx: &mut Context,
        id: JobId,
        failures: &[FailedAccess],
    ) -> bool {
        let region = cx.jobs.stripe(id).region;
        self.repairs_parity(cx, id) && self.turn_to_other_copies(cx, region, failures)
    }

    /// Passes when only jobs that wait for the reintegration work on the stripe.
    pub(crate) fn parity_repair_gate(&mut self, cx: &mut Context, id: JobId) -> Gate {
        let job = cx.jobs.stripe(id);
        let (region, stripe) = (job.region, job.window.stripe);
        let (locked, holders) = (job.holdings.lock, cx.locks.holders(stripe));
        if self.is_left_to_redo(cx, stripe) {
            // The stripe's data is half written: its parity cannot be computed from it.
            return Gate::Ends(Err(cx.refusal()));
        }
        if locked {
            // The job had the lock before, and now makes another plan.
        } else if holders == 0 {
            cx.jobs.stripe(id).holdings.lock = cx.locks.take(stripe, Mode::Exclusive, id);
        } else if self.settling(cx, region, stripe) < holders {
            self.parity_repairers.park(id);
            return Gate::Wait;
        }
        cx.jobs.stripe(id).stage = Stage::Plan;
        Gate::Pass
    }

    /// The number of jobs that hold the lock of `stripe` and wait for its region's reintegration.
    fn settling(&mut self, cx: &mut Context, region: Region, stripe: Stripe) -> u32 {
        let holds = |id: &JobId| {
            let job = cx.jobs.stripe(*id);
            job.holdings.lock && job.window.stripe == stripe
        };
        self.region(region).waiters.iter().filter(holds).count() as u32
    }

    /// The records that a repair takes into account, beside the units that it reads (those that are
    /// not `missing`).
    ///
    /// The reintegration still has to apply records, to each check unit others. A check unit that
    /// is read lacks its records: they are added to what is computed from it, and what it holds is
    /// taken out where a record replaces that. A check unit that is computed must lack those that
    /// will be applied to it: they are added to it once more.
    ///
    /// The buffers of the records are held until the repair's plan is done.
    pub(crate) fn behind(
        &mut self,
        cx: &mut Context,
        id: JobId,
        missing: UnitSet,
    ) -> Result<Vec<Behind>, Lost> {
        let job = cx.jobs.stripe(id);
        let targets = job.computed();
        let layout = cx.geometry.layout();
        let missing = missing.or(targets);
        let mut list = Vec::new();
        for target in layout.units().filter(|unit| targets.has(*unit)) {
            let terms = cx.geometry.code().decode(target, missing).ok_or(Lost)?;
            let mut checks: Vec<Term> =
                terms.into_iter().filter(|(unit, _)| !cx.geometry.layout().is_data(*unit)).collect();
            checks.extend((!cx.geometry.layout().is_data(target)).then_some((target, 1)));
            checks.into_iter().for_each(|check| self.behind_check(cx, id, target, check, &mut list));
        }
        Ok(list)
    }

    /// Adds the records that `check` lacks in the job's window to `list`: they are to be added to
    /// `target`, each with its own coefficient times `factor`.
    fn behind_check(
        &mut self,
        cx: &mut Context,
        id: JobId,
        target: Unit,
        (check, factor): Term,
        list: &mut Vec<Behind>,
    ) {
        let window = cx.jobs.stripe(id).window;
        let (region, _) = cx.geometry.region_of(window.stripe);
        let location = cx.roster.places(&cx.geometry).locate(window.stripe, check);
        let (from, to) = (location.at + window.columns.from, location.at + window.columns.to);
        let (from, to) = (cx.geometry.absolute(from), cx.geometry.absolute(to));
        for apply in self.unapplied(cx, (window.stripe, check)) {
            let at = apply.at.max(from);
            let end = (apply.at + apply.length).min(to);
            if at < end {
                let start = apply.start + (at - apply.at);
                let columns =
                    Columns::new(window.columns.from + (at - from), window.columns.from + (end - from));
                if apply.overwrites && check != target {
                    let held = Held::Member(in_blocks(apply.member, at, end - at, cx.geometry.block()));
                    list.push(Behind { target, held, columns, coefficient: factor });
                }
                let held = self.held_at(cx, id, region, (&apply, start), columns);
                let coefficient = product(factor, apply.coefficient);
                list.push(Behind { target, held, columns, coefficient });
            }
        }
    }

    /// Where a part of a segment's payload is: in memory, or on a member of the log. There its
    /// whole record is read, and compared with the record's digest.
    fn held_at(
        &mut self,
        cx: &mut Context,
        id: JobId,
        region: Region,
        (apply, start): (&Apply, Sectors),
        columns: Columns,
    ) -> Held {
        let segment = apply.segment;
        if let Some(buffer) = self.segment(segment).buffer {
            cx.buffers.hold(buffer);
            cx.jobs.get_mut(id).held.push(buffer);
            return Held::Memory(Span::new(Source::Buffer(buffer), start, columns.length()));
        }
        let record = *self.record_at(segment, apply.record);
        let (slot, at) = self.segment_at(cx, region, segment);
        Held::Member(OnMember {
            slot,
            at: at + self.header + record.start,
            length: self.stored(&record),
            skip: start - record.start,
            digest: Some(record.digest),
        })
    }

    /// The record whose payload begins here in a segment's payload.
    fn record_at(&self, segment: u32, start: Sectors) -> &Record {
        let holds = |record: &&Record| record.start == start && !record.payload().is_zero();
        let record = self.segment(segment).records.iter().find(holds);
        record.expect("what is applied is a part of a record")
    }

    /// The parts of records that check unit `check` of a stripe lacks: those that the reintegration
    /// still has to apply, and those that came after it. (What a newer one replaces is not among
    /// them.) A check unit on a missing member lacks none: it is computed from the data as it is
    /// now.
    fn unapplied(&self, cx: &Context, (stripe, check): (Stripe, Unit)) -> Vec<Apply> {
        if cx.roster.missing(&cx.geometry, stripe).has(check) {
            return Vec::new();
        }
        let (region, index) = cx.geometry.region_of(stripe);
        let newer = self.newer_than_reintegrated(region, index);
        let mut applies = Vec::new();
        self.applies_of_check(cx, (stripe, check), &newer, u64::MAX, &mut applies);
        let location = cx.roster.places(&cx.geometry).locate(stripe, check);
        let from = cx.geometry.absolute(location.at);
        let to = from + cx.geometry.layout().unit_length();
        let is_of_check = |apply: &Apply| apply.member == location.slot && from <= apply.at && apply.at < to;
        let replaced = |sector: &Apply| {
            let replaces = |newer: &Apply| {
                newer.overwrites && newer.at <= sector.at && sector.at < newer.at + newer.length
            };
            applies.iter().any(replaces)
        };
        let left = self.remaining(region).into_iter().filter(is_of_check).flat_map(sectors);
        let left: Vec<Apply> = left.filter(|sector| !replaced(sector)).collect();
        applies.extend(left);
        self.joined(applies)
    }

    /// The same sectors. Neighbours of one record are one part again.
    fn joined(&self, mut sectors: Vec<Apply>) -> Vec<Apply> {
        sectors.sort_unstable_by_key(|apply| (apply.segment, apply.start, apply.at));
        let mut joined: Vec<Apply> = Vec::with_capacity(sectors.len());
        for apply in sectors {
            let continues = |last: &&mut Apply| {
                let next = (last.segment, last.start + last.length, last.at + last.length);
                next == (apply.segment, apply.start, apply.at) && apply.record < apply.start
            };
            match joined.last_mut().filter(continues) {
                Some(last) => last.length += apply.length,
                None => joined.push(apply),
            }
        }
        joined
    }

    /// The records of a stripe that came after those which are being reintegrated, newest first.
    fn newer_than_reintegrated(&self, region: Region, stripe: u32) -> Vec<(Record, u32)> {
        let log = &self.regions[region];
        let newest = log.reintegrating.as_deref().expect("it is under way").newest;
        let mut newer: Vec<(Record, u32)> = Vec::new();
        for segment in &log.segments {
            let records = self.segment(*segment).records.iter();
            let of_stripe = records.filter(|record| record.stripe == stripe && record.sequence > newest);
            newer.extend(of_stripe.map(|record| (*record, *segment)));
        }
        newer.sort_unstable_by_key(|(record, _)| u64::MAX - record.sequence);
        newer
    }
}

/// A part of the member in `slot`, which is read in whole blocks.
fn in_blocks(slot: Slot, from: Sector, length: Sectors, block: Sectors) -> OnMember {
    let at = Sector::ZERO + from.from_start().round_down(block);
    let end = Sector::ZERO + (from + length).from_start().round_up(block);
    OnMember { slot, at, length: end - at, skip: from - at, digest: None }
}
