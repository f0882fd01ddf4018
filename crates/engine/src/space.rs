//! Setting space aside on members: metadata and logs must not run out of it; data may stay sparse.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use parlour_array::layout::Layout;
use parlour_array::{Geometry, SUPERBLOCK};
use parlour_units::{Bytes, Region, Sector, Sectors};

use crate::member::{Member, MemberError};

/// A range of a member.
pub(crate) type Extent = (Sector, Sectors);

/// Sets space aside on `member` for its superblocks, maps and tables.
pub(crate) fn preallocate_metadata(member: &Member, geometry: &Geometry) -> Result<(), MemberError> {
    member.preallocate(Sector::ZERO, geometry.data_start().from_start())?;
    let [_, second] = Geometry::superblock_places(member.length());
    member.preallocate(second, SUPERBLOCK)
}

/// Sets space aside on `member` for the logs in `extents`.
pub(crate) fn preallocate_logs(member: &Member, extents: &[Extent]) -> Result<(), MemberError> {
    extents.iter().try_for_each(|(at, length)| member.preallocate(*at, *length))
}

/// By place: where logs lie on the member there, neighbours joined.
pub(crate) fn log_extents(geometry: &Geometry) -> Vec<Vec<Extent>> {
    let layout = geometry.layout();
    let mut extents: Vec<Vec<Extent>> = vec![Vec::new(); usize::from(geometry.members())];
    let Some(logs) = layout.logs() else { return extents };
    let shape = logs.shape();
    let length = Sectors::new(shape.segment * u64::from(shape.sublog_segments));
    for (place, at) in sublogs(layout, shape.sublogs) {
        extents[place].push((geometry.data_start() + at, length));
    }
    extents.into_iter().map(joined).collect()
}

/// A line for each file system that has less room than sparse `files` may come to take.
pub(crate) fn overcommitted(files: &[PathBuf]) -> Vec<String> {
    // By file system: a file on it, and what is yet to be taken.
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

/// The place and offset of each sublog of each region.
fn sublogs(layout: &Layout, count: u16) -> impl Iterator<Item = (usize, Sectors)> {
    let regions = (0..layout.region_count()).map(Region::new);
    regions.flat_map(move |region| {
        (0..count).filter_map(move |sublog| {
            let place = layout.sublog_place(region, sublog)?;
            Some((place.member.as_usize(), place.at.from_start()))
        })
    })
}

fn joined(mut extents: Vec<Extent>) -> Vec<Extent> {
    extents.sort_unstable();
    let mut whole: Vec<Extent> = Vec::with_capacity(extents.len());
    for (at, length) in extents {
        match whole.last_mut() {
            Some((start, so_far)) if *start + *so_far == at => *so_far += length,
            _ => whole.push((at, length)),
        }
    }
    whole
}
