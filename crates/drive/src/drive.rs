//! A drive that serves one access after another.
//!
//! There are no events inside a drive. What it continues to do after an access (read-ahead, writing
//! of cached data) is computed when the next access arrives. So an access costs no simulation
//! events, however many sectors pass.

use std::ops::Range;

use parlour_units::{Duration, Instant};

use crate::electronics::{Electronics, ReadAhead, SecondWrite};
use crate::mechanics::{Arm, Mechanics, Parts, Pass, Way};
use crate::near::Near;
use crate::stream::Stream;
use crate::surface::Place;

/// A drive.
#[derive(Clone, Debug)]
pub struct Drive {
    mechanics: Mechanics,
    electronics: Electronics,
    arm: Arm,
    /// When the last written data is on the platters.
    written: Instant,
    /// The read-ahead in progress, and its segment.
    reading: Option<(Stream, usize)>,
    segments: Vec<Segment>,
    /// The range of the last written blocks.
    last_write: (u64, u64),
    /// The current run of blocks that are written to the platters without a pause: its first block,
    /// and when it began. It ends with the last write.
    run: (u64, Instant),
    last: Way,
    served: u64,
    /// Blocks that are written where the heads are.
    near: Option<Box<Near>>,
}

/// See [`Drive::departure`].
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// Where the arm leaves.
    arm: Arm,
    /// Not before this: until then it reads ahead, or writes what is in the buffer.
    free: Instant,
    now: Instant,
    /// The segment that is being filled, as it is now.
    filled: Option<(usize, Segment)>,
}

/// The beginning of a write.
#[derive(Debug)]
struct WriteBegins {
    /// The arm may move.
    mechanics: Instant,
    /// Its data begins to arrive.
    data: Instant,
    /// Where the drive leaves the bus before that.
    second: Option<SecondWrite>,
}

/// Blocks in the buffer.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    first: u64,
    end: u64,
    used: u64,
}

/// The part of an access that was in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// All of it.
    Whole,
    /// Its beginning.
    Partial,
    /// Nothing.
    Miss,
}

/// A completed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// When completion is reported to the host.
    pub done: Instant,
    /// The times of the mechanical parts.
    pub parts: Parts,
    /// The part that was in the buffer.
    pub hit: Hit,
}

impl Drive {
    /// A drive at rest over its first cylinder, with an empty buffer.
    pub fn new(mechanics: Mechanics, electronics: Electronics) -> Drive {
        let segments = electronics.buffer.read_segments + usize::from(electronics.buffer.write_segment);
        let segments = vec![Segment::default(); segments];
        Drive {
            mechanics,
            electronics,
            arm: Arm::default(),
            written: Instant::ZERO,
            reading: None,
            segments,
            last_write: (0, 0),
            run: (0, Instant::ZERO),
            last: Way::Read,
            served: 0,
            near: None,
        }
    }

    /// From now on these rings of blocks have no fixed place: each write goes to free sectors near
    /// the heads, of a track that is kept for this in every cylinder, beside the tracks of blocks.
    /// A ring is written in order; what a write passes over is out of date.
    pub fn write_near(&mut self, rings: impl IntoIterator<Item = Range<u64>>) {
        self.near = Some(Box::new(Near::new(rings)));
    }

    /// The cylinder to which the arm moves for a block.
    pub fn cylinder(&self, block: u64) -> u32 {
        match self.near_of(block) {
            Some(_) => self.arm().cylinder,
            None => self.mechanics.surface.place(block).cylinder,
        }
    }

    fn near_of(&self, block: u64) -> Option<&Near> {
        self.near.as_deref().filter(|near| near.has(block))
    }

    /// The mechanical parts.
    pub fn mechanics(&self) -> &Mechanics {
        &self.mechanics
    }

    /// The position of the arm, or its position when its current work is done.
    pub fn arm(&self) -> Arm {
        self.reading.as_ref().map_or(self.arm, |(stream, _)| stream.arm())
    }

