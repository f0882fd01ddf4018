//! What redundancy takes up: of the disks (§2.2, §2.3, §4, §9), and of the controller's memory
//! (§2.2, §2.4, §4).

use crate::disk::Disk;

use super::array::{Model, Organization};
use super::logging::LoggingModel;

/// How much more a byte of memory costs than one of disk (§2.2, in 1993).
pub const MEMORY_PRICE: f64 = 20.0;

impl Model {
    /// The part of the disks that does not hold data (figures 10 and 11). For one failure: of
    /// copies 1/2, of parity in place `1/N`, of floating `(T+N−1)/(TN)`, of parity logging
    /// `(1+A)/(N−L+A)`.
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

    /// The part of the disks that holds data (figure 20).
    pub fn user_capacity(&self) -> f64 {
        1.0 - self.space_overhead()
    }

    /// The memory of a controller that has to be kept while it works, in KB: log buffers and the
    /// reintegration buffer of parity logging; the maps of floating.
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

    /// What that memory costs, in disks, a byte costing `price` times what it costs on disk.
    pub fn memory_cost(&self, price: f64) -> f64 {
        price * self.memory() / self.array().disk.capacity()
    }
}

impl LoggingModel {
    /// Tracks of memory: `K` for each region, and what a region's parity has (all its sets of check
    /// units), in whole tracks. With a log that is unstriped and as long as the parity it is §2.2's
    /// `KB + VT/B`.
    pub fn buffer_tracks(&self) -> f64 {
        let log = f64::from(self.logging.segment) * f64::from(self.logging.regions);
        // What is whole but for rounding is whole.
        let parity = (self.failures * self.parity() * self.disk.tracks - 1e-9).ceil();
        log + parity
    }

    /// The least part of the disks that is wasted because a region's parity, and each of its
    /// sublogs, are whole tracks, with regions of a number within `around` (a part) of the optimum
    /// `√(TV/K)` (§2.4). Logs and parities are spread over all disks, so that a region takes as
    /// much of each.
    pub fn least_waste(&self, around: f64) -> f64 {
        let tracks = self.disk.tracks * self.disk.cylinders;
        let optimum = (tracks / f64::from(self.logging.segment)).sqrt();
        let numbers = ((1.0 - around) * optimum).ceil() as u32..=((1.0 + around) * optimum).floor() as u32;
        let wasted = |regions: u32| {
            // What a region takes of all disks for each track of parity.
            let each = self.disks - self.sublogs + self.logging.ratio;
            let room = tracks * self.disks / f64::from(regions);
            let sublog = (room / each * self.logging.ratio / self.sublogs + 1e-9).floor();
            let parity = (sublog * self.sublogs / self.logging.ratio + 1e-9).floor();
            1.0 - parity * each / room
        };
        numbers.map(wasted).fold(1.0, f64::min)
    }

    /// What buffers take, in KB.
    fn memory(&self) -> f64 {
        self.buffer_tracks() * self.disk.track_size()
    }
}

/// Bits in which a controller keeps where the units of a floating disk are: for each cylinder,
/// which places are taken, and in which one each unit is: `V·D(T + (T−1)⌈log₂ DT⌉)` (§4). `D` and
/// `T` are whole.
pub fn floating_map(disk: &Disk) -> f64 {
    let place = (disk.units * disk.tracks).log2().ceil();
    disk.cylinders * disk.units * (disk.tracks + (disk.tracks - 1.0) * place)
}
