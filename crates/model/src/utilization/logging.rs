//! Parity logging: the costs of its logs and its parity (§3, §9).

use crate::disk::Disk;

use super::refused::Refused;
use super::work::Work;

/// The placement of a region's log on the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sublogs {
    /// On one disk, with the parity on the others (figure 8).
    Unstriped,
    /// `L`: on this many disks, with the parity on all (figure 9).
    Striped(u32),
}

impl Sublogs {
    /// The number of sublogs.
    pub fn count(self) -> u32 {
        match self {
            Sublogs::Unstriped => 1,
            Sublogs::Striped(count) => count,
        }
    }
}

/// The reading of the paper for long accesses. Its numbers do not all come from one reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// `T−1` head switches per cylinder, as in §3 before its simplification and in §5.2; and no
    /// seek within less than a cylinder on a disk.
    #[default]
    Corrected,
    /// The same, but with `C−n` seeks between cylinders even if this is negative.
    Unclamped,
    /// As in the simplified line of `t_CP`: accesses to parity have `T+1` head switches per
    /// cylinder, and the seeks of `Unclamped`.
    Simplified,
    /// The reading nearest to figure 13's 1.29 ms: log and parity are one access each, with one
    /// seek and with `T+1` head switches per cylinder. (1.285 ms; 1.29 if regions have nine whole
    /// cylinders.) §10's 36.7 accesses follow from it.
    Figure13,
}

/// The parameters of parity logging.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logging {
    /// The number of disks of a region's log.
    pub sublogs: Sublogs,
    /// `A`: the length of the log relative to that of the parity (§2.3). Positive.
    pub ratio: f64,
    /// `B`: the number of regions, which fill the array. 1 or more.
    pub regions: u32,
    /// `K`: the tracks of a log write, on one cylinder: 1 to `T`.
    pub segment: u32,
    /// Whether log writes begin with any sector (footnote 5).
    pub zero_latency: bool,
    /// The reading of the formulas.
    pub reading: Reading,
}

impl Default for Logging {
    /// The example (§2.1, figures 10 and 13): an unstriped log as long as the parity, 100 regions,
    /// one track.
    fn default() -> Logging {
        Logging {
            sublogs: Sublogs::Unstriped,
            ratio: 1.0,
            regions: 100,
            segment: 1,
            zero_latency: false,
            reading: Reading::default(),
        }
    }
}

/// The model of parity logging for one array.
#[derive(Clone, Copy, Debug)]
pub struct LoggingModel {
    pub(super) disk: Disk,
    /// `N`.
    pub(super) disks: f64,
    /// `f`.
    pub(super) failures: f64,
    /// `L`.
    pub(super) sublogs: f64,
    pub(super) logging: Logging,
    parity: f64,
}

impl LoggingModel {
    /// For `count` disks, of which `survived` may fail.
    pub(super) fn new(
        disk: Disk,
        count: u32,
        survived: u32,
        logging: Logging,
    ) -> Result<LoggingModel, Refused> {
        let refuse = |quantity, value: f64, range: &str| {
            Err(Refused::Logging { quantity, value, range: range.to_string() })
        };
        let sublogs = logging.sublogs.count();
        if sublogs == 0 {
            return refuse("sublogs", 0.0, "1 or more");
        }
        if !(logging.ratio.is_finite() && logging.ratio > 0.0) {
            return refuse("ratio", logging.ratio, "positive");
        }
        if logging.regions == 0 {
            return refuse("regions", 0.0, "1 or more");
        }
        // Each failure takes the disks of one log, and check units; and there must be data.
        let least = survived.saturating_mul(sublogs.saturating_add(1)).saturating_add(1);
        if count < least {
            return Err(Refused::Disks { disks: count, least });
        }
        let segment = f64::from(logging.segment);
        if !(1.0..=disk.tracks).contains(&segment) {
            return refuse("segment", segment, "1 or more tracks, and within a cylinder");
        }
        let (disks, failures) = (f64::from(count), f64::from(survived));
        let shares = disks - failures * f64::from(sublogs) + failures * logging.ratio;
        let parity = disks * disk.cylinders / (f64::from(logging.regions) * shares);
        let sublogs = f64::from(sublogs);
        let model = LoggingModel { disk, disks, failures, sublogs, logging, parity };
        if model.log() / sublogs * disk.tracks < segment {
            let range = "so few that a sublog has room for a segment";
            return refuse("regions", logging.regions.into(), range);
        }
        Ok(model)
    }

    /// `C_P`: the cylinders of a region's parity; of each set of check units, if more than one
    /// failure is survived.
    pub fn parity(&self) -> f64 {
        self.parity
    }

    /// `C_L`: the cylinders of a region's log; of each copy of it.
    pub fn log(&self) -> f64 {
        self.logging.ratio * self.parity
    }

    /// The number of data units that are logged until the log is full: `D·T·C_L`.
    pub fn cycle(&self) -> f64 {
        self.disk.units * self.disk.tracks * self.log()
    }

    /// The time to write a segment to a log: `t_Ktrack`.
    pub fn log_write(&self) -> f64 {
        self.disk.track_run(self.logging.segment.into(), self.logging.zero_latency)
    }

    /// The time to read a region's log: `t_CL`, summed over all disks that have a part of it.
    pub fn log_read(&self) -> f64 {
        self.long(self.sublogs, self.log(), self.logging.reading == Reading::Figure13)
    }

    /// The time to read or write a region's parity: `t_CP`, summed over all disks that have a part
    /// of it.
    pub fn parity_access(&self) -> f64 {
        let disks = match self.logging.sublogs {
            Sublogs::Unstriped => self.disks - 1.0,
            Sublogs::Striped(_) => self.disks,
        };
        let more = matches!(self.logging.reading, Reading::Simplified | Reading::Figure13);
        self.long(disks, self.parity, more)
    }

    /// The time to read one sublog on its disk (figure 22).
    pub fn sublog_read(&self) -> f64 {
        self.disk.cylinder_run(self.log() / self.sublogs)
    }

    /// The cost of logging `units`, without writing the data. Each failure that is survived needs
    /// one more copy of the log to be written (one is read), and one more set of check units (§9).
    pub(super) fn maintenance(&self, units: f64) -> Work {
        let segment = f64::from(self.logging.segment) * self.disk.units;
        let part = units / self.cycle();
        let parity = self.failures * self.parity_access() * part;
        Work {
            log_write: self.failures * self.log_write() * units / segment,
            log_read: self.log_read() * part,
            parity_read: parity,
            parity_write: parity,
            ..Work::default()
        }
    }

    /// The time for `cylinders` in this number of accesses of equal length. `more` adds two head
    /// switches per cylinder.
    fn long(&self, accesses: f64, cylinders: f64, more: bool) -> f64 {
        let Disk { seek, rotation, head_switch, single_cylinder_seek, .. } = self.disk;
        let accesses = if self.logging.reading == Reading::Figure13 { 1.0 } else { accesses };
        let switches = if more { 2.0 * head_switch } else { 0.0 };
        let seeks = match self.logging.reading {
            Reading::Corrected => (cylinders - accesses).max(0.0),
            _ => cylinders - accesses,
        };
        let pass = self.disk.cylinder_pass() + switches;
        accesses * (seek + rotation) + cylinders * pass + seeks * single_cylinder_seek
    }
}
