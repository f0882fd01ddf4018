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
    /// The place to measure in cannot be used.
    #[error("cannot use {path}: {source}; name another with --memory or --disk")]
    Place {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}
