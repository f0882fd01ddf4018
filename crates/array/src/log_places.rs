//! Where the log of a region stands. The layout has room for sublogs, each on a member without data
//! of the region; what is kept in which of them is decided here: log segments, and the records that
//! are durable before their data.

use parlour_units::{Region, Sectors, Slot};

use crate::geometry::Geometry;
use crate::layout::Location;

impl Geometry {
    /// Where log segment `position` of `region` starts in the data area of its member. Segments are
    /// distributed over the sublogs in turn, so that sublogs fill and are read evenly (§2.5).
    /// `None` without logs.
    pub fn log_segment_at(&self, region: Region, position: u32) -> Option<Location> {
        let shape = self.layout().logs()?.shape();
        let sublogs = u32::from(shape.sublogs);
        let sublog = self.layout().sublog_at(region, (position % sublogs) as u16)?;
        let offset = Sectors::new(shape.segment) * u64::from(position / sublogs);
        Some(Location { at: sublog.at + offset, ..sublog })
    }

    /// The position of the log segment that directly follows the one in `position` on its member,
    /// if the log is that long.
    pub(crate) fn next_log_segment(&self, position: u32) -> u32 {
        position + u32::from(self.sublogs())
    }

    /// The slots that hold the log of `region`; empty without logs.
    pub(crate) fn log_slots(&self, region: Region) -> impl Iterator<Item = Slot> + '_ {
        (0..self.sublogs()).filter_map(move |sublog| self.layout().sublog_slot(region, sublog))
    }

    fn sublogs(&self) -> u16 {
        self.layout().logs().map_or(0, |logs| logs.shape().sublogs)
    }
}
