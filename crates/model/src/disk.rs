//! The models' disk, and the cost of its accesses (Stodolsky et al., §3 and §4, figures 5 and 12).
//!
//! An access is a mean seek, half a revolution, and the transfer. The letters in the comments are
//! the paper's.

use parlour_drive::mechanics::Mechanics;
use parlour_drive::surface::{Arrangement, Zone};
use parlour_units::{Duration, SECTOR_BYTES, Sectors};

/// A disk with the parameters of the paper's figure 5. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Disk {
    /// `S`: the mean seek, between random cylinders.
    pub seek: f64,
    /// `R`: the mean rotational delay, half a revolution.
    pub rotation: f64,
    /// `H`: a switch to another head of the same cylinder.
    pub head_switch: f64,
    /// `M`: the seek to the next cylinder.
    pub single_cylinder_seek: f64,
    /// `T`: tracks per cylinder.
    pub tracks: f64,
    /// `V`: the number of cylinders.
    pub cylinders: f64,
    /// `D`: data units per track.
    pub units: f64,
    /// The length of a data unit, in KB of 1024 bytes. It affects only bandwidths and memory.
    pub unit: f64,
}

/// Why a disk is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DiskError {
    /// A time or a count is out of range.
    #[error("disk.{quantity}: {value} is not possible; it must be {range}")]
    Value {
        /// The parameter.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        range: &'static str,
    },
    /// The data unit has no sectors.
    #[error("a data unit must have at least one sector")]
    EmptyUnit,
}

/// The mean delay until a free block passes, in data units: Menon and Kasson's, whom §4 cites, for
/// disks like the [example](Disk::IBM_0661)'s with one free track in a cylinder.
pub const FLOATING_DELAY: f64 = 0.76;

impl Disk {
    /// The IBM 0661 ("Lightning") with the values that the paper uses (figures 3 and 12), and units
    /// of 2 KB. The mean seek of its curve is 12.69 ms: [`Disk::of`] has that.
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

    /// The parameters of a drive's mechanical parts, with data units of `unit`. The seek is the
    /// mean over pairs of blocks; the length of a track is the mean over all tracks. Overheads,
    /// buffers and settling before writes are not in the paper's model, and are ignored.
    ///
    /// # Errors
    /// `unit` is zero, or the drive has no revolution, tracks or cylinders.
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

    /// Checks that times are not negative, a revolution takes time, and counts are at least 1 (`D`
    /// and the length of the unit: positive).
    ///
    /// # Errors
    /// The first invalid value.
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

    /// The transfer time of a unit: `2R/D`.
    pub fn transfer(&self) -> f64 {
        2.0 * self.rotation / self.units
    }

    /// A read or write of `units` at a random position: `S + (1 + 2·units/D)R`. With one unit it is
    /// §3's `t_w`.
    pub fn access(&self, units: f64) -> f64 {
        self.seek + self.rotation + units * self.transfer()
    }

    /// A read of `units`, and a write of the same units one revolution later, in one access: `S +
    /// (3 + 2·units/D)R`. With one unit it is §3's `t_rmw`. `units` are at most a track.
    pub fn read_modify_write(&self, units: f64) -> f64 {
        self.access(units) + 2.0 * self.rotation
    }

    /// A read of a unit, and its write to the first free position that passes: `S + (1 + 5.52/D)R +
    /// H` (§4).
    pub fn floating_update(&self) -> f64 {
        self.access(1.0) + self.head_switch + (FLOATING_DELAY + 1.0) * self.transfer()
    }

    /// `count` tracks of one cylinder, one after another: `S + (2K+1)R + (K−1)H`, §3's `t_Ktrack`.
    /// A disk with zero latency for it begins with any sector, and does not wait (footnote 5).
    pub fn track_run(&self, count: f64, zero_latency: bool) -> f64 {
        let wait = if zero_latency { 0.0 } else { self.rotation };
        self.seek + wait + 2.0 * self.rotation * count + self.head_switch * (count - 1.0)
    }

    /// One pass over the tracks of a cylinder, with the head switches: `2RT + (T−1)H`.
    pub fn cylinder_pass(&self) -> f64 {
        2.0 * self.rotation * self.tracks + self.head_switch * (self.tracks - 1.0)
    }

    /// A random access to consecutive `cylinders`. A part of a cylinder counts as that part of a
    /// pass.
    pub fn cylinder_run(&self, cylinders: f64) -> f64 {
        let seeks = (cylinders - 1.0).max(0.0);
        self.seek + self.rotation + cylinders * self.cylinder_pass() + seeks * self.single_cylinder_seek
    }

    /// The switching time of long accesses, per track: `((T−1)H + M)/T` (§5.2).
    pub fn track_switch(&self) -> f64 {
        ((self.tracks - 1.0) * self.head_switch + self.single_cylinder_seek) / self.tracks
    }

    /// The capacity of a track, in KB.
    pub fn track_size(&self) -> f64 {
        self.units * self.unit
    }

    /// The capacity of a cylinder, in KB.
    pub fn cylinder_size(&self) -> f64 {
        self.tracks * self.track_size()
    }

    /// The capacity of the disk, in KB.
    pub fn capacity(&self) -> f64 {
        self.cylinders * self.cylinder_size()
    }

    /// The bandwidth of random accesses of one unit, in KB per second (figure 3).
    pub fn block_bandwidth(&self) -> f64 {
        1e3 * self.unit / self.access(1.0)
    }

    /// The same for accesses of one track.
    pub fn track_bandwidth(&self) -> f64 {
        1e3 * self.track_size() / self.track_run(1.0, false)
    }

    /// The same for accesses of one cylinder.
    pub fn cylinder_bandwidth(&self) -> f64 {
        1e3 * self.cylinder_size() / self.cylinder_run(1.0)
    }
}

/// The time by which a track begins later than the previous one of its cylinder, in milliseconds,
/// in a drive's first zone (figure 12: equal to a head switch). None for tracks in strips.
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

/// The mean seek between two random blocks, in milliseconds: cylinders are weighted by their
/// blocks.
pub fn mean_seek(mechanics: &Mechanics) -> f64 {
    let zones = mechanics.surface.zones();
    let last = zones.iter().map(|zone| u64::from(zone.cylinder) + zone.shape.cylinders).max().unwrap_or(0);
    // `within[d]` is the sum of the seek times over fewer than `d` cylinders. So the sum between a
    // cylinder and a whole zone is a difference.
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
