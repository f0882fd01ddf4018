//! A job that waits for a log buffer, with the conditions under which it must go on waiting.

use crate::ids::JobId;
use parlour_units::{Region, Sectors};

/// A job that waits for a log buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolWaiter {
    pub(in crate::log) job: JobId,
    pub(in crate::log) region: Region,
    /// The job needs exactly one buffer if its region has none open. Only the failure of a member
    /// changes that.
    pub(in crate::log) plain: bool,
    /// The space that it reserves in the commit log, if there is one.
    pub(in crate::log) commit: Option<Sectors>,
}
