//! How long and how often a region is reintegrated, and the number of sublogs that balances a hot
//! region (§6).

use crate::disk::Disk;

use super::array::Model;
use super::logging::{LoggingModel, Reading};

/// The targets of several arms that begin to move at once, each from a random position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Targets {
    /// One common target: the position of the region, which is the same on all disks.
    #[default]
    Common,
    /// An independent target for each, as in the printed `I_N` (Bitton and Gray).
    Independent,
}

/// The mean of the longest of `arms` seeks, as a fraction of the full stroke: 1/3 for one arm.
///
/// Independent targets: `1 − Π 2k/(2k+1)` for `k` from 1 to `arms`. A common target `y`: all arms
/// are within `t` of it with a probability of `(min(1, y+t) − max(0, y−t))^n`; integrated over `t`
/// and `y`, `3/4 − 1/(n+2) − 1/(2(n+1)(n+2))`.
pub fn longest_stroke(arms: u32, targets: Targets) -> f64 {
    let n = f64::from(arms);
    match targets {
        Targets::Independent => {
            1.0 - (1..=arms).map(|k| 2.0 * f64::from(k)).map(|k| k / (k + 1.0)).product::<f64>()
        }
        Targets::Common => 0.75 - 1.0 / (n + 2.0) - 0.5 / ((n + 1.0) * (n + 2.0)),
    }
}

/// The time of a seek over a fraction of the stroke (from a third on): `S(1/2 + 3/2·stroke)`, so
/// that a full stroke takes twice the mean.
pub fn long_seek(disk: &Disk, stroke: f64) -> f64 {
    disk.seek * (0.5 + 1.5 * stroke)
}

/// The time of a region's reintegration on disks without other load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reintegration {
    /// `T_load`: until log and parity are in memory.
    pub load: f64,
    /// `T_cpu`: the additional time until the log is applied to the parity.
    pub compute: f64,
    /// `T_write`: until the parity is on the disks.
    pub write: f64,
}

impl Reintegration {
    /// The time for which it holds the reintegration buffer.
    pub fn total(&self) -> f64 {
        self.load + self.compute + self.write
    }
}

impl LoggingModel {
    /// The time of a region's reintegration, where the longest seek is that of a disk with log on
    /// it (figure 19). `compute` is the paper's `T_cpu`, which it neglects.
    pub fn reintegration(&self, targets: Targets, compute: f64) -> Reintegration {
        let stroke = longest_stroke(self.disks as u32, targets);
        let reach = long_seek(&self.disk, stroke) + self.disk.rotation;
        let parity = self.failures * self.parity() / self.disks;
        let load = reach + self.transfer(self.log() / self.sublogs + parity);
        Reintegration { load, compute, write: reach + self.transfer(parity) }
    }

    /// The number of sublogs with which a region's log disks are as busy as its data disks when all
    /// writes go to that region. The log is assumed to be read in one access, as in the paper.
    pub fn balanced_sublogs(&self, small_write: f64) -> f64 {
        let segments = self.disk.tracks * self.log() / f64::from(self.logging.segment);
        let log = segments * self.log_write() + self.disk.cylinder_run(self.log());
        self.disks * log / (self.cycle() * small_write + self.failures * log)
    }

    fn transfer(&self, cylinders: f64) -> f64 {
        let seeks = match self.logging.reading {
            Reading::Corrected => (cylinders - 1.0).max(0.0),
            _ => cylinders - 1.0,
        };
        cylinders * self.disk.cylinder_pass() + seeks * self.disk.single_cylinder_seek
    }
}

impl Model {
    /// The mean time between two reintegrations, of any regions, if small writes give the disks the
    /// utilization `utilization`: `D·T·C_L·t_amw/N` (§6 prints its inverse). None if nothing is
    /// logged.
    pub fn reintegration_period(&self, utilization: f64) -> Option<f64> {
        let cycle = self.logging()?.cycle();
        Some(1e3 * cycle / self.throughput(utilization))
    }

    /// The fraction of disks (`L/N`) for a region's log with which all disks are equally busy when
    /// all writes go to the region (§6): 0.11 for blind writes in the example, 0.16 if old data is
    /// known. None if nothing is logged.
    pub fn balance(&self) -> Option<f64> {
        let sublogs = self.logging()?.balanced_sublogs(self.small_write().data);
        Some(sublogs / f64::from(self.array().disks))
    }
}
