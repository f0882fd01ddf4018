//! Where units are now: where the layout puts them, except for what has moved since.
//!
//! All rooms that access units or ask for their members ask here. The layout itself says only where
//! units of a whole array without moves are: their *homes*.

use parlour_units::{Slot, Stripe, Unit};

use super::floating::Floats;
use super::moves::Moves;
use super::slots::SlotRecord;
use crate::layout::{Layout, Location, Occupant};

/// What may have moved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Now<'a> {
    pub(super) slots: &'a [SlotRecord],
    pub(super) moves: &'a Moves,
    /// If units float.
    pub(super) floats: Option<&'a Floats>,
}

/// The current places of units. See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    layout: &'a Layout,
    /// `None` where nothing has moved.
    now: Option<Now<'a>>,
}

impl Now<'_> {
    fn slot(&self, slot: Slot) -> &SlotRecord {
        &self.slots[slot.as_usize()]
    }

    /// Whether the spare place of `stripe` holds its unit of `slot`.
    fn has_moved(&self, slot: Slot, stripe: Stripe) -> bool {
        self.moves.of(slot).is_some_and(|moved| moved.frontier.has(stripe))
    }

    /// The same, and the member in `slot` does not hold it.
    fn is_away(&self, slot: Slot, stripe: Stripe) -> bool {
        self.has_moved(slot, stripe) && !self.slot(slot).readable(stripe)
    }

    fn float(&self, home: Location) -> Location {
        self.floats.map_or(home, |floats| floats.locate(home))
    }
}

impl<'a> Places<'a> {
    /// The places of units in `layout`, with what has moved since.
    pub(super) fn new(layout: &'a Layout, now: Now<'a>) -> Places<'a> {
        Places { layout, now: Some(now) }
    }

    /// The places of units of which none has moved.
    pub(crate) fn of_layout(layout: &'a Layout) -> Places<'a> {
        Places { layout, now: None }
    }

    /// The place of the first sector of `unit`: where it is read, and written. Of two places that
    /// hold it, its home.
    pub(crate) fn locate(self, stripe: Stripe, unit: Unit) -> Location {
        let home = self.layout.locate(stripe, unit);
        match self.now {
            None => home,
            Some(now) if !now.moves.is_empty() && now.is_away(home.slot, stripe) => {
                self.layout.spare(stripe, 0)
            }
            Some(now) => now.float(home),
        }
    }

    /// The slot on whose member `unit` is.
    pub(crate) fn slot(self, stripe: Stripe, unit: Unit) -> Slot {
        match self.now {
            Some(now) if !now.moves.is_empty() => self.locate(stripe, unit).slot,
            // (Where units float they stay on their member.)
            _ => self.layout.locate(stripe, unit).slot,
        }
    }

    /// The slots on whose members the units of `stripe` are, in the order of units.
    pub(crate) fn slots(self, stripe: Stripe) -> impl Iterator<Item = Slot> + use<'a> {
        self.layout.units().map(move |unit| self.slot(stripe, unit))
    }

    /// The place of `unit` from which it has moved, or would move.
    pub(crate) fn home(self, stripe: Stripe, unit: Unit) -> Location {
        let home = self.layout.locate(stripe, unit);
        self.now.map_or(home, |now| now.float(home))
    }

    /// The unit of `stripe` that the member in `slot` has to hold: its own, or one that has moved
    /// there, or is just moving. If there is no such member, the unit that is to be moved.
    pub(crate) fn unit_of(self, slot: Slot, stripe: Stripe) -> Option<Unit> {
        let at_home =
            |slot: Slot| self.layout.units().find(|unit| self.layout.locate(stripe, *unit).slot == slot);
        at_home(slot).or_else(|| {
            let moves = self.now.map(|now| now.moves)?;
            let begun = moves.slots().filter(|moved| {
                let begun = moves.of(*moved).is_some_and(|moved| stripe.get() < moved.frontier.next());
                begun && self.layout.spare(stripe, 0).slot == slot
            });
            begun.filter_map(at_home).next()
        })
    }

    /// Where a rebuild of `slot` writes `unit` of `stripe`: its place on the member there, or its
    /// spare place if the slot is moved.
    pub(crate) fn rebuilt(self, slot: Slot, stripe: Stripe, unit: Unit) -> Location {
        let home = self.home(stripe, unit);
        let moves = self.now.is_some_and(|now| {
            now.moves.of(slot).is_some_and(|moved| !moved.whole) && now.slot(slot).is_failed()
        });
        if home.slot == slot && !moves { home } else { self.layout.spare(stripe, 0) }
    }

    /// The spare place of `unit`, if it is at home and its spare place holds it too.
    pub(crate) fn second(self, stripe: Stripe, unit: Unit) -> Option<Location> {
        let now = self.now.filter(|now| !now.moves.is_empty())?;
        let home = self.layout.locate(stripe, unit).slot;
        let moved = now.has_moved(home, stripe);
        let spare = || self.layout.spare(stripe, 0);
        let both = moved && now.slot(home).readable(stripe) && now.slot(spare().slot).readable(stripe);
        both.then(spare)
    }

    /// What is at `location`. The inverse of [`Places::locate`], and of [`Places::second`].
    pub(crate) fn occupant(self, location: Location) -> Occupant {
        let Some(now) = self.now else { return self.layout.occupant(location) };
        let home = now.floats.map_or(Some(location), |floats| floats.home(location));
        match home.map_or(Occupant::Unused, |home| self.layout.occupant(home)) {
            Occupant::Unit { stripe, .. } if !now.moves.is_empty() && now.is_away(location.slot, stripe) => {
                Occupant::Unused
            }
            Occupant::Spare { stripe, offset, .. } => match self.moved_into(now, stripe) {
                Some(unit) => Occupant::Unit { stripe, unit, offset },
                None => Occupant::Unused,
            },
            occupant => occupant,
        }
    }

    /// The unit in the spare place of `stripe`.
    fn moved_into(self, now: Now<'_>, stripe: Stripe) -> Option<Unit> {
        self.layout.units().find(|unit| now.has_moved(self.layout.locate(stripe, *unit).slot, stripe))
    }
}
