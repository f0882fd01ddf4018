//! Why the lab does not do its work.

use std::io;
use std::path::{Path, PathBuf};

use crate::command::CommandError;
use crate::packages::PackageError;

/// Why the lab did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KernelError {
    /// What the build needs is not there.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// There is no folder to keep it in.
    #[error("cannot keep a kernel: set HOME or XDG_CACHE_HOME to where there is room for it")]
    NoCache,
    /// A folder or file cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// A step of the build failed.
    #[error("the lab's kernel cannot be built: {0}")]
    Build(#[source] CommandError),
    /// The source is not the one for which the changes were made.
    #[error("the kernel's {file} is not as expected; see `CHANGES` in xtask/src/kernel/recipe.rs")]
    OtherSource { file: &'static str },
    /// The configuration names what the kernel does not have.
    #[error("the kernel's configuration drops {0}; see xtask/src/kernel/config")]
    Ignored(String),
    /// The limit was reached.
    #[error("the program did not end in {0} seconds; the kernel was killed")]
    Limit(u64),
    /// The kernel died.
    #[error("the kernel ended before the program did")]
    Died,
}

impl KernelError {
    /// Says that a path cannot be used.
    pub(super) fn unusable(path: &Path) -> impl FnOnce(io::Error) -> KernelError {
        let path = path.to_owned();
        move |source| KernelError::Unusable { path, source }
    }
}
