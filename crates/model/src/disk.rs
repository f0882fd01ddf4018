//! What the models know of a disk, and what its accesses cost (Stodolsky et al., §3 and §4, figures
//! 5 and 12).
//!
//! An access is a mean seek, half a revolution, and what passes under the head. The letters in the
//! comments are the paper's.

use parlour_drive::mechanics::Mechanics;
use parlour_drive::surface::{Arrangement, Zone};
use parlour_units::{Duration, SECTOR_BYTES, Sectors};

/// A disk, as the paper's figure 5 has it. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// `S`: the mean seek, over cylinders drawn at random.
    pub seek: f64,
    /// `R`: the mean wait for the platters, half a revolution.
    pub rotation: f64,
    /// `H`: to another head of the same cylinder.
    pub head_switch: f64,
    /// `M`: the seek to the next cylinder.
    pub single_cylinder_seek: f64,
    /// `T`: tracks of a cylinder.
    pub tracks: f64,
    /// `V`: cylinders.
    pub cylinders: f64,
    /// `D`: data units of a track.
    pub units: f64,
    /// What a data unit holds, in KB of 1024 bytes. Only bandwidths and memory depend on it.
    pub unit: f64,
}

/// Why it is no disk.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DiskError {
    /// A time or a count that cannot be.
    #[error("disk.{quantity}: {value} is not possible; it must be {range}")]
    Value {
        /// Which.
        quantity: &'static str,
        /// What was given.
        value: f64,
        /// What may be.
        range: &'static str,
    },
    /// The unit of a drive has no size.
    #[error("a data unit must have at least one sector")]
    EmptyUnit,
}

/// The mean delay until a free block passes, in data units: Menon and Kasson's, whom §4 cites, for
/// disks like the [example](Disk::IBM_0661)'s with one free track in a cylinder.
pub const FLOATING_DELAY: f64 = 0.76;

impl Disk {
    /// The IBM 0661 ("Lightning") with the values that the paper reckons with (figures 3 and 12),
    /// and units of 2 KB. Its curve's own mean seek is 12.69 ms: [`Disk::of`] has that.
    pub const IBM_0661: Disk = Disk {
        seek: 12.5,
        rotation: 13.9 / 2.0,
        head_switch: 1.16,
        single_cylinder_seek: 2.0,
        tracks: 14.0,
        cylinders: 949.0,
        units: 12.0,
        unit: 2.0,
    };

    /// What a drive's moving parts come to, with data units of `unit`. The seek is the mean over
    /// pairs of blocks; a track is as long as the mean of all tracks. Overheads, buffers and the
    /// settling before writes are not the paper's, and left out.
    ///
    /// # Errors
    /// `unit` is empty, or the drive has no revolution, tracks or cylinders.
    pub fn of(mechanics: &Mechanics, unit: Sectors) -> Result<Disk, DiskError> {
        if unit.is_zero() {
            return Err(DiskError::EmptyUnit);
        }
        let zones = mechanics.surface.zones();
        let sum = |of: fn(&Zone) -> u64| zones.iter().map(of).sum::<u64>() as f64;
        let cylinders = sum(|zone| zone.shape.cylinders);
        let tracks = sum(|zone| zone.shape.cylinders * zone.shape.heads);
        let sectors = sum(|zone| zone.blocks);
        let disk = Disk {
            seek: mean_seek(mechanics),
            rotation: milliseconds(mechanics.spindle.revolution) / 2.0,
            head_switch: milliseconds(mechanics.head_switch),
            single_cylinder_seek: milliseconds(mechanics.seek.time(1)),
            tracks: tracks / cylinders,
            cylinders,
            units: sectors / tracks / unit.get() as f64,
            unit: (unit.get() * SECTOR_BYTES) as f64 / 1024.0,
        };
        disk.checked()
    }

