//! Examines a file or device that is to become a member of an array that is being served.
//!
//! Opening and probing can take long, so a separate thread does them while the server continues.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use parlour_array::{Banks, Geometry, Identity, Superblock};
use parlour_units::{Bytes, Slot};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::create::{held, membership, wipe};
use crate::fault::Failure;
use crate::helper;
use crate::identity::{self, RandomError};
use crate::member::{Member, MemberError, Mode};
use crate::opening::{read_block, superblock_copies};
use crate::space;

/// Why a file or device cannot become a member. Nothing was written to it.
#[derive(Debug, thiserror::Error)]
pub enum JoiningError {
    /// The file or device cannot be opened or prepared.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// The file or device holds foreign data.
    #[error("{path}: holds {what}; use --force to overwrite it, and lose what is on it", path = .path.display())]
    Occupied {
        /// The path.
        path: PathBuf,
        /// What it holds.
        what: String,
    },
    /// The file or device is too small.
    #[error("{path}: {has} are too small for this array: a member needs {needs}", path = .path.display())]
    TooSmall {
        /// The path.
        path: PathBuf,
        /// Its length.
        has: Bytes,
        /// The length that a member needs.
        needs: Bytes,
    },
    /// Its blocks are larger than the array's blocks.
    #[error("{path}: has blocks of {block}, and this array has blocks of {array}; use another device", path = .path.display())]
    Block {
        /// The path.
        path: PathBuf,
        /// Its block size.
        block: Bytes,
        /// The array's block size.
        array: Bytes,
    },
    /// Earlier content cannot be wiped.
    #[error("{path}: cannot be written: {failure}; use another", path = .path.display())]
    Write {
        /// The path.
        path: PathBuf,
        /// The kernel's error.
        failure: Failure,
    },
    /// No unused member of the array was found.
    #[error("{path}: no member that could return", path = .path.display())]
    NobodyReturns {
        /// The path that was searched.
        path: PathBuf,
    },
    /// There are no random numbers for its identity.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A member that is open and locked, and stands in no slot.
#[derive(Debug)]
pub(crate) struct JoiningMember {
    pub(crate) member: Member,
    pub(crate) history: History,
}

/// What a joining member was before.
#[derive(Debug)]
pub(crate) enum History {
    /// It was no member, or its old content was wiped. It is prepared, and has a new identity.
    Fresh(Identity),
    /// It is a member of this or another array. Nothing was written to it.
    Former(Box<Former>),
}

/// The metadata of a former member.
#[derive(Debug)]
pub(crate) struct Former {
    pub(crate) superblock: Superblock,
    /// Both its bitmaps, if this array has bitmaps.
    pub(crate) bitmaps: Banks,
}

impl Former {
    fn read(member: &Member, superblock: Superblock, geometry: &Geometry) -> History {
        let read = |bank| read_block(member, geometry.bitmap_at(bank), geometry.bitmap_length());
        History::Former(Box::new(Former { superblock, bitmaps: [0, 1].map(read) }))
    }
}

impl JoiningMember {
    /// The error for a member of an array that may not return.
    pub(crate) fn occupied(&self, superblock: &Superblock) -> JoiningError {
        JoiningError::Occupied { path: self.member.path().into(), what: membership(superblock) }
    }
}

/// A file or device to be examined, and how.
#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) path: PathBuf,
    /// The slot that it is to take, if it is to take one now.
    pub(crate) slot: Option<Slot>,
    pub(crate) force: bool,
    pub(crate) geometry: Geometry,
}

impl Application {
    /// Opens, checks and prepares the file or device.
    pub(crate) fn examine(&self) -> Result<JoiningMember, JoiningError> {
        let member = Member::open(&self.path, Mode::ReadWrite)?;
        self.check_size(&member)?;
        if let Some(superblock) = superblock(&member).filter(|_| !self.force) {
            let history = Former::read(&member, superblock, &self.geometry);
            return Ok(JoiningMember { member, history });
        }
        let held = held(&member)?;
        if let Some(what) = held.clone().filter(|_| !self.force) {
            return Err(JoiningError::Occupied { path: self.path.clone(), what });
        }
        let identity = identity::fresh()?;
        space::preallocate_metadata(&member, &self.geometry)?;
        if held.is_some() {
            wipe(&member, self.geometry.data_start())
                .map_err(|failure| JoiningError::Write { path: self.path.clone(), failure })?;
        }
        Ok(JoiningMember { member, history: History::Fresh(identity) })
    }

    fn check_size(&self, member: &Member) -> Result<(), JoiningError> {
        let path = || self.path.clone();
        let slot = self.slot.unwrap_or(Slot::new(0));
        let (has, needs) = (member.length().bytes(), self.geometry.least_length(slot).bytes());
        if has < needs {
            return Err(JoiningError::TooSmall { path: path(), has, needs });
        }
        let (block, array) = (member.block(), self.geometry.block().bytes());
        if block > array {
            return Err(JoiningError::Block { path: path(), block, array });
        }
        Ok(())
    }
}

/// A search for a returning member.
#[derive(Debug)]
pub(crate) struct Scouting {
    /// A member's path, or a directory of members.
    pub(crate) path: PathBuf,
    /// The paths of members in use, which are not examined.
    pub(crate) open: Vec<PathBuf>,
    /// Members that must not return by themselves.
    pub(crate) unwelcome: Vec<Identity>,
    pub(crate) array: Identity,
    pub(crate) geometry: Geometry,
}

