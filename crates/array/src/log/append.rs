//! Appends full buffers to the log: one sequential access for many small parity updates.

pub(super) mod closing;

use self::closing::Closing;
use parlour_units::{Region, Sector, Sectors};

use super::{CommitLogs, RegionLog, Reservation, SegmentState};
use crate::array::Array;
use crate::effect::{Action, Class};
use crate::format::segment::Header;
use crate::ids::JobId;
use crate::job::Kind;
use crate::mode::Mode;
use crate::plan::{Source, Span, Strategy};
use crate::planted::{Bug, is_planted};
use crate::tuning::LogFlush;

impl Array {
    /// Reservations were committed or given back: their segments may be ready to be appended.
    pub(crate) fn after_reservations(&mut self, reservations: &[Reservation]) {
        for reservation in reservations {
            let logs = self.logs.as_ref().expect("reservations are in logs");
            // Handling an earlier reservation may have retired the segment.
            let Some(segment) = logs.alive(reservation.segment) else { continue };
            if segment.state == SegmentState::Sealed && segment.unfilled == 0 {
                let region = segment.region;
                self.append_ready(region);
            }
        }
    }

    /// Appends sealed and filled segments. If the log has no room for them, the region is
    /// reintegrated.
    pub(crate) fn append_ready(&mut self, region: Region) {
        // While a region is being recovered, its records in memory may still have to be read.
        if self.is_recovering(region) {
            return;
        }
        if self.cx.geometry.is_journaled() && self.durable.bitmap().needs_resync(region) {
            let live = self.logs.as_ref().is_some_and(|logs| logs.region_is_live(region));
            if live && self.misses_data(region) {
                // Missing data is computed from the region's parity, which needs the records of the
                // log.
                return self.want_parity(region);
            }
            // The region's parity is computed from its data. The records in its positions count
            // until it is durable that the region is to be resynced.
            let logs = self.logs.as_mut().expect("only logs are appended to");
            if logs.region(region).reintegrating.is_none() {
                self.drop_unapplied(region);
            }
            return;
        }
        // A segment of a session that no superblock names is taken for damaged after a crash: it
        // goes to the log later.
        if !self.durable.session_is_known(&self.cx) {
            return;
        }
        // Where the log cannot be written, what is in memory goes to the parity.
        let stands = if self.cx.geometry.is_journaled() {
            self.log_stands(region)
        } else {
            !self.cx.roster.is_degraded()
        };
        let degraded = !stands || self.cx.counters.out_of_space;
        loop {
            let logs = self.logs.as_mut().expect("only logs are appended to");
            let waits = match self.cx.tuning.log_flush {
                LogFlush::WhenFull => false,
                LogFlush::Watermark(mark) => {
                    logs.in_memory < mark.min(logs.pool_limit())
                        && logs.pool_waiters.is_empty()
                        && !logs.commits.as_ref().is_some_and(CommitLogs::presses)
                        && self.cx.mode == Mode::Serving
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
            let position = if degraded { None } else { logs.free_position(region) };
            let Some(position) = position else {
                self.want_parity(region);
                return;
            };
            let segments = self.claim(region, first, position);
            self.start_append(region, segments);
        }
    }

    /// All members know of this session now: records that were recovered meanwhile go to the log.
    pub(crate) fn append_what_waited(&mut self) {
        let Some(logs) = &self.logs else { return };
        let regions: Vec<Region> = logs.regions.keys().copied().collect();
        for region in regions {
            let logs = self.logs.as_ref().expect("it was there");
            if logs.next_ready(region).is_some() {
                self.append_ready(region);
            }
        }
    }

    /// Takes `first` and, under the watermark policy, the ready segments whose positions directly
    /// follow it on the same sublog.
    fn claim(&mut self, region: Region, first: u32, position: u32) -> Vec<u32> {
        let several = matches!(self.cx.tuning.log_flush, LogFlush::Watermark(_));
        let sublogs = u32::from(self.cx.geometry.layout().logs().expect("a logged layout").shape().sublogs);
        let logs = self.logs.as_mut().expect("only logs are appended to");
        let mut claimed = vec![first];
        let turn = self.cx.roster.turn();
        logs.begin_append(region, first, position, turn);
        let mut next_position = position + sublogs;
        loop {
            let free = logs.region(region).positions.get(next_position as usize) == Some(&false);
            let Some(next) = logs.next_ready(region).filter(|_| free && several) else { return claimed };
            logs.region(region).positions[next_position as usize] = true;
            logs.begin_append(region, next, next_position, turn);
            claimed.push(next);
            next_position += sublogs;
        }
    }

    fn start_append(&mut self, region: Region, segments: Vec<u32>) {
        let logs = self.logs.as_mut().expect("only logs are appended to");
        for index in &segments {
            logs.stamp += 1;
            logs.segment_mut(*index).stamp = logs.stamp;
        }
        logs.region(region).forget_count();
        let logs = self.logs.as_ref().expect("only logs are appended to");
        let layout = self.cx.geometry.layout();
        let position = logs.segment(segments[0]).position.expect("a segment being appended has a position");
        let (sublog, offset) = layout.logs().expect("a logged layout").segment_at(position);
        let location = layout.sublog_at(region, sublog).expect("a logged layout");
        let at = self.cx.geometry.absolute(location.at + offset);
        let id = self.cx.jobs.start(Kind::Append { region, segments: segments.clone() }, Class::Log);
        let job = self.cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        for segment in &segments {
            let segment = logs.segment(*segment);
            let block = Header { region, stamp: segment.stamp, records: segment.records.clone() };
            job.metadata.extend(block.encode(self.cx.identity, logs.header));
        }
        // What the commit log forgets from here on must not be lost.
        let durable = self.cx.geometry.is_journaled() && !is_planted(Bug::AppendNotDurable);
        for (at, spans) in self.append_accesses(&segments, at) {
            let length = spans.iter().fold(Sectors::ZERO, |sum, span| sum + span.length);
            self.cx
                .jobs
                .get_mut(id)
                .plan
                .push(Action::Write { member: location.slot.into(), at, length, durable }, &spans);
        }
        self.cx.counters.appends += 1;
        self.start_plan(id, None, &[]);
    }

    /// Where `segments` are written, and from which buffers. The first goes to `at`. The unused
    /// part of a segment is left out, unless it is shorter than the setting `segment_gap`: to write
    /// a short gap costs less than a second access.
    fn append_accesses(&self, segments: &[u32], at: Sector) -> Vec<(Sector, Vec<Span>)> {
        let logs = self.logs.as_ref().expect("only logs are appended to");
        let (header, payload) = (logs.header, logs.payload());
        let mut accesses: Vec<(Sector, Vec<Span>)> = Vec::new();
        let mut end = None;
        let mut put = |at: Sector, span: Span| {
            match accesses.last_mut().filter(|_| end == Some(at)) {
                Some((_, spans)) => spans.push(span),
                None => accesses.push((at, vec![span])),
            }
            end = Some(at + span.length);
        };
        for (number, index) in (0..).zip(segments) {
            let start = at + logs.segment_length * number;
            let segment = logs.segment(*index);
            let used = segment.used.round_up(self.cx.geometry.block()).min(payload);
            let written = if payload - used >= self.cx.tuning.segment_gap { used } else { payload };
            let head = Span::new(Source::Metadata, header * number, header);
            let buffer = Source::Buffer(segment.buffer.expect("what is appended is in memory"));
            put(start, head);
            if !written.is_zero() {
                put(start + header, Span::new(buffer, Sectors::ZERO, written));
            }
            put(start + header + payload, head);
        }
        accesses
    }

    /// The segments are in the log. If their member was failed meanwhile, the log lost them with
    /// the member, and they are treated as not written.
    pub(crate) fn append_done(&mut self, id: JobId) {
        if let Some(Kind::Append { region, segments }) = &self.cx.jobs.get(id).kind
            && segments.iter().any(|index| !self.segment_stands(*region, *index))
        {
            return self.append_broken(id);
        }
        let Some(Kind::Append { region, segments }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("an append")
        };
        self.cx.jobs.end(id);
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
            self.cx.buffers.release(buffer);
            self.retire_segment(index);
        }
        self.append_ready(region);
        self.check_log_members(region);
    }

    /// The segments could not be written. They are still in memory, and are folded into the parity
    /// from there.
    pub(crate) fn append_broken(&mut self, id: JobId) {
        let Some(Kind::Append { region, segments }) = self.cx.jobs.get_mut(id).kind.take() else {
            unreachable!("an append")
        };
        self.cx.jobs.end(id);
        for index in segments {
            let logs = self.logs.as_mut().expect("only logs are appended to");
            let segment = logs.segment_mut(index);
            segment.state = SegmentState::Sealed;
            logs.appending -= 1;
            let segment = logs.segment_mut(index);
            let position = segment.position.take().expect("a segment being appended has a position");
            logs.region(region).positions[position as usize] = false;
            logs.await_append(region, index);
            self.retire_segment(index);
        }
        self.want_parity(region);
    }

    /// Frees a segment if nothing needs it any more.
    pub(crate) fn retire_segment(&mut self, index: u32) {
        let logs = self.logs.as_mut().expect("segments are in logs");
        if let Some(buffer) = logs.retire(index) {
            self.cx.buffers.release(buffer);
            self.logs.as_mut().expect("segments are in logs").freed = true;
        }
    }

    /// Wakes jobs that wait for a buffer, makes room for them, and starts reintegrations.
    pub(crate) fn pump_logs(&mut self) -> bool {
        let Some(logs) = &mut self.logs else { return false };
        if std::mem::take(&mut logs.freed) && !logs.pool_waiters.is_empty() {
            self.retry_pool_waiters();
            return true;
        }
        if !logs.pool_waiters.is_empty() && self.relieve_pool() || self.pump_commits() || self.pump_recovery()
        {
            return true;
        }
        // Parity is not written before all members know of the session, or of a member's exclusion.
        !self.durable.barrier() && self.start_reintegrations()
    }

    /// The pool is exhausted: the fullest open buffer is appended although it is not full. Returns
    /// whether there was one.
    fn relieve_pool(&mut self) -> bool {
        let logs = self.logs.as_mut().expect("a pool of log buffers");
        let busy = logs.appending > 0 || logs.running > 0 || !logs.queue.is_empty();
        if busy {
            return false;
        }
        // Segments that the watermark policy keeps back are appended first.
        if let Some(region) = self.kept_back() {
            self.append_ready(region);
            return true;
        }
        let logs = self.logs.as_mut().expect("a pool of log buffers");
        let idle = logs.open_segments().filter(|index| logs.segment(*index).unfilled == 0);
        let fullest = idle.max_by_key(|index| logs.segment(*index).used);
        let Some(index) = fullest else { return false };
        let region = logs.segment(index).region;
        logs.close(index);
        self.cx.counters.short_segments += 1;
        self.append_ready(region);
        true
    }

    /// Before the array stops, all records in memory go to the log, or to the parity. Called
    /// repeatedly, when no other work is under way. If the number of buffers does not fall over
    /// several calls, they can go nowhere, and the result is [`Closing::Stuck`].
    pub(crate) fn close_logs(&mut self) -> Closing {
        let Some(logs) = &mut self.logs else { return Closing::Done };
        let held = |index: &u32| logs.segment(*index).buffer.is_some();
        let holding = |log: &&RegionLog| log.segments.iter().any(held);
        let segments: usize =
            logs.regions.values().map(|log| log.segments.iter().filter(|index| held(index)).count()).sum();
        let regions: Vec<Region> =
            logs.regions.iter().filter(|(_, log)| holding(log)).map(|(region, _)| *region).collect();
        if regions.is_empty() {
            return Closing::Done;
        }
        if !logs.closing.goes_on(segments) {
            return Closing::Stuck;
        }
        for region in regions {
            let logs = self.logs.as_mut().expect("it was there");
            if let Some(open) = logs.region(region).open {
                logs.close(open);
            }
            self.append_ready(region);
        }
        Closing::UnderWay
    }
}

impl super::Logs {
    /// The first sealed segment whose reservations are all committed or given back.
    pub(super) fn next_ready(&self, region: Region) -> Option<u32> {
        let log = self.regions.get(&region)?;
        log.sealed.iter().copied().find(|index| self.segment(*index).unfilled == 0)
    }

