//! Members as people name them: by their paths, or by the one directory that holds them.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use parlour_array::{Candidate, Geometry, SUPERBLOCK_BYTES, Superblock, SuperblockError};
use parlour_units::{Bytes, Sectors};

/// Why there are no members to work with.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MembersError {
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}: no member of an array in this directory; create an array first, or name its members", path = .path.display())]
    EmptyDirectory { path: PathBuf },
    #[error("{path}: {reason}; it is no member of an array that can be used", path = .path.display())]
    NotAMember { path: PathBuf, reason: SuperblockError },
}

/// Replaces each directory among `paths` by the members in it.
///
/// # Errors
/// A directory cannot be read, or holds no member.
pub(crate) fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, MembersError> {
    let mut members = Vec::new();
    for path in paths {
        match path.is_dir() {
            true => members.extend(members_in(path)?),
            false => members.push(path.clone()),
        }
    }
    Ok(members)
}

/// The files and devices in `directory` that have a superblock, whole or damaged, in the order of their names.
fn members_in(directory: &Path) -> Result<Vec<PathBuf>, MembersError> {
    let unreadable = |source| MembersError::Unreadable { path: directory.to_owned(), source };
    let mut members = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        // What cannot be read cannot be told to be a member; the array will name what it misses.
        if is_disk(&path) && look(&path).is_ok_and(|found| found.superblock != Err(SuperblockError::Absent)) {
            members.push(path);
        }
    }
    if members.is_empty() {
        return Err(MembersError::EmptyDirectory { path: directory.to_owned() });
    }
    members.sort();
    Ok(members)
}

fn is_disk(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() || found.file_type().is_block_device())
}

/// What stands at a path, by its superblock. Takes no lock, so that it works while the array is served.
///
/// # Errors
/// It cannot be read.
pub(crate) fn look(path: &Path) -> Result<Candidate, MembersError> {
    let unreadable = |source| MembersError::Unreadable { path: path.to_owned(), source };
    let mut file = File::open(path).map_err(unreadable)?;
    let end = file.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let length = Sectors::new(end / 512);
    let superblock = match is_long_enough(length) {
        false => Err(SuperblockError::Absent),
        true => {
            let [first, second] = Geometry::superblock_places(length);
            let first = read_block(&mut file, first.bytes()).map_err(unreadable)?;
            let second = read_block(&mut file, second.bytes()).map_err(unreadable)?;
            Superblock::decode_copies(&first, &second)
        }
    };
    Ok(Candidate { name: path.display().to_string(), length, superblock })
}

fn is_long_enough(length: Sectors) -> bool {
    length.bytes() >= Bytes::mib(2)
}

fn read_block(file: &mut File, at: u64) -> std::io::Result<Vec<u8>> {
    let mut block = vec![0; SUPERBLOCK_BYTES];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut block)?;
    Ok(block)
}

/// The superblock that speaks for the array of `paths`.
///
/// # Errors
/// None of them has one that can be used.
pub(crate) fn newest_superblock(paths: &[PathBuf]) -> Result<Superblock, MembersError> {
    let mut newest: Option<Superblock> = None;
    let mut damaged = None;
    for path in expand(paths)? {
        match look(&path)?.superblock {
            Ok(found) if newest.as_ref().is_none_or(|best| age(best) < age(&found)) => newest = Some(found),
            Ok(_) => {}
            Err(reason) => damaged = Some(MembersError::NotAMember { path, reason }),
        }
    }
    match (newest, damaged) {
        (Some(superblock), _) => Ok(superblock),
        (None, Some(error)) => Err(error),
        (None, None) => {
            Err(MembersError::EmptyDirectory { path: paths.first().cloned().unwrap_or_default() })
        }
    }
}

fn age(superblock: &Superblock) -> (u64, u64) {
    (superblock.session_number, superblock.sequence)
}
