//! Listening sockets.

use std::fs;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, lchown};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, fchmod};
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::error::ListenError;

/// The most connections that wait to be accepted.
const BACKLOG: i32 = 128;

/// The permissions of a Unix socket: connecting needs write permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketAccess {
    /// Permission bits, such as 0o660.
    pub mode: u32,
    /// The group's number; the server's own group if absent.
    pub group: Option<u32>,
}

impl Default for SocketAccess {
    /// The owner only.
    fn default() -> Self {
        Self { mode: OWNER_ONLY, group: None }
    }
}

const OWNER_ONLY: u32 = 0o600;

impl SocketAccess {
    /// Gives the permissions to the socket at `path`. Until now it has the owner's only, and it
    /// does not listen yet.
    fn give(self, path: &Path) -> io::Result<()> {
        if self.group.is_some() {
            lchown(path, None, self.group)?;
        }
        if self.mode == OWNER_ONLY {
            return Ok(());
        }
        fs::set_permissions(path, fs::Permissions::from_mode(self.mode))
    }
}

/// The number of a group that is given by name or number.
///
/// # Errors
/// If there is no such group in `/etc/group`.
pub fn group_number(name: &str) -> Result<u32, ListenError> {
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        (fields.next() == Some(name)).then(|| fields.nth(1)?.parse().ok()).flatten()
    };
    let unknown = || ListenError::NoSuchGroup(name.to_owned());
    name.parse().ok().or_else(|| groups.lines().find_map(of_line)).ok_or_else(unknown)
}

pub(super) struct Listener {
    socket: OwnedFd,
    /// The path, device and inode of the socket file, which is removed with the listener.
    file: Option<(PathBuf, u64, u64)>,
}

impl Listener {
    /// Listens on a path. Only the owner may connect until the permissions of `access` are set. A
    /// socket on which no server listens is replaced.
    pub(super) fn unix(path: &Path, access: SocketAccess) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Io { address: path.display().to_string(), source };
        let socket = match bind_unix(path) {
            Err(Errno::ADDRINUSE) => {
                remove_stale(path)?;
                bind_unix(path).map_err(|error| failed(error.into()))?
            }
            bound => bound.map_err(|error| failed(error.into()))?,
        };
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        let file = Some((path.to_owned(), metadata.dev(), metadata.ino()));
        // Made before the next steps, so that the file is removed if they fail.
        let listener = Self { socket, file };
        access.give(path).map_err(failed)?;
        rustix::net::listen(&listener.socket, BACKLOG).map_err(|error| failed(error.into()))?;
        Ok(listener)
    }

    /// Listens on an address. Port 0 chooses a port; the actual address is returned.
    pub(super) fn tcp(address: SocketAddr) -> Result<(Self, SocketAddr), ListenError> {
        let failed = |source| ListenError::Io { address: address.to_string(), source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok((Self { socket: listener.into(), file: None }, address))
    }

    pub(super) fn socket(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Accepts one connection, if there is one.
    pub(super) fn accept(&self) -> Result<OwnedFd, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::accept_with(&self.socket, flags)?;
        if self.file.is_none() {
            // Replies are sent in large parts, so Nagle's algorithm would only delay them.
            // Keepalive detects a client whose host has disappeared. The connection works without
            // either option.
            let _ = set_tcp_nodelay(&socket, true);
            let _ = set_socket_keepalive(&socket, true);
        }
        Ok(socket)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some((path, device, inode)) = &self.file else { return };
        let ours = fs::symlink_metadata(path).is_ok_and(|file| (file.dev(), file.ino()) == (*device, *inode));
        if ours {
            // A file that cannot be removed is later recognised as stale.
            let _ = fs::remove_file(path);
        }
    }
}

fn bind_unix(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The socket file gets its mode from the socket, so other users cannot connect at any moment.
    // No client can connect before the socket listens.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    rustix::net::bind(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket)
}

fn remove_stale(path: &Path) -> Result<(), ListenError> {
    let failed = |source| ListenError::Io { address: path.display().to_string(), source };
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        metadata => metadata.map_err(failed)?,
    };
    if !metadata.file_type().is_socket() {
        return Err(ListenError::NotASocket(path.to_owned()));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            fs::remove_file(path).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => Err(ListenError::InUse(path.to_owned())),
    }
}
