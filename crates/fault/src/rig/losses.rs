//! What the array may report as lost: data for which less is left than the organization needs.

use std::collections::BTreeSet;

use parlour_array::{Mode, RequestError};
use parlour_units::{Sector, Sectors, Slot, Stripe, Unit};

use super::Rig;
use crate::disk::Disk;
use crate::hosts::Failed;
use crate::request::{Ask, Range};
use crate::violation::Violation;

impl Rig<'_> {
    /// Whether the array may answer a request so.
    pub(crate) fn may_fail(&self, failed: &Failed) -> bool {
        let Failed { ask, range, error, beside_kept, .. } = failed;
        match error {
            RequestError::Stopping => matches!(self.mode(), Mode::Stopping | Mode::Stopped),
            // (An array that finds no copy of an acknowledged write any more halts.)
            RequestError::NoSpace => {
                let halted = self.limits.beyond && self.mode() == Mode::Halted;
                halted || self.status().counters.out_of_space
            }
            RequestError::NotFast => matches!(ask, Ask::Zero { fast_only: true, .. }),
            RequestError::Lost => {
                let lacking = ask.changes() && self.limits.beyond && *beside_kept;
                lacking || self.may_be_lost(*range, *ask) || ask.changes() && self.may_be_stuck()
            }
            RequestError::ReadOnly
            | RequestError::Superseded
            | RequestError::BeyondEnd
            | RequestError::Misaligned
            | RequestError::BadBuffer => false,
        }
    }

    /// Whether staged data may be stuck, because its stripes have lost more than the fault
    /// tolerance allows. Then a write that passes the stage by may be refused, though its own
    /// stripes have lost nothing (docs/decisions/write-back.md, rule 11).
    fn may_be_stuck(&self) -> bool {
        let all = Range { at: 0, length: self.geometry.capacity().get() };
        self.limits.beyond && self.geometry.writes_back() && self.may_be_lost(all, Ask::Read)
    }

    /// Whether a request on these sectors may fail because one of its stripes has lost more than
    /// the fault tolerance allows. A write may also fail because a member of its stripe had to be
    /// kept, though it fails: what it should hold cannot be written.
    fn may_be_lost(&self, Range { at, length }: Range, ask: Ask) -> bool {
        let (layout, defects) = (self.geometry.layout(), &self.defects);
        if defects.lost_any_of(at..at + length.max(1)) {
            return true;
        }
        let gone = if self.limits.beyond { self.gone().count() } else { 0 };
        if (ask.is_durable() || ask.changes()) && self.journal_is_gone() {
            return true;
        }
        if !defects.has_read_errors() && !defects.gave_up_any() && gone == 0 {
            return false;
        }
        // If a log is lost, its updates to parity are lost too. If a member cannot flush, a durable
        // write fails.
        let hurt = gone + usize::from(gone > 0 && defects.has_read_errors());
        let tolerance = usize::from(self.geometry.fault_tolerance());
        if layout.logs().is_some() && hurt > tolerance || ask.is_durable() && gone > tolerance {
            return true;
        }
        let data = layout.stripe_data().get();
        let unsure = (defects.is_unsure() || self.is_unsynced()) && self.geometry.keeps_parity();
        (at / data..(at + length.max(1)).div_ceil(data)).map(Stripe::new).any(|stripe| {
            if defects.gave_up_any_of(stripe) {
                return true;
            }
            let missing = layout.units().filter(|unit| {
                let (slot, start) = self.place(stripe, *unit);
                let sectors = start.get()..(start + layout.unit_length()).get();
                self.is_gone(slot) || defects.has_read_errors_in(self.disk_at(slot), &sectors)
            });
            let missing = missing.count();
            let kept = |unit: Unit| {
                let slot = self.place(stripe, unit).0;
                self.is_gone(slot) && !self.is_failed(slot)
            };
            let refused = ask.changes() && gone > tolerance && layout.units().any(kept);
            missing > tolerance || unsure && missing > 0 || refused
        })
    }

    /// Whether as many journal devices are gone as an entry has copies. Then one had to be kept,
    /// and what needs an entry may be refused.
    fn journal_is_gone(&self) -> bool {
        let members = self.geometry.members();
        let gone = self.gone_of_all().filter(|slot| *slot >= members).count();
        self.limits.beyond && gone > 0 && gone >= usize::from(self.geometry.journal_copies())
    }

    /// The array has added blocks to its bad-block log. Checks that they are unrecoverable.
    pub(crate) fn listed(&mut self, slot: Slot, at: Sector, length: Sectors) -> Result<(), Violation> {
        for sector in at.get()..(at + length).get() {
            let Some((stripe, unit, offset)) = self.unit_at(slot, sector) else {
                return Err(Violation::Repair(format!(
                    "sector {sector} of {slot}, which is no unit's, is listed"
                )));
            };
            let known = self.defects.gave_up(stripe, offset.get());
            if !known && !self.limits.beyond && !self.is_lost(stripe, unit, offset) {
                let what = format!("{stripe} is given up at column {}, where nothing is lost", offset.get());
                return Err(Violation::Repair(what));
            }
            self.defects.give_up(stripe, offset.get());
        }
        Ok(())
    }

    /// The array has called blocks lost. Checks that a write of their stripe was cut off, and that
    /// they cannot be read.
    pub(crate) fn lost(&mut self, slot: Slot, at: Sector, length: Sectors) -> Result<(), Violation> {
        let layout = self.geometry.layout();
        let (data, unit_length) = (layout.stripe_data().get(), layout.unit_length().get());
        for sector in at.get()..(at + length).get() {
            let found = self.unit_at(slot, sector);
            let Some((stripe, unit, offset)) = found.filter(|found| self.may_lose_part(*found)) else {
                let what = format!("sector {sector} of {slot} is called lost, and nobody was writing it");
                return Err(Violation::Repair(what));
            };
            let sector = stripe.get() * data + u64::from(unit.get()) * unit_length + offset.get();
            self.defects.lose(sector);
        }
        Ok(())
    }

    /// The columns of stripes of which all data is being written, or was when the array crashed.
    pub(crate) fn cut_off_now(&self) -> BTreeSet<(Stripe, u64)> {
        let mut cut_off = self.defects.all_cut_off().clone();
        let open: Vec<Range> = self.hosts.open_writes().collect();
        // Two writes, of which one continues the other, may share a stripe.
        joined(open).into_iter().for_each(|range| cut_off.extend(self.whole_columns(range)));
        cut_off
    }

    /// A request was answered with an error: if there was no space, it may be done in part.
    pub(crate) fn note_broken_off(&mut self, failed: &Failed) {
        if failed.ask.changes() && failed.error == RequestError::NoSpace {
            let mut cut_off = self.defects.all_cut_off().clone();
            let Range { at, length } = failed.range;
            let data = self.geometry.layout().stripe_data().get();
            let touched = at / data..(at + length).div_ceil(data);
            // (One that continues it and is not answered yet may share a stripe with it.)
            for range in joined(self.hosts.open_writes().chain([failed.range]).collect()) {
                let columns = self.whole_columns(range);
                cut_off.extend(columns.filter(|(stripe, _)| touched.contains(&stripe.get())));
            }
            self.defects.set_cut_off(cut_off);
        }
    }

    /// The columns of stripes of which all data lies in a range.
    fn whole_columns(&self, Range { at, length }: Range) -> impl Iterator<Item = (Stripe, u64)> {
        let layout = self.geometry.layout();
        let (data, unit) = (layout.stripe_data().get(), layout.unit_length().get());
        let written = move |sector: u64| (at..at + length).contains(&sector);
        (at / data..(at + length).div_ceil(data)).flat_map(move |stripe| {
            let whole = move |column: &u64| {
                let mut parts = (*column..data).step_by(unit as usize);
                parts.all(|part| written(stripe * data + part))
            };
            (0..unit).filter(whole).map(move |column| (Stripe::new(stripe), column))
        })
    }

    /// Whether `unit` is a data unit that is gone or cannot be read, of a stripe some of which was
    /// cut off in the same block.
    fn may_lose_part(&self, (stripe, unit, column): (Stripe, Unit, Sectors)) -> bool {
        let block = self.geometry.block();
        let from = column.round_down(block);
        let mut columns = from.get()..(from + block).get();
        let cut_off = columns.any(|column| self.defects.was_cut_off(stripe, column));
        let data = self.geometry.layout().is_data(unit) && self.geometry.is_journaled();
        cut_off && data && self.is_unreadable(stripe, unit, column)
    }

    /// Whether the data of `unit` of `stripe` at this column is unrecoverable: it cannot be
    /// computed from the units that can be read.
    fn is_lost(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let check = !self.geometry.layout().is_data(unit) && !self.geometry.keeps_copies();
        if check && self.beside(unit).any(|other| self.is_doubtful(stripe, other, column)) {
            return true;
        }
        // Where check units may not fit, none stands in for what is in a spare place, unreadable.
        let unsynced = self.is_unsynced() && !self.geometry.keeps_copies();
        if unsynced && self.spare_fails(stripe, unit, column) {
            return true;
        }
        // Only those are used that stand in for missing data.
        if unsynced && self.geometry.fault_tolerance() > 1 {
            // (What is being moved into spare room is nowhere yet.)
            let nowhere = |other: Unit| other == unit && self.is_moved(stripe, unit);
            let units = self.geometry.layout().units();
            let lacks = |other: &Unit| nowhere(*other) || self.is_unreadable(stripe, *other, column);
            return units.filter(lacks).count() > 1;
        }
        // A check unit that can be read determines what stood on a member that is gone.
        let determines = check && !self.is_unreadable(stripe, unit, column);
        !determines && !self.geometry.can_compute(unit, |other| self.is_unreadable(stripe, other, column))
    }

    /// The check units that change with some data unit together with `check`, itself included.
    /// Where one of them cannot be computed, a write is done without all of them, and those that
    /// can be are computed afterwards.
    fn beside(&self, check: Unit) -> impl Iterator<Item = Unit> + '_ {
        let shares = move |other: &Unit| {
            let mut terms = self.geometry.terms(check).map(|(data, _)| data);
            terms.any(|data| self.geometry.terms(*other).any(|(other, _)| other == data))
        };
        self.geometry.layout().checks().filter(shares)
    }

    /// Whether a check unit, though it can be read or computed, may not determine what stood on a
    /// member that is gone: a write met blocks that it could not read, or had no space to be done
    /// as a whole.
    fn is_doubtful(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let mut terms = self.geometry.terms(unit).map(|(other, _)| other);
        // Where a segment of the log is damaged, the check unit lacks its records, and does not
        // determine what stood there either.
        let lacks = self.geometry.layout().logs().is_some() && self.metadata_may_be_damaged();
        let in_part = lacks || self.status().counters.out_of_space;
        terms.any(|other| {
            in_part && self.is_unreadable(stripe, other, column) || self.is_unread(stripe, other, column)
        })
    }

    /// Whether a unit cannot be read at this column, or could not be read before.
    fn is_unreadable(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        self.is_gone(self.place(stripe, unit).0) || self.is_unread(stripe, unit, column)
    }

    /// Whether a unit's member is not whole, and the spare place that may hold the unit instead
    /// cannot be read at this column.
    fn spare_fails(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let (layout, block) = (self.geometry.layout(), self.geometry.block());
        let fails = |index: u16| {
            let spare = layout.spare(stripe, index);
            let at = self.geometry.data_start() + spare.at.from_start() + column.round_down(block);
            let sectors = at.get()..(at + block).get();
            self.defects.has_read_errors_in(self.disk_at(spare.slot.get()), &sectors)
        };
        self.is_gone(layout.locate(stripe, unit).slot.get()) && (0..layout.spares()).any(fails)
    }

    /// Whether a member that is there, or is being rebuilt, cannot read a unit at this column, or
    /// could not before.
    fn is_unread(&self, stripe: Stripe, unit: Unit, column: Sectors) -> bool {
        let block = self.geometry.block();
        let (slot, start) = self.place(stripe, unit);
        let at = start + column.round_down(block);
        // A transient error is reported by the access; the sector itself shows nothing.
        let ails = self.member(slot).is_some_and(Disk::fails_next_read);
        let sectors = at.get()..(at + block).get();
        ails || self.defects.has_read_errors_in(self.disk_at(slot), &sectors)
    }
}

/// The same sectors, in ranges with gaps between them.
fn joined(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable_by_key(|range| range.at);
    let mut joined: Vec<Range> = Vec::with_capacity(ranges.len());
    for Range { at, length } in ranges {
        match joined.last_mut().filter(|last| at <= last.at + last.length) {
            Some(last) => last.length = last.length.max(at + length - last.at),
            None => joined.push(Range { at, length }),
        }
    }
    joined
}
