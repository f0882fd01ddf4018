//! Which members hold map, table and list of this session, and in how many of their slots.
//!
//! At an opening perhaps one member only has the newest; a member that comes to be rebuilt has none of them, or what was
//! true long ago. All members are given the newest before the session is said to have begun, and before a rebuilt member
//! is believed. A new member gets them in both slots: as long as one slot holds what stood there before, a copy of it
//! says nothing about its age. The second slot has to wait until the session has begun and no exclusion is under way:
//! a member whose exclusion is not durable and that lacks both would be called older after a crash.

use crate::array::{Array, Mode};
use crate::planted::{Bug, is_planted};

impl Array {
    /// Map, table and list are written anew to all members, to both slots.
    pub(crate) fn inform_newcomer(&mut self) {
        self.inform_members();
        let (map, table) = self.records.informed_from;
        let more = u64::from(!is_planted(Bug::NewcomerInformedOnce));
        self.records.both_from = (map + more, table + more);
        self.listing.inform_newcomer(&self.geometry);
    }

    /// Map and table are written to all members.
    pub(crate) fn inform_members(&mut self) {
        let records = &mut self.records;
        records.map_wanted = true;
        records.table_wanted = self.geometry.is_logged();
        records.informed_from = (records.map_sequence + 1, records.table_sequence + 1);
    }

    /// Whether that has been done.
    pub(crate) fn members_are_informed(&self) -> bool {
        self.records_are_informed() && self.commit_logs_are_begun()
    }

    /// The same of map, table and list.
    pub(crate) fn records_are_informed(&self) -> bool {
        self.records_are_written_from(self.records.informed_from) && self.listing.members_are_informed()
    }

    /// Whether a new member holds them in both slots.
    pub(crate) fn newcomer_is_informed(&self) -> bool {
        self.members_are_informed()
            && self.records_are_written_from(self.records.both_from)
            && self.listing.newcomer_is_informed()
    }

    /// Whether the second slot may be written.
    pub(crate) fn second_slot_may_be_written(&self) -> bool {
        let stops = matches!(self.mode, Mode::Stopping | Mode::Stopped);
        self.records.begun && !self.records.barrier() && !stops
    }

    pub(super) fn map_is_due_in_second_slot(&self) -> bool {
        self.second_slot_may_be_written() && self.records.map_sequence < self.records.both_from.0
    }

    pub(super) fn table_is_due_in_second_slot(&self) -> bool {
        let misses = self.records.table_sequence < self.records.both_from.1;
        self.geometry.is_logged() && misses && self.second_slot_may_be_written()
    }

    fn records_are_written_from(&self, (map, table): (u64, u64)) -> bool {
        let records = &self.records;
        let map_written = records.map_sequence - u64::from(records.map_writing.is_some());
        let table_written = records.table_sequence - u64::from(records.table_writing.is_some());
        map_written >= map && (table_written >= table || !self.geometry.is_logged())
    }
}
