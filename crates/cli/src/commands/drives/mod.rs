//! `parlour drives`: the models of drives, what they are, and how near they are to real ones.

mod list;
mod show;
mod validate;

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use parlour_drive::angle::Angle;
use parlour_drive::catalogue;
use parlour_drive::description::{Description, DescriptionError};
use parlour_drive::drive::Drive;
use parlour_drive::mechanics::Mechanics;
use parlour_drive::validate::TraceError;

use crate::console::Console;
use crate::failure::Failure;

/// List models of disk drives, draw one, or compare one with measurements
///
/// DRIVE is a name of the list, or a file that describes one (docs/drives.md).
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: Option<What>,
}

/// What to do with drives.
#[derive(Subcommand, Debug)]
enum What {
    /// List the drives that come with the program
    List,
    /// Tell what a drive is: its seek curve, its zones, its rates
    Show {
        /// A name of the list, or a file
        #[arg(value_name = "DRIVE")]
        drive: String,
    },
    /// Compare a drive's service times with those that were measured on a real one
    ///
    /// Prints the demerit figure of Ruemmler and Wilkes: the root mean square of the horizontal distance between the
    /// distributions of modelled and measured service times.
    Validate {
        /// A name of the list, or a file
        #[arg(value_name = "DRIVE")]
        drive: String,
        /// Requests with measured times: `R|W LABEL BLOCK BLOCKS MICROSECONDS PAUSE`, a line each
        #[arg(value_name = "TRACE")]
        trace: PathBuf,
    },
}

/// Why a drive cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriveError {
    #[error("there is no drive '{0}', and no file of that name; 'parlour drives' lists those that there are")]
    Unknown(String),
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{name}: {source}")]
    Description { name: String, source: DescriptionError },
    #[error("{path}: {source}", path = .path.display())]
    Trace { path: PathBuf, source: TraceError },
    #[error("{path}: there is no request in it", path = .0.display())]
    Empty(PathBuf),
    #[error("{path}: line {line} goes to block {block}, and {drive} has {blocks}", path = .path.display())]
    Beyond { path: PathBuf, line: usize, block: u64, drive: String, blocks: u64 },
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    match &options.what {
        None | Some(What::List) => list::run(console),
        Some(What::Show { drive }) => show::run(drive, console),
        Some(What::Validate { drive, trace }) => validate::run(drive, trace, console),
    }
}

/// A drive that was found, with its platters at rest at angle 0.
struct Found {
    description: Description,
    mechanics: Mechanics,
}

impl Found {
    /// By a name of the catalogue, or of a file.
    fn named(name: &str) -> Result<Found, DriveError> {
        let text = match catalogue::find(name) {
            Some(text) => text.to_owned(),
            None if Path::new(name).exists() => {
                fs::read_to_string(name).map_err(|source| unreadable(Path::new(name), source))?
            }
            None => return Err(DriveError::Unknown(name.to_owned())),
        };
        let wrong = |source| DriveError::Description { name: name.to_owned(), source };
        let description = Description::parse(&text).map_err(wrong)?;
        let mechanics = description.mechanics(Angle::default()).map_err(wrong)?;
        // What is wrong with the rest is said at once.
        description.electronics().map_err(wrong)?;
        Ok(Found { description, mechanics })
    }

    fn drive(&self) -> Drive {
        let electronics = self.description.electronics().expect("it was looked at when the drive was found");
        Drive::new(self.mechanics.clone(), electronics)
    }

    /// Megabytes a second that pass under a head in a zone.
    fn rate(&self, sectors_per_track: u64) -> f64 {
        sectors_per_track as f64 * 512.0 / 1e6 / self.mechanics.spindle.revolution.as_secs_f64()
    }

    /// The rates of the first and the last zone.
    fn rates(&self) -> (f64, f64) {
        let zones = self.mechanics.surface.zones();
        let rate = |index: usize| self.rate(zones[index].shape.sectors);
        (rate(0), rate(zones.len() - 1))
    }
}

fn unreadable(path: &Path, source: std::io::Error) -> DriveError {
    DriveError::Unreadable { path: path.to_owned(), source }
}