    fn begin_append(&mut self, region: Region, index: u32, position: u32, turn: u64) {
        let segment = self.segment_mut(index);
        segment.state = SegmentState::Appending;
        self.appending += 1;
        let segment = self.segment_mut(index);
        (segment.position, segment.turn) = (Some(position), turn);
        self.leave_queue(region, index);
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::{Instant, Slot};

    use super::*;
    use crate::organization::{Consistency, Organization};
    use crate::{
        Assembly, BufferId, Candidate, Creation, Geometry, Identity, LogCreation, MemberInfo, NewArray,
        Opening, Operation, Outcome, Request, SUPERBLOCK, Superblock, Tag, Tuning, create,
    };

    const LENGTH: Sectors = Sectors::new(20_480);

    fn identity(number: u8) -> Identity {
        Identity([number; 16])
    }

    fn geometry() -> Geometry {
        Geometry::create(&Creation {
            organization: Organization::named("parity-logging").expect("it is in the table").organization,
            copies: 1,
            members: 5,
            groups: 1,
            unit: Sectors::new(16),
            block: Sectors::new(1),
            member_length: LENGTH,
            log: LogCreation { segment: Some(Sectors::new(32)), ..LogCreation::default() },
            consistency: Consistency::Bitmap,
        })
        .expect("a possible array")
    }

    /// A new, empty array whose members carry out every effect.
    fn opened() -> Array {
        let geometry = geometry();
        let members: Vec<(Identity, Sectors)> =
            (0..5).map(|number| (identity(number + 10), LENGTH)).collect();
        let new = NewArray {
            array: identity(1),
            session: identity(2),
            members: members.clone(),
            name: "test".into(),
            created: 0,
            zeroed: true,
        };
        let images = create(&geometry, &new);
        let at = |image: usize, area: (Sector, Sectors)| {
            let found = images[image].iter().find(|(at, _)| *at == area.0);
            found.map(|(_, block)| {
                let mut bytes = block.clone();
                bytes.resize(area.1.bytes().as_usize(), 0);
                bytes
            })
        };
        let banks = |area: &dyn Fn(usize) -> (Sector, Sectors)| -> Vec<[Option<Vec<u8>>; 2]> {
            (0..5).map(|member| [0, 1].map(|bank| at(member, area(bank)))).collect()
        };
        let candidate = |member: usize| {
            let copy = |slot| at(member, (slot, SUPERBLOCK)).expect("both copies are written");
            let [first, second] = Geometry::superblocks_at(LENGTH).map(copy);
            let superblock = Superblock::decode_copies(&first, &second);
            Candidate { name: format!("member {member}"), length: LENGTH, superblock }
        };
        let candidates: Vec<Candidate> = (0..5).map(candidate).collect();
        let info = |(identity, length): &(Identity, Sectors)| MemberInfo {
            identity: *identity,
            length: *length,
            unmaps: true,
        };
        let opening = Opening {
            assembly: Assembly::new(&candidates).expect("it is whole"),
            members: members.iter().map(info).map(Some).collect(),
            spares: Vec::new(),
            bitmaps: banks(&|bank| (geometry.bitmap_at(bank), geometry.bitmap_length())),
            tables: banks(&|bank| (geometry.table_at(bank), geometry.table_length())),
            bad_block_logs: Vec::new(),
            commits: Vec::new(),
            session: identity(3),
            read_only: false,
            force: false,
            tuning: Tuning::default(),
        };
        let mut array = Array::open(Instant::ZERO, opening).expect("it can be opened");
        run(&mut array);
        array
    }

    fn run(array: &mut Array) {
        while let Some(effect) = array.poll_effect() {
            array.complete(Instant::ZERO, effect.id, Outcome::Done);
        }
    }

    /// An array with one record of region 0 in memory.
    fn written() -> Array {
        let mut array = opened();
        let buffer: Option<BufferId> = array.reserve(Sectors::new(1));
        let operation = Operation::Write { durable: false };
        let request = Request { tag: Tag(1), operation, at: Sector::ZERO, length: Sectors::new(1), buffer };
        array.submit(Instant::ZERO, request);
        run(&mut array);
        assert_eq!(array.poll_completion().map(|completion| completion.result), Some(Ok(())));
        assert_eq!(array.logs.as_ref().expect("it logs").in_memory, 1);
        array
    }

    #[test]
    fn what_is_in_memory_goes_to_the_log_before_the_array_stops() {
        let mut array = written();
        array.stop(Instant::ZERO);
        run(&mut array);
        assert_eq!((array.mode(), array.durable.is_clean()), (crate::Mode::Stopped, true));
        assert_eq!(array.cx.counters.appends, 1);
    }

    /// Regression test. A region's log is full, and a holder of its parity never lets go: the
    /// region can be neither appended nor reintegrated. The stop used to ask for both without end.
    #[test]
    fn a_stop_ends_where_a_region_can_never_be_appended_and_is_not_called_clean() {
        let mut array = written();
        let log = array.logs.as_mut().expect("it logs").region(Region::new(0));
        log.positions.fill(true);
        log.holders = 1;
        array.stop(Instant::ZERO);
        run(&mut array);
        assert_eq!((array.mode(), array.durable.is_clean()), (crate::Mode::Stopped, false));
        assert_eq!(array.cx.roster.state(Slot::new(0)), crate::roster::SlotState::Active);
    }
}
