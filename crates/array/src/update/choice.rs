//! The choice of when check units are updated, and all questions that are asked about it by name.
//! No other module compares update policies.

use serde::{Deserialize, Serialize};

use crate::layout::Room;
use crate::organization::RefusedCombination;

/// When check units are updated after a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Update {
    /// With the write.
    InPlace,
    /// Later, from a log of parity updates (Stodolsky §2).
    Logged,
    /// With the write; data and parity are written to the position of their cylinder that the heads
    /// reach first (Stodolsky §4). This needs drives that report where their heads are; only
    /// simulated ones do.
    Floating,
}

impl Update {
    /// All choices.
    pub const ALL: [Update; 3] = [Update::InPlace, Update::Logged, Update::Floating];

    /// Checks that a layout has the room that the policy needs.
    pub(crate) fn check_on(self, room: Room) -> Result<(), RefusedCombination> {
        match (room, self) {
            // Room may stay unused: so a layout can be measured by itself.
            (_, Update::InPlace) | (Room::Logs, Update::Logged) | (Room::Positions, Update::Floating) => {
                Ok(())
            }
            (_, Update::Logged) => Err(RefusedCombination::NoLog),
            (_, Update::Floating) => Err(RefusedCombination::NoRoom),
        }
    }

    /// Whether updates of parity go to a log first.
    pub fn is_logged(self) -> bool {
        self == Update::Logged
    }

    /// Whether units are written to a free position.
    pub fn floats(self) -> bool {
        self == Update::Floating
    }
}
