//! A job that waits for a log buffer, with the conditions under which it must go on waiting.

use crate::ids::JobId;
use parlour_units::{Region, Sectors, Slot};

/// A job that waits for a log buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolWaiter {
    pub(in crate::log) job: JobId,
    pub(in crate::log) region: Region,
    /// The job needs exactly one buffer if its region has none open. Only the failure of a member
    /// changes that.
    pub(in crate::log) plain: bool,
    /// The commit log in which it reserves space, and how much, if there are commit logs.
    pub(in crate::log) commit: Option<(Slot, Sectors)>,
}
