//! Why mutants cannot be judged.

use std::io;
use std::path::PathBuf;

use crate::command::CommandError;

/// Why mutants could not be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MutantsError {
    /// A program could not be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A file or folder cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// cargo-mutants did not answer as it should.
    #[error(
        "`cargo mutants --list` cannot be understood: {0}; is it 27 or newer (`cargo install cargo-mutants`)?"
    )]
    List(String),
    /// A source is no Rust.
    #[error("{path} cannot be read as Rust: {source}", path = path.display())]
    NoRust { path: PathBuf, source: syn::Error },
    /// What was woven does not compile, and not because of a change.
    #[error("the changed copy does not compile: {0}")]
    NotBuilt(String),
    /// The tests fail without any change.
    #[error("{0} fails without any change")]
    NotGreen(String),
    /// There is nothing to judge.
    #[error("no change is meant")]
    Nothing,
}

/// Says that a path cannot be used.
pub(super) fn unusable(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> MutantsError {
    let path = path.into();
    move |source| MutantsError::Unusable { path, source }
}
