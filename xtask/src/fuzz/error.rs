//! The errors of `cargo xtask fuzz`.

use std::io;
use std::path::PathBuf;

use crate::command::CommandError;

/// Why fuzzing failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FuzzError {
    /// The fuzzers could not be built.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// There is no such target.
    #[error("there is no target '{name}'; there are {known}")]
    Unknown { name: String, known: String },
    /// The compiler does not name its default target.
    #[error("`rustc -vV` does not name its host")]
    NoHost,
    /// A directory or file cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// Targets failed. Each failure was already printed.
    #[error("failed: {}", .0.join(", "))]
    Failed(Vec<String>),
}
