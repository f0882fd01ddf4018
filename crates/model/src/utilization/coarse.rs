//! The model of §2: disk time in random small accesses, from two ratios of bandwidths.

use crate::disk::Disk;

/// The speed of long accesses relative to shorter ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidths {
    /// Random accesses to tracks relative to those to data units.
    pub track_over_block: f64,
    /// Random accesses to cylinders relative to those to tracks.
    pub cylinder_over_track: f64,
}

/// The cost of parity in place: a preread and a write for each small write.
pub const IN_PLACE: f64 = 2.0;

impl Bandwidths {
    /// The usual ratios that §2 assumes.
    pub const LORE: Bandwidths = Bandwidths { track_over_block: 10.0, cylinder_over_track: 2.0 };

    /// The ratios of a disk (figure 3). Those of the IBM 0661 are 7.4 and 2.0.
    pub fn of(disk: &Disk) -> Bandwidths {
        let track = disk.track_bandwidth();
        Bandwidths {
            track_over_block: track / disk.block_bandwidth(),
            cylinder_over_track: disk.cylinder_bandwidth() / track,
        }
    }

    /// The cost of parity in parity logging, in small accesses per small write: the log is written
    /// in tracks; log and parity are read, and parity is written, in cylinders. With the usual
    /// ratios it is `3/20 + 1/(10A)` (§2.3, figure 11). `ratio` is `A`, the length of the log
    /// relative to that of the parity, and positive.
    pub fn maintenance(&self, ratio: f64) -> f64 {
        let track = 1.0 / self.track_over_block;
        let cylinder = track / self.cylinder_over_track;
        track + cylinder * (2.0 + ratio) / ratio
    }

    /// Its limit for a log that never fills up.
    pub fn least_maintenance(&self) -> f64 {
        1.0 / self.track_over_block * (1.0 + 1.0 / self.cylinder_over_track)
    }

    /// The same, for an array of RAID level 4 with a log disk, for all writes that fill the log
    /// (`T·V·D` small writes): all its tracks are written, and there are three passes over a whole
    /// disk. Per small write it is `maintenance(1)`.
    pub fn maintenance_of_a_full_log(&self, disk: &Disk) -> f64 {
        let track = disk.units / self.track_over_block;
        let cylinder = disk.tracks * track / self.cylinder_over_track;
        disk.tracks * disk.cylinders * track + 3.0 * disk.cylinders * cylinder
    }
}
