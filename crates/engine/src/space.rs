//! Sets space aside on members. Metadata and the commit log must not run out of space. Data, parity
//! and the logs of regions may stay sparse: if a write to them finds no space, the records in
//! the commit log are used, and the array becomes read-only.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parlour_array::{Geometry, SUPERBLOCK};
use parlour_units::{Bytes, Sector};

use crate::member::{Member, MemberError};

/// Sets space aside on `member` for its superblocks, bitmaps, tables, bad-block logs and commit
/// log.
pub(crate) fn preallocate_metadata(member: &Member, geometry: &Geometry) -> Result<(), MemberError> {
    member.preallocate(Sector::ZERO, geometry.data_start().from_start())?;
    let [_, second] = Geometry::superblocks_at(member.length());
    member.preallocate(second, SUPERBLOCK)
}

/// A warning for each file system with less free space than the sparse `files` may need.
pub(crate) fn overcommitted(files: &[PathBuf]) -> Vec<String> {
    // For each file system: its device, one file on it, and the bytes that are still missing.
    let mut systems: Vec<(u64, &Path, u64)> = Vec::new();
    for path in files {
        let Ok(found) = std::fs::metadata(path) else { continue };
        let missing = found.len().saturating_sub(found.blocks() * 512);
        match systems.iter_mut().find(|(device, ..)| *device == found.dev()) {
            Some((_, _, sum)) => *sum = sum.saturating_add(missing),
            None => systems.push((found.dev(), path, missing)),
        }
    }
    let short = |(_, path, missing): (u64, &Path, u64)| {
        let system = rustix::fs::statvfs(path).ok()?;
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        (free < missing).then(|| {
            format!(
                "{}: sparse members may come to take {} more on this file system, and {} are free: writes fail when it is \
                 full; use a smaller --size, or make room",
                path.display(),
                Bytes::new(missing),
                Bytes::new(free)
            )
        })
    };
    systems.into_iter().filter_map(short).collect()
}
