//! The interface for drivers with floating units. `roster/floating.rs` keeps the places of units.

use parlour_units::Sector;

use crate::array::Array;
use crate::effect::{Action, EffectId};
use crate::layout::Location;

impl Array {
    /// The current place of the unit that the layout places at `home`; it differs only if units
    /// float.
    pub fn current_location(&self, home: Location) -> Location {
        self.core.cx.roster.current_location(home)
    }

    /// The places on its member to which the unit of an [`Action::Float`] may be written, in the
    /// order of sectors; each is the first sector of a position. The driver must call this when the
    /// access begins, and must answer the effect before it begins another access to the member.
    pub fn free_positions(&self, effect: EffectId) -> impl Iterator<Item = Sector> + '_ {
        let job = self.core.cx.jobs.of_effect(effect).expect("positions are asked for before the answer");
        let found = match self.core.cx.jobs.get(job).action(effect.step()) {
            Action::Float { member, at, .. } => Some((member, at)),
            _ => None,
        };
        found.into_iter().flat_map(|(member, at)| self.core.cx.roster.free_positions(member, at))
    }
}
