//! Appends full buffers to the log: one sequential access for many small parity updates.

pub(super) mod closing;

use parlour_units::{Region, Sector, Sectors};

use super::{Reservation, SegmentState};
use crate::context::Context;
use crate::durable::Durable;
use crate::effect::{Action, Class};
use crate::format::segment::Header;
use crate::ids::JobId;
use crate::job::Kind;
use crate::log::Logs;
use crate::mode::Mode;
use crate::plan::{Source, Span, Strategy};
use crate::tuning::LogFlush;

impl Logs {
    /// Reservations were committed or given back: their segments may be ready to be appended.
    pub(crate) fn after_reservations(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        reservations: &[Reservation],
    ) {
        for reservation in reservations {
            // Handling an earlier reservation may have retired the segment.
            let Some(segment) = self.alive(reservation.segment) else { continue };
            if segment.state == SegmentState::Sealed && segment.unfilled == 0 {
                let region = segment.region;
                self.append_ready(cx, durable, region);
            }
        }
    }

    /// Appends sealed and filled segments. If the log has no room for them, the region is
    /// reintegrated.
    pub(crate) fn append_ready(&mut self, cx: &mut Context, durable: &mut Durable, region: Region) {
        // While a region is being recovered, its records in memory may still have to be read.
        if self.is_recovering(region) {
            return;
        }
        if cx.geometry.is_journaled() && durable.bitmap().needs_resync(region) {
            let live = self.region_is_live(region);
            if live && self.misses_data(cx, region) {
                // Missing data is computed from the region's parity, which needs the records of the
                // log.
                return self.want_parity(cx, region);
            }
            // The region's parity is computed from its data. The records in its positions count
            // until it is durable that the region is to be resynced.
            if self.region(region).reintegrating.is_none() {
                self.drop_unapplied(cx, durable, region);
            }
            return;
        }
        // A segment of a session that no superblock names is taken for damaged after a crash: it
        // goes to the log later.
        if !durable.session_is_known(cx) {
            return;
        }
        // Where the log cannot be written, what is in memory goes to the parity.
        let stands =
            if cx.geometry.is_journaled() { self.log_stands(cx, region) } else { !cx.roster.is_degraded() };
        let degraded = !stands || cx.lacks_space;
        if self.next_ready(region).is_none() {
            return;
        }
        let waits = self.keeps_back(cx, region);
        loop {
            let Some(first) = self.next_ready(region) else { return };
            if self.segment(first).records.is_empty() {
                self.retire_segment(cx, first);
                continue;
            }
            if waits {
                return;
            }
            let position = if degraded { None } else { self.free_position(region) };
            let Some(position) = position else {
                self.want_parity(cx, region);
                return;
            };
            let segments = self.claim(cx, region, first, position);
            self.start_append(cx, region, segments);
        }
    }

    /// Whether full buffers of `region` stay in memory for now.
    fn keeps_back(&self, cx: &Context, region: Region) -> bool {
        let LogFlush::Watermark(mark) = cx.tuning.log_flush(&cx.geometry) else { return false };
        self.in_memory < mark.min(self.pool_limit()).min(self.most_kept)
            && self.pool_waiters.is_empty()
            && cx.mode == Mode::Serving
            && !self.commits.unwanted().is_some_and(|last| self.is_due(region, last))
    }

    /// All members know of this session now: records that were recovered meanwhile go to the log.
    pub(crate) fn append_what_waited(&mut self, cx: &mut Context, durable: &mut Durable) {
        let regions: Vec<Region> = self.regions.regions().collect();
        for region in regions {
            if self.next_ready(region).is_some() {
                self.append_ready(cx, durable, region);
            }
        }
    }

    /// Takes `first` and, if segments are kept back, the ready ones whose positions directly follow
    /// it on the same sublog.
    fn claim(&mut self, cx: &mut Context, region: Region, first: u32, position: u32) -> Vec<u32> {
        let several = matches!(cx.tuning.log_flush(&cx.geometry), LogFlush::Watermark(_));
        let mut claimed = vec![first];
        self.begin_append(cx, region, first, position);
        let mut next_position = cx.geometry.next_log_segment(position);
        loop {
            let free = self.region(region).positions.get(next_position as usize) == Some(&false);
            let Some(next) = self.next_ready(region).filter(|_| free && several) else { return claimed };
            self.region(region).positions[next_position as usize] = true;
            self.begin_append(cx, region, next, next_position);
            claimed.push(next);
            next_position = cx.geometry.next_log_segment(next_position);
        }
    }

