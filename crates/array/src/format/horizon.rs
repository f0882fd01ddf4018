//! The range of numbers that each session may give.
//!
//! Records, entries of the commit log and stamps of segments of session n are numbered from n · 2⁴⁰
//! on, its bitmaps, tables and bad-block logs from n · 2³² on. A structure with a number from a
//! session that never was is damaged or forged. It must not count: otherwise new numbers would be
//! lower than its number.

use super::bitmap::TableEntry;

/// Numbers for the records of one session: 2⁴⁰.
pub(crate) const SESSION_RECORDS: u64 = 1 << 40;
/// Bits of the numbers for bitmaps, tables and bad-block logs of one session.
pub(crate) const SESSION_WRITES_BITS: u32 = 32;
/// No superblock has this session number or a higher one: the numbers of its records would not fit
/// into 64 bits.
pub(crate) const SESSION_END: u64 = (1 << 24) - 1;
/// An array with this session number or a higher one is not opened for writing. The rest is for
/// long sessions, which take additional numbers.
pub(crate) const LAST_OPENING: u64 = SESSION_END - (1 << 12);
/// No superblock has this sequence number or a higher one.
pub(crate) const SUPERBLOCK_END: u64 = 1 << 63;
/// An array whose superblocks have this sequence number or a higher one is not opened for writing.
pub(crate) const LAST_SUPERBLOCK: u64 = 1 << 62;

/// The session to which a record's number or a segment's stamp belongs.
pub(crate) fn session_of(sequence: u64) -> u64 {
    sequence / SESSION_RECORDS
}

/// The number before the first one of a session's records.
pub(crate) fn first_sequence(session_number: u64) -> u64 {
    session_number * SESSION_RECORDS
}

/// The numbers that the sessions up to a given one can have used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Horizon {
    session_number: u64,
}

impl Horizon {
    /// The horizon up to the session with this number.
    pub(crate) fn of(session_number: u64) -> Horizon {
        Horizon { session_number }
    }

    /// Whether a record, an entry or a stamp can have this number.
    pub(crate) fn has(self, number: u64) -> bool {
        number < first_sequence(self.session_number + 1)
    }

    /// Whether a bitmap, a table or a bad-block log can have this sequence number.
    pub(crate) fn reaches(self, sequence: u64) -> bool {
        sequence >> SESSION_WRITES_BITS <= self.session_number
    }

    /// Whether a table of the regions' logs can have this number and these entries.
    pub(crate) fn has_table(self, sequence: u64, table: &[TableEntry]) -> bool {
        let within = |entry: &TableEntry| {
            [entry.applied, entry.landed, entry.stored.stamp].into_iter().all(|number| self.has(number))
        };
        self.reaches(sequence) && table.iter().all(within)
    }
}

/// Whether a session has used a quarter of the numbers for bitmaps, tables or bad-block logs.
pub(crate) fn sequences_are_used(session_number: u64, newest: u64) -> bool {
    newest >= (session_number << SESSION_WRITES_BITS) + (1 << (SESSION_WRITES_BITS - 2))
}
