//! What of an array cannot be read: data of stripes that have lost more than they can, and blocks
//! that are on the bad-block log.

use std::collections::BTreeMap;

use parlour_units::{Sector, Sectors, Stripe, Unit};

use crate::code::UnitSet;
use crate::columns::Columns;
use crate::core::Core;
use crate::format::bad_block_log::Cause;
use crate::layout::{Location, Occupant};
use crate::stripe::{is_outdated, untrusted};

/// Data of some stripes that cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LostData {
    /// Ranges of the array, in order: where each starts, and its length. None touches the next.
    pub ranges: Vec<(Sector, Sectors)>,
    /// The stripe with which to go on, if stripes are left that may have lost something.
    pub next: Option<Stripe>,
}

/// A block of a unit on the bad-block log, by stripe.
type Listed = BTreeMap<Stripe, Vec<(Cause, Unit, Columns)>>;

/// The data that cannot be read, of at most `most` stripes from `from` on.
pub(crate) fn lost(core: &Core, from: Stripe, most: u64) -> LostData {
    let listed = listed(core);
    let all = core.cx.geometry.layout().stripes();
    let end = from.get().saturating_add(most).min(all);
    let mut ranges = Vec::new();
    // Where no stripe has lost a unit, only those on the bad-block log have lost anything.
    let next = if loses_units(core) {
        for stripe in (from.get()..end).map(Stripe::new) {
            of_stripe(core, stripe, listed.get(&stripe).map_or(&[], Vec::as_slice), &mut ranges);
        }
        (end < all).then_some(Stripe::new(end))
    } else {
        let mut rest = listed.range(from..);
        for (stripe, blocks) in rest.by_ref().take(usize::try_from(most).unwrap_or(usize::MAX)) {
            of_stripe(core, *stripe, blocks, &mut ranges);
        }
        rest.next().map(|(stripe, _)| *stripe)
    };
    LostData { ranges: merged(ranges), next }
}

/// Whether some stripe may have lost a unit as a whole.
fn loses_units(core: &Core) -> bool {
    let (cx, durable) = (&core.cx, &core.durable);
    let lacks = |slot| cx.roster.lacks_units(slot) || !cx.roster.answers(slot);
    let survives = cx.geometry.survives(lacks, |slot| cx.roster.is_moved(slot));
    !survives || durable.bitmap().to_resync().any(|region| durable.bitmap().is_outdated(region))
}

fn listed(core: &Core) -> Listed {
    let (geometry, roster) = (&core.cx.geometry, &core.cx.roster);
    let mut listed = Listed::new();
    for cause in [Cause::Unreadable, Cause::Lost] {
        for (slot, at) in roster.listed().blocks(cause) {
            let at = Sector::ZERO + at.from_start().saturating_sub(geometry.data_start().from_start());
            let location = Location { slot, at };
            // What is lost is named by its home, whether or not it has been moved.
            let occupant = match cause {
                Cause::Unreadable => roster.places(geometry).occupant(location),
                Cause::Lost => geometry.layout().occupant(location),
            };
            if let Occupant::Unit { stripe, unit, offset } = occupant {
                let columns = Columns::new(offset, offset + geometry.block());
                listed.entry(stripe).or_default().push((cause, unit, columns));
            }
        }
    }
    listed
}

/// Appends the ranges of a stripe's data that cannot be read.
fn of_stripe(
    core: &Core,
    stripe: Stripe,
    listed: &[(Cause, Unit, Columns)],
    ranges: &mut Vec<(Sector, Sectors)>,
) {
    let (cx, layout) = (&core.cx, core.cx.geometry.layout());
    // (A member that does not answer and has to be kept is not missing.)
    let places = cx.roster.places(&cx.geometry);
    let is_silent = |unit: &Unit| !cx.roster.answers(places.slot(stripe, *unit));
    let missing = cx.roster.missing(&cx.geometry, stripe).or(layout.units().filter(is_silent).collect());
    if missing.is_empty() && listed.is_empty() {
        return;
    }
    let untrusted = untrusted(cx, &core.durable, stripe);
    let outdated = is_outdated(cx, &core.durable, stripe);
    let is_lost = |unit: Unit, gone: UnitSet| {
        gone.has(unit) && cx.geometry.code().decode(unit, gone.or(untrusted)).is_none()
    };
    let all = Columns::new(Sectors::ZERO, layout.unit_length());
    for unit in layout.units().filter(|unit| layout.is_data(*unit)) {
        let start =
            Sector::ZERO + layout.stripe_data() * stripe.get() + layout.unit_length() * u64::from(unit.get());
        let mut lose = |columns: Columns| ranges.push((start + columns.from, columns.length()));
        if outdated && missing.has(unit) || is_lost(unit, missing) {
            lose(all);
            continue;
        }
        for (_, _, columns) in listed {
            let here = |(cause, other, at): &&(Cause, Unit, Columns)| {
                *cause == Cause::Unreadable && at == columns && !missing.has(*other)
            };
            let unreadable = listed.iter().filter(here).map(|(_, other, _)| *other);
            let gone = missing.or(unreadable.collect());
            // (What was put on the list could not be computed then: other sectors cannot be read.)
            let is_listed = |(_, other, at): &(Cause, Unit, Columns)| *other == unit && at == columns;
            if listed.iter().any(is_listed) || is_lost(unit, gone) {
                lose(*columns);
            }
        }
    }
}

/// The same sectors in ranges that do not touch.
fn merged(mut ranges: Vec<(Sector, Sectors)>) -> Vec<(Sector, Sectors)> {
    ranges.sort_unstable();
    ranges.dedup();
    let mut merged: Vec<(Sector, Sectors)> = Vec::new();
    for (at, length) in ranges {
        match merged.last_mut() {
            Some((start, so_far)) if *start + *so_far >= at => {
                *so_far = (*so_far).max((at + length).from_start() - start.from_start());
            }
            _ => merged.push((at, length)),
        }
    }
    merged
}