    /// What the drive knows of where its arm is, to compare accesses that could be begun `now`.
    pub fn departure(&self, now: Instant) -> Departure {
        let Some((stream, index)) = &self.reading else {
            return Departure { arm: self.arm, free: now.max(self.written), now, filled: None };
        };
        let (mut stream, mut segment) = (stream.clone(), self.segments[*index]);
        segment.fill(stream.reach(&self.mechanics, now), self.electronics.buffer.segment_blocks);
        let within = self.electronics.buffer.stops_within_sector;
        let (arm, free) = stream.stop(&self.mechanics, now, within);
        Departure { arm, free: free.max(self.written), now, filled: Some((*index, segment)) }
    }

    /// The time until an access begins on the platters: until its first block is under the heads,
    /// and what is to be written there has arrived. A read that begins in the buffer needs none.
    pub fn positioning(&self, departure: Departure, way: Way, (block, blocks): (u64, u64)) -> Duration {
        let Departure { mut arm, free, now, filled } = departure;
        if way == Way::Read {
            if self.written <= now && self.buffered(block, filled).is_some() {
                return Duration::ZERO;
            }
            let command = now + self.electronics.overheads.read_miss.after(self.last);
            let pass = self.mechanics.pass(&mut arm, free.max(command), way, block, blocks);
            return pass.begins.since(now);
        }
        let WriteBegins { mechanics, data, .. } = self.write_begins(now, block);
        let arrives = data + self.electronics.bus.1 * self.first_needs(blocks);
        let times = (free.max(mechanics), arrives);
        let near = self.near_of(block);
        if let Some(begins) = near.and_then(|near| near.positioning(&self.mechanics, arm, times, blocks)) {
            return begins.since(now);
        }
        let pass = self.first_write_pass(&mut arm, free.max(mechanics), block, blocks);
        let mut begins = pass.begins;
        while begins < arrives {
            begins = begins + self.mechanics.spindle.revolution;
        }
        begins.since(now)
    }

    /// When all written data is on the platters.
    pub fn flush(&self, now: Instant) -> Instant {
        now.max(self.written)
    }

    /// Serves an access that arrives at `now`, when all earlier accesses are complete.
    pub fn serve(&mut self, now: Instant, way: Way, block: u64, blocks: u64) -> Served {
        self.served += 1;
        if let Some((stream, segment)) = &mut self.reading {
            let reached = stream.reach(&self.mechanics, now);
            self.segments[*segment].fill(reached, self.electronics.buffer.segment_blocks);
        }
        let served = match way {
            Way::Read if self.near_of(block).is_some_and(|near| near.holds(block)) => {
                self.read_near(now, block, blocks)
            }
            Way::Read => self.read(now, block, blocks),
            Way::Write => self.write(now, block, blocks),
        };
        self.last = way;
        served
    }

    /// Serves an access that arrives at `now`, reads blocks, and rewrites them one revolution
    /// later: the arm moves once (Stodolsky et al., section 3).
    pub fn modify(&mut self, now: Instant, block: u64, blocks: u64) -> Served {
        self.served += 1;
        let (mut arm, free) = self.stop(now);
        let overheads = self.electronics.overheads.clone();
        let begin = free.max(now + overheads.read_miss.after(self.last));
        let mut parts = self.mechanics.access(&mut arm, begin, Way::Read, (block, blocks));
        let read = begin + parts.total();
        let (to_host, to_drive) = self.electronics.bus;
        // The old content goes to the host, and the new content comes back.
        let data = read + overheads.reselect + overheads.data_preparation * 2 + to_host * blocks;
        let end = block + blocks;
        let (rest, written) = self.onto_platters((arm, read), block, end, data);
        parts += rest;
        self.note_written(block, end, written);
        self.last = Way::Write;
        let done = match self.electronics.buffer.caches_writes {
            true => data + to_drive * blocks,
            false => written + overheads.reselect,
        };
        Served { done: done + overheads.write_completion, parts, hit: Hit::Miss }
    }

