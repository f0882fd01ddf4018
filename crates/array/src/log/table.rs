//! The table of the regions' logs: what it says, and which positions it counts.

use crate::format::bitmap::{Stored, TableEntry};
use crate::log::logs::Logs;
use crate::log::region::RegionLog;
use crate::log::segment::{Segment, SegmentState};
use parlour_units::Region;

impl Logs {
    /// Whether the commit log holds records that wait for a table.
    pub(crate) fn awaits_table(&self) -> bool {
        !self.uncounted.is_empty()
    }

    /// The table of all regions' logs as they are now. For a region that is not yet read, it
    /// repeats the entry of the last table. With `landed` it says which regions are redone.
    pub(crate) fn table(&mut self, landed: bool) -> Vec<TableEntry> {
        let last = self.applied.iter().zip(&self.landed).zip(&self.stored);
        let entry = |((applied, landed), stored): ((&u64, &u64), &Stored)| TableEntry {
            applied: *applied,
            landed: *landed,
            stored: *stored,
        };
        let mut table: Vec<TableEntry> = last.map(entry).collect();
        let settling = self.regions.iter().filter_map(|(region, log)| Some((region, log.settles()?)));
        for (region, settles) in settling.filter(|_| landed) {
            table[region.as_usize()].landed = settles;
        }
        let read: Vec<Region> =
            self.regions.iter().filter(|(_, log)| log.is_read()).map(|(region, _)| region).collect();
        for region in read {
            let entry = &mut table[region.as_usize()];
            let RegionLog { counted, given_up, .. } = self.regions[region];
            if let Some(stored) = given_up {
                entry.stored = stored;
                continue;
            }
            entry.stored = match counted.filter(|(applied, _)| *applied == entry.applied) {
                Some((_, stored)) => Stored { stamp: self.stamp, ..stored },
                None => self.count_stored(region, entry.applied),
            };
        }
        table
    }

    /// The knowledge of the region's positions is about to be dropped, before its parity is
    /// computed anew.
    pub(crate) fn give_up_positions(&mut self, region: Region) {
        let log = self.region(region);
        if log.given_up.is_none() {
            let stored = match log.is_read() {
                true => self.count_stored(region, self.applied[region.as_usize()]),
                false => self.stored[region.as_usize()],
            };
            self.region(region).given_up = Some(stored);
        }
    }

    /// The log of `region` was given up before the array was opened.
    pub(crate) fn stay_given_up(&mut self, region: Region) {
        let stored = self.stored[region.as_usize()];
        if stored.records > 0 {
            self.region(region).given_up = Some(stored);
        }
    }

    /// The region is logged again.
    pub(crate) fn forget_given_up(&mut self, region: Region) {
        self.region(region).given_up = None;
    }

    /// The records in the region's positions no longer count: its parity was computed anew.
    pub(crate) fn outdate_positions(&mut self, region: Region) {
        self.applied[region.as_usize()] = self.newest_sequence();
        self.region(region).given_up = None;
    }

    /// Counts the live records in the positions of `region`. A segment that is being written to a
    /// position, or failed to be written, may or may not be there after a crash: neither it nor any
    /// newer segment is counted.
    pub(in crate::log) fn count_stored(&mut self, region: Region, applied: u64) -> Stored {
        let log = &self.regions[region];
        let segments = || log.segments.iter().map(|index| self.segment(*index));
        let unsure = segments().filter(|segment| segment.state != SegmentState::Stored && segment.stamp > 0);
        let oldest = unsure.map(|segment| segment.stamp).min();
        let mut stored = Stored::up_to(oldest.map_or(self.stamp, |stamp| stamp - 1));
        let counts =
            |segment: &&Segment| segment.state == SegmentState::Stored && segment.stamp <= stored.stamp;
        let records = segments().filter(counts).flat_map(|segment| &segment.records);
        let live = records.filter(|record| record.sequence > applied);
        let live: Vec<(u64, u32)> = live.map(|record| (record.sequence, record.digest)).collect();
        live.into_iter().for_each(|(sequence, digest)| stored.add(sequence, digest));
        if oldest.is_none() {
            self.region(region).counted = Some((applied, stored));
        }
        stored
    }

    /// `table` is durable: the commit log need not hold records that it counts, and positions that
    /// it no longer counts may be overwritten.
    pub(crate) fn table_written(&mut self, table: &[TableEntry]) {
        for (index, entry) in table.iter().enumerate().take(self.stored.len()) {
            (self.stored[index], self.landed[index]) = (entry.stored, entry.landed);
        }
        for (region, log) in self.regions.iter_mut().filter(|(_, log)| log.is_read()) {
            // If the log was read after this table was put together, its shadows are still counted
            // by the table.
            if table[region.as_usize()].stored.stamp >= log.read_at {
                log.shadows.drain(..).for_each(|position| log.positions[position as usize] = false);
            }
        }
        for (index, stamp) in std::mem::take(&mut self.uncounted) {
            let segment = self.alive(index).filter(|segment| segment.stamp == stamp);
            let Some(region) = segment.map(|segment| segment.region) else { continue };
            if stamp <= table[region.as_usize()].stored.stamp {
                self.let_go_of_commits(index, usize::MAX);
            } else {
                self.uncounted.push((index, stamp));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::horizon::first_sequence;
    use crate::log::LoadState;
    use crate::log::suits::tests::geometry;
    use crate::tuning::{Simulated, Tuning};

    #[test]
    fn the_table_repeats_what_a_log_stored_that_was_given_up_before_it_was_read() {
        let geometry = geometry();
        let mut stored = Stored::up_to(9);
        stored.add(7, 1);
        let entry = TableEntry { stored, ..TableEntry::default() };
        let found = vec![entry; geometry.layout().region_count() as usize];
        let mut logs =
            Logs::new(&geometry, (&Tuning::default(), Simulated::default()), first_sequence(1), &found);
        let region = Region::new(0);
        logs.region(region).load = LoadState::Unknown;
        logs.give_up_positions(region);
        logs.region(region).load = LoadState::Known;
        assert_eq!(logs.table(false)[0].stored, stored);
        logs.outdate_positions(region);
        assert_eq!(logs.table(false)[0].stored.records, 0, "its parity was computed anew");
    }
}
