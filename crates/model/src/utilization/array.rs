//! Arrays of any organization, and the costs of their accesses (§3, §4, §9).

use crate::disk::Disk;

use super::logging::{Logging, LoggingModel};
use super::refused::Refused;
use super::work::Work;

/// The positions of data and check units, and when check units are updated after a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Organization {
    /// RAID 0.
    Nonredundant,
    /// RAID 1 in any arrangement: the number of copies of each unit is the number of failures
    /// survived plus one.
    Mirrored,
    /// Check units on separate disks, in place.
    Raid4,
    /// Check units on all disks in turn, in place.
    Raid5,
    /// Floating data and parity (§4; Menon and Kasson): units move to free positions of their
    /// cylinder, and one track of each cylinder is free.
    Floating,
    /// Parity logging (§3).
    ParityLogging(Logging),
}

/// How a unit is replaced if its old content must be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// Read, wait for a revolution, write: one access.
    #[default]
    OneAccess,
    /// A read and a write, each with a seek (footnote 4).
    TwoAccesses,
}

/// The parameters of an array; [`Array::model`] checks them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array {
    /// The disk.
    pub disk: Disk,
    /// `N`: the number of disks.
    pub disks: u32,
    /// Its organization.
    pub organization: Organization,
    /// The number of disks that may fail at once (§9): 0 for a nonredundant array, 1 or more for
    /// others.
    pub failures: u32,
    /// Whether the old content of written data must be read first, because it is not in a cache
    /// ("blind writes").
    pub preread: bool,
    /// How a unit is replaced in place.
    pub update: Update,
}

/// The model of an array with checked parameters.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    array: Array,
    logging: Option<LoggingModel>,
}

impl Array {
    /// The array of figure 12: 22 disks [`Disk::IBM_0661`] that survive one failure, if any; old
    /// data is read.
    pub fn example(organization: Organization) -> Array {
        let failures = u32::from(organization != Organization::Nonredundant);
        let (disk, update) = (Disk::IBM_0661, Update::OneAccess);
        Array { disk, disks: 22, organization, failures, preread: true, update }
    }

    /// The array's model.
    ///
    /// # Errors
    /// The first invalid parameter.
    pub fn model(self) -> Result<Model, Refused> {
        self.disk.checked()?;
        self.sized(1.0)?;
        let nonredundant = self.organization == Organization::Nonredundant;
        if nonredundant != (self.failures == 0) {
            let range = if nonredundant { "a nonredundant array survives 0" } else { "it must be 1 or more" };
            return Err(Refused::Failures { failures: self.failures, range });
        }
        let least = self.failures.saturating_add(1);
        if self.disks < least {
            return Err(Refused::Disks { disks: self.disks, least });
        }
        if self.organization == Organization::Floating && self.disk.tracks < 2.0 {
            return Err(Refused::NoFreeTrack);
        }
        let logging = match self.organization {
            Organization::ParityLogging(logging) => {
                Some(LoggingModel::new(self.disk, self.disks, self.failures, logging)?)
            }
            _ => None,
        };
        Ok(Model { array: self, logging })
    }

    /// Accesses are limited to one track: for longer ones the time of a read-modify-write would
    /// depend on the length of tracks.
    fn sized(&self, units: f64) -> Result<(), Refused> {
        let most = self.disk.units;
        if units > 0.0 && units <= most { Ok(()) } else { Err(Refused::Size { units, most }) }
    }

    /// The time to replace `units` in place, with a read of their old content.
    fn replacing(&self, units: f64) -> f64 {
        match self.update {
            Update::OneAccess => self.disk.read_modify_write(units),
            Update::TwoAccesses => 2.0 * self.disk.access(units),
        }
    }

    /// The time of a user's write of `units`, without redundancy.
    fn data(&self, units: f64) -> f64 {
        match (self.preread, self.organization) {
            (false, _) | (_, Organization::Nonredundant | Organization::Mirrored) => self.disk.access(units),
            (true, Organization::Floating) => self.disk.floating_update(),
            (true, _) => self.replacing(units),
        }
    }
}

