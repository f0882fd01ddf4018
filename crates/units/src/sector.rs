//! Positions and lengths on a member or in the array, in 512-byte sectors.

use std::fmt;
use std::ops::{Add, AddAssign, Div, Mul, Rem, Sub};

use crate::Bytes;

/// The bytes of a sector: the addressing unit of the papers' drives and of block devices.
pub const SECTOR_BYTES: u64 = 512;

/// A position: the number of a sector, counted from the start of a member or of the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sector(u64);

/// A length: a number of sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sectors(u64);

impl Sector {
    /// The first sector.
    pub const ZERO: Sector = Sector(0);

    /// The sector numbered `number`.
    pub const fn new(number: u64) -> Sector {
        Sector(number)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The byte at which the sector starts.
    pub fn bytes(self) -> u64 {
        self.0.checked_mul(SECTOR_BYTES).expect("a sector's byte address fits 64 bits")
    }

    /// The sector that starts at `byte`, if one does.
    pub fn from_bytes(byte: u64) -> Option<Sector> {
        byte.is_multiple_of(SECTOR_BYTES).then_some(Sector(byte / SECTOR_BYTES))
    }

    /// The distance from sector 0.
    pub const fn from_start(self) -> Sectors {
        Sectors(self.0)
    }
}

impl Sectors {
    /// A length of zero.
    pub const ZERO: Sectors = Sectors(0);

    /// `count` sectors.
    pub const fn new(count: u64) -> Sectors {
        Sectors(count)
    }

    /// The number itself.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// The length in bytes.
    pub fn bytes(self) -> Bytes {
        Bytes::new(self.0.checked_mul(SECTOR_BYTES).expect("a length in bytes fits 64 bits"))
    }

    /// A length in bytes as sectors, if it is a whole number of sectors.
    pub fn from_bytes(bytes: Bytes) -> Option<Sectors> {
        bytes.get().is_multiple_of(SECTOR_BYTES).then_some(Sectors(bytes.get() / SECTOR_BYTES))
    }

    /// Whether the length is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether the length is a whole number of `unit`s.
    pub const fn is_multiple_of(self, unit: Sectors) -> bool {
        self.0.is_multiple_of(unit.0)
    }

    /// The length rounded down to whole `unit`s.
    pub const fn round_down(self, unit: Sectors) -> Sectors {
        Sectors(self.0 / unit.0 * unit.0)
    }

    /// The length rounded up to whole `unit`s.
    pub const fn round_up(self, unit: Sectors) -> Sectors {
        Sectors(self.0.div_ceil(unit.0) * unit.0)
    }

    /// `self - other`, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Sectors) -> Sectors {
        Sectors(self.0.saturating_sub(other.0))
    }
}

impl Add<Sectors> for Sector {
    type Output = Sector;
    fn add(self, length: Sectors) -> Sector {
        Sector(self.0.checked_add(length.0).expect("a place fits 64 bits"))
    }
}

impl Sub<Sector> for Sector {
    type Output = Sectors;
    fn sub(self, from: Sector) -> Sectors {
        Sectors(self.0.checked_sub(from.0).expect("a distance is measured from the earlier place"))
    }
}

impl Add for Sectors {
    type Output = Sectors;
    fn add(self, other: Sectors) -> Sectors {
        Sectors(self.0.checked_add(other.0).expect("a length fits 64 bits"))
    }
}

impl AddAssign for Sectors {
    fn add_assign(&mut self, other: Sectors) {
        *self = *self + other;
    }
}

impl Sub for Sectors {
    type Output = Sectors;
    fn sub(self, other: Sectors) -> Sectors {
        Sectors(self.0.checked_sub(other.0).expect("a length is not negative"))
    }
}

impl Mul<u64> for Sectors {
    type Output = Sectors;
    fn mul(self, times: u64) -> Sectors {
        Sectors(self.0.checked_mul(times).expect("a length fits 64 bits"))
    }
}

impl Div<Sectors> for Sectors {
    type Output = u64;
    fn div(self, unit: Sectors) -> u64 {
        self.0 / unit.0
    }
}

impl Rem<Sectors> for Sectors {
    type Output = Sectors;
    fn rem(self, unit: Sectors) -> Sectors {
        Sectors(self.0 % unit.0)
    }
}

impl fmt::Display for Sector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sector {}", self.0)
    }
}

impl fmt::Display for Sectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_sectors_convert_from_bytes() {
        assert_eq!(Sectors::from_bytes(Bytes::kib(1)), Some(Sectors::new(2)));
        assert_eq!(Sectors::from_bytes(Bytes::new(513)), None);
        assert_eq!(Sector::from_bytes(512), Some(Sector::new(1)));
    }

    #[test]
    #[should_panic(expected = "not negative")]
    fn a_negative_length_is_a_bug_not_a_huge_length() {
        let _ = Sectors::new(1) - Sectors::new(2);
    }
}
