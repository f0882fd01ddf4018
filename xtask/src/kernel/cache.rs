//! Where built kernels are kept: outside of `target`, so that cleaning it, or another worktree,
//! costs no build.

use std::fs::{self, File};
use std::path::PathBuf;
use std::{env, io};

use rustix::fs::{FlockOperation, flock};

use super::error::KernelError;

/// The folder of this user's cache.
pub(super) struct Cache(PathBuf);

/// While it lives, nobody else builds.
pub(super) struct Lock {
    _file: File,
}

impl Cache {
    /// The usual folder, made if need be.
    pub(super) fn open() -> Result<Cache, KernelError> {
        let folder = folder(env::var_os("XDG_CACHE_HOME").map(PathBuf::from), env::home_dir())
            .ok_or(KernelError::NoCache)?;
        fs::create_dir_all(&folder).map_err(KernelError::unusable(&folder))?;
        Ok(Cache(folder))
    }

    /// Where the source is unpacked, by whom has the lock.
    pub(super) fn building(&self) -> PathBuf {
        self.0.join("building")
    }

    /// The kernel that is, or is to be, kept under a key.
    pub(super) fn kernel(&self, key: &str) -> PathBuf {
        self.0.join(key)
    }

    /// What its build printed, while it is under way and after it failed.
    pub(super) fn log(&self, key: &str) -> PathBuf {
        self.0.join(format!("{key}.log"))
    }

    /// Waits until nobody else builds.
    pub(super) fn lock(&self) -> Result<Lock, KernelError> {
        let path = self.0.join("building.lock");
        let locked = || -> io::Result<File> {
            let file = File::create(&path)?;
            // The kernel lets go of it when this process ends, however it does.
            flock(&file, FlockOperation::LockExclusive)?;
            Ok(file)
        };
        locked().map(|file| Lock { _file: file }).map_err(KernelError::unusable(&path))
    }
}

/// `$XDG_CACHE_HOME/parlour`, or `~/.cache/parlour`. The former counts only if it is absolute, as
/// its standard says.
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
