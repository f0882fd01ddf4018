//! A member: an open, locked file or block device, what is known of it, and its synchronous
//! accesses.
//!
//! Those are for superblocks while an array is assembled or created; an array at work goes through
//! [`Io`](crate::Io).

mod backing;
mod create;
mod error;
mod foreign;
mod lock;
mod open;
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
    /// Looking at metadata, whoever uses the member: takes no lock, so what is read may be
    /// changing.
    Looking,
    /// Reading only: shares the member with others who read.
    ReadOnly,
    /// Serving: excludes everybody else.
    ReadWrite,
}

/// What a member is made of.
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
    /// Taken when it is dropped.
    file: Option<OwnedFd>,
    kind: Kind,
    mode: Mode,
    length: Bytes,
    block: Bytes,
    direct: bool,
    on_memory: bool,
    /// Whether to ask for something may take as long as to have it done.
    blocks: bool,
    /// Nobody waits for its accesses any more.
    given_up: AtomicBool,
    /// It is shorter than it was, as somebody found who could wait.
    short: AtomicBool,
    /// Somebody is looking.
    looking: AtomicBool,
    /// The best way to have zeroes that did not fail yet.
    zeroing: AtomicU8,
    /// The last round in which its length was found right.
    checked: AtomicU64,
    witness: Option<Arc<dyn Witness>>,
    /// What it stands on, locked as long as it is open.
    _below: Vec<OwnedFd>,
}

/// Tells members apart, also those that were opened by the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Serial(u64);

impl Serial {
    fn next() -> Serial {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Serial(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Accesses that are begun together, for which one look at a member is enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Round(u64);

impl Round {
    pub(crate) fn begin() -> Round {
        // Members start with round 0, in which nothing was looked at.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Round(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

impl Member {
    /// The path it was opened by.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length when it was opened, in whole blocks.
    pub fn length(&self) -> Sectors {
        Sectors::from_bytes(self.length).expect("blocks are whole sectors")
    }

    /// Its logical block size, 512 or 4096 bytes: the grain of every access.
    pub fn block(&self) -> Bytes {
        self.block
    }

    /// What it was opened for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Whether accesses go round the page cache (O_DIRECT).
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Whether it is a file in memory (tmpfs, ramfs), where no access waits for a device.
    pub fn is_on_memory(&self) -> bool {
        self.on_memory
    }

    /// Whether it is a block device.
    pub fn is_device(&self) -> bool {
        self.kind == Kind::Device
    }

    /// Whether all of it is known to read as zeroes, without reading it: a file without data.
    pub fn is_known_zero(&self) -> bool {
        self.kind == Kind::File && seek(self.file(), SeekFrom::Data(0)) == Err(Errno::NXIO)
    }

    /// Reads at `at`, as much as `bytes` holds: whole blocks.
    ///
    /// # Errors
    /// As an access under way would fail.
    ///
    /// # Panics
    /// If the place or the length is not of whole blocks.
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

    /// Writes `bytes`, whole blocks, at `at`; if `durable`, returns when they are on stable
    /// storage.
    ///
    /// # Errors
    /// As an access under way would fail.
    ///
    /// # Panics
    /// If the place or the length is not of whole blocks.
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

    /// Makes all that was written durable.
    ///
    /// # Errors
    /// As an access under way would fail.
    pub fn flush(&self) -> Result<(), Failure> {
        fdatasync(self.file()).map_err(Failure::of_write)
    }

    /// Lets `witness` see each change that accesses make from now on.
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

    /// Whether to ask the system for something may take as long as to have it done: nobody who must
    /// not wait may ask.
    pub(crate) fn blocks(&self) -> bool {
        self.blocks
    }

    #[cfg(test)]
    pub(crate) fn pretend_direct(&mut self, direct: bool) {
        self.direct = direct;
    }

    /// Nobody waits for what it was asked for any more.
    pub(crate) fn give_up(&self) {
        self.given_up.store(true, Ordering::Relaxed);
    }

    /// All that it was asked for is answered, and it may be asked again.
    pub(crate) fn take_back(&self) {
        self.given_up.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Has somebody look at the length of a member that [blocks](Member::blocks), unless somebody
    /// does.
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

    /// [`Member::check_length`], once a round: it costs a third of a short write to memory.
    pub(crate) fn check_length_in(&self, round: Round) -> Result<(), Failure> {
        if self.checked.load(Ordering::Relaxed) != round.0 {
            self.check_length()?;
            self.checked.store(round.0, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Refuses a file that is shorter than it was. Of one that blocks, that is known from the last
    /// look.
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
    /// To close a member that does not answer can take as long as its last access.
    fn drop(&mut self) {
        if !*self.given_up.get_mut() && !self.blocks {
            return;
        }
        if let Some(file) = self.file.take() {
            // Where there can be no thread, it is closed here.
            let _ = Builder::new().name("member-close".into()).spawn(move || drop(file));
        }
    }
}

/// Whether the kernel takes the bytes for O_DIRECT on any member.
fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(PAGE)
}

/// Aligned memory for `length` bytes.
fn bounce(length: usize) -> Pages {
    Pages::zeroed(length.next_multiple_of(PAGE).max(PAGE))
}