    /// Itself, if it can be: times are not negative, a revolution takes time, and counts are at
    /// least 1 (`D` and the unit's size: positive).
    ///
    /// # Errors
    /// The first value that cannot be.
    pub fn checked(self) -> Result<Disk, DiskError> {
        let refuse = |quantity, value, range| Err(DiskError::Value { quantity, value, range });
        let times = [
            ("seek", self.seek),
            ("head_switch", self.head_switch),
            ("single_cylinder_seek", self.single_cylinder_seek),
        ];
        for (quantity, value) in times {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(quantity, value, "a time of 0 ms or more");
            }
        }
        let sizes = [("rotation", self.rotation), ("units", self.units), ("unit", self.unit)];
        for (quantity, value) in sizes {
            if !(value.is_finite() && value > 0.0) {
                return refuse(quantity, value, "positive");
            }
        }
        for (quantity, value) in [("tracks", self.tracks), ("cylinders", self.cylinders)] {
            if !(value.is_finite() && value >= 1.0) {
                return refuse(quantity, value, "1 or more");
            }
        }
        Ok(self)
    }

    /// One unit passing under the head: `2R/D`.
    pub fn transfer(&self) -> f64 {
        2.0 * self.rotation / self.units
    }

    /// Reading or writing `units` somewhere: `S + (1 + 2·units/D)R`. With one unit it is §3's
    /// `t_w`.
    pub fn access(&self, units: f64) -> f64 {
        self.seek + self.rotation + units * self.transfer()
    }

    /// Reading `units`, waiting until they come by again, and writing them, at one go: `S + (3 +
    /// 2·units/D)R`. With one unit it is §3's `t_rmw`. `units` are at most a track.
    pub fn read_modify_write(&self, units: f64) -> f64 {
        self.access(units) + 2.0 * self.rotation
    }

    /// Reading a unit and writing it into the first free place that passes: `S + (1 + 5.52/D)R + H`
    /// (§4).
    pub fn floating_update(&self) -> f64 {
        self.access(1.0) + self.head_switch + (FLOATING_DELAY + 1.0) * self.transfer()
    }

    /// `count` tracks of one cylinder, one after the other: `S + (2K+1)R + (K−1)H`, §3's
    /// `t_Ktrack`. A disk with zero latency for it begins with whatever passes, and does not wait
    /// (footnote 5).
    pub fn track_run(&self, count: f64, zero_latency: bool) -> f64 {
        let wait = if zero_latency { 0.0 } else { self.rotation };
        self.seek + wait + 2.0 * self.rotation * count + self.head_switch * (count - 1.0)
    }

    /// The tracks of a cylinder passing, with the switches between them: `2RT + (T−1)H`.
    pub fn cylinder_pass(&self) -> f64 {
        2.0 * self.rotation * self.tracks + self.head_switch * (self.tracks - 1.0)
    }

    /// A random access to `cylinders` that follow one another; a part of a cylinder counts as that
    /// part of a pass.
    pub fn cylinder_run(&self, cylinders: f64) -> f64 {
        let seeks = (cylinders - 1.0).max(0.0);
        self.seek + self.rotation + cylinders * self.cylinder_pass() + seeks * self.single_cylinder_seek
    }

    /// What long accesses spend between tracks, for each track: `((T−1)H + M)/T` (§5.2).
    pub fn track_switch(&self) -> f64 {
        ((self.tracks - 1.0) * self.head_switch + self.single_cylinder_seek) / self.tracks
    }

    /// What a track holds, in KB.
    pub fn track_size(&self) -> f64 {
        self.units * self.unit
    }

    /// What a cylinder holds, in KB.
    pub fn cylinder_size(&self) -> f64 {
        self.tracks * self.track_size()
    }

    /// What the disk holds, in KB.
    pub fn capacity(&self) -> f64 {
        self.cylinders * self.cylinder_size()
    }

    /// What random accesses of one unit move, in KB a second (figure 3).
    pub fn block_bandwidth(&self) -> f64 {
        1e3 * self.unit / self.access(1.0)
    }

    /// The same, of one track.
    pub fn track_bandwidth(&self) -> f64 {
        1e3 * self.track_size() / self.track_run(1.0, false)
    }

    /// The same, of one cylinder.
    pub fn cylinder_bandwidth(&self) -> f64 {
        1e3 * self.cylinder_size() / self.cylinder_run(1.0)
    }
}

/// How much later than a track the next one of its cylinder begins, in milliseconds, in a drive's
/// first zone (figure 12: as long as a head switch). None: its tracks are in strips.
pub fn track_skew(mechanics: &Mechanics) -> Option<f64> {
    let zone = mechanics.surface.zones().first()?;
    match zone.arrangement {
        Arrangement::Cylinders { track_skew, .. } => {
            let revolution = milliseconds(mechanics.spindle.revolution);
            Some(revolution * track_skew as f64 / zone.shape.sectors as f64)
        }
        Arrangement::Strips { .. } => None,
    }
}

/// The mean seek between two blocks that are drawn at random, in milliseconds: between cylinders
/// that count as much as they hold.
pub fn mean_seek(mechanics: &Mechanics) -> f64 {
    let zones = mechanics.surface.zones();
    let last = zones.iter().map(|zone| u64::from(zone.cylinder) + zone.shape.cylinders).max().unwrap_or(0);
    // `within[d]` is the sum of the seeks over fewer than `d` cylinders. So what a cylinder has to
    // do with a whole zone is a difference.
    let mut within = vec![0.0; last as usize + 1];
    for distance in 0..last as usize {
        within[distance + 1] = within[distance] + milliseconds(mechanics.seek.time(distance as u32));
    }
    let holds = |zone: &Zone| zone.blocks as f64 / zone.shape.cylinders as f64;
    let range = |zone: &Zone| {
        let from = zone.cylinder as usize;
        (from, from + zone.shape.cylinders as usize)
    };
    let to_zone = |cylinder: usize, zone: &Zone| {
        let (from, end) = range(zone);
        let (inwards, outwards) = match cylinder {
            before if before < from => (within[end - before] - within[from - before], 0.0),
            behind if behind >= end => (0.0, within[behind - from + 1] - within[behind - end + 1]),
            inside => (within[end - inside], within[inside - from + 1]),
        };
        holds(zone) * (inwards + outwards)
    };
    let from_cylinder = |cylinder| zones.iter().map(|zone| to_zone(cylinder, zone)).sum::<f64>();
    let from_zone = |zone: &Zone| {
        let (from, end) = range(zone);
        holds(zone) * (from..end).map(from_cylinder).sum::<f64>()
    };
    let blocks = mechanics.surface.blocks() as f64;
    zones.iter().map(from_zone).sum::<f64>() / (blocks * blocks)
}

fn milliseconds(time: Duration) -> f64 {
    time.nanoseconds() as f64 / 1e6
}
