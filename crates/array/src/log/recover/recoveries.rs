//! Which regions are still to be recovered after a crash, and how many may be at a time.

use parlour_units::Region;
use std::collections::VecDeque;

/// The number of regions that are recovered at a time.
pub(in crate::log) const RECOVERIES: u32 = 4;
/// Which regions are still to be recovered.
#[derive(Debug, Default)]
pub(crate) struct Recoveries {
    /// Regions that hosts wait for.
    pub(in crate::log) wanted: VecDeque<Region>,
    pub(in crate::log) waiting: VecDeque<Region>,
    /// How many regions are being recovered, and how many log buffers their records take at the
    /// most.
    pub(in crate::log) running: u32,
    pub(in crate::log) taken: u32,
    /// How many regions are not yet recovered, including those that are being recovered.
    pub(in crate::log) left: u32,
}

impl Recoveries {
    /// The queue whose first region is recovered next. While the array is being stopped, only
    /// regions that hosts wait for are recovered.
    pub(in crate::log) fn queue(&mut self, serving: bool) -> &mut VecDeque<Region> {
        if self.wanted.is_empty() && serving { &mut self.waiting } else { &mut self.wanted }
    }
}
