//! RAID levels 0, 1 and 5, by the costs of their requests (Chen, Gibson, Katz, Patterson).
//!
//! The modules: [`efficiency`] (the RAID paper's simple model: counts disk accesses, §3),
//! [`disk_time`] (its adjustment: adds their times, §7.2), [`synchronization`] (the additional time
//! for the last of several disks, §7.1.1) and [`lifetime`] (a request in an idle system, figure 3).

pub mod disk_time;
pub mod efficiency;
pub mod lifetime;
pub mod synchronization;

/// The organizations that the paper compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Striped, without redundancy.
    Raid0,
    /// Striped, each datum on a data disk and a shadow disk.
    Raid1,
    /// Striped, with rotated parity (figure 1c: that of stripe i is on disk i mod N).
    Raid5,
}

/// An organization with a number of disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Array {
    level: Level,
    disks: u32,
}

/// Why an array is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArrayError {
    /// It has no disks.
    #[error("an array has 1 disk at least, not 0")]
    NoDisks,
    /// A disk has no shadow disk.
    #[error("RAID level 1 needs an even number of disks, not {0}; add or take away one")]
    Odd(u32),
    /// There is no disk for data.
    #[error("RAID level 5 needs 2 disks at least, not {0}")]
    NoParity(u32),
    /// The number of disks overflows.
    #[error("{0} disks of data need more disks than can be counted")]
    TooMany(u32),
}

/// The direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Data is read.
    Read,
    /// Data is written.
    Write,
}

/// A logical request: consecutive stripe units (in the paper, tracks), numbered over all data from
/// 0 on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The first unit.
    pub first: u32,
    /// The number of units.
    pub units: u32,
}

impl Array {
    /// An array with this number of disks (`N`).
    pub fn new(level: Level, disks: u32) -> Result<Array, ArrayError> {
        match level {
            _ if disks == 0 => Err(ArrayError::NoDisks),
            Level::Raid1 if !disks.is_multiple_of(2) => Err(ArrayError::Odd(disks)),
            Level::Raid5 if disks < 2 => Err(ArrayError::NoParity(disks)),
            _ => Ok(Array { level, disks }),
        }
    }

    /// An array with room for this number of disks' data (`D`), so that organizations are compared
    /// at equal user capacity (§5).
    pub fn for_data(level: Level, disks: u32) -> Result<Array, ArrayError> {
        let all = match level {
            Level::Raid0 => Some(disks),
            Level::Raid1 => disks.checked_mul(2),
            Level::Raid5 => disks.checked_add(1),
        };
        Array::new(level, all.ok_or(ArrayError::TooMany(disks))?)
    }

    /// The organization.
    pub fn level(&self) -> Level {
        self.level
    }

    /// All disks.
    pub fn disks(&self) -> u32 {
        self.disks
    }

    /// The number of disks' worth of data, which is the number of data units of a stripe.
    pub fn data_disks(&self) -> u32 {
        match self.level {
            Level::Raid0 => self.disks,
            Level::Raid1 => self.disks / 2,
            Level::Raid5 => self.disks - 1,
        }
    }

    /// The effective (user) data capacity divided by the total disk capacity (§2).
    pub fn storage_efficiency(&self) -> f64 {
        f64::from(self.data_disks()) / f64::from(self.disks)
    }

    /// A RAID level 0 with the same user capacity: the reference of relative throughput (§3).
    pub fn nonredundant(&self) -> Array {
        Array { level: Level::Raid0, disks: self.data_disks() }
    }

    /// The stripes of a request.
    fn stripes(&self, request: Request) -> Stripes {
        let data = u64::from(self.data_disks());
        let (first, units) = (u64::from(request.first), u64::from(request.units));
        let into = first % data;
        let head = if into == 0 { 0 } else { units.min(data - into) };
        let rest = units - head;
        Stripes { first: first / data, into, head, full: rest / data, tail: rest % data, data }
    }
}

/// A request, divided into stripes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stripes {
    /// The first stripe.
    first: u64,
    /// The units of the first stripe before the request.
    into: u64,
    /// The units in a first stripe of which the beginning is not requested.
    head: u64,
    /// The number of full stripes after that.
    full: u64,
    /// The units at the beginning of a partial last stripe.
    tail: u64,
    /// The data units of a stripe.
    data: u64,
}

impl Stripes {
    /// The units in each partial stripe.
    fn partial(&self) -> impl Iterator<Item = u64> {
        [self.head, self.tail].into_iter().filter(|units| *units > 0)
    }

    /// The number of stripes, full or partial.
    fn number(&self) -> u64 {
        self.partial().count() as u64 + self.full
    }

    /// The requested data units of one of the stripes.
    fn units(&self, stripe: u64) -> std::ops::Range<u64> {
        match stripe.checked_sub(self.first) {
            Some(0) if self.head > 0 => self.into..self.into + self.head,
            Some(after) if after + 1 == self.number() && self.tail > 0 => 0..self.tail,
            Some(after) if after < self.number() => 0..self.data,
            _ => 0..0,
        }
    }

    /// Whether data on a disk of a RAID level 5 is requested in a stripe.
    fn holds(&self, stripe: u64, disk: u64) -> bool {
        let parity = stripe % (self.data + 1);
        disk != parity && self.units(stripe).contains(&(disk - u64::from(disk > parity)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ch.eff.raid5, and figure 2's others.
    #[test]
    fn storage_efficiency_is_the_share_of_data() {
        let efficiency = |level, disks| Array::new(level, disks).unwrap().storage_efficiency();
        assert_eq!(efficiency(Level::Raid0, 7), 1.0);
        assert_eq!(efficiency(Level::Raid1, 20), 0.5);
        assert_eq!(efficiency(Level::Raid5, 11), 10.0 / 11.0);
        assert_eq!(format!("{:.0}", 100.0 * efficiency(Level::Raid5, 11)), "91");
    }

    #[test]
    fn equal_data_needs_d_2d_and_d_plus_1_disks() {
        let disks = |level| Array::for_data(level, 10).unwrap().disks();
        assert_eq!([Level::Raid0, Level::Raid1, Level::Raid5].map(disks), [10, 20, 11]);
        assert_eq!(Array::for_data(Level::Raid5, 10).unwrap().nonredundant().disks(), 10);
    }

    #[test]
    fn requests_fall_into_stripes_as_units_counted_one_by_one_do() {
        let array = Array::new(Level::Raid5, 5).unwrap();
        for first in 0..13 {
            for units in 0..20 {
                let stripes = array.stripes(Request { first, units });
                for stripe in 0..10 {
                    let wanted =
                        (0..4).filter(|unit| (first..first + units).contains(&(stripe as u32 * 4 + unit)));
                    assert!(stripes.units(stripe).eq(wanted.map(u64::from)), "{first} {units} {stripe}");
                }
                let touched = (0..10).filter(|stripe| !stripes.units(*stripe).is_empty()).count();
                assert_eq!(stripes.number(), touched as u64);
            }
        }
    }

    #[test]
    fn what_is_no_array_is_told() {
        assert_eq!(Array::new(Level::Raid0, 0), Err(ArrayError::NoDisks));
        assert_eq!(Array::new(Level::Raid1, 5), Err(ArrayError::Odd(5)));
        assert_eq!(Array::new(Level::Raid5, 1), Err(ArrayError::NoParity(1)));
        assert_eq!(Array::for_data(Level::Raid1, u32::MAX), Err(ArrayError::TooMany(u32::MAX)));
    }
}
