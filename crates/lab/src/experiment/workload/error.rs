//! Errors in the `[workload]` tables, by the invalid key.

use std::path::PathBuf;

use parlour_workload::accounts::BankError;
use parlour_workload::bonnie::BonnieError;
use parlour_workload::files::FilesError;
use parlour_workload::pass::PassError;
use parlour_workload::place::PlaceError;
use parlour_workload::size::SizeError;
use parlour_workload::source::SourceError;
use parlour_workload::space::SpaceError;
use parlour_workload::stream::StreamError;

/// Why a workload is invalid.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// It does not say when requests are issued.
    #[error(
        "workload: say who asks: processes (each waits for its answer), every or rate (of arrivals), or of a trace stretched"
    )]
    Nobody,
    /// Two keys contradict each other, such as a closed and an open load.
    #[error(
        "workload: {0} and {1} exclude each other; give one of them, and the other in a [[workload]] of its own"
    )]
    Both(&'static str, &'static str),
    /// A key is given without the key that it belongs to.
    #[error("workload.{key} is for {of}")]
    Useless {
        /// The key.
        key: &'static str,
        /// The key that it belongs to.
        of: &'static str,
    },
    /// A number is invalid.
    #[error("workload.{key}: {value} is not possible; use {possible}")]
    Number {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        possible: &'static str,
    },
    /// The size is invalid.
    #[error("workload.size: {0}")]
    Size(#[from] SizeError),
    /// The alignment does not fit the space.
    #[error("workload.align: {0}")]
    Space(#[from] SpaceError),
    /// The positions are invalid.
    #[error("workload.place: {0}")]
    Place(#[from] PlaceError),
    /// The stream is invalid.
    #[error("workload: {0}")]
    Stream(#[from] StreamError),
    /// The bank is invalid.
    #[error("workload.accounts: {0}")]
    Bank(#[from] BankError),
    /// The files are invalid.
    #[error("workload.files: {0}")]
    Files(#[from] FilesError),
    /// The pass is invalid.
    #[error("workload.pass: {0}")]
    Pass(#[from] PassError),
    /// The phase of Bonnie is invalid.
    #[error("workload.bonnie: {0}")]
    Bonnie(BonnieError),
    /// The trace cannot be read.
    #[error("workload.trace.file: {path}: cannot be read: {source}", path = .path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The source of requests is invalid.
    #[error("workload: {0}")]
    Source(#[from] SourceError),
}
