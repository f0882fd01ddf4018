//! The kinds of faults that only some seeds have. They were added one after another; the runs of
//! the other seeds have stayed as they were.

use crate::random::Keyed;

/// A kind of faults that only some seeds have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extra {
    /// Unreadable sectors of metadata, and former members used as new ones.
    MetadataErrors,
    /// Missing members return.
    Returns,
    /// Flushes fail.
    FailedFlushes,
    /// Members that do not answer or are excluded are given up: their accesses are reported as
    /// failed at once, and their writes may be carried out later.
    GivingUp,
    /// Writes have silent faults.
    Silent,
    /// Metadata is damaged.
    Damage,
    /// Members are copied, and the copies put into their slots.
    Clones,
    /// Members have no space for anything, and the system lacks memory.
    Shortages,
    /// Flushes lie.
    Lies,
    /// Other servers open the array.
    Rivals,
    /// Hosts write much in rows.
    Rows,
}

impl Extra {
    /// The key of the seeds with these faults, and how many seeds there are for one with them. The
    /// key was chosen so that no seed that was in `stories.rs` before these faults existed has
    /// them.
    fn key(self) -> (u64, u64) {
        match self {
            Extra::MetadataErrors => (107, 8),
            Extra::Returns => (179_535, 4),
            Extra::FailedFlushes => (200_185, 8),
            Extra::GivingUp => (337_312, 8),
            Extra::Silent => (400_121, 8),
            Extra::Damage => (416_196, 8),
            Extra::Clones => (500_229, 16),
            Extra::Shortages => (500_440, 16),
            Extra::Lies => (500_745, 16),
            Extra::Rivals => (434_334, 8),
            Extra::Rows => (600_000, 8),
        }
    }

    /// The random numbers of these faults.
    pub(super) fn keyed(self, seed: u64) -> Keyed {
        Keyed::new(seed ^ self.key().0)
    }

    /// Whether `seed` has these faults.
    pub(super) fn is_in(self, seed: u64) -> bool {
        self.keyed(seed).of(&[0]).is_multiple_of(self.key().1)
    }
}
