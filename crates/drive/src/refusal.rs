//! Why a file describes no drive: each refusal names the key that is wrong.

use parlour_units::{Duration, ParseDurationError};

use crate::seek::SeekError;
use crate::sparing::SparingError;

/// Why a file describes no drive.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DescriptionError {
    /// It is no TOML, or a key is unknown or missing.
    #[error("line {line}: {message}")]
    Unreadable {
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// A time is none.
    #[error("{key}: {source}")]
    Time {
        /// Which key.
        key: &'static str,
        /// What is wrong.
        source: ParseDurationError,
    },
    /// Not how fast it turns, or twice.
    #[error("mechanics: give either rpm or revolution")]
    Revolution,
    /// No speed.
    #[error("mechanics.rpm: {0} revolutions a minute are not possible; between 60 and 1000000 are")]
    Rpm(f64),
    /// The seek curve is none.
    #[error("mechanics.seek: {0}")]
    Seek(#[from] SeekError),
    /// A zone is none.
    #[error("zone {zone}: {problem}")]
    Zone {
        /// Counted from 1.
        zone: usize,
        /// What is wrong.
        problem: ZoneProblem,
    },
    /// There is nothing.
    #[error("there must be a [[zone]], and mechanics.heads and mechanics.cylinders must be positive")]
    Empty,
    /// Nothing that moves, and nothing else; or both.
    #[error(
        "a drive has either [mechanics] with its [[zone]]s, or [solid] and nothing else of a drive that moves"
    )]
    Kind,
    /// It holds nothing, or does nothing.
    #[error("solid: blocks and units must be positive")]
    EmptySolid,
    /// A range of cylinders has no size.
    #[error("mechanics.spare_range: spares_per = \"cylinders\" needs it, and it must be positive")]
    NoRange,
}

/// Why a zone is none.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ZoneProblem {
    /// Its cylinders are taken, or do not exist.
    #[error("cylinders {0} to {1} are not behind those of the zone before, or beyond the last cylinder")]
    Cylinders(u32, u32),
    /// Tracks are empty.
    #[error("sectors_per_track must be positive")]
    Track,
    /// What is spare.
    #[error("{0}")]
    Sparing(#[from] SparingError),
    /// More blocks than it has room for.
    #[error("{blocks} blocks do not fit; without spares there are {room}")]
    Blocks {
        /// Wanted.
        blocks: u64,
        /// There.
        room: u64,
    },
    /// Strips that leave the zone or name no surface.
    #[error("strips: row {0} leaves its pattern, or its head is none of the drive's")]
    Strip(usize),
}

/// What a key says that is a time.
pub(crate) fn time(key: &'static str, text: &str) -> Result<Duration, DescriptionError> {
    text.parse().map_err(|source| DescriptionError::Time { key, source })
}

/// The same of a key that may be missing, and is nothing then.
pub(crate) fn optional(key: &'static str, text: Option<&str>) -> Result<Duration, DescriptionError> {
    text.map_or(Ok(Duration::ZERO), |text| time(key, text))
}
