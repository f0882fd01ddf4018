//! The table of the regions' logs: when it is written, and what it has to wait for.

use parlour_units::Region;

use super::{Stop, TableWriting};
use crate::array::Array;
use crate::effect::Class;
use crate::format::bitmap::encode_table;
use crate::job::Kind;
use crate::planted::{Bug, is_planted};

impl Array {
    /// Writes it to all members.
    pub(crate) fn write_table(&mut self) {
        let Some(logs) = &mut self.logs else {
            self.records.stop = Some(Stop::Map);
            return;
        };
        let table = logs.table();
        let length = self.cx.geometry.table_length();
        self.records.table_wanted = false;
        self.records.table_sequence += 1;
        let sequence = self.records.table_sequence;
        let block = encode_table(&table, sequence, self.cx.identity, length.bytes().as_usize());
        let regions = std::mem::take(&mut self.records.table_waiters);
        self.records.table_writing = Some(TableWriting { sequence, regions, table });
        let at = self.cx.geometry.table_at((sequence % 2) as usize);
        let id = self.cx.jobs.start(Kind::Table, Class::Metadata);
        self.write_to_all(id, at, block, length);
    }

    /// The table is to be written.
    pub(crate) fn want_table(&mut self) {
        self.records.table_wanted = true;
    }

    /// `region`'s records up to the newest that was applied are in durable parity: that is to be
    /// recorded before they are dropped.
    pub(crate) fn record_applied(&mut self, region: Region) {
        self.records.table_waiters.push(region);
    }

    /// What was applied is in the parity of members that are believed, and durable there. A member
    /// whose exclusion is not durable would be believed after a crash.
    pub(super) fn table_due(&self) -> bool {
        let wanted = !self.records.table_waiters.is_empty() || self.records.table_wanted;
        let wanted = wanted || self.table_is_due_for_joining_member();
        // (At the beginning of a session it says nothing new.)
        let excluded =
            !self.records.barrier() || self.table_begins() || is_planted(Bug::AppliedBeforeExclusion);
        // Records may have been left out of parity that is on the list, or of blocks that could not
        // be compared.
        let listed =
            self.bad_blocks.additions_are_durable(&self.cx.roster.listed) || is_planted(Bug::TableBeforeList);
        self.records.enabled && wanted && excluded && listed && self.records.table_writing.is_none()
    }
}
