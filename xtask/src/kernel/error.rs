//! The errors of the lab's kernel.

use std::io;
use std::path::{Path, PathBuf};

use crate::command::CommandError;
use crate::packages::PackageError;

/// Why the lab failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KernelError {
    /// Packages for the build are missing.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// There is no directory for the cache.
    #[error("cannot keep a kernel: set HOME or XDG_CACHE_HOME to where there is room for it")]
    NoCache,
    /// A directory or file cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// A step of the build failed.
    #[error("the lab's kernel cannot be built: {0}")]
    Build(#[source] CommandError),
    /// The source differs from the one for which the changes were made.
    #[error("the kernel's {file} is not as expected; see `CHANGES` in xtask/src/kernel/recipe.rs")]
    OtherSource { file: &'static str },
    /// The configuration names an option that the kernel does not have.
    #[error("the kernel's configuration drops {0}; see xtask/src/kernel/config")]
    Ignored(String),
    /// The time limit was reached.
    #[error("the program did not end in {0} seconds; the kernel was killed")]
    Limit(u64),
    /// The kernel died.
    #[error("the kernel ended before the program did")]
    Died,
}

impl KernelError {
    /// Makes the error for a path that cannot be used.
    pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> KernelError {
        let path = path.to_owned();
        move |source| KernelError::Unusable { path, source }
    }
}
