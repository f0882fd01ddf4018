//! The space of redundancy on the disks (§2.2, §2.3, §4, §9), and in the controller's memory (§2.2,
//! §2.4, §4).

use crate::disk::Disk;

use super::array::{Model, Organization};
use super::logging::LoggingModel;

/// The price of a byte of memory relative to a byte of disk (§2.2, in 1993).
pub const MEMORY_PRICE: f64 = 20.0;

impl Model {
    /// The fraction of the disks that does not hold data (figures 10 and 11). For one failure: 1/2
    /// for copies, `1/N` for parity in place, `(T+N−1)/(TN)` for floating, `(1+A)/(N−L+A)` for
    /// parity logging.
    pub fn space_overhead(&self) -> f64 {
        let array = self.array();
        let (disks, failures) = (f64::from(array.disks), f64::from(array.failures));
        match array.organization {
            Organization::Nonredundant => 0.0,
            Organization::Mirrored => failures / (failures + 1.0),
            Organization::Raid4 | Organization::Raid5 => failures / disks,
            Organization::Floating => {
                let tracks = array.disk.tracks;
                1.0 - (tracks - 1.0) / tracks * (disks - failures) / disks
            }
            Organization::ParityLogging(logging) => {
                let sublogs = f64::from(logging.sublogs.count());
                let redundant = failures * (1.0 + logging.ratio);
                redundant / (disks - failures * sublogs + failures * logging.ratio)
            }
        }
    }

    /// The fraction of the disks that holds data (figure 20).
    pub fn user_capacity(&self) -> f64 {
        1.0 - self.space_overhead()
    }

    /// The memory that a controller needs while it works, in KB: log buffers and the reintegration
    /// buffer for parity logging; the maps for floating.
    pub fn memory(&self) -> f64 {
        let array = self.array();
        match (array.organization, self.logging()) {
            (Organization::Floating, _) => {
                f64::from(array.disks) * floating_map(&array.disk) / (8.0 * 1024.0)
            }
            (_, Some(logging)) => logging.memory(),
            _ => 0.0,
        }
    }

    /// The price of that memory, in disks, if a byte of memory costs `price` times a byte of disk.
    pub fn memory_cost(&self, price: f64) -> f64 {
        price * self.memory() / self.array().disk.capacity()
    }
}

impl LoggingModel {
    /// The tracks of memory: `K` for each region, and the parity of one region (all its sets of
    /// check units), in whole tracks. For an unstriped log as long as the parity it is §2.2's `KB +
    /// VT/B`.
    pub fn buffer_tracks(&self) -> f64 {
        let log = f64::from(self.logging.segment) * f64::from(self.logging.regions);
        // A whole number with a rounding error counts as whole.
        let parity = (self.failures * self.parity() * self.disk.tracks - 1e-9).ceil();
        log + parity
    }

    /// The least fraction of the disks that is unused because a region's parity, and each of its
    /// sublogs, are whole tracks, for numbers of regions within a fraction `around` of the optimum
    /// `√(TV/K)` (§2.4). Logs and parities are distributed over all disks, so a region takes
    /// equally much of each.
    pub fn least_waste(&self, around: f64) -> f64 {
        let tracks = self.disk.tracks * self.disk.cylinders;
        let optimum = (tracks / f64::from(self.logging.segment)).sqrt();
        let numbers = ((1.0 - around) * optimum).ceil() as u32..=((1.0 + around) * optimum).floor() as u32;
        let wasted = |regions: u32| {
            // The tracks of all disks that a region takes for each track of parity.
            let each = self.disks - self.sublogs + self.logging.ratio;
            let room = tracks * self.disks / f64::from(regions);
            let sublog = (room / each * self.logging.ratio / self.sublogs + 1e-9).floor();
            let parity = (sublog * self.sublogs / self.logging.ratio + 1e-9).floor();
            1.0 - parity * each / room
        };
        numbers.map(wasted).fold(1.0, f64::min)
    }

    /// The memory of the buffers, in KB.
    fn memory(&self) -> f64 {
        self.buffer_tracks() * self.disk.track_size()
    }
}

/// The bits with which a controller records where the units of a floating disk are: for each
/// cylinder, which positions are used, and which one each unit has: `V·D(T + (T−1)⌈log₂ DT⌉)` (§4).
/// `D` and `T` are whole.
pub fn floating_map(disk: &Disk) -> f64 {
    let place = (disk.units * disk.tracks).log2().ceil();
    disk.cylinders * disk.units * (disk.tracks + (disk.tracks - 1.0) * place)
}
