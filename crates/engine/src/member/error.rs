//! Why a member cannot be opened, made or prepared.

use std::path::PathBuf;

use parlour_units::Bytes;
use parlour_units::words::without_numbers;
use rustix::io::Errno;

/// Why a member cannot be opened, made or prepared.
#[derive(Debug, thiserror::Error)]
pub enum MemberError {
    /// The path does not exist.
    #[error("{path}: no such file or device; check the path, or create the array first", path = .path.display())]
    Missing {
        /// The member's path.
        path: PathBuf,
    },
    /// The path of a new file exists already.
    #[error("{path}: exists already; name another path, or remove it if it is not needed", path = .path.display())]
    Exists {
        /// The member's path.
        path: PathBuf,
    },
    /// The path is neither a regular file nor a block device.
    #[error("{path}: is {what}; a member is a regular file or a block device", path = .path.display())]
    Unsuitable {
        /// The member's path.
        path: PathBuf,
        /// The kind of object that it is.
        what: &'static str,
    },
    /// The caller has no permission to open it.
    #[error("{path}: permission denied; run as a user who may read and write it", path = .path.display())]
    Forbidden {
        /// The member's path.
        path: PathBuf,
    },
    /// The member or its file system is read-only.
    #[error("{path}: is read-only; serve the array with --read-only, or make it writable", path = .path.display())]
    ReadOnly {
        /// The member's path.
        path: PathBuf,
    },
    /// Another server has it open, or it is mounted or claimed.
    #[error("{path}: is in use by another server or is mounted; stop that first", path = .path.display())]
    InUse {
        /// The member's path.
        path: PathBuf,
    },
    /// It is a device over a file or device that another server has open.
    #[error(
        "{path}: is a loop device over {backing}, which is in use by another server; stop that first",
        path = .path.display(), backing = .backing.display()
    )]
    BackingInUse {
        /// The member's path.
        path: PathBuf,
        /// The file or device under it.
        backing: PathBuf,
    },
    /// It is a file under a loop device that is mounted or served.
    #[error(
        "{path}: is under the loop device {device}, which is mounted or in use by another server; stop that first",
        path = .path.display(), device = .device.display()
    )]
    UnderLoop {
        /// The member's path.
        path: PathBuf,
        /// The loop device.
        device: PathBuf,
    },
    /// Its block size is neither 512 nor 4096 bytes.
    #[error("{path}: has blocks of {block}; only devices with blocks of 512 or 4096 bytes can be members", path = .path.display())]
    BlockSize {
        /// The member's path.
        path: PathBuf,
        /// The device's logical block size.
        block: Bytes,
    },
    /// There is not enough space.
    #[error("{path}: no space for {length}; free some space or use a smaller member", path = .path.display())]
    NoSpace {
        /// The member's path.
        path: PathBuf,
        /// The length for which there is no space.
        length: Bytes,
    },
    /// The directory of a new file does not exist.
    #[error("{path}: cannot be made, because its directory is not there; make that first, or check the path", path = .path.display())]
    NoDirectory {
        /// The member's path.
        path: PathBuf,
    },
    /// The file system does not allow files of this length.
    #[error("{path}: a file of {length} is longer than this file system can have; use a smaller --size", path = .path.display())]
    TooLong {
        /// The member's path.
        path: PathBuf,
        /// The length of the file.
        length: Bytes,
    },
    /// The kernel refused another action.
    #[error("{path}: cannot {action}: {}", without_numbers(&.errno.to_string()), path = .path.display())]
    Refused {
        /// The member's path.
        path: PathBuf,
        /// The action, as a verb.
        action: &'static str,
        /// The kernel's error.
        errno: Errno,
    },
}

impl MemberError {
    /// Whether another process uses the member. The array is then not opened without it either.
    pub fn is_in_use(&self) -> bool {
        matches!(
            self,
            MemberError::InUse { .. } | MemberError::BackingInUse { .. } | MemberError::UnderLoop { .. }
        )
    }
}
