//! Where the log of a region stands. The layout has room for sublogs, each on a member without data
//! of the region; what is kept in which of them is decided here: log segments, and the records that
//! are durable before their data.

use parlour_units::{Region, Sectors, Slot};

use crate::geometry::Geometry;
use crate::layout::{Location, Regions};

impl Geometry {
    /// Where a copy of log segment `position` of `region` starts in the data area of its member.
    /// Segments are distributed over the sublogs in turn, so that sublogs fill and are read evenly
    /// (§2.5). `None` without logs, or if there are not so many copies.
    pub fn log_segment_at(&self, region: Region, position: u32, copy: u16) -> Option<Location> {
        if copy >= self.log_copies() {
            return None;
        }
        let shape = self.layout().logs()?.shape();
        let sublogs = u32::from(shape.sublogs);
        let sublog = self.layout().sublog_at(region, (position % sublogs) as u16, copy)?;
        let offset = Sectors::new(shape.segment) * u64::from(position / sublogs);
        Some(Location { at: sublog.at + offset, ..sublog })
    }

    /// Where the member in `slot` has a copy of log segment `position` of `region`, if it has one.
    pub fn log_segment_on(&self, region: Region, position: u32, slot: Slot) -> Option<Location> {
        let mut copies =
            (0..self.log_copies()).filter_map(|copy| self.log_segment_at(region, position, copy));
        copies.find(|location| location.slot == slot)
    }

    /// The position of the log segment that directly follows the one in `position` on its member,
    /// if the log is that long.
    pub(crate) fn next_log_segment(&self, position: u32) -> u32 {
        position + u32::from(self.sublogs())
    }

    /// The number of copies of each region's log; 0 without logs.
    pub fn log_copies(&self) -> u16 {
        self.layout().logs().map_or(0, Regions::log_copies)
    }

    /// The slots that hold the log of `region` or a copy of it; empty without logs.
    pub(crate) fn log_slots(&self, region: Region) -> impl Iterator<Item = Slot> + '_ {
        let copies = move |sublog| self.sublog_slots(region, sublog);
        (0..self.sublogs()).flat_map(copies)
    }

    /// Whether the log of `region` stands where `stands` says which slots do: a copy of each
    /// sublog. (Without logs nothing is missing.)
    pub(crate) fn log_stands(&self, region: Region, stands: impl Fn(Slot) -> bool) -> bool {
        (0..self.sublogs()).all(|sublog| self.sublog_slots(region, sublog).any(&stands))
    }

    fn sublog_slots(&self, region: Region, sublog: u16) -> impl Iterator<Item = Slot> + '_ {
        let copies = 0..self.log_copies();
        copies.filter_map(move |copy| self.layout().sublog_slot(region, sublog, copy))
    }

    fn sublogs(&self) -> u16 {
        self.layout().logs().map_or(0, |logs| logs.shape().sublogs)
    }
}
