//! Why there is no model of an array.

use crate::disk::DiskError;

/// Why there is no model.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refused {
    /// The disk is invalid.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The organization cannot survive this number of failures.
    #[error("failures: {failures} is not possible; {range}")]
    Failures {
        /// The number of failures.
        failures: u32,
        /// The allowed values.
        range: &'static str,
    },
    /// There are too few disks.
    #[error("disks: {disks} are too few; this organization needs {least} or more")]
    Disks {
        /// The number of disks.
        disks: u32,
        /// The least number of disks.
        least: u32,
    },
    /// A parameter of parity logging is invalid.
    #[error("{quantity}: {value} is not possible; it must be {range}")]
    Logging {
        /// The parameter.
        quantity: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        range: String,
    },
    /// Floating needs a free track.
    #[error("disk.tracks: floating leaves a track of each cylinder free, so there must be 2 or more")]
    NoFreeTrack,
    /// The length of an access is out of range.
    #[error("an access of {units} data units is not modelled; it must be more than 0, and at most {most}")]
    Size {
        /// The length.
        units: f64,
        /// The longest access.
        most: f64,
    },
    /// The mix is empty.
    #[error("the mix has no accesses: give at least one of them a positive share")]
    EmptyMix,
    /// §8.3 excludes such accesses, and so does the model.
    #[error("an access of {units} data units is not modelled for floating data and parity; only 1 is")]
    FloatingSize {
        /// The length.
        units: f64,
    },
}
