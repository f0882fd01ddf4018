//! Finds a drive by its name or file.

use std::path::{Path, PathBuf};

use parlour_drive::angle::Angle;
use parlour_drive::description::Description;
use parlour_drive::drive::Drive;
use parlour_drive::mechanics::Mechanics;
use parlour_drive::solid::Solid;
use parlour_drive::validate::TraceError;
use parlour_lab::drives::{self, FindError};
use parlour_units::Bytes;

/// Why a drive cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriveError {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error("{0}: nothing moves in this drive, and measurements are compared with drives that move")]
    Solid(String),
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}", path = .path.display())]
    Trace { path: PathBuf, source: TraceError },
    #[error("{path}: there is no request in it", path = .0.display())]
    Empty(PathBuf),
    #[error("{path}: line {line} goes to block {block}, and {drive} has {blocks}", path = .path.display())]
    Beyond { path: PathBuf, line: usize, block: u64, drive: String, blocks: u64 },
}

/// A drive that was found.
pub(super) struct Found {
    pub(super) description: Description,
    pub(super) model: Model,
}

/// The kind of drive.
pub(super) enum Model {
    Moves(Box<Moving>),
    Solid(Solid),
}

/// A mechanical drive, with its platters at angle 0.
pub(super) struct Moving {
    pub(super) mechanics: Mechanics,
    pub(super) drive: Drive,
}

impl Found {
    /// Finds a drive by its name in the catalogue or by its file.
    pub(super) fn named(name: &str) -> Result<Found, DriveError> {
        let description = drives::find(name, Path::new(""))?;
        let looked_at = "it was looked at when it was found";
        let model = match description.solid().expect(looked_at) {
            Some(solid) => Model::Solid(solid),
            None => {
                let mechanics = description.mechanics(Angle::default()).expect(looked_at);
                let electronics = description.electronics().expect(looked_at);
                let drive = Drive::new(mechanics.clone(), electronics);
                Model::Moves(Box::new(Moving { mechanics, drive }))
            }
        };
        Ok(Found { description, model })
    }

    pub(super) fn capacity(&self) -> Bytes {
        match &self.model {
            Model::Moves(moving) => Bytes::new(moving.mechanics.surface.blocks() * 512),
            Model::Solid(solid) => solid.capacity(),
        }
    }
}

impl Moving {
    /// The media rate in a zone, in megabytes per second.
    pub(super) fn rate(&self, sectors_per_track: u64) -> f64 {
        sectors_per_track as f64 * 512.0 / 1e6 / self.mechanics.spindle.revolution.as_secs_f64()
    }

    /// The media rates of the first and the last zone.
    pub(super) fn rates(&self) -> (f64, f64) {
        let zones = self.mechanics.surface.zones();
        let rate = |index: usize| self.rate(zones[index].shape.sectors);
        (rate(0), rate(zones.len() - 1))
    }
}

/// The rates, in megabytes per second, of long reads and writes on a drive without mechanics, with
/// as many accesses under way as it can work on.
pub(super) fn solid_rates(solid: &Solid) -> [f64; 2] {
    const LONG: u64 = 2_048;
    [true, false].map(|reads| solid.rate(reads, LONG) * (LONG * 512) as f64 / 1e6)
}

/// The error for a file that cannot be read.
pub(super) fn unreadable(path: &Path, source: std::io::Error) -> DriveError {
    DriveError::Unreadable { path: path.to_owned(), source }
}
