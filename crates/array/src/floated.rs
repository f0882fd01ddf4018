//! Units that float, as the array moves them: see `floating.rs` for where they are.

use parlour_units::{Member, Sector};

use crate::array::Array;
use crate::effect::{Action, EffectId};
use crate::layout::Location;

impl Array {
    /// Where what the layout places at `home` is now: elsewhere only where units float.
    pub fn current_location(&self, home: Location) -> Location {
        self.floats.as_ref().map_or(home, |floats| floats.locate(home))
    }

    /// The home of what is at `slot` now; none where nothing is, because units float.
    pub(crate) fn home_of(&self, location: Location) -> Option<Location> {
        self.floats.as_ref().map_or(Some(location), |floats| floats.home(location))
    }

    /// Where on its member the unit of an [`Action::Float`] may be written, in the order of
    /// sectors: each is the first of as many as the unit has. It is to be asked when the access
    /// begins, and answered before another of the member does.
    pub fn free_positions(&self, effect: EffectId) -> impl Iterator<Item = Sector> + '_ {
        let job = self.jobs.of_effect(effect).expect("positions are asked for before the answer");
        let found = match self.jobs.get(job).action(effect.step()) {
            Action::Float { member, at, .. } => Some((member, at)),
            _ => None,
        };
        let free = found.and_then(|(member, at)| {
            let location = Location { slot: self.health.slot_of(member)?, at: self.in_data(at) };
            Some(self.floats.as_ref()?.free(location, member))
        });
        // Of a member that was failed meanwhile nothing counts any more.
        let own = found.filter(|_| free.is_none()).map(|(_, at)| at);
        free.into_iter().flatten().map(|location| self.absolute(location.at)).chain(own)
    }

    /// A unit that was at `at` of `member` was written to `to`.
    pub(crate) fn note_placed(&mut self, member: Member, at: Sector, to: Sector) {
        let (from, to) = (self.in_data(at), self.in_data(to));
        let slot = self.health.slot_of(member);
        if let (Some(slot), Some(floats)) = (slot, &mut self.floats) {
            floats.moved(Location { slot, at: from }, Location { slot, at: to });
        }
    }

    /// Where in the data area a place on a member is: the inverse of [`Array::absolute`].
    pub(crate) fn in_data(&self, at: Sector) -> Sector {
        Sector::ZERO + (at - self.geometry.data_start())
    }
}
