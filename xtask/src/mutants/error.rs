//! The errors of `cargo xtask mutants`.

use std::io;
use std::path::PathBuf;

use crate::command::CommandError;
use crate::copy::CopyError;

/// Why mutants could not be judged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MutantsError {
    /// A program could not be run.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The workspace could not be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// A file or directory cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// The output of cargo-mutants is not as expected.
    #[error(
        "`cargo mutants --list` cannot be understood: {0}; is it 27 or newer (`cargo install cargo-mutants`)?"
    )]
    List(String),
    /// A source cannot be parsed.
    #[error("{path} cannot be read as Rust: {source}", path = path.display())]
    NoRust { path: PathBuf, source: syn::Error },
    /// The woven copy does not compile, and no change is the cause.
    #[error("the changed copy does not compile: {0}")]
    NotBuilt(String),
    /// The tests fail without any change.
    #[error("{0} fails without any change")]
    NotGreen(String),
    /// There are no changes to judge.
    #[error("no change is meant")]
    Nothing,
}

/// Makes the error for a path that cannot be used.
pub(super) fn unusable(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> MutantsError {
    let path = path.into();
    move |source| MutantsError::Unusable { path, source }
}
