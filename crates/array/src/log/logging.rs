//! What a write has in the logs: how it is logged, and what is set aside for it, from the
//! reservation of space before it takes its lock until its data is written.

use parlour_units::Sectors;

use super::commit::logs::EntryName;
use super::lane::Lane;
use super::segment::Reservation;
use crate::plan::{Fragment, LogMethod};

/// See the module. A job that is not logged has the default.
#[derive(Debug, Default)]
pub(crate) struct Logging {
    pub(in crate::log) method: Option<LogMethod>,
    pub(in crate::log) fragments: Vec<Fragment>,
    pub(in crate::log) reservations: Vec<Reservation>,
    /// Space in the commit log that is reserved for the records.
    pub(in crate::log) commit_space: Sectors,
    /// The lane in which it is reserved.
    pub(in crate::log) lane: Lane,
    /// Sectors of check units that a crash may cost, while a whole stripe is written in place.
    pub(in crate::log) at_risk: Sectors,
    /// The commit log's entry that waits for the data, and the region's epoch at that time.
    pub(in crate::log) entry: Option<(EntryName, usize)>,
    /// Whether the records count.
    pub(in crate::log) committed: bool,
}

impl Logging {
    /// How the write is logged; `None` if it is not.
    pub(crate) fn method(&self) -> Option<LogMethod> {
        self.method
    }

    /// Whether its difference, or new parity, is logged: the parity follows later.
    pub(crate) fn defers_parity(&self) -> bool {
        matches!(self.method, Some(LogMethod::Update | LogMethod::Overwrite))
    }

    /// Whether its record cancels earlier records of its stripe.
    pub(crate) fn cancels(&self) -> bool {
        self.method.is_some_and(LogMethod::is_bare) && !self.reservations.is_empty()
    }

    /// The records that are still to be committed.
    pub(crate) fn fragments(&self) -> &[Fragment] {
        if self.reservations.is_empty() { &[] } else { &self.fragments }
    }

    /// Whether records were committed, or data waits for them.
    pub(crate) fn has_committed(&self) -> bool {
        self.committed || self.entry.is_some()
    }

    /// The write gets a new plan. Records that were committed count, however much of the data is
    /// written. From here on the stripe is updated in place, or recorded anew.
    pub(crate) fn begin_again(&mut self) {
        if std::mem::take(&mut self.committed) {
            self.method = None;
        }
    }
}
