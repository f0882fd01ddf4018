//! The number of regions of an array (§2.4).

use crate::disk::Disk;

use super::logging::LoggingModel;

/// The tracks of memory for a number of regions: `TV/B + KB`.
pub fn memory_tracks(disk: &Disk, segment: u32, regions: f64) -> f64 {
    disk.tracks * disk.cylinders / regions + f64::from(segment) * regions
}

/// The number of regions with the least memory: `√(TV/K)`; the memory is then `2√(TVK)` tracks.
pub fn cheapest(disk: &Disk, segment: u32) -> f64 {
    (disk.tracks * disk.cylinders / f64::from(segment)).sqrt()
}

/// An array whose regions consist of whole tracks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WholeTracks {
    /// `B`.
    pub regions: u32,
    /// The tracks of each region's parity on each disk.
    pub parity: f64,
    /// The tracks of each of its sublogs.
    pub sublog: f64,
    /// The unused fraction of the array.
    pub waste: f64,
}

impl LoggingModel {
    /// An array with this number of regions of whole tracks: each disk's part of the parity, and
    /// each sublog, is rounded down to whole tracks, and there is exactly as much data as this
    /// parity protects. None if nothing is left.
    pub fn whole_tracks(&self, regions: u32) -> Option<WholeTracks> {
        let (disks, sublogs) = (self.disks, self.sublogs * self.failures);
        let all = disks * self.disk.tracks * self.disk.cylinders;
        let shares = disks - sublogs + self.failures * self.logging.ratio;
        let parity = whole(all / (f64::from(regions) * shares * disks));
        let sublog = whole(self.logging.ratio * disks * parity / self.sublogs);
        let used = parity * disks * (disks - sublogs) + sublogs * sublog;
        let waste = 1.0 - f64::from(regions) * used / all;
        (sublog > 0.0).then_some(WholeTracks { regions, parity, sublog, waste })
    }

    /// The number of regions with the least unused space, among those within `range` (0.1: a tenth)
    /// of the number with the least memory. None if none of them is possible.
    pub fn best_whole_tracks(&self, range: f64) -> Option<WholeTracks> {
        let cheapest = cheapest(&self.disk, self.logging.segment);
        let from = ((cheapest * (1.0 - range)).ceil() as u32).max(1);
        let to = (cheapest * (1.0 + range)).floor() as u32;
        let candidates = (from..=to).filter_map(|regions| self.whole_tracks(regions));
        candidates.min_by(|one, other| one.waste.total_cmp(&other.waste))
    }
}

/// Rounds down, but treats a whole number with a rounding error as whole.
fn whole(tracks: f64) -> f64 {
    (tracks + 1e-9).floor()
}
