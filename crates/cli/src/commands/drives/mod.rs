//! `parlour drives`: the drive models, their properties, and their accuracy compared with real
//! drives.

mod found;
mod list;
mod show;
mod validate;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::console::Console;
use crate::failure::Failure;
pub(crate) use found::DriveError;

/// List models of disk drives, draw one, or compare one with measurements
///
/// DRIVE is a name of the list, or a file that describes one (docs/drives.md).
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(subcommand)]
    what: Option<What>,
}

/// The subcommands of `parlour drives`.
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
    /// Prints the demerit figure of Ruemmler and Wilkes: the root mean square of the horizontal
    /// distance between the distributions of modelled and measured service times.
    Validate {
        /// A name of the list, or a file
        #[arg(value_name = "DRIVE")]
        drive: String,
        /// Requests with measured times: `R|W LABEL BLOCK BLOCKS MICROSECONDS PAUSE`, a line each
        #[arg(value_name = "TRACE")]
        trace: PathBuf,
    },
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    match &options.what {
        None | Some(What::List) => list::run(console),
        Some(What::Show { drive }) => show::run(drive, console),
        Some(What::Validate { drive, trace }) => validate::run(drive, trace, console),
    }
}
