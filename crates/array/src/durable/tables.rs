//! The table of the regions' logs, as members hold it: when it is written, and which regions wait
//! for that.

use parlour_units::Region;

use super::versions::Versions;
use super::write::write_to_all;
use crate::context::Context;
use crate::effect::Class;
use crate::exec::progress::Progress;
use crate::format::banks::sequence_of_session;
use crate::format::bitmap::{TableEntry, encode_table};
use crate::ids::JobId;
use crate::job::Kind;

/// See the module.
#[derive(Debug)]
pub(super) struct Tables {
    versions: Versions,
    wanted: bool,
    /// Regions whose next table must be durable before they go on.
    waiters: Vec<Region>,
    writing: Option<Writing>,
}

/// A table that is being written.
#[derive(Debug)]
struct Writing {
    sequence: u64,
    regions: Vec<Region>,
    table: Vec<TableEntry>,
}

/// A table that all members hold which stand.
#[derive(Debug)]
pub(crate) struct WrittenTable {
    pub(super) sequence: u64,
    /// The regions that waited for it.
    pub(crate) regions: Vec<Region>,
    pub(crate) table: Vec<TableEntry>,
}

impl Tables {
    /// `sequence` is the number of the newest table on members.
    pub(super) fn new(sequence: u64, session_number: u64) -> Tables {
        Tables {
            versions: Versions::new(sequence_of_session(session_number, sequence)),
            wanted: false,
            waiters: Vec::new(),
            writing: None,
        }
    }

    pub(super) fn versions(&self) -> &Versions {
        &self.versions
    }

    pub(super) fn versions_mut(&mut self) -> &mut Versions {
        &mut self.versions
    }

    /// Requests a write.
    pub(super) fn want(&mut self) {
        self.wanted = true;
    }

    /// Requests a write for which `region` waits.
    pub(super) fn want_for(&mut self, region: Region) {
        self.waiters.push(region);
    }

    /// Whether a write was requested.
    pub(super) fn is_wanted(&self) -> bool {
        self.wanted || !self.waiters.is_empty()
    }

    /// Writes `table` to all members.
    pub(super) fn write(&mut self, cx: &mut Context, table: Vec<TableEntry>) -> (JobId, Progress) {
        self.wanted = false;
        let (sequence, bank) = self.versions.begin();
        let length = cx.geometry.table_length();
        let block = encode_table(&table, sequence, cx.identity, length.bytes().as_usize());
        let regions = std::mem::take(&mut self.waiters);
        self.writing = Some(Writing { sequence, regions, table });
        let at = cx.geometry.table_at(bank);
        let id = cx.jobs.start(Kind::Table, Class::Metadata);
        (id, write_to_all(cx, id, at, (block, length)))
    }

    /// The table was written, except on members that are excluded for it.
    pub(super) fn written(&mut self) -> WrittenTable {
        let Writing { sequence, regions, table } = self.writing.take().expect("a table was being written");
        self.versions.end();
        WrittenTable { sequence, regions, table }
    }
}
