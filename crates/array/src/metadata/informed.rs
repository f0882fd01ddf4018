//! Which members hold the bitmap, the table and the bad-block log of this session, and in how many
//! of their banks.
//!
//! At an opening perhaps only one member has the newest versions. All members get them before
//! superblocks record that the session has begun. Until then no exclusion is durable: a member that
//! misses writes of both banks would be called older after a crash, although it has missed nothing.
//! Therefore only one of the banks is written at that time, and only once.
//!
//! A new member that is to be rebuilt has none of them, or very old ones. It gets them in both
//! banks before it is believed: as long as one bank has its former content, the age of a copy of
//! this member cannot be determined. Both banks are written once the session has begun and while no
//! exclusion is waiting to become durable.

use crate::array::Array;
use crate::mode::Mode;
use crate::planted::{Bug, is_planted};

impl Array {
    /// Requests writes of bitmap, table and bad-block log to all members, to both banks.
    pub(crate) fn inform_joining_member(&mut self) {
        let banks = if is_planted(Bug::JoiningMemberInformedOnce) { 1 } else { 2 };
        let records = &mut self.records;
        records.both_from = (records.bitmap_sequence + banks, records.table_sequence + banks);
        self.bad_blocks.inform_joining_member(&self.cx.geometry);
    }

    /// Requests writes of bitmap and table to all members.
    pub(crate) fn inform_members(&mut self) {
        let records = &mut self.records;
        records.bitmap_wanted = true;
        records.table_wanted = self.cx.geometry.is_journaled();
        records.informed_from = (records.bitmap_sequence + 1, records.table_sequence + 1);
    }

    /// Whether all members hold the metadata of this session, including a first entry in each
    /// commit log.
    pub(crate) fn members_are_informed(&self) -> bool {
        self.records_are_informed() && self.commit_logs_are_begun()
    }

    /// Whether all members hold bitmap, table and bad-block log of this session.
    pub(crate) fn records_are_informed(&self) -> bool {
        self.records_are_written_from(self.records.informed_from) && self.bad_blocks.members_are_informed()
    }

    /// Whether a new member holds all of these in both banks.
    pub(crate) fn joining_member_is_informed(&self) -> bool {
        self.members_are_informed()
            && self.records_are_written_from(self.records.both_from)
            && self.bad_blocks.joining_member_is_informed()
    }

    /// Whether both banks may be written.
    pub(crate) fn both_banks_may_be_written(&self) -> bool {
        let stops = matches!(self.cx.mode, Mode::Stopping | Mode::Stopped);
        self.records.begun && !self.records.barrier() && !stops
    }

    /// Whether the session is about to begin and its first bitmap is not written yet.
    pub(super) fn bitmap_begins(&self) -> bool {
        let records = &self.records;
        !records.opening && !records.begun && records.bitmap_sequence < records.informed_from.0
    }

    /// Whether the session is about to begin and its first table is not written yet.
    pub(super) fn table_begins(&self) -> bool {
        let records = &self.records;
        !records.opening && !records.begun && records.table_sequence < records.informed_from.1
    }

    pub(super) fn bitmap_is_due_for_joining_member(&self) -> bool {
        self.both_banks_may_be_written() && self.records.bitmap_sequence < self.records.both_from.0
    }

    pub(super) fn table_is_due_for_joining_member(&self) -> bool {
        let misses = self.records.table_sequence < self.records.both_from.1;
        self.cx.geometry.is_journaled() && misses && self.both_banks_may_be_written()
    }

    fn records_are_written_from(&self, (map, table): (u64, u64)) -> bool {
        let records = &self.records;
        let bitmap_written = records.bitmap_sequence - u64::from(records.bitmap_writing.is_some());
        let table_written = records.table_sequence - u64::from(records.table_writing.is_some());
        bitmap_written >= map && (table_written >= table || !self.cx.geometry.is_journaled())
    }
}
