//! The listening control socket, and its file.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use super::ControlError;

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 16;

/// A listening socket. Dropping it removes its file.
#[derive(Debug)]
pub(super) struct Listener {
    socket: OwnedFd,
    path: PathBuf,
    /// Device and inode. The file is removed only if it is still the one that was made here.
    file: (u64, u64),
}

impl Listener {
    pub(super) fn new(path: &Path) -> Result<Listener, ControlError> {
        let failed = |source: io::Error| ControlError::Io { path: path.into(), source };
        if let Some(directory) = path.parent().filter(|directory| directory.starts_with("/run")) {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(failed)?;
        }
        let socket = match bind(path) {
            Err(Errno::ADDRINUSE) => {
                remove_stale(path)?;
                bind(path).map_err(|errno| failed(errno.into()))?
            }
            bound => bound.map_err(|errno| failed(errno.into()))?,
        };
        let made = fs::symlink_metadata(path).map_err(failed)?;
        Ok(Listener { socket, path: path.into(), file: (made.dev(), made.ino()) })
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    pub(super) fn accept(&self) -> Result<OwnedFd, Errno> {
        rustix::net::accept_with(&self.socket, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let found = fs::symlink_metadata(&self.path);
        if found.is_ok_and(|found| (found.dev(), found.ino()) == self.file) {
            // A file that cannot be removed is later recognised as stale.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bind(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The file gets its mode from the socket, so other users cannot connect at any moment.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(socket)
}

fn remove_stale(path: &Path) -> Result<(), ControlError> {
    let failed = |source: io::Error| ControlError::Io { path: path.into(), source };
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found.map_err(failed)?,
    };
    if !found.file_type().is_socket() {
        return Err(ControlError::NotASocket { path: path.into() });
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(ControlError::InUse { path: path.into() }),
    }
}
