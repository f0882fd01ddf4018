//! Opens a member, locks it, and finds out its properties.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

use parlour_units::Bytes;
use rustix::fd::OwnedFd;
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, OFlags, SeekFrom, StatxFlags, fallocate, fcntl_getfl, fcntl_setfl,
    fstat, fstatfs, ioctl_blksszget, open, seek, statx,
};
use rustix::io::{Errno, pread};

use super::backing::{claimed_loop_over, lock_below};
use super::lock::lock;
use super::{Kind, Member, MemberError, Mode, Serial, Zeroing};
use crate::uring::{PAGE, Pages};

const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58f6;

/// File systems on local disks on which the submission of an O_DIRECT transfer does not block.
const LOCAL_MAGICS: [u64; 6] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0xf2f5_2010, // F2FS
    0xca45_1a4e, // bcachefs
    0x794c_7630, // overlayfs
];

/// Block sizes that a member may have.
const BLOCKS: [u64; 2] = [512, 4096];

impl Member {
    /// Opens and locks the member at `path`.
    ///
    /// # Errors
    /// If the path does not exist, is neither a file nor a block device, is in use, or may not be
    /// opened.
    pub fn open(path: impl AsRef<Path>, mode: Mode) -> Result<Member, MemberError> {
        let path = path.as_ref();
        // The kind is checked before the path is opened, because opening a FIFO or a terminal can
        // block or have other effects.
        let found = rustix::fs::stat(path).map_err(|errno| refusal(path, errno))?;
        let kind = kind(path, FileType::from_raw_mode(found.st_mode))?;
        let (file, direct) = open_best(path, kind, mode)?;
        Member::adopt(path, file, kind, mode, direct)
    }

    /// Locks the opened file, and finds out its properties.
    fn adopt(
        path: &Path,
        file: OwnedFd,
        kind: Kind,
        mode: Mode,
        direct: bool,
    ) -> Result<Member, MemberError> {
        let refused = |action| move |errno| MemberError::Refused { path: path.into(), action, errno };
        lock(path, &file, mode)?;
        let opened = fstat(&file).map_err(refused("be examined"))?;
        let below = match kind {
            Kind::Device => lock_below(path, opened.st_rdev, mode)?,
            Kind::File => Vec::new(),
        };
        if kind == Kind::File
            && mode == Mode::ReadWrite
            && let Some(device) = claimed_loop_over(&opened)
        {
            return Err(MemberError::UnderLoop { path: path.into(), device });
        }
        let (block, direct) = block_size(path, &file, kind, direct)?;
        let end = match kind {
            Kind::File => opened.st_size as u64,
            Kind::Device => seek(&file, SeekFrom::End(0)).map_err(refused("find the end"))?,
        };
        let length = Bytes::new(end - end % block.get());
        if !direct {
            let flags = fcntl_getfl(&file).map_err(refused("read the flags"))?;
            fcntl_setfl(&file, flags - OFlags::DIRECT).map_err(refused("use the page cache"))?;
        }
        let on_memory = kind == Kind::File && is_on_memory(&file);
        let blocks = kind == Kind::File && !on_memory && (!direct || !is_on_local_disk(&file));
        let zeroing = best_zeroing(&file, kind, mode, length, opened.st_rdev).into_cell();
        let checked = AtomicU64::new(0);
        Ok(Member {
            serial: Serial::next(),
            path: path.into(),
            file: Some(file),
            kind,
            mode,
            length,
            block,
            direct,
            on_memory,
            blocks,
            given_up: AtomicBool::new(false),
            short: AtomicBool::new(false),
            looking: AtomicBool::new(false),
            zeroing,
            checked,
            witness: None,
            _below: below,
        })
    }
}

fn kind(path: &Path, found: FileType) -> Result<Kind, MemberError> {
    let what = match found {
        FileType::RegularFile => return Ok(Kind::File),
        FileType::BlockDevice => return Ok(Kind::Device),
        FileType::Directory => "a directory",
        FileType::CharacterDevice => "a character device",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "of an unknown kind",
    };
    Err(MemberError::Unsuitable { path: path.into(), what })
}

/// Opens with O_DIRECT, or without it where the kernel refuses it. Returns whether O_DIRECT is
/// used.
fn open_best(path: &Path, kind: Kind, mode: Mode) -> Result<(OwnedFd, bool), MemberError> {
    let access = match mode {
        Mode::Looking | Mode::ReadOnly => OFlags::RDONLY,
        Mode::ReadWrite => OFlags::RDWR,
    };
    // On a block device O_EXCL excludes mounts, other arrays and all others that claim the device.
    let claim = if kind == Kind::Device && mode == Mode::ReadWrite { OFlags::EXCL } else { OFlags::empty() };
    let flags = access | claim | OFlags::CLOEXEC;
    match open(path, flags | OFlags::DIRECT, rustix::fs::Mode::empty()) {
        Ok(file) => Ok((file, true)),
        Err(Errno::INVAL) => open(path, flags, rustix::fs::Mode::empty())
            .map(|file| (file, false))
            .map_err(|errno| refusal(path, errno)),
        Err(errno) => Err(refusal(path, errno)),
    }
}