impl Model {
    /// The array of the model.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The part that is specific to parity logging.
    pub fn logging(&self) -> Option<&LoggingModel> {
        self.logging.as_ref()
    }

    /// The cost of a write of one data unit: `t_amw` of §3, its equivalent in §4, with the
    /// additions of §9.
    pub fn small_write(&self) -> Work {
        self.unit_write(1.0)
    }

    /// The cost of a write of `units` within one stripe unit, at most a track (figure 27). With
    /// parity logging, all of them are logged.
    ///
    /// # Errors
    /// It is too long; or data floats, and it is not one unit.
    pub fn write(&self, units: f64) -> Result<Work, Refused> {
        self.array.sized(units)?;
        if self.array.organization == Organization::Floating && units != 1.0 {
            return Err(Refused::FloatingSize { units });
        }
        Ok(self.unit_write(units))
    }

    /// The cost of a read of `units` within one stripe unit, at most a track: the same in all
    /// organizations.
    ///
    /// # Errors
    /// It is too long.
    pub fn read(&self, units: f64) -> Result<Work, Refused> {
        self.array.sized(units)?;
        Ok(Work { data: self.array.disk.access(units), ..Work::default() })
    }

    /// The milliseconds for which an access with this work keeps the busiest disk busy: the work
    /// divided by the disks, except for RAID 4, whose data disks and check disks do separate work.
    pub fn busiest(&self, work: &Work) -> f64 {
        let disks = f64::from(self.array.disks);
        match self.array.organization {
            Organization::Raid4 => {
                let checks = f64::from(self.array.failures);
                f64::max(work.data / (disks - checks), work.check / checks)
            }
            _ => work.total() / disks,
        }
    }

    /// The small writes per second of the whole array, if its busiest disk has the utilization
    /// `utilization` (0 to 1) (figure 15: 1; figure 25: the utilization achieved).
    pub fn throughput(&self, utilization: f64) -> f64 {
        1e3 * utilization / self.busiest(&self.small_write())
    }

    /// The same per disk.
    pub fn throughput_per_disk(&self, utilization: f64) -> f64 {
        self.throughput(utilization) / f64::from(self.array.disks)
    }

    /// The utilization of the busiest disk with this rate of small writes on the whole array: above
    /// 1 if the rate is impossible.
    pub fn utilization(&self, throughput: f64) -> f64 {
        throughput * self.busiest(&self.small_write()) / 1e3
    }

    /// The time of a small write without other load (§8.1). With parity in place, data and check
    /// units are written one after another if the data is preread, otherwise at once. Copies are
    /// written at once; a logged update is only buffered (footnote 8). The additional time for the
    /// later of several accesses is ignored, as in §8.1's 14 ms.
    pub fn unloaded_response(&self) -> f64 {
        let data = self.array.data(1.0);
        let check = match self.array.organization {
            Organization::Nonredundant | Organization::Mirrored | Organization::ParityLogging(_) => {
                return data;
            }
            Organization::Raid4 | Organization::Raid5 => self.array.replacing(1.0),
            Organization::Floating => self.array.disk.floating_update(),
        };
        if self.array.preread { data + check } else { data.max(check) }
    }

    fn unit_write(&self, units: f64) -> Work {
        let Array { disk, organization, failures, .. } = &self.array;
        let failures = f64::from(*failures);
        let data = self.array.data(units);
        let check = match organization {
            Organization::Nonredundant | Organization::ParityLogging(_) => 0.0,
            Organization::Mirrored => failures * disk.access(units),
            Organization::Raid4 | Organization::Raid5 => failures * self.array.replacing(units),
            Organization::Floating => failures * disk.floating_update(),
        };
        let logged = self.logging.map_or(Work::default(), |logging| logging.maintenance(units));
        Work { data, check, ..logged }
    }
}
