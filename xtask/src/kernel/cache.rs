//! The cache of built kernels. It is outside of `target`, so that `cargo clean` or another worktree
//! does not cause a new build.

use std::fs::{self, File};
use std::path::PathBuf;
use std::{env, io};

use rustix::fs::{FlockOperation, flock};

use super::error::KernelError;

/// The directory of this user's cache.
pub(super) struct Cache(PathBuf);

/// The lock for builds. It is released when this value is dropped.
pub(super) struct Lock {
    _file: File,
}

impl Cache {
    /// Opens the usual directory, and creates it if necessary.
    pub(super) fn open() -> Result<Cache, KernelError> {
        let folder = folder(env::var_os("XDG_CACHE_HOME").map(PathBuf::from), env::home_dir())
            .ok_or(KernelError::NoCache)?;
        fs::create_dir_all(&folder).map_err(KernelError::unusable(&folder))?;
        Ok(Cache(folder))
    }

    /// The directory in which the holder of the lock unpacks the source.
    pub(super) fn building(&self) -> PathBuf {
        self.0.join("building")
    }

    /// The path of the kernel with this key.
    pub(super) fn kernel(&self, key: &str) -> PathBuf {
        self.0.join(key)
    }

    /// The log of its build. It exists during the build and after a failure.
    pub(super) fn log(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.log"))
    }

    /// Waits for the lock.
    pub(super) fn lock(&self) -> Result<Lock, KernelError> {
        let path = self.0.join("building.lock");
        let locked = || -> io::Result<File> {
            let file = File::create(&path)?;
            // The kernel releases the lock when this process ends, even if it is killed.
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        };
        locked().map(|file| Lock { _file: file }).map_err(KernelError::unusable(&path))
    }
}

/// `$XDG_CACHE_HOME/parlour`, or `~/.cache/parlour`. The former is used only if it is an absolute
/// path, as the XDG standard says.
fn folder(cache: Option<PathBuf>, home: Option<PathBuf>) -> Option<PathBuf> {
    let cache = cache.filter(|path| path.is_absolute());
    cache.or_else(|| home.map(|home| home.join(".cache"))).map(|cache| cache.join("parlour"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_where_its_standard_says() {
        let home = || Some(PathBuf::from("/home/me"));
        let of = |cache: &str| folder(Some(cache.into()), home());
        assert_eq!(of("/var/cache/me"), Some("/var/cache/me/parlour".into()));
        assert_eq!(of("relative"), Some("/home/me/.cache/parlour".into()));
        assert_eq!(of(""), Some("/home/me/.cache/parlour".into()));
        assert_eq!(folder(None, home()), Some("/home/me/.cache/parlour".into()));
        assert_eq!(folder(None, None), None);
    }
}
