//! The logs when an array is opened: which are to be read, and what the commit log holds.

use parlour_units::Region;

use super::commit::logs::{CommitLogs, EntryName};
use super::found::{FoundEntry, FoundLog};
use super::logs::Logs;
use super::recover::remembered::remember;
use super::region::LoadState;
use crate::format::bitmap::StoredBitmap;
use crate::format::commit_entry::CommitPart;
use crate::geometry::Geometry;

impl Logs {
    /// The headers of `region`'s log are to be read before the region is used.
    pub(crate) fn load_later(&mut self, region: Region) {
        self.region(region).load = LoadState::Unknown;
    }

    /// Takes in the entries of the commit log.
    pub(crate) fn take_commit_logs(
        &mut self,
        geometry: &Geometry,
        map: &StoredBitmap,
        found: FoundLog,
        first_sequence: u64,
    ) {
        let counts = |region: Region, sequence: u64| {
            let known = map.dirty.get(region) && !map.resync.get(region);
            known && sequence > self.applied[region.as_usize()]
        };
        let mut commits = CommitLogs::new(&found, first_sequence, geometry);
        let holds_writes = |entry: &FoundEntry| !entry.header.content.writes.is_empty();
        let writes: Vec<FoundEntry> =
            found.writes.entries().into_iter().filter(|e| holds_writes(e)).cloned().collect();
        let recoveries = remember(found, geometry, counts);
        for (region, mut recovery) in recoveries {
            recovery.landed = self.landed[region.as_usize()];
            recovery.find_superseded();
            recovery.record_names().chain(recovery.intent_names()).for_each(|name| commits.keep(name));
            self.recover_later(region, recovery);
        }
        for FoundEntry { header, .. } in &writes {
            commits.keep(EntryName { part: CommitPart::Writes, number: header.number });
        }
        commits.log().unread_writes = !writes.is_empty();
        commits.found_writes = writes;
        self.commits = commits;
    }
}
