//! Makes a member's file, and sets space aside on a member.

use std::path::Path;

use parlour_units::{Bytes, Sector, Sectors};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fsync, ftruncate, open};
use rustix::io::Errno;

use super::{Kind, Member, MemberError, Mode, bounce};
use crate::fault::{Failure, Fault};
use crate::member::open::refusal;
use crate::memory::zeroes;

/// The bytes that are rewritten at a time where the file system has no other way to set space
/// aside.
const CHUNK: u64 = 1 << 20;

impl Member {
    /// Makes a sparse file of `length` bytes at `path`, readable only by its owner, and opens it as
    /// [`Member::open`] does. All of it is known to be zero.
    ///
    /// # Errors
    /// If the path exists, or a file of this length cannot be made.
    pub fn create_file(path: impl AsRef<Path>, length: Bytes) -> Result<Member, MemberError> {
        let path = path.as_ref();
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file =
            open(path, flags, rustix::fs::Mode::from_raw_mode(0o600)).map_err(|errno| match errno {
                Errno::NOENT | Errno::NOTDIR => MemberError::NoDirectory { path: path.into() },
                errno => refusal(path, errno),
            })?;
        let made =
            ftruncate(&file, length.get()).and_then(|()| fsync(&file)).and_then(|()| sync_directory(path));
        if let Err(errno) = made {
            // An incomplete file is removed.
            let _ = std::fs::remove_file(path);
            return Err(match Failure::of_write(errno).fault() {
                // INVAL: longer than the largest possible file.
                _ if matches!(errno, Errno::FBIG | Errno::INVAL) => {
                    MemberError::TooLong { path: path.into(), length }
                }
                Fault::NoSpace => MemberError::NoSpace { path: path.into(), length },
                _ => MemberError::Refused { path: path.into(), action: "make the file", errno },
            });
        }
        drop(file);
        Member::open(path, Mode::ReadWrite)
    }

    /// Sets space aside for a range, so that a write to it does not run out of space. The content
    /// of the range stays.
    ///
    /// # Errors
    /// If there is not enough space.
    pub fn preallocate(&self, at: Sector, length: Sectors) -> Result<(), MemberError> {
        if self.kind == Kind::Device || length.is_zero() {
            return Ok(());
        }
        match fallocate(self.file(), FallocateFlags::KEEP_SIZE, at.bytes(), length.bytes().get()) {
            Ok(()) => Ok(()),
            // Rewriting the existing content makes the file system allocate space.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => self.rewrite(at, length),
            Err(errno) => Err(self.no_space(length, "set space aside")(Failure::of_write(errno))),
        }
    }

    /// Makes a range read as zeroes. Durable after a flush.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn zero(&self, at: Sector, length: Sectors) -> Result<(), Failure> {
        self.check_length()?;
        let mut way = self.zeroing();
        while let Some(flags) = way.flags() {
            match fallocate(self.file(), flags, at.bytes(), length.bytes().get()) {
                Ok(()) => return Ok(()),
                Err(Errno::INTR) => {}
                Err(errno) if way.is_unsupported(errno) => way = self.give_up_zeroing(way),
                Err(errno) => return Err(Failure::of_write(errno)),
            }
        }
        chunks(at, length)
            .try_for_each(|(at, count)| self.write_aligned(at.bytes(), &zeroes()[..count], false))
    }

    fn rewrite(&self, at: Sector, length: Sectors) -> Result<(), MemberError> {
        let mut pages = bounce(CHUNK as usize);
        chunks(at, length)
            .try_for_each(|(at, count)| {
                self.read_aligned(at.bytes(), pages.write(0..count))?;
                self.write_aligned(at.bytes(), pages.read(0..count), false)
            })
            .map_err(self.no_space(length, "set space aside"))
    }

    fn no_space(&self, length: Sectors, action: &'static str) -> impl FnOnce(Failure) -> MemberError {
        let path = self.path.clone();
        move |failure| match failure {
            Failure::Refused { fault: Fault::NoSpace, .. } => {
                MemberError::NoSpace { path, length: length.bytes() }
            }
            failure => MemberError::Refused { path, action, errno: failure.errno() },
        }
    }
}

/// Splits a range into chunks: the start of each, and its length in bytes.
fn chunks(at: Sector, length: Sectors) -> impl Iterator<Item = (Sector, usize)> {
    let total = length.bytes().get();
    (0..total.div_ceil(CHUNK)).map(move |index| {
        let start = Sectors::from_bytes(Bytes::new(index * CHUNK)).expect("chunks are whole sectors");
        (at + start, (total - index * CHUNK).min(CHUNK) as usize)
    })
}

/// Makes the directory entry of a new file durable.
fn sync_directory(path: &Path) -> Result<(), Errno> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    fsync(open(parent, flags, rustix::fs::Mode::empty())?)
}
