//! The ways to make a range read as zeroes, the best first.

use std::sync::atomic::{AtomicU8, Ordering};

use rustix::fs::FallocateFlags;
use rustix::io::Errno;

use super::Member;

/// A way to make a range read as zeroes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Zeroing {
    /// Punch a hole: fast, and frees the space.
    Punch,
    /// Let the kernel zero the range. It may write zeroes.
    Range,
    /// Write zeroes.
    Write,
}

impl Zeroing {
    /// The flags for fallocate; `None` if fallocate is not used.
    pub(crate) fn flags(self) -> Option<FallocateFlags> {
        match self {
            Zeroing::Punch => Some(FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE),
            Zeroing::Range => Some(FallocateFlags::ZERO_RANGE | FallocateFlags::KEEP_SIZE),
            Zeroing::Write => None,
        }
    }

    /// Whether `errno` means that this way is not supported here, so that the next one must be
    /// tried.
    pub(crate) fn is_unsupported(self, errno: Errno) -> bool {
        self != Zeroing::Write
            && matches!(errno, Errno::OPNOTSUPP | Errno::INVAL | Errno::NODEV | Errno::NOSYS | Errno::NOTTY)
    }

    fn next(self) -> Zeroing {
        match self {
            Zeroing::Punch => Zeroing::Range,
            Zeroing::Range | Zeroing::Write => Zeroing::Write,
        }
    }

    pub(super) fn into_cell(self) -> AtomicU8 {
        AtomicU8::new(self as u8)
    }

    fn from_cell(value: u8) -> Zeroing {
        match value {
            0 => Zeroing::Punch,
            1 => Zeroing::Range,
            _ => Zeroing::Write,
        }
    }
}

impl Member {
    /// Whether zeroing is fast and frees space.
    pub fn can_punch(&self) -> bool {
        self.zeroing() == Zeroing::Punch
    }

    pub(crate) fn zeroing(&self) -> Zeroing {
        Zeroing::from_cell(self.zeroing.load(Ordering::Relaxed))
    }

    /// Records that `way` failed, and returns the next way to try.
    pub(crate) fn give_up_zeroing(&self, way: Zeroing) -> Zeroing {
        // The value only increases, so threads that race agree in the end.
        let before = self.zeroing.fetch_max(way.next() as u8, Ordering::Relaxed);
        Zeroing::from_cell(before).max(way.next())
    }
}
