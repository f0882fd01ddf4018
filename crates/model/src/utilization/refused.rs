//! Why there is no model of an array.

use crate::disk::DiskError;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The disk is none.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// More or fewer failures than the organization can survive.
    #[error("failures: {failures} is not possible; {range}")]
    Failures {
        /// What was asked for.
        failures: u32,
        /// What may be.
        range: &'static str,
    },
    /// Too few disks.
    #[error("disks: {disks} are too few; this organization needs {least} or more")]
    Disks {
        /// There.
        disks: u32,
        /// Needed.
        least: u32,
    },
    /// A parameter of parity logging.
    #[error("{quantity}: {value} is not possible; it must be {range}")]
    Logging {
        /// Which.
        quantity: &'static str,
        /// What was given.
        value: f64,
        /// What may be.
        range: String,
    },
    /// Floating needs room.
    #[error("disk.tracks: floating leaves a track of each cylinder free, so there must be 2 or more")]
    NoFreeTrack,
    /// An access is too long, or is none.
    #[error("an access of {units} data units is not modelled; it must be more than 0, and at most {most}")]
    Size {
        /// What was asked for.
        units: f64,
        /// What may be.
        most: f64,
    },
    /// A mix of nothing.
    #[error("the mix has no accesses: give at least one of them a positive share")]
    EmptyMix,
    /// §8.3 leaves them out, and so does the model.
    #[error("an access of {units} data units is not modelled for floating data and parity; only 1 is")]
    FloatingSize {
        /// What was asked for.
        units: f64,
    },
}
