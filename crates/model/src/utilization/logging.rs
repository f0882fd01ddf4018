//! Parity logging: what its logs and its parity cost (§3, §9).

use crate::disk::Disk;

use super::refused::Refused;
use super::work::Work;

/// How a region's log lies on the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sublogs {
    /// On one disk, and the parity on the others (figure 8).
    Unstriped,
    /// `L`: on so many disks, and the parity on all (figure 9).
    Striped(u32),
}

impl Sublogs {
    /// How many there are.
    pub fn count(self) -> u32 {
        match self {
            Sublogs::Unstriped => 1,
            Sublogs::Striped(count) => count,
        }
    }
}

/// Which of the paper's readings long accesses follow. Its numbers do not all come from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// `T−1` head switches a cylinder, as §3 says before it simplifies and §5.2 reckons; and a disk
    /// whose share is less than a cylinder makes no seek within it.
    #[default]
    Corrected,
    /// The same, but with `C−n` seeks between cylinders even if that is less than none.
    Unclamped,
    /// As printed in the simplified line of `t_CP`: accesses to parity have `T+1` head switches a
    /// cylinder, and the seeks of `Unclamped`.
    Simplified,
    /// What comes nearest to figure 13's 1.29 ms: log and parity are each one access with one seek
    /// and with `T+1` head switches a cylinder. (1.285 ms; 1.29 if regions are of nine whole
    /// cylinders.) §10's 36.7 accesses follow from it.
    Figure13,
}

/// The parameters of parity logging.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Logging {
    /// Disks of a region's log.
    pub sublogs: Sublogs,
    /// `A`: how much log there is for each parity (§2.3). Positive.
    pub ratio: f64,
    /// `B`: regions, which fill the array. 1 or more.
    pub regions: u32,
    /// `K`: tracks of a log write, which are on one cylinder: 1 to `T`.
    pub segment: u32,
    /// Whether log writes begin with whatever passes (footnote 5).
    pub zero_latency: bool,
    /// Which reading of the formulas.
    pub reading: Reading,
}

impl Default for Logging {
    /// The example's (§2.1, figures 10 and 13): an unstriped log as long as the parity, 100
    /// regions, one track.
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

/// What parity logging does with one array.
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
    /// Of `count` such disks, of which `survived` may fail.
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
        // Each failure takes the disks of one log, and check units; and there is data.
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

    /// `C_P`: cylinders of a region's parity; of each of its check units' sets, where more than one
    /// failure is survived.
    pub fn parity(&self) -> f64 {
        self.parity
    }

    /// `C_L`: cylinders of a region's log; of each copy of it.
    pub fn log(&self) -> f64 {
        self.logging.ratio * self.parity
    }

    /// How many data units are logged until the log is full: `D·T·C_L`.
    pub fn cycle(&self) -> f64 {
        self.disk.units * self.disk.tracks * self.log()
    }

    /// Writing a segment to a log: `t_Ktrack`.
    pub fn log_write(&self) -> f64 {
        self.disk.track_run(self.logging.segment.into(), self.logging.zero_latency)
    }

    /// Reading a region's log: `t_CL`, of all disks that have a part of it.
    pub fn log_read(&self) -> f64 {
        self.long(self.sublogs, self.log(), self.logging.reading == Reading::Figure13)
    }

    /// Reading or writing a region's parity: `t_CP`, of all disks that have a part of it.
    pub fn parity_access(&self) -> f64 {
        let disks = match self.logging.sublogs {
            Sublogs::Unstriped => self.disks - 1.0,
            Sublogs::Striped(_) => self.disks,
        };
        let more = matches!(self.logging.reading, Reading::Simplified | Reading::Figure13);
        self.long(disks, self.parity, more)
    }

    /// How long reading one sublog keeps its disk (figure 22).
    pub fn sublog_read(&self) -> f64 {
        self.disk.cylinder_run(self.log() / self.sublogs)
    }

    /// What logging `units` costs beside writing the data. Logs are written once for each failure
    /// that is survived, but one is read; and there is a set of check units for each (§9).
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

    /// `cylinders` in so many accesses of equal length. `more` is two head switches a cylinder more
    /// than there are.
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
