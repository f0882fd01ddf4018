//! The errors of the benches.

use std::path::PathBuf;

use super::fio::FioError;
use super::targets::TargetError;
use crate::command::CommandError;
use crate::packages::PackageError;

/// Why a bench gave no table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// Tools are missing.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// The build failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A target did not start.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// fio failed.
    #[error(transparent)]
    Fio(#[from] FioError),
    /// The built file cannot be read.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The program is larger than allowed.
    #[error("the program is {size} bytes long, more than {bound}: see above what it is made of")]
    TooLarge {
        /// The size of the program, in bytes.
        size: u64,
        /// The largest allowed size, in bytes.
        bound: u64,
    },
    /// The directory for the measurement cannot be used.
    #[error("cannot use {path}: {source}; name another with --memory or --disk")]
    Place {
        /// The directory.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// A program in the lab gave no result.
    #[error("{what} in the lab gave no result; it said:\n{told}")]
    NoResult {
        /// The program.
        what: &'static str,
        /// All output.
        told: String,
    },
}
