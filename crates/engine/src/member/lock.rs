//! Locks that keep other servers off a member.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::{MemberError, Mode};

/// The number of attempts. Other programs (udev, blkid) hold shared locks for a moment; and those
/// of a server that was killed last until its accesses under way have ended.
const LOCK_TRIES: u32 = 60;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Locks the file that was opened at `path`. The lock lasts until the file is closed.
pub(super) fn lock(path: &Path, file: &OwnedFd, mode: Mode) -> Result<(), MemberError> {
    let operation = match mode {
        Mode::Looking => return Ok(()),
        Mode::ReadOnly => FlockOperation::NonBlockingLockShared,
        Mode::ReadWrite => FlockOperation::NonBlockingLockExclusive,
    };
    for attempt in 1.. {
        match flock(file, operation) {
            Ok(()) => break,
            Err(Errno::INTR) => {}
            Err(Errno::WOULDBLOCK) if attempt < LOCK_TRIES => sleep(LOCK_PAUSE),
            Err(Errno::WOULDBLOCK) => return Err(MemberError::InUse { path: path.into() }),
            Err(errno) => return Err(MemberError::Refused { path: path.into(), action: "lock", errno }),
        }
    }
    Ok(())
}