    /// Reads blocks, and then writes as many to that of `places` which passes first. Returns the
    /// place.
    ///
    /// # Panics
    /// If `places` is empty.
    pub fn float(
        &mut self,
        now: Instant,
        block: u64,
        blocks: u64,
        places: impl Iterator<Item = u64>,
    ) -> (Served, u64) {
        let Served { done: then, parts, .. } = self.serve(now, Way::Read, block, blocks);
        let (written, place) = self.write_nearest(then, blocks, places);
        (Served { parts: parts + written.parts, ..written }, place)
    }

    /// Writes blocks to that of `places` which passes first. Returns the place.
    ///
    /// # Panics
    /// If `places` is empty.
    pub fn write_nearest(
        &mut self,
        now: Instant,
        blocks: u64,
        places: impl Iterator<Item = u64>,
    ) -> (Served, u64) {
        let departure = self.departure(now);
        let nearest = places.min_by_key(|place| self.positioning(departure, Way::Write, (*place, blocks)));
        let place = nearest.expect("there is a place to write to");
        (self.serve(now, Way::Write, place, blocks), place)
    }

    fn read(&mut self, now: Instant, block: u64, blocks: u64) -> Served {
        let end = block + blocks;
        match self.buffered(block, None) {
            Some(segment) if self.written <= now => self.read_hit(now, block, end, segment),
            _ => self.read_miss(now, block, end),
        }
    }

    /// The segment in which a read of `block` begins. `filled` is one that has more by now.
    fn buffered(&self, block: u64, filled: Option<(usize, Segment)>) -> Option<usize> {
        let segment = |index: usize| match filled {
            Some((filled, segment)) if filled == index => segment,
            _ => self.segments[index],
        };
        let holds = |index: &usize| (segment(*index).first..segment(*index).end).contains(&block);
        // The next blocks of the read-ahead count as present: with a fast bus, the host has the
        // blocks before them as soon as these have passed.
        let comes = |(stream, index): &(Stream, usize)| {
            (segment(*index).end == block && stream.goes_on(block)).then_some(*index)
        };
        (0..self.segments.len()).find(holds).or_else(|| self.reading.as_ref().and_then(comes))
    }

    /// A read of blocks that were written near the heads.
    fn read_near(&mut self, now: Instant, block: u64, blocks: u64) -> Served {
        let (mut arm, free) = self.stop(now);
        let overheads = &self.electronics.overheads;
        let begin = free.max(now + overheads.read_miss.after(self.last));
        let near = self.near.as_deref().expect("the block is in its area");
        let (parts, read) = near.read(&self.mechanics, &mut arm, begin, block..block + blocks);
        let sent = read + overheads.reselect + overheads.data_preparation + self.electronics.bus.0 * blocks;
        let done = sent + overheads.read_completion;
        self.arm = arm;
        Served { done, parts, hit: Hit::Miss }
    }

    /// A read whose beginning is in the buffer, while nothing is being written to the platters.
    fn read_hit(&mut self, now: Instant, block: u64, end: u64, segment: usize) -> Served {
        let overheads = &self.electronics.overheads;
        let begin = now + overheads.read_hit.after(self.last) + overheads.data_preparation;
        let mechanics_begin = now + overheads.read_miss.after(self.last);
        let there = self.segments[segment].end;
        let hit = if there >= end { Hit::Whole } else { Hit::Partial };
        let limit = self.limit(end, segment).max(end);
        let mut stream = match self.reading.take_if(|(_, active)| *active == segment) {
            Some((mut stream, _)) => {
                stream.extend(mechanics_begin, limit);
                Some(stream)
            }
            None if limit > there && (hit == Hit::Partial || self.electronics.buffer.reads_on_after_hit) => {
                let (arm, free) = self.stop(now);
                Some(Stream::new(arm, free.max(mechanics_begin), there, limit))
            }
            None => None,
        };
        self.segments[segment].used = self.served;
        let coming = stream.as_mut().filter(|_| there < end);
        let (done, parts) = self.deliver(coming, begin, there.max(block), block, end);
        if let Some(stream) = stream {
            self.reading = Some((stream, segment));
        }
        Served { done, parts, hit }
    }

