//! Whole stripes that are being written in place, and what a crash may cost with them.
//!
//! If a crash cuts such a write off and a member is lost with it, blocks of its check units do not
//! say what that member held: they go on the bad-block log. So no more of these writes are under
//! way at a time than the bad-block log has room for. Half of its room is left to other blocks.

use parlour_units::Sectors;

use crate::exec::waiting::WaitList;

/// See the module. [`Logs::admit_whole_stripe`](super::Logs) counts.
#[derive(Debug, Default)]
pub(in crate::log) struct AtRisk {
    /// Sectors of check units in stripes that are being written.
    pub(in crate::log) sectors: Sectors,
    pub(in crate::log) waiters: WaitList,
}

/// Whether a whole stripe may be written in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::log) enum Admission {
    Granted,
    /// When others have ended: the job is parked.
    Later,
    /// There is no room for its blocks, and there may never be.
    Refused,
}
