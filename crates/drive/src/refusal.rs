//! The errors in a drive's file. Each message names the wrong key.

use parlour_units::{Duration, ParseDurationError};

use crate::seek::SeekError;
use crate::sparing::SparingError;

/// Why a drive's file is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DescriptionError {
    /// It is not TOML, or a key is unknown or missing.
    #[error("line {line}: {message}")]
    Unreadable {
        /// The line's number, from 1.
        line: usize,
        /// The error.
        message: String,
    },
    /// A time is invalid.
    #[error("{key}: {source}")]
    Time {
        /// The key.
        key: &'static str,
        /// The error.
        source: ParseDurationError,
    },
    /// The time of a revolution is missing, or given twice.
    #[error("mechanics: give either rpm or revolution")]
    Revolution,
    /// The speed is invalid.
    #[error("mechanics.rpm: {0} revolutions a minute are not possible; between 60 and 1000000 are")]
    Rpm(f64),
    /// The seek curve is invalid.
    #[error("mechanics.seek: {0}")]
    Seek(#[from] SeekError),
    /// A zone is invalid.
    #[error("zone {zone}: {problem}")]
    Zone {
        /// The zone's number, from 1.
        zone: usize,
        /// The error.
        problem: ZoneProblem,
    },
    /// There is no zone, head or cylinder.
    #[error("there must be a [[zone]], and mechanics.heads and mechanics.cylinders must be positive")]
    Empty,
    /// The drive is neither mechanical nor without mechanics, or both.
    #[error(
        "a drive has either [mechanics] with its [[zone]]s, or [solid] and nothing else of a drive that moves"
    )]
    Kind,
    /// There are no blocks or units.
    #[error("solid: blocks and units must be positive")]
    EmptySolid,
    /// A range of cylinders is empty.
    #[error("mechanics.spare_range: spares_per = \"cylinders\" needs it, and it must be positive")]
    NoRange,
}

/// Why a zone is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ZoneProblem {
    /// Its cylinders belong to another zone, or do not exist.
    #[error("cylinders {0} to {1} are not behind those of the zone before, or beyond the last cylinder")]
    Cylinders(u32, u32),
    /// Its tracks have no sectors.
    #[error("sectors_per_track must be positive")]
    Track,
    /// Its spares are invalid.
    #[error("{0}")]
    Sparing(#[from] SparingError),
    /// It has room for fewer blocks.
    #[error("{blocks} blocks do not fit; without spares there are {room}")]
    Blocks {
        /// The number of blocks in the file.
        blocks: u64,
        /// The number of blocks that fit.
        room: u64,
    },
    /// A strip leaves the zone, or has a surface that does not exist.
    #[error("strips: row {0} leaves its pattern, or its head is none of the drive's")]
    Strip(usize),
}

/// Parses the time of a key.
pub(crate) fn time(key: &'static str, text: &str) -> Result<Duration, DescriptionError> {
    text.parse().map_err(|source| DescriptionError::Time { key, source })
}

/// Parses the time of an optional key; zero if it is missing.
pub(crate) fn optional(key: &'static str, text: Option<&str>) -> Result<Duration, DescriptionError> {
    text.map_or(Ok(Duration::ZERO), |text| time(key, text))
}
