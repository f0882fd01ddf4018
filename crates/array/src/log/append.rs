//! Full buffers go to the log: one sequential access for many small parity updates.

use parlour_units::{Region, Sectors};

use super::{CommitLogs, Header, Room, SegmentState};
use crate::array::{Array, Mode};
use crate::effect::{Action, Class};
use crate::job::{JobId, Kind};
use crate::plan::{Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::tuning::LogFlush;

impl Array {
    /// Rooms were committed or given back: their segments may be ready to be appended.
    pub(crate) fn after_rooms(&mut self, rooms: &[Room]) {
        for room in rooms {
            let logs = self.logs.as_ref().expect("rooms are in logs");
            // An earlier room's turn may have retired the segment.
            let Some(segment) = logs.alive(room.segment) else { continue };
            if segment.state == SegmentState::Sealed && segment.unfilled == 0 {
                let region = segment.region;
                self.append_ready(region);
            }
        }
    }

    /// Appends what is sealed and filled, or has the region reintegrated where there is no room for it.
    pub(crate) fn append_ready(&mut self, region: Region) {
        // What is in memory of a region that is being recovered may still have to be read.
        if self.is_recovering(region) {
            return;
        }
        if self.geometry.is_logged() && self.records.resync.get(region) {
            let live = self.logs.as_ref().is_some_and(|logs| logs.region_is_live(region));
            if live && self.misses_data(region) {
                // What is missing is computed from its parity, which needs what the log holds.
                return self.want_parity(region);
            }
            // Its parity is computed from its data, and what its slots held counts until that is durably known.
            let logs = self.logs.as_mut().expect("only logs are appended to");
            if logs.region(region).reintegrating.is_none() {
                self.drop_log(region);
            }
            return;
        }
        // Where the log cannot be written, what is in memory goes to the parity.
        let stands =
            if self.geometry.is_logged() { self.log_stands(region) } else { !self.health.is_degraded() };
        let degraded = !stands || self.counters.out_of_space;
        loop {
            let logs = self.logs.as_mut().expect("only logs are appended to");
            let waits = match self.tuning.log_flush {
                LogFlush::WhenFull => false,
                LogFlush::Watermark(mark) => {
                    logs.in_memory < mark.min(logs.pool_limit())
                        && logs.pool_waiters.is_empty()
                        && !logs.commits.as_ref().is_some_and(CommitLogs::presses)
                        && self.mode == Mode::Serving
                }
            };
            let Some(first) = logs.next_ready(region) else { return };
            if logs.segment(first).records.is_empty() {
                self.retire_segment(first);
                continue;
            }
            if waits {
                return;
            }
            let slot = if degraded { None } else { logs.free_slot(region) };
            let Some(slot) = slot else {
                self.want_parity(region);
                return;
            };
            let segments = self.claim(region, first, slot);
            self.start_append(region, segments);
        }
    }

    /// Takes `first` and, under the watermark policy, the ready segments whose slots follow on the same sublog.
    fn claim(&mut self, region: Region, first: u32, slot: u32) -> Vec<u32> {
        let several = matches!(self.tuning.log_flush, LogFlush::Watermark(_));
        let sublogs = u32::from(self.geometry.layout().logs().expect("a logged layout").shape().sublogs);
        let logs = self.logs.as_mut().expect("only logs are appended to");
        let mut claimed = vec![first];
        let turn = self.health.turn;
        logs.begin_append(region, first, slot, turn);
        let mut next_slot = slot + sublogs;
        loop {
            let free = logs.region(region).slots.get(next_slot as usize) == Some(&false);
            let Some(next) = logs.next_ready(region).filter(|_| free && several) else { return claimed };
            logs.region(region).slots[next_slot as usize] = true;
            logs.begin_append(region, next, next_slot, turn);
            claimed.push(next);
            next_slot += sublogs;
        }
    }

    fn start_append(&mut self, region: Region, segments: Vec<u32>) {
        let logs = self.logs.as_mut().expect("only logs are appended to");
        let first_stamp = logs.stamp + 1;
        logs.stamp += segments.len() as u64;
        let logs = self.logs.as_ref().expect("only logs are appended to");
        let layout = self.geometry.layout();
        let (header, payload) = (logs.header, logs.payload());
        let slot = logs.segment(segments[0]).slot.expect("a segment being appended has a slot");
        let (sublog, offset) = layout.logs().expect("a logged layout").segment_place(slot);
        let place = layout.sublog_place(region, sublog).expect("a logged layout");
        let at = self.absolute(place.at + offset);
        let length = logs.segment_length * segments.len() as u64;
        let id = self.jobs.start(Kind::Append { region, segments: segments.clone() }, Class::Log);
        let job = self.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        for (index, segment) in segments.iter().enumerate() {
            let segment = logs.segment(*segment);
            let stamp = first_stamp + index as u64;
            let block = Header { region, stamp, records: segment.records.clone() };
            let block = block.encode(self.identity, header);
            job.metadata.extend(block);
            let head = Span::new(Source::Metadata, header * index as u64, header);
            let buffer = segment.buffer.expect("what is appended is in memory");
            job.plan.spans.push(head);
            job.plan.spans.push(Span::new(Source::Buffer(buffer), Sectors::ZERO, payload));
            job.plan.spans.push(head);
        }
        // What the commit log forgets from here on must not be lost.
        let durable = self.geometry.is_logged() && !is_planted(Bug::AppendNotDurable);
        job.plan.close(Action::Write { member: place.member, at, length, durable }, 0);
        self.counters.appends += 1;
        self.start_plan(id, None, &[]);
    }

    /// The segments are in the log. Unless its member was failed meanwhile: what it holds is gone with it.
    pub(crate) fn append_done(&mut self, id: JobId) {
        if let Some(Kind::Append { region, segments }) = &self.jobs.get(id).kind
            && segments.iter().any(|index| !self.segment_stands(*region, *index))
        {
            return self.append_broken(id);
        }
        let Some(Kind::Append { region, segments }) = self.jobs.get_mut(id).kind.take() else {
            unreachable!("an append")
        };
        self.end_job(id);
        for index in segments {
            let logs = self.logs.as_mut().expect("only logs are appended to");
            let segment = logs.segment_mut(index);
            segment.state = SegmentState::Stored;
            logs.appending -= 1;
            logs.segment_stored(index);
            let segment = logs.segment_mut(index);
            let buffer = segment.buffer.take().expect("what is appended is in memory");
            logs.in_memory -= 1;
            logs.freed = true;
            self.buffers.release(buffer);
            self.retire_segment(index);
        }
        self.append_ready(region);
        self.check_log_members(region);
    }

    /// The segments are still in memory: they are folded into the parity from there.
    pub(crate) fn append_broken(&mut self, id: JobId) {
        let Some(Kind::Append { region, segments }) = self.jobs.get_mut(id).kind.take() else {
            unreachable!("an append")
        };
        self.end_job(id);
        for index in segments {
            let logs = self.logs.as_mut().expect("only logs are appended to");
            let segment = logs.segment_mut(index);
            segment.state = SegmentState::Sealed;
            logs.appending -= 1;
            let segment = logs.segment_mut(index);
            let slot = segment.slot.take().expect("a segment being appended has a slot");
            let log = logs.region(region);
            log.slots[slot as usize] = false;
            log.sealed.push_back(index);
            self.retire_segment(index);
        }
        self.want_parity(region);
    }

    /// Lets go of a segment if nothing needs it any more.
    pub(crate) fn retire_segment(&mut self, index: u32) {
        let logs = self.logs.as_mut().expect("segments are in logs");
        if let Some(buffer) = logs.retire(index) {
            self.buffers.release(buffer);
            self.logs.as_mut().expect("segments are in logs").freed = true;
        }
    }

    /// Lets jobs that wait for a buffer go on, makes room for them, and starts reintegrations.
    pub(crate) fn pump_logs(&mut self) -> bool {
        let Some(logs) = &mut self.logs else { return false };
        if std::mem::take(&mut logs.freed) && !logs.pool_waiters.is_empty() {
            self.retry_pool_waiters();
            return true;
        }
        if !logs.pool_waiters.is_empty() && self.relieve_pool() || self.pump_commits() {
            return true;
        }
        // Parity is not written before all members know of the session, or of a member's exclusion.
        !self.records.barrier() && self.start_reintegrations()
    }

    /// The pool is exhausted: the fullest open buffer is appended short. Says whether there was one.
    fn relieve_pool(&mut self) -> bool {
        let logs = self.logs.as_mut().expect("a pool of log buffers");
        let busy = logs.appending > 0 || logs.running > 0 || !logs.queue.is_empty();
        if busy {
            return false;
        }
        // What the watermark keeps back is appended first.
        if let Some(region) = self.kept_back() {
            self.append_ready(region);
            return true;
        }
        let logs = self.logs.as_mut().expect("a pool of log buffers");
        let known = logs.regions.values().filter(|log| log.recovery.is_none());
        let open = known.filter_map(|log| log.open);
        let idle = open.filter(|index| logs.segment(*index).unfilled == 0);
        let fullest = idle.max_by_key(|index| logs.segment(*index).used);
        let Some(index) = fullest else { return false };
        let region = logs.segment(index).region;
        logs.close(index);
        self.counters.short_segments += 1;
        self.append_ready(region);
        true
    }

    /// Before the array stops, all that is in memory goes to the log. Says whether there was anything.
    pub(crate) fn close_logs(&mut self) -> bool {
        let Some(logs) = &self.logs else { return false };
        let regions: Vec<Region> = logs.regions.keys().copied().collect();
        let mut any = false;
        for region in regions {
            let logs = self.logs.as_mut().expect("it was there");
            if logs.regions[&region].segments.iter().all(|index| logs.segment(*index).buffer.is_none()) {
                continue;
            }
            any = true;
            if let Some(open) = logs.region(region).open {
                logs.close(open);
            }
            self.append_ready(region);
        }
        any
    }
}

impl super::Logs {
    /// The first sealed segment whose rooms are all committed or given back.
    pub(super) fn next_ready(&self, region: Region) -> Option<u32> {
        let log = self.regions.get(&region)?;
        log.sealed.iter().copied().find(|index| self.segment(*index).unfilled == 0)
    }

    fn begin_append(&mut self, region: Region, index: u32, slot: u32, turn: u64) {
        let segment = self.segment_mut(index);
        segment.state = SegmentState::Appending;
        self.appending += 1;
        let segment = self.segment_mut(index);
        (segment.slot, segment.turn) = (Some(slot), turn);
        self.region(region).sealed.retain(|other| *other != index);
    }
}
