//! A member: an open, locked file or block device, its properties, and its synchronous accesses.
//!
//! The synchronous accesses are for superblocks while an array is assembled or created. A served
//! array uses [`Io`](crate::Io).

mod backing;
mod create;
mod error;
mod foreign;
mod lock;
mod open;
mod rotation;
mod zeroing;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::thread::Builder;

use parlour_units::{Bytes, Sector, Sectors};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{SeekFrom, fdatasync, fstat, seek};
use rustix::io::{Errno, ReadWriteFlags, pread};

pub use error::MemberError;
pub use foreign::Foreign;
pub(crate) use zeroing::Zeroing;

use crate::fault::Failure;
use crate::uring::{PAGE, Pages};
use crate::witness::Witness;

/// What a member is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading metadata while others may use the member. Takes no lock, so the data may change
    /// while it is read.
    Looking,
    /// Reading only. Shares the member with other readers.
    ReadOnly,
    /// Serving. Excludes all other users.
    ReadWrite,
}

/// The kind of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Device,
}

/// An open member. Its lock ends when it is dropped.
#[derive(Debug)]
pub struct Member {
    serial: Serial,
    path: PathBuf,
    /// `None` only while the member is dropped.
    file: Option<OwnedFd>,
    kind: Kind,
    mode: Mode,
    length: Bytes,
    block: Bytes,
    direct: bool,
    on_memory: bool,
    /// Whether submitting an access may block for as long as the access takes.
    blocks: bool,
    /// The member was given up: the answers to its accesses no longer count.
    given_up: AtomicBool,
    /// A helper thread found that the member is shorter than it was when it was opened.
    short: AtomicBool,
    /// A helper thread is checking the length.
    looking: AtomicBool,
    /// The best way to zero a range that has not failed yet.
    zeroing: AtomicU8,
    /// The last round in which the length was checked and found right.
    checked: AtomicU64,
    witness: Option<Arc<dyn Witness>>,
    /// The files and devices under it, locked while the member is open.
    _below: Vec<OwnedFd>,
}

/// Distinguishes members, even if they were opened by the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serial(u64);