/// The error for a path that could not be opened. Its message says what to do.
pub(super) fn refusal(path: &Path, errno: Errno) -> MemberError {
    let path = path.to_path_buf();
    match errno {
        Errno::NOENT | Errno::NOTDIR => MemberError::Missing { path },
        Errno::EXIST => MemberError::Exists { path },
        Errno::ACCESS | Errno::PERM => MemberError::Forbidden { path },
        Errno::ROFS => MemberError::ReadOnly { path },
        Errno::BUSY | Errno::TXTBSY => MemberError::InUse { path },
        errno => MemberError::Refused { path, action: "open", errno },
    }
}

/// The logical block size, and whether O_DIRECT (if it was granted) works with it.
fn block_size(path: &Path, file: &OwnedFd, kind: Kind, direct: bool) -> Result<(Bytes, bool), MemberError> {
    let told = match kind {
        Kind::Device => {
            let refused =
                |errno| MemberError::Refused { path: path.into(), action: "ask for the block size", errno };
            let block = u64::from(ioctl_blksszget(file).map_err(refused)?);
            if !BLOCKS.contains(&block) {
                return Err(MemberError::BlockSize { path: path.into(), block: Bytes::new(block) });
            }
            return Ok((Bytes::new(block), direct && read_works(file, block)));
        }
        Kind::File if direct => direct_alignment(file),
        Kind::File => Alignment::Refused,
    };
    let candidates: &[u64] = match &told {
        Alignment::Unknown => &BLOCKS,
        Alignment::Blocks(block) => std::slice::from_ref(block),
        Alignment::Refused => &[],
    };
    match candidates.iter().find(|block| read_works(file, **block)) {
        Some(block) => Ok((Bytes::new(*block), true)),
        None => Ok((Bytes::new(BLOCKS[0]), false)),
    }
}

/// A file system's answer about O_DIRECT on a file.
enum Alignment {
    /// O_DIRECT works with blocks of this size.
    Blocks(u64),
    /// O_DIRECT has no effect, or needs blocks larger than a member may have.
    Refused,
    /// No answer: O_DIRECT must be tried.
    Unknown,
}

fn direct_alignment(file: &OwnedFd) -> Alignment {
    let Ok(told) = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) else {
        return Alignment::Unknown;
    };
    if told.stx_mask & StatxFlags::DIOALIGN.bits() == 0 {
        return Alignment::Unknown;
    }
    let place = u64::from(told.stx_dio_offset_align);
    let memory = u64::from(told.stx_dio_mem_align);
    // Parts of buffers start at multiples of the block size, so the memory alignment must not be
    // larger.
    match BLOCKS.iter().find(|block| place <= **block && memory <= **block) {
        Some(block) if place > 0 => Alignment::Blocks(*block),
        _ => Alignment::Refused,
    }
}

/// Whether O_DIRECT can read a block at a position and into an address that are aligned to the
/// block size only.
fn read_works(file: &OwnedFd, block: u64) -> bool {
    let length = block as usize;
    let mut pages = Pages::zeroed(2 * PAGE);
    // Only EINVAL means that O_DIRECT does not work; a bad sector or an empty file does not.
    pread(file, pages.write(length..2 * length), block) != Err(Errno::INVAL)
}

fn is_on_memory(file: &OwnedFd) -> bool {
    fstatfs(file).is_ok_and(|system| matches!(system.f_type as u64, TMPFS_MAGIC | RAMFS_MAGIC))
}

fn is_on_local_disk(file: &OwnedFd) -> bool {
    fstatfs(file).is_ok_and(|system| LOCAL_MAGICS.contains(&(system.f_type as u64)))
}

/// The best way to zero a range here, as far as it can be found out without changing anything.
fn best_zeroing(file: &OwnedFd, kind: Kind, mode: Mode, length: Bytes, device: u64) -> Zeroing {
    let punches = match kind {
        _ if mode == Mode::ReadOnly => false,
        // The hole is beyond the end of the file, so it removes no data.
        Kind::File => {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            fallocate(file, flags, length.get().next_multiple_of(PAGE as u64), PAGE as u64).is_ok()
        }
        Kind::Device => device_zeroes_fast(device),
    };
    if punches { Zeroing::Punch } else { Zeroing::Range }
}

/// Whether a block device reports a command for zeroing.
fn device_zeroes_fast(device: u64) -> bool {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let directory = format!("/sys/dev/block/{major}:{minor}");
    // A partition's queue is in the parent directory.
    ["queue", "../queue"].iter().any(|queue| {
        std::fs::read_to_string(format!("{directory}/{queue}/write_zeroes_max_bytes"))
            .is_ok_and(|text| text.trim() != "0")
    })
}
