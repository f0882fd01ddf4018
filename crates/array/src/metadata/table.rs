//! The table of the regions' logs: when it is written, and what must be durable before.

use parlour_units::Region;

use super::{Stop, TableWriting};
use crate::array::Array;
use crate::effect::Class;
use crate::format::bitmap::encode_table;
use crate::job::Kind;
use crate::planted::{Bug, is_planted};

impl Array {
    /// Writes the table to all members.
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

    /// Requests a write of the table.
    pub(crate) fn want_table(&mut self) {
        self.records.table_wanted = true;
    }

    /// `region`'s records, up to the newest that was applied, are in durable parity. The table must
    /// record this before the records are dropped.
    pub(crate) fn record_applied(&mut self, region: Region) {
        self.records.table_waiters.push(region);
    }

    /// Whether the table is to be written now. Applied records must be durable in the parity of
    /// members that are believed; a member whose exclusion is not durable would be believed after a
    /// crash.
    pub(super) fn table_due(&self) -> bool {
        let wanted = !self.records.table_waiters.is_empty() || self.records.table_wanted;
        let wanted = wanted || self.table_is_due_for_joining_member();
        // (The first table of a session says nothing new.)
        let excluded =
            !self.records.barrier() || self.table_begins() || is_planted(Bug::AppliedBeforeExclusion);
        // Parity on the bad-block log, and blocks that could not be compared, may lack records.
        // That must be durable before the table says that the records are applied.
        let listed =
            self.bad_blocks.additions_are_durable(&self.cx.roster.listed) || is_planted(Bug::TableBeforeList);
        self.records.enabled && wanted && excluded && listed && self.records.table_writing.is_none()
    }
}