    fn read_miss(&mut self, now: Instant, block: u64, end: u64) -> Served {
        let (arm, free) = self.stop(now);
        let overheads = &self.electronics.overheads;
        let command = now + overheads.read_miss.after(self.last);
        let left = command + overheads.read_disconnect.after(self.last);
        let preparation = overheads.reselect + overheads.data_preparation;
        let segment = self.oldest();
        if let Some(segment) = segment {
            self.segments[segment] = Segment { first: block, end: block, used: self.served };
        }
        let limit = segment.map_or(end, |segment| self.limit(end, segment).max(end));
        let mut stream = Stream::new(arm, free.max(command), block, limit);
        let size = self.electronics.buffer.segment_blocks.max(1).min(end - block);
        let part = (size as f64 * self.electronics.buffer.read_watermark) as u64;
        let mut parts = Parts::default();
        let watermark = stream.ready(&self.mechanics, block + part.max(1) - 1, &mut parts);
        let begin = watermark.max(left) + preparation;
        let (done, rest) = self.deliver(Some(&mut stream), begin, block, block, end);
        if let (Some(segment), Some(arrived)) = (segment, stream.arrived())
            && self.electronics.buffer.keeps_passing
        {
            self.segments[segment].first = self.mechanics.passes_before(arrived, block);
        }
        match segment {
            Some(segment) => self.reading = Some((stream, segment)),
            None => self.arm = stream.arm(),
        }
        Served { done, parts: parts + rest, hit: Hit::Miss }
    }

    /// Sends the blocks from `block` to `end` to the host, beginning at `begin`; the blocks from
    /// `coming` on as the stream delivers them. Returns when the host has all of them, and the
    /// times of the mechanical parts.
    fn deliver(
        &self,
        stream: Option<&mut Stream>,
        begin: Instant,
        coming: u64,
        block: u64,
        end: u64,
    ) -> (Instant, Parts) {
        let per_block = self.electronics.bus.0;
        let mut parts = Parts::default();
        let mut done = begin + per_block * (end - block);
        if let Some(stream) = stream {
            stream.ready(&self.mechanics, end - 1, &mut parts);
            for (at, ready) in stream.stretches(coming, end).flatten() {
                done = done.max(ready + per_block * (end - at));
            }
        }
        (done + self.electronics.overheads.read_completion, parts)
    }

    /// Where read-ahead ends after a request that ends at `end`.
    fn limit(&self, end: u64, segment: usize) -> u64 {
        let surface = &self.mechanics.surface;
        let track_end = |block: u64| {
            let (_, blocks, _) = surface.run(block, u64::MAX);
            block + blocks
        };
        let last = surface.blocks();
        let limit = match self.electronics.buffer.read_ahead {
            ReadAhead::Nothing => end,
            ReadAhead::Blocks(most) => end + most,
            ReadAhead::Track(most) => track_end(end - 1).min(end + most),
            ReadAhead::Cylinder(most) => {
                let cylinder = surface.place(end - 1).cylinder;
                let mut at = track_end(end - 1);
                while at < last && at < end + most && surface.place(at).cylinder == cylinder {
                    at = track_end(at);
                }
                at.min(end + most)
            }
            ReadAhead::TrackAndNext if end < last => {
                let (Place { track, .. }, blocks, _) = surface.run(end, u64::MAX);
                let of_track = end + blocks;
                let before = self.segments[segment].first + u64::from(track) < of_track;
                if before && of_track < last { track_end(of_track) } else { of_track }
            }
            ReadAhead::TrackAndNext => end,
        };
        limit.min(last)
    }

    /// Stops the read-ahead. Returns the position of the arm, and when it may move.
    fn stop(&mut self, now: Instant) -> (Arm, Instant) {
        match self.reading.take() {
            None => (self.arm, now.max(self.written)),
            Some((mut stream, _)) => {
                let within = self.electronics.buffer.stops_within_sector;
                let (arm, free) = stream.stop(&self.mechanics, now, within);
                (arm, free.max(self.written))
            }
        }
    }

