//! Finds the server of an array, and sends commands to it.

use std::io::ErrorKind;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use clap::Args;
use parlour_array::{Identity, SuperblockError};
use parlour_engine::control::{self, ControlError, Request};
use parlour_units::Duration;
use serde_json::Value;

use crate::members::{Looks, MembersError};
use crate::wording::quoted;

/// Which array is meant.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArrayOption {
    /// The array: its directory, one of its members, its server's control socket, or the name of
    /// one that is served
    #[arg(long, short = 'a', value_name = "ARRAY", default_value = DEFAULT_DIRECTORY)]
    pub(crate) array: PathBuf,
}

/// The default directory of `parlour up`.
pub(crate) const DEFAULT_DIRECTORY: &str = "parlour-data";

/// Why a command could not be sent to a server.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error(transparent)]
    Members(#[from] MembersError),
    #[error(
        "{path}: no such file or directory, and no array of this name is served here; name the array with --array: its \
         directory, one of its members, or its control socket",
        path = .path.display()
    )]
    Missing { path: PathBuf },
    #[error("{path}: several arrays are served here ({sockets}); name one of these sockets with --array", path = .path.display())]
    Several { path: PathBuf, sockets: String },
    #[error("{path}: nobody serves this array; serve it first, then ask again", path = .path.display())]
    NotServed { path: PathBuf },
    #[error(
        "no array is served here, and there is no directory {DEFAULT_DIRECTORY}; name an array's directory, its members or \
         its control socket"
    )]
    Nothing,
    #[error("the server's answer is not understood ({0}); is it of another version?")]
    Answer(#[from] serde_json::Error),
}

/// An array that was found.
#[derive(Debug)]
pub(crate) enum Found {
    /// Its server's control socket.
    Served(PathBuf),
    /// The array is not served; its members, as far as they were found.
    Idle(Vec<PathBuf>),
}

/// Sends `request` to the server of the array at `path`.
///
/// # Errors
/// There is no server, or it refuses the request.
pub(crate) fn call(path: &Path, request: &Request) -> Result<Value, CommandError> {
    ask(&socket(path)?, request)
}

/// Sends `request` to the server that listens on `socket`.
///
/// # Errors
/// There is no server, or it refuses the request.
pub(crate) fn ask(socket: &Path, request: &Request) -> Result<Value, CommandError> {
    match control::call(socket, request) {
        Ok(response) => Ok(response.ok),
        Err(ControlError::NoServer { .. }) => Err(CommandError::NotServed { path: socket.to_owned() }),
        Err(error) => Err(error.into()),
    }
}

/// A reminder for a new member outside the array's directory: the next `serve` of the directory
/// would not find it.
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

/// The option that names the array at `path`; empty for the default array.
pub(crate) fn naming(path: &Path) -> String {
    match path == Path::new(DEFAULT_DIRECTORY) {
        true => String::new(),
        false => format!(" --array {}", quoted(path)),
    }
}

/// The control socket of the one array at `path`.
fn socket(path: &Path) -> Result<PathBuf, CommandError> {
    let mut sockets = Vec::new();
    for found in find(std::slice::from_ref(&path.to_owned()))? {
        if let Found::Served(socket) = found {
            sockets.push(socket);
        }
    }
    match sockets.len() {
        0 => Err(CommandError::NotServed { path: path.to_owned() }),
        1 => Ok(sockets.remove(0)),
        _ => Err(CommandError::Several {
            path: path.to_owned(),
            sockets: sockets.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
        }),
    }
}

/// The arrays that are used if none is named: that of `parlour up`, or else all that are served on
/// this machine.
///
/// # Errors
/// There is none.
pub(crate) fn find_any() -> Result<Vec<Found>, CommandError> {
    let usual = PathBuf::from(DEFAULT_DIRECTORY);
    if usual.symlink_metadata().is_ok() {
        return find(&[usual]);
    }
    let served: Vec<Found> = control::listening().into_iter().map(Found::Served).collect();
    if served.is_empty() { Err(CommandError::Nothing) } else { Ok(served) }
}

/// How long to wait for a member that is read only to find its array's server. The other members
/// lead to the same server.
const PATIENCE: Duration = Duration::from_secs(5);

