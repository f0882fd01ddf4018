//! How far numbers can have come: those that a session gives lie in a range of its own.
//!
//! Records, entries of commit logs and stamps of segments are numbered from 2⁴⁰ times the session's
//! number on, bitmaps, tables and bad-block logs from 2³² times. A structure that claims a number
//! from a session that never was is damaged or forged: it does not count, or what is numbered from
//! now on would come before it.

use super::bitmap::TableEntry;

/// A session's records have numbers of their own, 2⁴⁰ of them.
pub(crate) const SESSION_RECORDS: u64 = 1 << 40;
/// So have its bitmaps, tables and bad-block logs.
pub(crate) const SESSION_WRITES_BITS: u32 = 32;
/// Session numbers from here on are no superblock's: their records' numbers would not fit 64 bits.
pub(crate) const SESSION_END: u64 = (1 << 24) - 1;
/// An array whose session number is this high is not opened for writing: a long session takes
/// further numbers.
pub(crate) const LAST_OPENING: u64 = SESSION_END - (1 << 12);
/// Sequence numbers of superblocks from here on are none.
pub(crate) const SUPERBLOCK_END: u64 = 1 << 63;
/// An array whose superblocks' sequence number is this high is not opened for writing.
pub(crate) const LAST_SUPERBLOCK: u64 = 1 << 62;

/// The session that numbers a record, or stamps a segment, so.
pub(crate) fn session_of(sequence: u64) -> u64 {
    sequence / SESSION_RECORDS
}

/// The number before those of a session's records.
pub(crate) fn first_sequence(session_number: u64) -> u64 {
    session_number * SESSION_RECORDS
}

/// What the sessions up to one have numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    session_number: u64,
}

impl Horizon {
    /// Up to the session of this number.
    pub(crate) fn of(session_number: u64) -> Horizon {
        Horizon { session_number }
    }

    /// Whether a record, an entry or a stamp can have this number.
    pub(crate) fn has(self, number: u64) -> bool {
        number < first_sequence(self.session_number + 1)
    }

    /// Whether a map, a table or a list can have this sequence number.
    pub(crate) fn reaches(self, sequence: u64) -> bool {
        sequence >> SESSION_WRITES_BITS <= self.session_number
    }

    /// Whether a table of the regions' logs can say this.
    pub(crate) fn has_table(self, sequence: u64, table: &[TableEntry]) -> bool {
        let within = |entry: &TableEntry| self.has(entry.applied) && self.has(entry.stored.stamp);
        self.reaches(sequence) && table.iter().all(within)
    }
}

/// Whether a session has used up a quarter of its bitmaps', tables' or bad-block logs' numbers.
pub(crate) fn sequences_are_used(session_number: u64, newest: u64) -> bool {
    newest >= (session_number << SESSION_WRITES_BITS) + (1 << (SESSION_WRITES_BITS - 2))
}