impl Serial {
    fn next() -> Serial {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Serial(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Accesses that are begun together. One check of the member's length is enough for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

impl Round {
    pub(crate) fn begin() -> Round {
        // Members start with round 0, in which no check was made.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Round(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Member {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length in whole blocks, when it was opened.
    pub fn length(&self) -> Sectors {
        Sectors::from_bytes(self.length).expect("blocks are whole sectors")
    }

    /// Its logical block size, 512 or 4096 bytes. Every access is a multiple of it.
    pub fn block(&self) -> Bytes {
        self.block
    }

    /// What it was opened for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether accesses bypass the page cache (O_DIRECT).
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether it is a file in memory (tmpfs, ramfs), where an access does not wait for a device.
    pub fn is_on_memory(&self) -> bool {
        self.on_memory
    }

    /// Whether it is a block device.
    pub fn is_device(&self) -> bool {
        self.kind == Kind::Device
    }

    /// Whether the device that it is, or is on, rotates, as far as the kernel knows.
    pub(crate) fn rotates(&self) -> bool {
        let Ok(stat) = fstat(self.file()) else { return false };
        let number = if self.is_device() { stat.st_rdev } else { stat.st_dev };
        rotation::rotates(number)
    }

    /// Whether all of it is known to read as zeroes without reading it, because the file has no
    /// data.
    pub fn is_known_zero(&self) -> bool {
        self.kind == Kind::File && seek(self.file(), SeekFrom::Data(0)) == Err(Errno::NXIO)
    }

    /// Fills `bytes`, which has the length of whole blocks, from the position `at`.
    ///
    /// # Errors
    /// The same as for an [`Access`](crate::Access).
    ///
    /// # Panics
    /// If the position or the length is not whole blocks.
    pub fn read_at(&self, at: Sector, bytes: &mut [u8]) -> Result<(), Failure> {
        self.assert_blocks(at, bytes.len());
        if self.direct && !is_aligned(bytes) {
            let mut pages = bounce(bytes.len());
            self.read_aligned(at.bytes(), pages.write(0..bytes.len()))?;
            bytes.copy_from_slice(pages.read(0..bytes.len()));
            return Ok(());
        }
        self.read_aligned(at.bytes(), bytes)
    }

    /// Writes `bytes`, which has the length of whole blocks, at the position `at`. If `durable`,
    /// returns when they are on stable storage.
    ///
    /// # Errors
    /// The same as for an [`Access`](crate::Access).
    ///
    /// # Panics
    /// If the position or the length is not whole blocks.
    pub fn write_at(&self, at: Sector, bytes: &[u8], durable: bool) -> Result<(), Failure> {
        self.assert_blocks(at, bytes.len());
        self.check_length()?;
        if self.direct && !is_aligned(bytes) {
            let mut pages = bounce(bytes.len());
            pages.write(0..bytes.len()).copy_from_slice(bytes);
            return self.write_aligned(at.bytes(), pages.read(0..bytes.len()), durable);
        }
        self.write_aligned(at.bytes(), bytes, durable)
    }

    /// Makes all completed writes durable.
    ///
    /// # Errors
    /// The same as for an [`Access`](crate::Access).
    pub fn flush(&self) -> Result<(), Failure> {
        fdatasync(self.file()).map_err(Failure::of_write)
    }

    /// Reports each later change of the member to `witness`.
    pub(crate) fn be_witnessed(&mut self, witness: Arc<dyn Witness>) {
        self.witness = Some(witness);
    }

    pub(crate) fn witness(&self) -> Option<&dyn Witness> {
        self.witness.as_deref()
    }

    pub(crate) fn file(&self) -> BorrowedFd<'_> {
        self.file.as_ref().expect("a member is open until it is dropped").as_fd()
    }

    pub(crate) fn serial(&self) -> Serial {
        self.serial
    }

    /// Whether submitting an access may block for as long as the access takes. The server's thread
    /// must not submit such accesses itself.
    pub(crate) fn blocks(&self) -> bool {
        self.blocks
    }

    #[cfg(test)]
    pub(crate) fn pretend_direct(&mut self, direct: bool) {
        self.direct = direct;
    }

    /// Marks the member as given up: the answers to its accesses no longer count.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// Ends [`Member::give_up`]: all accesses were answered, and the member may be accessed again.
    pub(crate) fn take_back(&self) {
        self.given_up.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Starts a helper thread that checks the length of a member that [blocks](Member::blocks),
    /// unless one is running.
    pub(crate) fn look_at_length(self: &Arc<Member>) {
        if !self.blocks || self.looking.swap(true, Ordering::Relaxed) {
            return;
        }
        let member = Arc::clone(self);
        let look = move || {
            if member.check_length_now() == Err(Failure::Truncated) {
                member.short.store(true, Ordering::Relaxed);
            }
            member.looking.store(false, Ordering::Relaxed);
        };
        if Builder::new().name("member-length".into()).spawn(look).is_err() {
            self.looking.store(false, Ordering::Relaxed);
        }
    }

    /// Does [`Member::check_length`] once per round, because the check takes a third of the time of
    /// a short write to memory.
    pub(crate) fn check_length_in(&self, round: Round) -> Result<(), Failure> {
        if self.checked.load(Ordering::Relaxed) != round.0 {
            self.check_length()?;
            self.checked.store(round.0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Fails if a file is shorter than it was when it was opened. For a member that blocks, the
    /// result is that of the last check by a helper thread.
    pub(crate) fn check_length(&self) -> Result<(), Failure> {
        match (self.kind, self.blocks) {
            (Kind::Device, _) => Ok(()),
            (Kind::File, false) => self.check_length_now(),
            (Kind::File, true) if self.short.load(Ordering::Relaxed) => Err(Failure::Truncated),
            (Kind::File, true) => Ok(()),
        }
    }

    fn check_length_now(&self) -> Result<(), Failure> {
        let now = fstat(self.file()).map_err(Failure::of_write)?.st_size;
        if (now as u64) < self.length.get() { Err(Failure::Truncated) } else { Ok(()) }
    }

    fn assert_blocks(&self, at: Sector, length: usize) {
        let block = self.block.get();
        assert!(
            at.bytes().is_multiple_of(block) && (length as u64).is_multiple_of(block),
            "accesses are of whole blocks"
        );
    }

    fn read_aligned(&self, at: u64, mut bytes: &mut [u8]) -> Result<(), Failure> {
        let mut at = at;
        while !bytes.is_empty() {
            match pread(self.file(), &mut *bytes, at) {
                Ok(0) => return Err(Failure::Truncated),
                Ok(count) => {
                    bytes = &mut bytes[count..];
                    at += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure::of_read(errno)),
            }
        }
        Ok(())
    }

    fn write_aligned(&self, at: u64, mut bytes: &[u8], durable: bool) -> Result<(), Failure> {
        let flags = if durable { ReadWriteFlags::DSYNC } else { ReadWriteFlags::empty() };
        let mut at = at;
        while !bytes.is_empty() {
            let vector = std::io::IoSlice::new(bytes);
            match rustix::io::pwritev2(self.file(), &[vector], at, flags) {
                Ok(0) => return Err(Failure::Truncated),
                Ok(count) => {
                    bytes = &bytes[count..];
                    at += count as u64;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(Failure::of_write(errno)),
            }
        }
        Ok(())
    }

    fn refused(&self, action: &'static str) -> impl FnOnce(Errno) -> MemberError {
        let path = self.path.clone();
        move |errno| MemberError::Refused { path, action, errno }
    }
}

impl Drop for Member {
    /// Closing a member that does not answer can take as long as its last access, so a thread does
    /// it.
    fn drop(&mut self) {
        if !*self.given_up.get_mut() && !self.blocks {
            return;
        }
        if let Some(file) = self.file.take() {
            // If no thread can be started, the file is closed here.
            let _ = Builder::new().name("member-close".into()).spawn(move || drop(file));
        }
    }
}

/// Whether the bytes are aligned enough for O_DIRECT on any member.
fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(PAGE)
}

/// Aligned memory for `length` bytes.
fn bounce(length: usize) -> Pages {
    Pages::zeroed(length.next_multiple_of(PAGE).max(PAGE))
}
