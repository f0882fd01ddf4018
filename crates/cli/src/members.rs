//! Members as users name them: by their paths, or by a directory that holds them.
//!
//! A member may hang. A thread reads each member, and after a timeout the command continues without
//! it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use parlour_array::{Candidate, Geometry, SUPERBLOCK_BYTES, Superblock, SuperblockError};
use parlour_engine::ACCESS_TIMEOUT;
use parlour_units::{Bytes, Sectors};

/// Why no members can be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MembersError {
    #[error("{path}: cannot be read: {source}", path = .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{path}: permission denied; run this as its owner, {owner}, or as root", path = .path.display(), owner = owner(.path))]
    Forbidden { path: PathBuf },
    #[error("{path}: no such file or directory; check the path", path = .path.display())]
    Missing { path: PathBuf },
    #[error("{path}: no member of an array in this directory; create an array first, or name its members", path = .path.display())]
    EmptyDirectory { path: PathBuf },
    #[error("{path}: did not answer for {patience}; check the device, or name the other members alone", path = .path.display())]
    Silent { path: PathBuf, patience: parlour_units::Duration },
    #[error("no thread can be started to read {path}: {source}; free memory, or raise the limit on threads", path = .path.display())]
    Thread { path: PathBuf, source: std::io::Error },
    #[error("{path}: {reason}; it is no member of an array that can be used", path = .path.display())]
    NotAMember { path: PathBuf, reason: SuperblockError },
}

impl MembersError {
    /// The error for a `path` that cannot be read.
    pub(crate) fn unreadable(path: &Path, source: std::io::Error) -> MembersError {
        let path = path.to_owned();
        match source.kind() {
            ErrorKind::PermissionDenied => MembersError::Forbidden { path },
            ErrorKind::NotFound | ErrorKind::NotADirectory => MembersError::Missing { path },
            _ => MembersError::Unreadable { path, source },
        }
    }
}

/// The owner of a path, or of its nearest parent directory that can be examined.
fn owner(path: &Path) -> String {
    let seen = path.ancestors().find_map(|path| path.symlink_metadata().ok());
    match seen.map(|found| found.uid()) {
        Some(0) => "root".to_owned(),
        Some(uid) => format!("user {uid}"),
        None => "whoever that is".to_owned(),
    }
}

type Look = Result<Candidate, MembersError>;

/// The most threads that read at once, because a directory may hold any number of files.
const AT_ONCE: usize = 64;

/// Reads superblocks. A read that has timed out is not started again; its result is used when it
/// arrives.
#[derive(Debug)]
pub(crate) struct Looks {
    patience: parlour_units::Duration,
    silent: RefCell<BTreeMap<PathBuf, Receiver<Look>>>,
}

impl Default for Looks {
    fn default() -> Looks {
        Looks::new(ACCESS_TIMEOUT)
    }
}

impl Looks {
    /// Reads time out after `patience`.
    pub(crate) fn new(patience: parlour_units::Duration) -> Looks {
        Looks { patience, silent: RefCell::default() }
    }

    /// The superblock of the member at a path. Takes no lock, so it works while the array is
    /// served.
    ///
    /// # Errors
    /// It cannot be read, or not in time.
    pub(crate) fn look(&self, path: &Path) -> Result<Candidate, MembersError> {
        self.look_at_all(&[path.to_owned()]).pop().expect("one path was given")
    }

    /// The same for several paths. The timeout counts for all of them together.
    pub(crate) fn look_at_all(&self, paths: &[PathBuf]) -> Vec<Look> {
        paths.chunks(AT_ONCE).flat_map(|paths| self.look_at_once(paths)).collect()
    }

    fn look_at_once(&self, paths: &[PathBuf]) -> Vec<Look> {
        let now = Instant::now();
        let until = now + Duration::from_nanos(self.patience.nanoseconds());
        let begin = |path: &PathBuf| match self.silent.borrow_mut().remove(path) {
            Some(answer) => Ok((now, answer)),
            None => begin_look(path).map(|answer| (until, answer)),
        };
        let begun: Vec<Result<(Instant, Receiver<Look>), MembersError>> = paths.iter().map(begin).collect();
        let end = |(path, begun): (&PathBuf, Result<_, _>)| {
            let (until, answer) = begun?;
            self.end_look(path, until, answer)
        };
        paths.iter().zip(begun).map(end).collect()
    }

    fn end_look(&self, path: &Path, until: Instant, answer: Receiver<Look>) -> Look {
        if let Ok(found) = answer.recv_timeout(until.saturating_duration_since(Instant::now())) {
            return found;
        }
        self.silent.borrow_mut().insert(path.to_owned(), answer);
        Err(MembersError::Silent { path: path.to_owned(), patience: self.patience })
    }