impl Scouting {
    /// The first member of the array at `path` that is not in use and may return. Nothing is
    /// written.
    pub(crate) fn look(&self) -> Result<JoiningMember, JoiningError> {
        let mut paths = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
            Err(_) => vec![self.path.clone()],
        };
        paths.sort();
        let mut unused = paths.into_iter().filter(|path| !self.open.contains(path));
        let found = unused.find_map(|path| self.former_member(&path));
        found.ok_or_else(|| JoiningError::NobodyReturns { path: self.path.clone() })
    }

    fn former_member(&self, path: &Path) -> Option<JoiningMember> {
        // Opened without a lock at first, because most files in a directory are not members of this
        // array.
        let awaited =
            |found: &Superblock| found.array == self.array && !self.unwelcome.contains(&found.member);
        let is_ours = |member: &Member| superblock(member).filter(awaited);
        is_ours(&Member::open(path, Mode::Looking).ok()?)?;
        let member = Member::open(path, Mode::ReadWrite).ok()?;
        let superblock = is_ours(&member)?;
        let fits = member.length().bytes() >= self.geometry.least_member_length().bytes()
            && member.block() <= self.geometry.block().bytes();
        fits.then(|| {
            let history = Former::read(&member, superblock, &self.geometry);
            JoiningMember { member, history }
        })
    }
}

/// The superblock of `member`, if it has one.
fn superblock(member: &Member) -> Option<Superblock> {
    let [first, second] = superblock_copies(member).map(Result::unwrap_or_default);
    Superblock::decode_copies(&first, &second).ok()
}

/// Examines joining members, with one thread for each, and reports those that are done.
#[derive(Debug)]
pub(crate) struct Reception<T> {
    sender: Sender<(T, Result<JoiningMember, JoiningError>)>,
    receiver: Receiver<(T, Result<JoiningMember, JoiningError>)>,
    event: OwnedFd,
}

impl<T: Send + 'static> Reception<T> {
    pub(crate) fn new() -> io::Result<Reception<T>> {
        let (sender, receiver) = channel();
        let event = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Reception { sender, receiver, event })
    }

    /// Readable when an examination is done.
    pub(crate) fn wait_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    /// Begins to examine a joining member. The result comes with `name`.
    pub(crate) fn admit(&self, name: T, application: Application) -> io::Result<()> {
        self.run(name, move || application.examine())
    }

    /// Begins to search for a returning member. The result comes with `name`.
    pub(crate) fn scout(&self, name: T, scouting: Scouting) -> io::Result<()> {
        self.run(name, move || scouting.look())
    }

    fn run(
        &self,
        name: T,
        look: impl FnOnce() -> Result<JoiningMember, JoiningError> + Send + 'static,
    ) -> io::Result<()> {
        let sender = self.sender.clone();
        let event = rustix::io::fcntl_dupfd_cloexec(&self.event, 0)?;
        let examine = move || {
            // If the receiver is gone, this drops and so closes the member.
            let _ = sender.send((name, look()));
            let _ = rustix::io::write(&event, &1_u64.to_ne_bytes());
        };
        helper::spawn("joining", examine).map(drop)
    }

    /// The result of an examination that is done.
    pub(crate) fn poll(&mut self) -> Option<(T, Result<JoiningMember, JoiningError>)> {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        self.receiver.try_recv().ok()
    }
}

/// The absolute form of a client's `path`, for a server that runs in another directory.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use parlour_array::organization::{Consistency, NAMED, NamedOrganization};
    use parlour_array::{Geometry, Identity, LogCreation};
    use parlour_units::Bytes;

    use super::{Scouting, superblock};
    use crate::create::{CreateRequest, create};
    use crate::member::{Member, Mode};

    fn member(path: &Path) -> (Identity, Identity, Geometry) {
        let member = Member::open(path, Mode::Looking).expect("it opens");
        let found = superblock(&member).expect("it has a superblock");
        (found.array, found.member, Geometry::from_stored(found.geometry))
    }

    /// Regression: a member that an administrator had failed came back by itself, because its
    /// directory was watched under another name than the one in the member's path.
    #[test]
    fn a_member_that_is_unwelcome_is_so_by_any_path() {
        let directory = tempfile::tempdir().expect("a directory");
        let redundant = |named: &&NamedOrganization| named.organization.keeps_parity();
        let members: Vec<_> = ["a", "b", "c"].map(|name| directory.path().join(name)).into();
        create(&CreateRequest {
            journals: Vec::new(),
            members: members.clone(),
            organization: NAMED.iter().find(redundant).expect("some are").organization,
            checks: 1,
            groups: 1,
            width: None,
            domains: None,
            spares: 0,
            unit: Bytes::kib(16),
            block: None,
            log: LogCreation::default(),
            consistency: Consistency::Bitmap,
            name: "test".into(),
            size: Some(Bytes::new(24 << 20)),
            force: false,
        })
        .expect("it is created");
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path(), &link).expect("a link");
        let (array, first, geometry) = member(&members[0]);
        let look = |unwelcome: Vec<Identity>| {
            let (path, geometry) = (link.clone(), geometry.clone());
            let found = Scouting { path, open: Vec::new(), unwelcome, array, geometry }.look();
            found.ok().map(|joining| joining.member.path().to_owned())
        };
        assert_eq!(look(vec![]), Some(link.join("a")));
        assert_eq!(look(vec![first]), Some(link.join("b")), "the others are found");
        let all = members.iter().map(|path| member(path).1).collect();
        assert_eq!(look(all), None);
    }
}
