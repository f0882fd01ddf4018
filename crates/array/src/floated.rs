//! Units that float, as the driver asks for them: see `roster/floating.rs` for where they are.

use parlour_units::Sector;

use crate::array::Array;
use crate::effect::{Action, EffectId};
use crate::layout::Location;

impl Array {
    /// Where what the layout places at `home` is now: elsewhere only where units float.
    pub fn current_location(&self, home: Location) -> Location {
        self.cx.roster.current_location(home)
    }

    /// Where on its member the unit of an [`Action::Float`] may be written, in the order of
    /// sectors: each is the first of as many as the unit has. It is to be asked when the access
    /// begins, and answered before another of the member does.
    pub fn free_positions(&self, effect: EffectId) -> impl Iterator<Item = Sector> + '_ {
        let job = self.cx.jobs.of_effect(effect).expect("positions are asked for before the answer");
        let found = match self.cx.jobs.get(job).action(effect.step()) {
            Action::Float { member, at, .. } => Some((member, at)),
            _ => None,
        };
        found.into_iter().flat_map(|(member, at)| self.cx.roster.free_positions(member, at))
    }
}