    fn start_append(&mut self, cx: &mut Context, region: Region, segments: Vec<u32>) {
        for index in &segments {
            self.stamp += 1;
            self.segment_mut(*index).stamp = self.stamp;
        }
        self.region(region).forget_count();
        let position = self.segment(segments[0]).position.expect("a segment being appended has a position");
        let id = cx.jobs.start(Kind::Append { region, segments: segments.clone() }, Class::Log);
        let job = cx.jobs.get_mut(id);
        job.plan.strategy = Strategy::Metadata;
        for segment in &segments {
            let segment = self.segment(*segment);
            let (position, stamp, records) = (segment.position, segment.stamp, segment.records.clone());
            let block = Header { region, position, stamp, records };
            job.metadata.extend(block.encode(cx.identity, self.header));
        }
        // What the commit log forgets from here on must not be lost.
        let durable = cx.geometry.is_journaled();
        let copies = self.segment(segments[0]).copies;
        for copy in (0..cx.geometry.log_copies()).filter(|copy| copies.has(*copy)) {
            let location = cx.geometry.log_segment_at(region, position, copy).expect("a logged layout");
            let at = cx.geometry.absolute(location.at);
            for (at, spans) in self.append_accesses(cx, &segments, at) {
                let length = spans.iter().fold(Sectors::ZERO, |sum, span| sum + span.length);
                let write = Action::Write { member: location.slot.into(), at, length, durable };
                cx.jobs.get_mut(id).plan.push(write, &spans);
            }
        }
        cx.counters.appends += 1;
        cx.run_own(id);
    }

    /// Where `segments` are written, and from which buffers. The first goes to `at`. The unused
    /// part of a segment is left out, unless it is shorter than the setting `segment_gap`: to write
    /// a short gap costs less than a second access.
    fn append_accesses(&self, cx: &Context, segments: &[u32], at: Sector) -> Vec<(Sector, Vec<Span>)> {
        let (header, payload) = (self.header, self.payload());
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
            let start = at + self.segment_length * number;
            let segment = self.segment(*index);
            let used = segment.used.round_up(cx.geometry.block()).min(payload);
            let written = if payload - used >= cx.tuning.segment_gap { used } else { payload };
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

    /// The segments are in the log. If all of their members were failed meanwhile, the log lost
    /// them with the members, and they are treated as not written.
    pub(crate) fn append_done(
        &mut self,
        cx: &mut Context,
        durable: &mut Durable,
        id: JobId,
        (region, segments): (Region, Vec<u32>),
    ) {
        if segments.iter().any(|index| !self.segment_stands(cx, region, *index)) {
            return self.append_broken(cx, id, (region, segments));
        }
        cx.jobs.end(id);
        for index in segments {
            let segment = self.segment_mut(index);
            segment.state = SegmentState::Stored;
            self.appending -= 1;
            self.segment_stored(index);
            let segment = self.segment_mut(index);
            let buffer = segment.buffer.take().expect("what is appended is in memory");
            self.in_memory -= 1;
            self.freed = true;
            cx.buffers.release(buffer);
            self.retire_segment(cx, index);
        }
        self.append_ready(cx, durable, region);
        self.check_log_members(cx, durable, region);
    }

    /// The segments could not be written. They are still in memory, and are folded into the parity
    /// from there.
    pub(crate) fn append_broken(
        &mut self,
        cx: &mut Context,
        id: JobId,
        (region, segments): (Region, Vec<u32>),
    ) {
        cx.jobs.end(id);
        for index in segments {
            let segment = self.segment_mut(index);
            segment.state = SegmentState::Sealed;
            self.appending -= 1;
            let segment = self.segment_mut(index);
            let position = segment.position.take().expect("a segment being appended has a position");
            self.region(region).positions[position as usize] = false;
            self.await_append(region, index);
            self.retire_segment(cx, index);
        }
        self.want_parity(cx, region);
    }
}

impl super::Logs {
    /// The segment goes to all copies of the log whose members are there. Those that are being
    /// rebuilt are among them: what is appended from here on need not be copied for them.
    fn begin_append(&mut self, cx: &Context, region: Region, index: u32, position: u32) {
        let turn = cx.roster.turn();
        let is_there = |copy: &u16| {
            let location = cx.geometry.log_segment_at(region, position, *copy).expect("a logged layout");
            cx.roster.member_since(location.slot, turn).is_some()
        };
        let copies = (0..cx.geometry.log_copies()).filter(is_there).collect();
        self.appending += 1;
        let segment = self.segment_mut(index);
        segment.state = SegmentState::Appending;
        (segment.position, segment.copies, segment.turn) = (Some(position), copies, turn);
        self.leave_queue(region, index);
    }
}