/// The arrays at `paths`, each once. A path is a directory, a member, a control socket, or the name
/// of an array that is served.
///
/// # Errors
/// A path leads to no array, or may not be read.
pub(crate) fn find(paths: &[PathBuf]) -> Result<Vec<Found>, CommandError> {
    let looks = Looks::new(PATIENCE);
    let (mut sockets, mut members) = (Vec::new(), Vec::new());
    for path in paths {
        gather(path, &looks, &mut sockets, &mut members)?;
    }
    let (groups, damaged) = by_array(&members, &looks)?;
    let mut idle = Vec::new();
    for (array, group) in groups {
        match socket_of(array, &group) {
            Some(socket) => sockets.push(socket),
            None => idle.push(group),
        }
    }
    sockets.sort();
    sockets.dedup_by_key(|socket| socket.canonicalize().unwrap_or_else(|_| socket.clone()));
    // Members without a valid superblock are shown with the array that has the most members.
    match idle.iter_mut().max_by_key(|group| group.len()) {
        Some(most) => most.extend(damaged),
        None if sockets.is_empty() => idle.push(damaged),
        None => {}
    }
    Ok(sockets.into_iter().map(Found::Served).chain(idle.into_iter().map(Found::Idle)).collect())
}

/// Adds the sockets and members at `path`.
fn gather(
    path: &Path,
    looks: &Looks,
    sockets: &mut Vec<PathBuf>,
    members: &mut Vec<PathBuf>,
) -> Result<(), CommandError> {
    let found = match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            sockets.extend(sockets_called(path)?);
            return Ok(());
        }
        found => found.map_err(|error| MembersError::unreadable(path, error))?,
    };
    if found.file_type().is_socket() {
        sockets.push(path.to_owned());
    } else if found.is_dir() {
        let here = control::sockets_in(path).map_err(|error| MembersError::unreadable(path, error))?;
        match looks.expand(&[path.to_owned()]) {
            Ok(found) => members.extend(found),
            // The members of an array whose socket is in this directory may be elsewhere.
            Err(_) if !here.is_empty() => {}
            Err(error) => return Err(error.into()),
        }
        sockets.extend(here);
    } else {
        members.push(path.to_owned());
    }
    Ok(())
}

/// Members grouped by array, and members that have no valid superblock or do not answer.
#[expect(clippy::type_complexity, reason = "a list of groups, and a list")]
fn by_array(
    members: &[PathBuf],
    looks: &Looks,
) -> Result<(Vec<(Identity, Vec<PathBuf>)>, Vec<PathBuf>), CommandError> {
    let mut groups: Vec<(Identity, Vec<PathBuf>)> = Vec::new();
    let mut others = Vec::new();
    for (path, found) in members.iter().zip(looks.look_at_all(members)) {
        if matches!(found, Err(MembersError::Silent { .. })) {
            others.push(path.clone());
            continue;
        }
        match found?.superblock {
            Ok(superblock) => match groups.iter_mut().find(|(array, _)| *array == superblock.array) {
                Some((_, group)) => group.push(path.clone()),
                None => groups.push((superblock.array, vec![path.clone()])),
            },
            Err(reason @ SuperblockError::Absent) if members.len() == 1 => {
                return Err(MembersError::NotAMember { path: path.clone(), reason }.into());
            }
            Err(_) => others.push(path.clone()),
        }
    }
    Ok((groups, others))
}

/// The control socket of the server of `array`: beside the member that was named first to it, or
/// elsewhere.
fn socket_of(array: Identity, members: &[PathBuf]) -> Option<PathBuf> {
    let beside = members.iter().map(|member| control::path_for(member, array));
    let listens = |socket: &PathBuf| {
        let refused = std::os::unix::net::UnixStream::connect(socket).err().map(|error| error.kind());
        refused.is_none_or(|kind| kind == ErrorKind::PermissionDenied && socket.symlink_metadata().is_ok())
    };
    beside.into_iter().find(listens).or_else(|| control::socket_of(array))
}

/// The sockets of servers whose array has this name, or whose identity begins with it.
fn sockets_called(name: &Path) -> Result<Vec<PathBuf>, CommandError> {
    let missing = || CommandError::Missing { path: name.to_owned() };
    let wanted = name.to_str().filter(|name| !name.is_empty()).ok_or_else(missing)?;
    let is_called = |socket: &PathBuf| {
        let told = ask(socket, &Request::Status).unwrap_or_default();
        let identity = told["identity"].as_str().unwrap_or_default();
        told["name"] == wanted || wanted.len() >= 8 && identity.starts_with(wanted)
    };
    let found: Vec<PathBuf> = control::listening().into_iter().filter(is_called).collect();
    if found.is_empty() { Err(missing()) } else { Ok(found) }
}

/// The server that has a member open.
#[derive(Debug)]
pub(crate) struct Holder {
    pub(crate) name: String,
    pub(crate) process: Option<u32>,
}

/// The server that has the member at `path` open, if it can be found.
pub(crate) fn holder_of(path: &Path) -> Option<Holder> {
    let superblock = Looks::default().look(path).ok()?.superblock.ok()?;
    let socket = socket_of(superblock.array, std::slice::from_ref(&path.to_owned()))?;
    let process = control::process_behind(&socket);
    Some(Holder { name: superblock.name, process })
}
