//! Finding the server of an array, and commanding it.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::Args;
use parlour_engine::control::{self, ControlError, Request};
use serde_json::Value;

use crate::members::{self, MembersError};

/// Which array is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArrayOption {
    /// The array: its directory, one of its members, or its server's control socket
    #[arg(long, short = 'a', value_name = "PATH", default_value = DEFAULT_DIRECTORY)]
    pub(crate) array: PathBuf,
}

/// Where `parlour up` keeps its array.
pub(crate) const DEFAULT_DIRECTORY: &str = "parlour-data";

/// Why no server could be commanded.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Members(#[from] MembersError),
    #[error("{path}: no such file or directory; name the array with --array", path = .path.display())]
    Missing { path: PathBuf },
    #[error("{path}: several arrays are served here ({sockets}); name one of these sockets with --array", path = .path.display())]
    Several { path: PathBuf, sockets: String },
    #[error("{path}: nobody serves this array; serve it first, then ask again", path = .path.display())]
    NotServed { path: PathBuf },
    #[error("the server's answer is not understood ({0}); is it of another version?")]
    Answer(#[from] serde_json::Error),
}

impl CommandError {
    /// Whether nobody serves the array.
    pub(crate) fn is_not_served(&self) -> bool {
        matches!(self, CommandError::NotServed { .. })
    }
}

/// Has the server of the array at `path` carry out `request`.
///
/// # Errors
/// There is none, or it refuses.
pub(crate) fn call(path: &Path, request: &Request) -> Result<Value, CommandError> {
    let socket = socket(path)?;
    match control::call(&socket, request) {
        Ok(response) => Ok(response.ok),
        Err(ControlError::NoServer { .. }) => Err(CommandError::NotServed { path: path.to_owned() }),
        Err(error) => Err(error.into()),
    }
}

/// What to keep in mind of a new member that lies outside the array's directory: nothing there leads to it.
pub(crate) fn reminder(array: &Path, member: &Path) -> String {
    let canonical = |path: &Path| path.canonicalize().ok();
    let inside = canonical(member).and_then(|path| path.parent().map(Path::to_owned)) == canonical(array);
    match array.is_dir() && !inside {
        true => format!(
            "It lies outside {}: name it too when the array is served next, or stop the server and move it there\n",
            array.display()
        ),
        false => String::new(),
    }
}

/// The control socket of the array at `path`: itself, or beside the member or in the directory that it is.
fn socket(path: &Path) -> Result<PathBuf, CommandError> {
    let found = path.metadata().map_err(|_| CommandError::Missing { path: path.to_owned() })?;
    if found.file_type().is_socket() {
        return Ok(path.to_owned());
    }
    if !found.is_dir() {
        let superblock = members::newest_superblock(&[path.to_owned()])?;
        return Ok(control::path_for(path, superblock.array));
    }
    match sockets_in(path).as_slice() {
        [] => Err(CommandError::NotServed { path: path.to_owned() }),
        [socket] => Ok(socket.clone()),
        several => Err(CommandError::Several {
            path: path.to_owned(),
            sockets: several.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// Control sockets in a directory that somebody listens on.
fn sockets_in(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
    let is_control = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_socket = path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
        is_socket && name.starts_with("parlour-") && name.ends_with(".sock")
    };
    let listens = |path: &PathBuf| std::os::unix::net::UnixStream::connect(path).is_ok();
    let mut sockets: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_control).filter(listens).collect();
    sockets.sort();
    sockets
}
