//! Silent faults: writes that are reported as done, but were lost, went to another place, or have a
//! flipped bit. They hit metadata, logs and parity. An array without checksums of data cannot
//! detect them in hosts' data.
//!
//! A silent fault is on one member while all other members are sound. So the array promises that no
//! read returns wrong data because of it, as long as no other member is lost. The fault is
//! detected when the array reads the sector, or a scrub finds it (parity), or the sector is
//! overwritten.

use std::fmt;

use crate::area::Area;
use crate::coverage::Fault;

/// The fault of the write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Lost,
    Misdirected,
    Rotten,
}

impl How {
    pub(crate) const ALL: [How; 3] = [How::Lost, How::Misdirected, How::Rotten];

    pub(crate) fn fault(self) -> Fault {
        match self {
            How::Lost => Fault::LostWrite,
            How::Misdirected => Fault::MisdirectedWrite,
            How::Rotten => Fault::RottenWrite,
        }
    }
}

/// The silent fault of the next write of a kind. The number determines the place or the flipped
/// bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Silent {
    pub(crate) how: How,
    pub(crate) area: Area,
    pub(crate) number: u64,
}

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.how {
            How::Lost => "lost",
            How::Misdirected => "misdirected",
            How::Rotten => "written with a bit turned",
        };
        write!(f, "the next write of {} is {how}", self.area.name())
    }
}

/// A silent fault that has happened.
#[derive(Clone, Debug)]
pub(crate) struct Silenced {
    pub(crate) disk: usize,
    pub(crate) fault: Fault,
    /// The sectors with wrong content.
    pub(crate) sectors: Vec<u64>,
}
