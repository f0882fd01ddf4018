//! Records: committed to segments, and dropped when nothing needs them.

use crate::buffer::BufferId;
use crate::format::commit_entry::CommitPart;
use crate::format::horizon::{SESSION_RECORDS, first_sequence};
use crate::format::segment::{Record, RecordKind};
use crate::ids::JobId;
use crate::log::commit::logs::EntryName;
use crate::log::logs::Logs;
use crate::log::segment::{Reservation, SegmentState};
use crate::plan::Fragment;
use parlour_units::Region;

impl Logs {
    /// The number of records that are not in the parity.
    pub(crate) fn live_records(&self) -> u64 {
        self.records
    }

    /// The records of an entry of the commit log, whose data is not on its members, count until it
    /// is durable that their region is to be resynced.
    pub(crate) fn keep_until_resync(&mut self, entry: EntryName) {
        self.commits.keep(entry);
        self.commits.orphan(entry);
    }

    /// Passes if no record of this stripe would be redone after a crash over what is written
    /// without one. Otherwise the entries up to it are made superfluous, and `job` goes on then.
    pub(crate) fn pass_overruling_records(&mut self, (region, stripe): (Region, u32), job: JobId) -> bool {
        let Some(number) = self.commits.overruling_record(region, stripe) else { return true };
        let log = self.commits.log();
        let stream = log.stream(CommitPart::Records);
        stream.awaited = stream.awaited.max(number);
        log.forgetting.park(job);
        false
    }

    /// The next record number: higher than all before, lower than those of the next session.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        assert!(self.sequence < self.last_sequence, "no write goes on before a session has further numbers");
        self.sequence += 1;
        self.sequence
    }

    /// Whether records or segments have used up at least `records` of the numbers of session
    /// `session_number` (at most a quarter of a session's numbers is asked for).
    pub(crate) fn have_used(&self, session_number: u64, records: u64) -> bool {
        self.sequence.max(self.stamp).max(self.commits.highest_write_entry())
            >= first_sequence(session_number) + records.min(SESSION_RECORDS / 4)
    }

    /// Superblocks now give this session the numbers of session `session_number` as well.
    pub(crate) fn may_number_up_to(&mut self, session_number: u64) {
        self.last_sequence = self.last_sequence.max(first_sequence(session_number + 1) - 1);
    }

    /// The number of the newest record.
    pub(crate) fn newest_sequence(&self) -> u64 {
        self.sequence
    }

    /// The payloads of a job's reservations are in memory: its records count from now on. `digests`
    /// are the digests of the payloads.
    pub(crate) fn commit(
        &mut self,
        stripe: u32,
        fragments: &[Fragment],
        reservations: &[Reservation],
        kind: RecordKind,
        mut digests: impl Iterator<Item = u32>,
    ) {
        for (fragment, reservation) in fragments.iter().zip(reservations) {
            let sequence = self.next_sequence();
            let (unit, columns) = (fragment.unit, fragment.columns);
            let digest = digests.next().expect("each payload has a digest");
            let record = Record { sequence, stripe, unit, kind, columns, start: reservation.start, digest };
            self.commit_record(reservation.segment, record, None);
        }
    }

    /// The room that was reserved in `segment` holds the payload of `record`: the record counts
    /// from now on. `entry` is kept until the record is stored elsewhere.
    pub(crate) fn commit_record(&mut self, segment: u32, record: Record, entry: Option<EntryName>) {
        self.records += 1;
        let segment = self.segment_mut(segment);
        segment.unfilled -= 1;
        segment.records.push(record);
        segment.commits.push(entry);
        let region = segment.region;
        *self.region(region).live.entry(record.stripe).or_default() += 1;
        if let Some(entry) = entry {
            self.commits.keep(entry);
        }
    }

    /// The first `count` records of a segment are in a position, or are dropped: the commit log
    /// need not keep them.
    pub(in crate::log) fn let_go_of_commits(&mut self, index: u32, count: usize) {
        let segment = self.segments[index as usize].as_mut().expect("a segment is named only while it lives");
        let commits = &mut self.commits;
        for entry in segment.commits.iter_mut().take(count).filter_map(Option::take) {
            commits.stored(entry);
        }
    }

    /// A segment's records are dropped, but still count after a crash: the commit log keeps them
    /// until it is durable that their region is to be resynced.
    pub(crate) fn orphan_records(&mut self, index: u32) {
        let segment = self.segments[index as usize].as_mut().expect("a segment is named only while it lives");
        let commits = &mut self.commits;
        segment.commits.iter_mut().filter_map(Option::take).for_each(|entry| commits.orphan(entry));
    }

    /// The segment is in its position. If the commit log holds its records, it keeps them until a
    /// table counts them: the loss of a record from a log would stay unnoticed if no table counted
    /// it.
    pub(crate) fn segment_stored(&mut self, index: u32) {
        let region = self.segment(index).region;
        self.region(region).forget_count();
        if self.commits.exist() {
            self.uncounted.push((index, self.segment(index).stamp));
        }
    }

    /// Forgets `count` records at the front of a segment.
    pub(crate) fn drop_records(&mut self, index: u32, count: usize) {
        self.let_go_of_commits(index, count);
        let segment = self.segment_mut(index);
        segment.commits.drain(..count);
        let region = segment.region;
        let dropped: Vec<u32> = segment.records.drain(..count).map(|record| record.stripe).collect();
        segment.taken = 0;
        self.records -= dropped.len() as u64;
        let log = self.region(region);
        log.forget_count();
        for stripe in dropped {
            let count = log.live.get_mut(&stripe).expect("a committed record is counted");
            *count -= 1;
            if *count == 0 {
                log.live.remove(&stripe);
            }
        }
    }

    /// Frees a segment that nothing needs any more; returns its buffer.
    pub(crate) fn retire(&mut self, index: u32) -> Option<BufferId> {
        let segment = self.segment(index);
        let needed = !segment.records.is_empty()
            || segment.unfilled > 0
            || matches!(segment.state, SegmentState::Open | SegmentState::Appending);
        if needed {
            return None;
        }
        let segment = self.segments[index as usize].take().expect("it was there");
        self.free.push(index);
        let log = self.region(segment.region);
        log.segments.retain(|other| *other != index);
        if let Some(position) = segment.position {
            log.positions[position as usize] = false;
        }
        self.leave_queue(segment.region, index);
        if segment.buffer.is_some() {
            self.in_memory -= 1;
        }
        segment.buffer
    }

    /// A free position of `region`; positions are used in turn.
    pub(crate) fn free_position(&mut self, region: Region) -> Option<u32> {
        let log = self.region(region);
        let count = log.positions.len() as u32;
        let position = (0..count)
            .map(|step| (log.next_position + step) % count)
            .find(|position| !log.positions[*position as usize])?;
        log.positions[position as usize] = true;
        log.next_position = (position + 1) % count;
        Some(position)
    }
}
