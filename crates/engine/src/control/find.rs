//! Finds the servers of this machine by their control sockets.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use parlour_array::Identity;

use super::socket_name;

/// The control sockets of all listening servers, in any directory.
pub fn listening() -> Vec<PathBuf> {
    let mut sockets = in_table(&std::fs::read("/proc/net/unix").unwrap_or_default());
    sockets.sort();
    sockets.dedup();
    sockets
}

/// The control socket of the server of `array`, if there is one.
pub fn socket_of(array: Identity) -> Option<PathBuf> {
    let name = socket_name(array);
    listening().into_iter().find(|path| path.file_name().is_some_and(|found| *found == *name))
}

/// The process that listens on `socket`, if the caller may connect to it.
pub fn process_behind(socket: &Path) -> Option<u32> {
    let stream = UnixStream::connect(socket).ok()?;
    let peer = rustix::net::sockopt::socket_peercred(&stream).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
}

/// The control sockets in `directory` that a server of this or another user listens on.
///
/// # Errors
/// The directory cannot be read.
pub fn sockets_in(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let listens = |path: &PathBuf| match UnixStream::connect(path) {
        Ok(_) => true,
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    let mut sockets = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        if is_socket && is_control_socket(&path) && listens(&path) {
            sockets.push(path);
        }
    }
    sockets.sort();
    Ok(sockets)
}

/// The control sockets in the kernel's table of sockets. Each line ends with the path, which may
/// contain blanks.
fn in_table(table: &[u8]) -> Vec<PathBuf> {
    let path = |line: &[u8]| {
        let at = line.windows(2).position(|pair| pair == b" /")?;
        let path = Path::new(std::ffi::OsStr::from_bytes(&line[at + 1..]));
        is_control_socket(path).then(|| path.to_owned())
    };
    table.split(|byte| *byte == b'\n').filter_map(path).collect()
}

/// Whether the path's file name is that of a control socket.
fn is_control_socket(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let middle = name.strip_prefix("parlour-").and_then(|rest| rest.strip_suffix(".sock"));
    middle.is_some_and(|middle| middle.len() == 8 && middle.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_sockets_are_found_in_the_kernels_table() {
        let table = b"Num       RefCount Protocol Flags    Type St Inode Path\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 21 /a b/parlour-0f52c1d3.sock\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 22 /run/other.sock\n\
            0000000000000000: 00000003 00000000 00000000 0001 03 23\n\
            0000000000000000: 00000002 00000000 00010000 0001 01 24 /run/parlour-short.sock\n";
        assert_eq!(in_table(table), [PathBuf::from("/a b/parlour-0f52c1d3.sock")]);
    }
}
