//! The values of an array's shape that are stored in its superblocks.

use parlour_units::Sectors;
use serde::{Deserialize, Serialize};

use super::sizes::SHORTEST_BAD_BLOCK_LOG;
use crate::layout::{Details, LayoutRequest, RegionShape};
use crate::organization::{Consistency, Organization};

/// The size of a member's cylinder, if known; units may float in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cylinder {
    /// Sectors of a track.
    pub track: u64,
    /// Tracks of a cylinder.
    pub tracks: u16,
}

impl Cylinder {
    /// Its length.
    pub fn length(self) -> Sectors {
        Sectors::new(self.track) * u64::from(self.tracks)
    }

    /// The number of positions for units of this length, and of units in it: all positions except
    /// one track's.
    pub(crate) fn positions(self, unit: u64) -> Option<(u16, u16)> {
        let per_track = self.track.checked_div(unit).filter(|count| *count > 0)?;
        let positions = u16::try_from(per_track.checked_mul(self.tracks.into())?).ok()?;
        let short = self.track < 1 << 32;
        let whole = self.track.is_multiple_of(unit) && self.tracks >= 2 && positions < u16::MAX;
        (short && whole).then(|| (positions, positions / self.tracks * (self.tracks - 1)))
    }
}

/// The stored values of the shape; the rest is computed from them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredGeometry {
    /// The four choices.
    pub organization: Organization,
    /// Check units of a stripe.
    pub checks: u16,
    /// Members of a group, groups, stripe unit, length of the data area.
    pub layout: LayoutRequest,
    /// The block size in sectors.
    pub block: u64,
    /// Where the data area starts, in sectors.
    pub data_start: u64,
    /// The regions, if there are logs.
    pub regions: Option<RegionShape>,
    /// What a crash may cost.
    pub consistency: Consistency,
    /// Length of the commit log on each member, in sectors; zero without one.
    pub commit_log: u64,
    /// The part of it, at its end, for the intents of reintegrations.
    pub intent_log: u64,
    /// Length of the stream of writes on each member, in sectors; zero with write-through.
    #[serde(default)]
    pub write_log: u64,
    /// Lanes of the streams of records and of writes.
    #[serde(default = "one")]
    pub lanes: u16,
    /// Slots for journal devices, behind those of members. Some may be vacant.
    #[serde(default, alias = "journals")]
    pub journal_slots: u16,
    /// The number of journal devices on which an entry stands; zero for one more than members may
    /// be lost.
    #[serde(default)]
    pub journal_copies: u16,
    /// Length of a bad-block log, in sectors; each member holds two.
    #[serde(default = "shortest_list")]
    pub bad_block_log: u64,
    /// The members' cylinders, if units float.
    pub cylinder: Option<Cylinder>,
}

impl StoredGeometry {
    /// How many units of a stripe may be lost, whichever they are.
    pub(super) fn tolerance(&self) -> u16 {
        self.organization.code.tolerance(self.checks)
    }

    /// What the layout is made from, apart from its sizes.
    pub(super) fn details(&self) -> Details {
        Details {
            checks: self.checks,
            tolerance: self.tolerance(),
            regions: self.regions,
            log_copies: self.organization.log_copies(self.checks),
            logged: self.organization.is_logged(),
            positions: self.cylinder.and_then(|cylinder| cylinder.positions(self.layout.unit)),
        }
    }
}

/// The length of the bad-block log of arrays that name none.
fn shortest_list() -> u64 {
    SHORTEST_BAD_BLOCK_LOG.get()
}

/// One lane: what arrays have that name none.
fn one() -> u16 {
    1
}
