//! Which regions are still to be recovered after a crash, and how many may be at a time.

use parlour_units::Region;
use std::collections::VecDeque;

/// Regions that are recovered at a time.
pub(in crate::log) const RECOVERIES: u32 = 4;
/// Which regions are still to be recovered.
#[derive(Debug, Default)]
pub(crate) struct Recoveries {
    /// Hosts wait for these.
    pub(in crate::log) wanted: VecDeque<Region>,
    pub(in crate::log) waiting: VecDeque<Region>,
    /// How many are being recovered, and how many log buffers their records take at the most.
    pub(in crate::log) running: u32,
    pub(in crate::log) taken: u32,
    /// How many are not yet recovered, these among them.
    pub(in crate::log) left: u32,
}

impl Recoveries {
    /// Those of which the first comes next; where the array is being stopped, only what hosts still
    /// wait for.
    pub(in crate::log) fn queue(&mut self, serving: bool) -> &mut VecDeque<Region> {
        if self.wanted.is_empty() && serving { &mut self.waiting } else { &mut self.wanted }
    }
}
