//! The logs of the regions that were used, by the region's number.

use std::ops::Index;

use parlour_units::Region;

use crate::log::region::RegionLog;

/// The logs of regions. A region that was never used has none.
#[derive(Debug)]
pub(in crate::log) struct RegionLogs {
    /// By number. A log is made when its region is first used.
    logs: Vec<Option<Box<RegionLog>>>,
    /// The number of positions of each log.
    positions: usize,
}

impl RegionLogs {
    /// No logs yet, of up to `regions` regions with `positions` each.
    pub(in crate::log) fn new(regions: usize, positions: usize) -> RegionLogs {
        RegionLogs { logs: (0..regions).map(|_| None).collect(), positions }
    }

    /// The log of `region`, if it has one.
    pub(in crate::log) fn get(&self, region: Region) -> Option<&RegionLog> {
        self.logs.get(region.as_usize())?.as_deref()
    }

    /// The log of `region`. It is made if there is none.
    pub(in crate::log) fn used(&mut self, region: Region) -> &mut RegionLog {
        let positions = self.positions;
        self.logs[region.as_usize()].get_or_insert_with(|| Box::new(RegionLog::new(positions)))
    }

    /// All logs, in the order of their regions.
    pub(in crate::log) fn iter(&self) -> impl Iterator<Item = (Region, &RegionLog)> {
        numbered(self.logs.iter()).filter_map(|(region, log)| Some((region, log.as_deref()?)))
    }

    /// The same, to change them.
    pub(in crate::log) fn iter_mut(&mut self) -> impl Iterator<Item = (Region, &mut RegionLog)> {
        numbered(self.logs.iter_mut()).filter_map(|(region, log)| Some((region, log.as_deref_mut()?)))
    }

    /// The regions that have logs, in order.
    pub(in crate::log) fn regions(&self) -> impl Iterator<Item = Region> {
        self.iter().map(|(region, _)| region)
    }

    /// All logs.
    pub(in crate::log) fn values(&self) -> impl Iterator<Item = &RegionLog> {
        self.logs.iter().flatten().map(|log| &**log)
    }
}

fn numbered<T>(logs: impl Iterator<Item = T>) -> impl Iterator<Item = (Region, T)> {
    (0..).map(Region::new).zip(logs)
}

impl Index<Region> for RegionLogs {
    type Output = RegionLog;

    fn index(&self, region: Region) -> &RegionLog {
        self.get(region).expect("a region is named only after it was used")
    }
}
