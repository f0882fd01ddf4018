//! The devices and files under a block device, and the loop devices over a file. Two servers must
//! not serve one disk under two names.
//!
//! A loop device over a member's file has another inode, so a lock on one does not protect the
//! other. Opening a device therefore also locks the files and devices under it, and opening a file
//! looks for loop devices over it that are in use.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fd::OwnedFd;
use rustix::fs::{FileType, OFlags, Stat, open, stat};
use rustix::io::Errno;

use super::lock::lock;
use super::{MemberError, Mode};

/// Stacks of devices and files are followed to this depth.
const DEEPEST: usize = 8;

/// Locks the files and devices under the block device `number` at `path`. Those that cannot be
/// opened are skipped.
pub(super) fn lock_below(path: &Path, number: u64, mode: Mode) -> Result<Vec<OwnedFd>, MemberError> {
    let mut locks = Vec::new();
    if mode == Mode::Looking {
        return Ok(locks);
    }
    for below in below(number, DEEPEST) {
        let Ok(file) =
            open(&below, OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK, rustix::fs::Mode::empty())
        else {
            continue;
        };
        match lock(&below, &file, mode) {
            Ok(()) => locks.push(file),
            Err(MemberError::InUse { .. }) => {
                return Err(MemberError::BackingInUse { path: path.into(), backing: below });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(locks)
}

/// The files and devices under the block device `number`.
fn below(number: u64, depth: usize) -> Vec<PathBuf> {
    if depth == 0 {
        return Vec::new();
    }
    let directory = directory(number);
    // A partition's loop device is in the parent directory.
    let backing = ["loop", "../loop"].iter().find_map(|name| backing_file(&directory.join(name)));
    let mut found = Vec::new();
    if let Some(path) = backing {
        if let Some(device) = device_number(&path) {
            found.extend(self::below(device, depth - 1));
        }
        found.push(path);
    }
    // The devices under a device-mapper device.
    for slave in entries(&directory.join("slaves")) {
        let number = fs::read_to_string(slave.join("dev")).ok().and_then(|text| parse_number(&text));
        found.extend(number.map(|number| self::below(number, depth - 1)).unwrap_or_default());
    }
    found
}

/// A loop device over the file `found` that is mounted, served or claimed in another way.
pub(super) fn claimed_loop_over(found: &Stat) -> Option<PathBuf> {
    entries(Path::new("/sys/block")).into_iter().find_map(|block| {
        let path = backing_file(&block.join("loop"))?;
        let same =
            stat(&path).is_ok_and(|other| (other.st_dev, other.st_ino) == (found.st_dev, found.st_ino));
        let device = Path::new("/dev").join(block.file_name()?);
        (same && is_claimed(&device)).then_some(device)
    })
}

/// Whether the block device is open exclusively.
fn is_claimed(device: &Path) -> bool {
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
    open(device, flags, rustix::fs::Mode::empty()).is_err_and(|errno| errno == Errno::BUSY)
}

fn backing_file(of_loop: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(of_loop.join("backing_file")).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
}

fn device_number(path: &Path) -> Option<u64> {
    let found = stat(path).ok()?;
    (FileType::from_raw_mode(found.st_mode) == FileType::BlockDevice).then_some(found.st_rdev)
}

fn directory(number: u64) -> PathBuf {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    PathBuf::from(format!("/sys/dev/block/{major}:{minor}"))
}

/// The device number in a text such as "7:0".
fn parse_number(text: &str) -> Option<u64> {
    let (major, minor) = text.trim().split_once(':')?;
    Some(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn device_numbers_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse_number("7:3\n"), Some(rustix::fs::makedev(7, 3)));
        assert_eq!(parse_number("7"), None);
        assert!(below(rustix::fs::makedev(0, 0), DEEPEST).is_empty());
    }
}
