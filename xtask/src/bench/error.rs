//! Why a bench gives no table.

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
    /// What was built is not there.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program has grown.
    #[error("the program is {size} bytes long, more than {bound}: see above what it is made of")]
    TooLarge {
        /// How long it is.
        size: u64,
        /// How long it may be.
        bound: u64,
    },
    /// The place to measure in cannot be used.
    #[error("cannot use {path}: {source}; name another with --memory or --disk")]
    Place {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