    /// The segment that the next read replaces.
    fn oldest(&self) -> Option<usize> {
        (0..self.electronics.buffer.read_segments).min_by_key(|index| self.segments[*index].used)
    }

    /// Whether a write at `block` goes on where the last access, a write, ended.
    fn appends(&self, block: u64) -> bool {
        self.last_write.1 == block && self.last == Way::Write
    }

    /// When a write at `block` that arrives at `now` lets the arm move, and its data begins to
    /// arrive.
    fn write_begins(&self, now: Instant, block: u64) -> WriteBegins {
        let appends = self.appends(block);
        let cached = self.electronics.buffer.caches_writes;
        let waits = self.written > now && !(cached && appends);
        let overheads = &self.electronics.overheads;
        let second = overheads.second_write;
        let second = second.filter(|_| self.last == Way::Write && !appends && !waits);
        let command = overheads.write.after(self.last);
        let (mechanics, data) = match &second {
            Some(second) => {
                let connected = second.command + second.first_disconnect + second.gap + overheads.reselect;
                (now + second.command + second.seek_delay, now + connected + overheads.data_preparation)
            }
            None if waits => {
                let left = now + command + overheads.write_disconnect;
                let data = left.max(self.written) + overheads.reselect + overheads.data_preparation;
                (self.written.max(now + command), data)
            }
            None => (now + command, now + command + overheads.data_preparation),
        };
        WriteBegins { mechanics, data, second }
    }

    /// The first pass of a write. A seek takes its least time: the platters rotate meanwhile.
    fn first_write_pass(&self, arm: &mut Arm, begin: Instant, block: u64, blocks: u64) -> Pass {
        let (from, least) = (*arm, self.electronics.overheads.least_write_seek);
        let pass = self.mechanics.pass(arm, begin, Way::Write, block, blocks);
        if pass.parts.seek >= least {
            return pass;
        }
        let late = least - pass.parts.seek;
        *arm = from;
        let mut pass = self.mechanics.pass(arm, begin + late, Way::Write, block, blocks);
        pass.parts.seek = least;
        pass
    }

    /// The blocks that must be in the buffer before the first of a write is written.
    fn first_needs(&self, blocks: u64) -> u64 {
        self.electronics.buffer.write_buffered.of(blocks).max(1)
    }

    fn write(&mut self, now: Instant, block: u64, blocks: u64) -> Served {
        let end = block + blocks;
        let appends = self.appends(block);
        let cached = self.electronics.buffer.caches_writes;
        let overheads = self.electronics.overheads.clone();
        let WriteBegins { mechanics: mechanics_begin, data, second } = self.write_begins(now, block);
        let (arm, free) = self.stop(now);
        let per_block = self.electronics.bus.1;
        let goes_on = appends && self.written > now;
        let begin = free.max(mechanics_begin);
        let near = self.near_heads((arm, begin), data, block..end);
        let (parts, written) = near.unwrap_or_else(|| self.onto_platters((arm, begin), block, end, data));
        if !goes_on {
            self.run = (block, mechanics_begin + written.since(mechanics_begin + parts.transfer));
        }
        let sent = data + per_block * blocks;
        self.note_written(block, end, written);
        let left = sent + second.map_or(overheads.write_disconnect, |second| second.second_disconnect);
        let reselect = second.map_or(overheads.reselect, |second| second.reselect);
        let done = match cached {
            true => sent.max(self.has_room(end, written)),
            false => written.max(left) + reselect,
        };
        Served { done: done + overheads.write_completion, parts, hit: Hit::Miss }
    }

