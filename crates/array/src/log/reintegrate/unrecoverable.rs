//! What a reintegration can neither read nor repair. It is narrowed down to single blocks of parity
//! and single segments of the log. The parity concerned goes on the bad-block log, and the
//! reintegration goes on without it. So only blocks are lost whose last redundancy was there, and
//! not the whole log of the region.

use parlour_units::{Region, Sector, Unit};

use crate::columns::Window;
use crate::context::Context;
use crate::durable::bad_blocks;
use crate::effect::Fault;
use crate::exec::job::FailedAccess;
use crate::log::Logs;
use crate::log::reintegrate::plan::sectors;
use crate::log::reintegrate::state::{Apply, Suspect, is_suspect};

impl Logs {
    /// Drops parity whose member was lost: it is no longer updated.
    pub(in crate::log) fn drop_missing_runs(&mut self, cx: &mut Context, region: Region) {
        let roster = &cx.roster;
        let log = self.region(region);
        let reintegration = log.reintegrating.as_mut().expect("it is under way");
        let turn = reintegration.turn;
        for pass in &mut reintegration.passes {
            pass.retain(|run| roster.member_since(run.member, turn).is_some());
        }
        reintegration.passes.retain(|pass| !pass.is_empty());
    }

    /// Goes on without the sectors that a pass could not read, if the pass has written nothing.
    /// Returns whether it can.
    pub(in crate::log) fn leave_out(
        &mut self,
        cx: &mut Context,
        region: Region,
        failures: &[FailedAccess],
    ) -> bool {
        let stands = |failure: &&FailedAccess| cx.roster.slot_of(failure.member).is_some();
        let failures: Vec<FailedAccess> = failures.iter().filter(stands).copied().collect();
        if self.log_is_lost(cx, region) || failures.iter().any(|failure| failure.fault != Fault::Unreadable) {
            return false;
        }
        self.drop_missing_runs(cx, region);
        self.narrow_down(cx, region, &failures)
            || self.turn_to_other_copies(cx, region, &failures)
            || self.record_unrecoverable(cx, region, &failures) && self.leave_out_listed(cx, region)
    }

    /// Parity that is on the bad-block log and cannot be repaired stays unrecoverable whatever is
    /// xored into it: it is left out. Returns whether there was any.
    pub(in crate::log) fn leave_out_listed(&mut self, cx: &mut Context, region: Region) -> bool {
        let is_bad = |apply: &Apply| cx.roster.listed().has(apply.member, apply.at, apply.length);
        let (listed, mut left): (Vec<Apply>, Vec<Apply>) =
            self.remaining(region).into_iter().partition(|apply| is_bad(apply));
        if listed.is_empty() {
            return false;
        }
        left.extend(listed.into_iter().flat_map(sectors).filter(|sector| !is_bad(sector)));
        self.split_again(cx, region, left);
        true
    }

    /// Sectors that failed in long accesses are read again in short ones. Returns whether any
    /// access was long.
    fn narrow_down(&mut self, cx: &mut Context, region: Region, failures: &[FailedAccess]) -> bool {
        let segment = self.segment_length;
        let is_long = |failure: &&FailedAccess| {
            let parity = !cx.unreadable_windows(failure).is_empty();
            failure.length > if parity { cx.geometry.block() } else { segment }
        };
        let suspect = |failure: &FailedAccess| {
            let slot = cx.roster.slot_of(failure.member)?;
            Some(Suspect { slot, at: failure.at, length: failure.length })
        };
        let suspects: Vec<Suspect> = failures.iter().filter(is_long).filter_map(suspect).collect();
        if suspects.is_empty() {
            return false;
        }
        let in_parts = |apply: Apply| match is_suspect(&suspects, apply.member, apply.at, apply.length) {
            true => sectors(apply).collect(),
            false => vec![apply],
        };
        let left = self.remaining(region).into_iter().flat_map(in_parts).collect();
        self.reintegration(region).suspects.extend(suspects);
        self.split_again(cx, region, left);
        true
    }

