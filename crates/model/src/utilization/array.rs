//! Arrays of any organization, and what their accesses cost (§3, §4, §9).

use crate::disk::Disk;

use super::logging::{Logging, LoggingModel};
use super::refused::Refused;
use super::work::Work;

/// Where data and check units are, and when check units follow a write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Organization {
    /// RAID 0.
    Nonredundant,
    /// RAID 1 in any arrangement: each unit on as many disks as failures are survived, and on one
    /// more.
    Mirrored,
    /// Check units on disks of their own, in place.
    Raid4,
    /// Check units on all disks in turn, in place.
    Raid5,
    /// Floating data and parity (§4; Menon and Kasson): units move to free places of their
    /// cylinder, and one track of each is free.
    Floating,
    /// Parity logging (§3).
    ParityLogging(Logging),
}

/// How a unit is replaced whose old content must be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// Read, wait for a revolution, write: one access.
    #[default]
    OneAccess,
    /// A read and a write, each with its seek (footnote 4).
    TwoAccesses,
}

/// What an array is; [`Array::model`] makes sure that it can be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Array {
    /// Its disks.
    pub disk: Disk,
    /// `N`: how many.
    pub disks: u32,
    /// Its organization.
    pub organization: Organization,
    /// How many disks may fail at once (§9): 0 of a nonredundant array, 1 or more of others.
    pub failures: u32,
    /// Whether the old content of what is written must be read first, because no cache has it
    /// ("blind writes").
    pub preread: bool,
    /// How a unit in place is replaced.
    pub update: Update,
}

/// An array that can be.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    array: Array,
    logging: Option<LoggingModel>,
}

impl Array {
    /// The array of figure 12: 22 disks of kind [`Disk::IBM_0661`] that survive one failure, if
    /// any; old data is read.
    pub fn example(organization: Organization) -> Array {
        let failures = u32::from(organization != Organization::Nonredundant);
        let (disk, update) = (Disk::IBM_0661, Update::OneAccess);
        Array { disk, disks: 22, organization, failures, preread: true, update }
    }

    /// The model of it.
    ///
    /// # Errors
    /// The first thing about it that cannot be.
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

    /// Accesses are of one track: with more it depends on how long tracks are when what was read
    /// comes by again.
    fn sized(&self, units: f64) -> Result<(), Refused> {
        let most = self.disk.units;
        if units > 0.0 && units <= most { Ok(()) } else { Err(Refused::Size { units, most }) }
    }

    /// Replacing `units` in place, with their old content read.
    fn replacing(&self, units: f64) -> f64 {
        match self.update {
            Update::OneAccess => self.disk.read_modify_write(units),
            Update::TwoAccesses => 2.0 * self.disk.access(units),
        }
    }

    /// What a user's write of `units` costs apart from redundancy.
    fn data(&self, units: f64) -> f64 {
        match (self.preread, self.organization) {
            (false, _) | (_, Organization::Nonredundant | Organization::Mirrored) => self.disk.access(units),
            (true, Organization::Floating) => self.disk.floating_update(),
            (true, _) => self.replacing(units),
        }
    }
}

impl Model {
    /// What it is a model of.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// What belongs to parity logging alone.
    pub fn logging(&self) -> Option<&LoggingModel> {
        self.logging.as_ref()
    }

    /// What a write of one data unit costs: `t_amw` of §3, its like of §4, with the additions of
    /// §9.
    pub fn small_write(&self) -> Work {
        self.unit_write(1.0)
    }

    /// What a write of `units` within one stripe unit costs, a track at most (figure 27). Where
    /// parity is logged all of them are.
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

    /// What a read of `units` within one stripe unit costs, a track at most: the same in all
    /// organizations.
    ///
    /// # Errors
    /// It is too long.
    pub fn read(&self, units: f64) -> Result<Work, Refused> {
        self.array.sized(units)?;
        Ok(Work { data: self.array.disk.access(units), ..Work::default() })
    }

    /// Milliseconds that an access of such work keeps the busiest disk busy: its part of all
    /// disks', but for RAID 4, whose data disks and check disks share nothing.
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

    /// Small writes a second of the whole array, its busiest disk being used to `utilization` (0 to
    /// 1) (figure 15: 1; figure 25: what was achieved).
    pub fn throughput(&self, utilization: f64) -> f64 {
        1e3 * utilization / self.busiest(&self.small_write())
    }

    /// The same for each disk.
    pub fn throughput_per_disk(&self, utilization: f64) -> f64 {
        self.throughput(utilization) / f64::from(self.array.disks)
    }

    /// How far the busiest disk is used by so many small writes a second of the whole array: more
    /// than 1 if it cannot be.
    pub fn utilization(&self, throughput: f64) -> f64 {
        throughput * self.busiest(&self.small_write()) / 1e3
    }

    /// How long a small write takes while nothing else is asked for (§8.1). With parity in place,
    /// data and check units follow one another where the data is preread, and else go on at once;
    /// copies go on at once; a logged update is only buffered (footnote 8). What the later of
    /// several accesses is later than another is left out, as in §8.1's 14 ms.
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