    /// Replaces each directory among `paths` by the members in it.
    ///
    /// # Errors
    /// A directory cannot be read, or holds no member.
    pub(crate) fn expand(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, MembersError> {
        let mut members = Vec::new();
        for path in paths {
            match path.is_dir() {
                true => members.extend(self.members_in(path)?),
                false => members.push(path.clone()),
            }
        }
        Ok(members)
    }

    /// The files and devices in `directory` that have a valid or damaged superblock, sorted by
    /// name.
    fn members_in(&self, directory: &Path) -> Result<Vec<PathBuf>, MembersError> {
        let unreadable = |source| MembersError::unreadable(directory, source);
        let (mut members, mut forbidden) = (Vec::new(), None);
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            // Members in the working directory are named without `./`.
            paths.push(path.strip_prefix(".").map_or(path.clone(), Path::to_owned));
        }
        paths.retain(|path| is_disk(path));
        for (path, found) in paths.iter().zip(self.look_at_all(&paths)) {
            match found {
                Ok(found) if found.superblock != Err(SuperblockError::Absent) => members.push(path.clone()),
                // It may be a member: opening the array shows whether it is needed.
                Err(MembersError::Silent { .. }) => members.push(path.clone()),
                // An unreadable file may or may not be a member. The array reports its missing
                // members.
                Err(error @ MembersError::Forbidden { .. }) => forbidden = Some(error),
                Err(error @ MembersError::Thread { .. }) => return Err(error),
                _ => {}
            }
        }
        match (members.is_empty(), forbidden) {
            (true, Some(error)) => Err(error),
            (true, None) => Err(MembersError::EmptyDirectory { path: directory.to_owned() }),
            (false, _) => Ok(each_once(members)),
        }
    }

    /// The newest superblock of the array of `paths`.
    ///
    /// # Errors
    /// None of them has a valid superblock.
    pub(crate) fn newest_superblock(&self, paths: &[PathBuf]) -> Result<Superblock, MembersError> {
        let mut newest: Option<Superblock> = None;
        let mut damaged = None;
        let members = self.expand(paths)?;
        for (path, found) in members.iter().zip(self.look_at_all(&members)) {
            match found?.superblock {
                Ok(found) if newest.as_ref().is_none_or(|best| age(best) < age(&found)) => {
                    newest = Some(found)
                }
                Ok(_) => {}
                Err(reason) => damaged = Some(MembersError::NotAMember { path: path.clone(), reason }),
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
}

fn begin_look(path: &Path) -> Result<Receiver<Look>, MembersError> {
    let (answer, answers) = channel();
    let owned = path.to_owned();
    let read = move || {
        // After a timeout the receiver may be gone.
        let _ = answer.send(look(&owned));
    };
    let thread = Builder::new().name("look".to_owned()).spawn(read);
    thread.map_err(|source| MembersError::Thread { path: path.to_owned(), source })?;
    Ok(answers)
}

fn look(path: &Path) -> Look {
    let unreadable = |source| MembersError::unreadable(path, source);
    let mut file = File::open(path).map_err(unreadable)?;
    let end = file.seek(SeekFrom::End(0)).map_err(unreadable)?;
    let length = Sectors::new(end / 512);
    let superblock = match is_long_enough(length) {
        false => Err(SuperblockError::Absent),
        true => {
            let [first, second] = Geometry::superblocks_at(length);
            let first = read_block(&mut file, first.bytes()).map_err(unreadable)?;
            let second = read_block(&mut file, second.bytes()).map_err(unreadable)?;
            Superblock::decode_copies(&first, &second)
        }
    };
    Ok(Candidate { name: path.display().to_string(), length, superblock })
}

/// Removes symbolic links to files that are in the list already.
fn each_once(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort_by_key(|path| (path.is_symlink(), path.clone()));
    let mut seen = Vec::new();
    paths.retain(|path| match path.metadata().ok().map(|found| identity(&found)) {
        Some(identity) if seen.contains(&identity) => false,
        identity => {
            seen.extend(identity);
            true
        }
    });
    paths.sort();
    paths
}

/// Equal for two paths of the same file or device.
fn identity(found: &Metadata) -> (u64, u64) {
    match found.file_type().is_block_device() {
        true => (found.rdev(), u64::MAX),
        false => (found.dev(), found.ino()),
    }
}

fn is_disk(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() || found.file_type().is_block_device())
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

fn age(superblock: &Superblock) -> (u64, u64) {
    (superblock.session_number, superblock.sequence)
}
