//! The model of §2: disk time in random small accesses, from two ratios of bandwidths.

use crate::disk::Disk;

/// How much faster long accesses move data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidths {
    /// Random accesses to tracks against such to data units.
    pub track_over_block: f64,
    /// Random accesses to cylinders against such to tracks.
    pub cylinder_over_track: f64,
}

/// Maintaining parity in place: a preread and a write for each small write.
pub const IN_PLACE: f64 = 2.0;

impl Bandwidths {
    /// The lore with which §2 reckons.
    pub const LORE: Bandwidths = Bandwidths { track_over_block: 10.0, cylinder_over_track: 2.0 };

    /// A disk's own (figure 3). The IBM 0661's are 7.4 and 2.0.
    pub fn of(disk: &Disk) -> Bandwidths {
        let track = disk.track_bandwidth();
        Bandwidths {
            track_over_block: track / disk.block_bandwidth(),
            cylinder_over_track: disk.cylinder_bandwidth() / track,
        }
    }

    /// What parity logging does to maintain parity, in small accesses for each small write: the log
    /// is written by tracks; log and parity are read, and parity is written, by cylinders. With the
    /// lore, `3/20 + 1/(10A)` (§2.3, figure 11). `ratio` is `A`, the log's length against the
    /// parity's, and positive.
    pub fn maintenance(&self, ratio: f64) -> f64 {
        let track = 1.0 / self.track_over_block;
        let cylinder = track / self.cylinder_over_track;
        track + cylinder * (2.0 + ratio) / ratio
    }

    /// What that comes to with a log that never fills up.
    pub fn least_maintenance(&self) -> f64 {
        1.0 / self.track_over_block * (1.0 + 1.0 / self.cylinder_over_track)
    }

    /// The same, of one array of RAID level 4 with a log disk, for all that the log takes (`T·V·D`
    /// small writes): all its tracks, and three passes over a whole disk. Of each small write it is
    /// `maintenance(1)`.
    pub fn maintenance_of_a_full_log(&self, disk: &Disk) -> f64 {
        let track = disk.units / self.track_over_block;
        let cylinder = disk.tracks * track / self.cylinder_over_track;
        disk.tracks * disk.cylinders * track + 3.0 * disk.cylinders * cylinder
    }
}
