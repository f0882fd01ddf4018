//! Why there is no such workload, by the key that is wrong.

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

/// Why there is no such workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Nobody asks.
    #[error(
        "workload: say who asks: processes (each waits for its answer), every or rate (of arrivals), or of a trace stretched"
    )]
    Nobody,
    /// Closed and open at once.
    #[error(
        "workload: {0} and {1} exclude each other; give one of them, and the other in a [[workload]] of its own"
    )]
    Both(&'static str, &'static str),
    /// A key without what it belongs to.
    #[error("workload.{key} is for {of}")]
    Useless {
        /// Which key.
        key: &'static str,
        /// What it is for.
        of: &'static str,
    },
    /// No number.
    #[error("workload.{key}: {value} is not possible; use {possible}")]
    Number {
        /// Which key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What is.
        possible: &'static str,
    },
    /// The size is none.
    #[error("workload.size: {0}")]
    Size(#[from] SizeError),
    /// The space is none.
    #[error("workload.align: {0}")]
    Space(#[from] SpaceError),
    /// The place is none.
    #[error("workload.place: {0}")]
    Place(#[from] PlaceError),
    /// The stream is none.
    #[error("workload: {0}")]
    Stream(#[from] StreamError),
    /// The bank is none.
    #[error("workload.accounts: {0}")]
    Bank(#[from] BankError),
    /// The files are none.
    #[error("workload.files: {0}")]
    Files(#[from] FilesError),
    /// The pass is none.
    #[error("workload.pass: {0}")]
    Pass(#[from] PassError),
    /// The same of Bonnie's.
    #[error("workload.bonnie: {0}")]
    Bonnie(BonnieError),
    /// There is no such trace.
    #[error("workload.trace.file: {path}: cannot be read: {source}", path = .path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Nobody can ask so.
    #[error("workload: {0}")]
    Source(#[from] SourceError),
}
