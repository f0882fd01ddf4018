//! What is known of a job that waits for a log buffer.

use crate::ids::JobId;
use parlour_units::{Region, Sectors, Slot};

/// A job that waits for a log buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PoolWaiter {
    pub(crate) job: JobId,
    pub(in crate::log) region: Region,
    /// It needs one buffer where its region has none open, and nothing but a failed member changes
    /// that.
    pub(in crate::log) plain: bool,
    /// Which commit log it reserves space in, and how much, where there are commit logs.
    pub(in crate::log) commit: Option<(Slot, Sectors)>,
}
