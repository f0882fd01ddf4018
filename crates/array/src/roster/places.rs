//! Where units are now: where the layout puts them, except for what has moved since.
//!
//! All rooms that access units or ask for their members ask here. The layout itself says only where
//! units of a whole array without moves are: their *homes*.

use parlour_units::{Slot, Stripe, Unit};

use super::Roster;
use crate::layout::{Layout, Location, Occupant};

/// The current places of units. See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    layout: &'a Layout,
    /// `None` where nothing has moved.
    roster: Option<&'a Roster>,
}

impl<'a> Places<'a> {
    /// The places of units in `layout`, with what has moved since.
    pub(super) fn new(layout: &'a Layout, roster: &'a Roster) -> Places<'a> {
        Places { layout, roster: Some(roster) }
    }

    /// The places of units of which none has moved.
    pub(crate) fn of_layout(layout: &'a Layout) -> Places<'a> {
        Places { layout, roster: None }
    }

    /// The place of the first sector of `unit`: where it is read, and written. Of two places that
    /// hold it, its home.
    pub(crate) fn locate(self, stripe: Stripe, unit: Unit) -> Location {
        let home = self.layout.locate(stripe, unit);
        let Some(roster) = self.roster else { return home };
        if !roster.moves.is_empty() && self.is_away(roster, home.slot, stripe) {
            return self.layout.spare(stripe, 0);
        }
        roster.floats.as_ref().map_or(home, |floats| floats.locate(home))
    }

    /// Whether the unit of `stripe` whose home is in `slot` is in its spare place only.
    fn is_away(self, roster: &Roster, slot: Slot, stripe: Stripe) -> bool {
        let moved = roster.moves.of(slot).is_some_and(|moved| moved.frontier.has(stripe));
        moved && !roster.readable(slot, stripe)
    }

    /// The slot on whose member `unit` is.
    pub(crate) fn slot(self, stripe: Stripe, unit: Unit) -> Slot {
        match self.roster {
            Some(roster) if !roster.moves.is_empty() => self.locate(stripe, unit).slot,
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
        let floats = self.roster.and_then(|roster| roster.floats.as_ref());
        floats.map_or(home, |floats| floats.locate(home))
    }

    /// The unit of `stripe` that the member in `slot` has to hold: its own, or one that has moved
    /// there, or is just moving. If there is no such member, the unit that is to be moved.
    pub(crate) fn unit_of(self, slot: Slot, stripe: Stripe) -> Option<Unit> {
        let at_home =
            |slot: Slot| self.layout.units().find(|unit| self.layout.locate(stripe, *unit).slot == slot);
        at_home(slot).or_else(|| {
            let moves = self.roster.map(|roster| &roster.moves)?;
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
        let moves = self.roster.is_some_and(|roster| roster.is_moving(slot));
        if home.slot == slot && !moves { home } else { self.layout.spare(stripe, 0) }
    }

    /// The spare place of `unit`, if it is at home and its spare place holds it too.
    pub(crate) fn second(self, stripe: Stripe, unit: Unit) -> Option<Location> {
        let roster = self.roster.filter(|roster| !roster.moves.is_empty())?;
        let home = self.layout.locate(stripe, unit).slot;
        let moved = roster.moves.of(home)?.frontier.has(stripe);
        let spare = self.layout.spare(stripe, 0);
        (moved && roster.readable(home, stripe) && roster.readable(spare.slot, stripe)).then_some(spare)
    }

    /// What is at `location`. The inverse of [`Places::locate`], and of [`Places::second`].
    pub(crate) fn occupant(self, location: Location) -> Occupant {
        let Some(roster) = self.roster else { return self.layout.occupant(location) };
        let home = roster.floats.as_ref().map_or(Some(location), |floats| floats.home(location));
        match home.map_or(Occupant::Unused, |home| self.layout.occupant(home)) {
            Occupant::Unit { stripe, unit, .. } if self.is_left(roster, location.slot, stripe) => {
                debug_assert_ne!(self.locate(stripe, unit).slot, location.slot);
                Occupant::Unused
            }
            Occupant::Spare { stripe, offset, .. } => match self.moved_into(roster, stripe) {
                Some(unit) => Occupant::Unit { stripe, unit, offset },
                None => Occupant::Unused,
            },
            occupant => occupant,
        }
    }

    fn is_left(self, roster: &Roster, slot: Slot, stripe: Stripe) -> bool {
        !roster.moves.is_empty() && self.is_away(roster, slot, stripe)
    }

    /// The unit in the spare place of `stripe`.
    fn moved_into(self, roster: &Roster, stripe: Stripe) -> Option<Unit> {
        let has = |slot: Slot| roster.moves.of(slot).is_some_and(|moved| moved.frontier.has(stripe));
        let homes = || self.layout.units().map(|unit| (unit, self.layout.locate(stripe, unit).slot));
        homes().find(|(_, home)| has(*home)).map(|(unit, _)| unit)
    }
}