    /// When the buffer has room for all blocks up to `end`, which are on the platters at `written`:
    /// when the block that is one segment before `end` is on the platters.
    fn has_room(&self, end: u64, written: Instant) -> Instant {
        let (first, begun) = self.run;
        let leaves = end.saturating_sub(self.electronics.buffer.segment_blocks);
        if leaves <= first {
            return Instant::ZERO;
        }
        let part = (leaves - first) as f64 / (end - first) as f64;
        begun + Duration::from_nanoseconds((written.since(begun).nanoseconds() as f64 * part) as u64)
    }

    /// Writes blocks one after another. Their data arrives from `data` on; a block whose data
    /// arrives after its sector has passed waits for the next revolution. Returns when the last
    /// block is written.
    fn onto_platters(
        &mut self,
        (mut arm, begin): (Arm, Instant),
        block: u64,
        end: u64,
        data: Instant,
    ) -> (Parts, Instant) {
        let (mut at, mut now, mut parts) = (block, begin, Parts::default());
        let per_block = self.electronics.bus.1;
        let first_ready = data + per_block * self.electronics.buffer.write_buffered.of(end - block);
        while at < end {
            let pass = match at == block {
                true => self.first_write_pass(&mut arm, now, at, end - at),
                false => self.mechanics.pass(&mut arm, now, Way::Write, at, end - at),
            };
            let there = |wanted: u64| (data + per_block * (wanted + 1 - block)).max(first_ready);
            let sector = Duration::from_nanoseconds(pass.ends.since(pass.begins).nanoseconds() / pass.blocks);
            let passes = |index: u64| pass.begins + sector * index;
            let late = (0..pass.blocks).find(|index| there(at + index) > passes(*index));
            match late {
                None => {
                    parts += pass.parts;
                    (at, now) = (at + pass.blocks, pass.ends);
                }
                Some(index) => {
                    let written = passes(index);
                    parts.seek = parts.seek + pass.parts.seek;
                    parts.rotation = parts.rotation + pass.parts.rotation;
                    parts.transfer = parts.transfer + sector * index;
                    let resumed = there(at + index).max(written);
                    parts.rotation = parts.rotation + resumed.since(written);
                    (at, now) = (at + index, resumed);
                }
            }
        }
        self.arm = arm;
        (parts, now)
    }

    /// Writes blocks near the heads, if they have no fixed place and there is room. Returns when
    /// the last one is written.
    fn near_heads(
        &mut self,
        (mut arm, begin): (Arm, Instant),
        data: Instant,
        blocks: Range<u64>,
    ) -> Option<(Parts, Instant)> {
        let arrives = data + self.electronics.bus.1 * self.first_needs(blocks.end - blocks.start);
        let near = self.near.as_mut().filter(|near| near.has(blocks.start))?;
        let written = near.write(&self.mechanics, &mut arm, (begin, arrives), blocks)?;
        self.arm = arm;
        Some(written)
    }

    /// Removes blocks that were overwritten from the buffer. Their new content may be kept instead.
    fn note_written(&mut self, block: u64, end: u64, written: Instant) {
        self.written = written;
        self.last_write = (block, end);
        let keeps = self.electronics.buffer.keeps_writes;
        for segment in self.segments.iter_mut().filter(|segment| segment.first < end && block < segment.end) {
            segment.end = segment.end.min(block.max(segment.first));
        }
        let own = self.electronics.buffer.write_segment.then(|| self.segments.len() - 1);
        if keeps && let Some(segment) = own.or_else(|| self.oldest()) {
            let first = block.max(end.saturating_sub(self.electronics.buffer.segment_blocks));
            self.segments[segment] = Segment { first, end, used: self.served };
        }
    }
}

impl Segment {
    /// Extends the segment to `reached`. The oldest blocks are removed first.
    fn fill(&mut self, reached: u64, size: u64) {
        self.end = self.end.max(reached);
        self.first = self.first.max(self.end.saturating_sub(size));
    }
}

impl crate::electronics::WriteBuffered {
    /// The blocks that a write of `blocks` needs in the buffer.
    fn of(&self, blocks: u64) -> u64 {
        let wanted = if self.long > 0 && blocks >= self.long { self.long_blocks } else { self.blocks };
        wanted.min(blocks)
    }
}