    /// Segments that could not be read are read from another copy of the log from here on, where
    /// there is one. Returns whether there was any.
    pub(in crate::log) fn turn_to_other_copies(
        &mut self,
        cx: &Context,
        region: Region,
        failures: &[FailedAccess],
    ) -> bool {
        let mut any = false;
        for failure in failures {
            let Some(index) = self.segment_behind(cx, region, failure) else { continue };
            let mut standing = self.standing_copies(cx, region, index);
            if let (Some(read), Some(_)) = (standing.next(), standing.next()) {
                drop(standing);
                let segment = self.segment_mut(index);
                segment.copies = segment.copies.without(read);
                any = true;
            }
        }
        any
    }

    /// The segment that an access was to read.
    fn segment_behind(&self, cx: &Context, region: Region, failure: &FailedAccess) -> Option<u32> {
        let slot = cx.roster.slot_of(failure.member)?;
        let stands_there = |index: &u32| {
            let stored = self.segment(*index).position.is_some();
            let at = stored.then(|| self.segment_at(cx, region, *index));
            at.is_some_and(|(there, at)| {
                there == slot && (at..at + self.segment_length).contains(&failure.at)
            })
        };
        self.regions[region].segments.iter().copied().find(stands_there)
    }

    /// Puts parity that could not be read by itself on the bad-block log. For a segment that could
    /// not be read by itself, the parity that lacks its records goes there. Returns whether there
    /// was room in the bad-block log. If some of that parity can be computed from the data, none is
    /// listed, and the result is `false`.
    fn record_unrecoverable(&mut self, cx: &mut Context, region: Region, failures: &[FailedAccess]) -> bool {
        let unrecoverable = failures.iter().map(|failure| {
            let parity = cx.unreadable_windows(failure);
            let unrecoverable =
                if parity.is_empty() { self.windows_behind(cx, region, failure) } else { parity };
            (!unrecoverable.is_empty()).then_some(unrecoverable)
        });
        let Some(unrecoverable) = unrecoverable.collect::<Option<Vec<_>>>() else { return false };
        unrecoverable.into_iter().flatten().all(|(window, unit)| bad_blocks::record(cx, window, unit).is_ok())
    }

    /// The parity that lacks the records of an unreadable segment. Empty if no data is missing:
    /// then all of the region's parity can be computed from the data.
    fn windows_behind(&self, cx: &Context, region: Region, failure: &FailedAccess) -> Vec<(Window, Unit)> {
        let segment = self.segment_behind(cx, region, failure).filter(|_| self.misses_data(cx, region));
        let Some(segment) = segment else { return Vec::new() };
        let block = cx.geometry.block();
        let windows = |apply: &Apply| {
            let start = apply.at.from_start().round_down(block);
            let end = (apply.at + apply.length).from_start().round_up(block);
            cx.windows_at(apply.member, Sector::ZERO + start, end - start)
        };
        let applies = self.remaining(region);
        applies.iter().filter(|apply| apply.segment == segment).flat_map(windows).collect()
    }

    /// The applies that are still to be done.
    pub(in crate::log) fn remaining(&self, region: Region) -> Vec<Apply> {
        let log = self.regions.get(region);
        let reintegration = log.and_then(|log| log.reintegrating.as_deref()).expect("it is under way");
        let runs = reintegration.passes.iter().flatten();
        runs.flat_map(|run| &reintegration.applies[run.applies.clone()]).copied().collect()
    }

    /// Plans passes for the applies that are left.
    fn split_again(&mut self, cx: &mut Context, region: Region, mut left: Vec<Apply>) {
        left.sort_by_key(|apply| (apply.member, apply.at));
        let reintegration = self.reintegration(region);
        let suspects = std::mem::take(&mut reintegration.suspects);
        let held = std::mem::take(&mut reintegration.held);
        let passes = self.split_passes(cx, region, &left, (&held, &suspects));
        let reintegration = self.reintegration(region);
        (reintegration.suspects, reintegration.held) = (suspects, held);
        (reintegration.applies, reintegration.passes) = (left, passes);
    }
}
