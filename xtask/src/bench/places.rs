//! The directories in which benches put their members.

use std::path::{Path, PathBuf};

use clap::Args;

use super::error::BenchError;

/// Where members are put.
#[derive(Debug, Args)]
pub(crate) struct Places {
    /// A directory on tmpfs
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// A directory on a disk; without it, a temporary one
    #[arg(long)]
    disk: Option<PathBuf>,
    /// Leave out the disk
    #[arg(long)]
    only_memory: bool,
}

impl Places {
    /// The directories, each with its title for the table.
    pub(super) fn scratch(&self) -> Result<Vec<(&'static str, tempfile::TempDir)>, BenchError> {
        let mut places = vec![("members on tmpfs", scratch(&self.memory)?)];
        if !self.only_memory {
            let disk = self.disk.clone().unwrap_or_else(std::env::temp_dir);
            places.push(("members on disk, O_DIRECT", scratch(&disk)?));
        }
        Ok(places)
    }
}

/// A new directory below `place`, which is removed at the end.
pub(super) fn scratch(place: &Path) -> Result<tempfile::TempDir, BenchError> {
    let failed = |source| BenchError::Place { path: place.into(), source };
    tempfile::Builder::new().prefix("parlour-bench").tempdir_in(place).map_err(failed)
}
