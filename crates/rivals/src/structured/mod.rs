//! A log-structured array: what LFS (Rosenblum and Ousterhout 1992) does, below hosts that see
//! blocks, over RAID 5.
//!
//! Whatever is written goes to the segment that is being filled, with a summary of what it holds;
//! full segments are full stripes, whose parity needs no reading. A map in memory says where each
//! unit is. When few segments are free, some are cleaned: they are read, and what is live in them
//! is written to other segments. Which are best follows their age and what is live (cost and
//! benefit).
//!
//! Its memory for written data survives failures of power and of the controller, and a write is
//! answered when it is there; or it does not ([`Settings::volatile`]), and a write is answered when
//! it is on the members: then what waits goes out as few rows of a segment, as soon as the rows
//! before are written.
//!
//! The map's own checkpoints are not simulated: after a crash it would be found from summaries.

mod filling;
mod ledger;
mod settings;
mod shape;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use parlour_units::{Member, Sector, Sectors};

use crate::desk::Desk;
use crate::instant::settle;
use crate::refused::Refused;
use crate::seam::{Access, AccessId, Act, Measured, Request, Rival, Tag, Way};
use crate::slab::Slab;
use crate::stripes::checked_unit;
use filling::{Entry, Filling, Origin, Stream, Writing, room, summary};
use ledger::Ledger;
pub use settings::Settings;
use shape::Shape;

/// Segments that are read at once to be cleaned.
const BATCH: usize = 8;
/// Free segments that hosts leave for cleaning: what two batches may fill, and what is begun.
const RESERVE: usize = 2 * BATCH + 2;
/// Cleaning begins below so many free segments, and ends a batch above.
const FEW: usize = RESERVE + 2 * BATCH;
/// How often each unit is written when the array is aged.
const AGES: u64 = 4;

/// A log-structured array.
#[derive(Debug)]
pub struct LogStructured {
    shape: Shape,
    units: u32,
    volatile: bool,
    /// Units that a full segment holds beside its summary.
    room: u32,
    /// Hosts' units for which there is memory.
    most: usize,
    desk: Desk<Note>,
    jobs: Slab<Job>,
    ledger: Ledger,
    /// By unit: the version that is in memory and not on the members yet.
    memory: BTreeMap<u32, u64>,
    /// The writes so far.
    version: u64,
    /// Writes that wait for memory or for a free segment, with their units that are left.
    waiting: VecDeque<(u32, Range<u32>)>,
    hosts: Stream,
    cleaner: Stream,
    writings: Slab<Writing>,
    /// Segments that are read to be cleaned, and accesses that are not completed.
    cleaning: Option<(Vec<u32>, usize)>,
    is_short: bool,
    counts: Counts,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Hosts,
    Cleaner,
}

/// A request.
#[derive(Clone, Copy, Debug)]
struct Job {
    tag: Tag,
    /// What it waits for: accesses, or units that are not in memory or on the members.
    left: usize,
}

/// What an access is for.
#[derive(Clone, Copy, Debug)]
enum Note {
    /// A read of a request, in this segment.
    Read { job: u32, segment: u32 },
    /// Rows that are written.
    Rows { writing: u32, who: Who },
    /// A segment that is read to be cleaned.
    Clean,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    written: u64,
    cleaned: u64,
    live: u64,
    copied: u64,
}

impl LogStructured {
    /// An array in which nothing was written.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub fn new(settings: &Settings) -> Result<LogStructured, Refused> {
        let Settings { members, length, unit, segment, utilization, memory, volatile } = *settings;
        if members < 3 {
            let organization = "a log-structured array over RAID 5";
            return Err(Refused::Members { members, organization, takes: "3 or more" });
        }
        let unit = checked_unit(unit, segment)?;
        let rows = (segment / unit) as u32;
        let places = length / (unit * rows.into()) * u64::from(rows) * u64::from(members);
        if places >= ledger::NONE.into() {
            return Err(Refused::Units(places));
        }
        let segments = (length / (unit * rows.into())) as u32;
        let shape = Shape { members, unit, rows, segments };
        let room = room(shape.slots(), unit.bytes().get());
        if room == 0 {
            return Err(Refused::Segment(segment));
        }
        let most = memory / unit;
        if most < room.into() {
            return Err(Refused::Memory { memory, needs: unit * room.into() });
        }
        let all = u64::from(room) * u64::from(segments);
        let units = (all as f64 * utilization.clamp(0.0, 1.0)) as u32;
        let (free, needs) = ((all - u64::from(units)) / u64::from(room), (FEW + 3 * BATCH) as u64);
        if free < needs || units == 0 {
            return Err(Refused::Utilization { utilization, free, needs });
        }
        Ok(LogStructured {
            shape,
            units,
            volatile,
            room,
            most: most as usize,
            desk: Desk::new(members),
            jobs: Slab::default(),
            ledger: Ledger::new(shape, units),
            memory: BTreeMap::new(),
            version: 0,
            waiting: VecDeque::new(),
            hosts: Stream::default(),
            cleaner: Stream::default(),
            writings: Slab::default(),
            cleaning: None,
            is_short: false,
            counts: Counts::default(),
        })
    }

    fn stream(&mut self, who: Who) -> &mut Stream {
        match who {
            Who::Hosts => &mut self.hosts,
            Who::Cleaner => &mut self.cleaner,
        }
    }

    /// A read: units in memory need no access, nor do units that were never written.
    fn read(&mut self, tag: Tag, units: Range<u32>) {
        let on_members = units.filter(|unit| !self.memory.contains_key(unit));
        let places = on_members.filter_map(|unit| self.ledger.place(unit));
        let mut parts: Vec<(Member, Sector, u32)> = places
            .map(|place| {
                let (member, at) = self.shape.at(place);
                (member, at, self.shape.segment(place))
            })
            .collect();
        parts.sort_unstable();
        let runs: Vec<_> = parts.chunk_by(|one, next| self.follows(*one, *next)).collect();
        if runs.is_empty() {
            return self.desk.answer(tag);
        }
        let job = self.jobs.insert(Job { tag, left: runs.len() });
        for run in runs {
            let (member, at, segment) = run[0];
            self.ledger.reads(segment);
            let act = Act::Read { at, length: self.shape.unit * run.len() as u64 };
            self.desk.ask(job * 3, member, act, Note::Read { job, segment });
        }
    }

    /// Whether a unit is behind another on a member, in the same segment.
    fn follows(&self, one: (Member, Sector, u32), next: (Member, Sector, u32)) -> bool {
        one.0 == next.0 && one.1 + self.shape.unit == next.1 && one.2 == next.2
    }

    /// Takes writes into memory, in order, as far as there is room.
    fn take_writes(&mut self) {
        while let Some((job, units)) = self.waiting.front_mut() {
            if self.hosts.held() >= self.most {
                return;
            }
            let (job, unit) = (*job, units.start);
            units.start += 1;
            if units.start == units.end {
                self.waiting.pop_front();
            }
            self.version += 1;
            self.counts.written += 1;
            self.memory.insert(unit, self.version);
            let origin = if self.volatile { Origin::Request(job) } else { Origin::Memory };
            self.hosts.entries.push_back(Entry { unit, version: self.version, origin });
            if !self.volatile {
                self.part_done(job);
            }
            self.fill(Who::Hosts);
        }
    }

    /// A part of a request is done.
    fn part_done(&mut self, number: u32) {
        let job = self.jobs.get_mut(number);
        job.left -= 1;
        if job.left == 0 {
            let job = self.jobs.remove(number);
            self.desk.answer(job.tag);
        }
    }

    /// Writes what there is to write: whole segments, or what waits if hosts wait for it.
    fn fill(&mut self, who: Who) {
        let at_once = who == Who::Hosts && self.volatile;
        loop {
            let room = self.room as usize;
            let stream = self.stream(who);
            let is_due = match at_once {
                true => stream.written == 0 && !stream.entries.is_empty(),
                false => stream.entries.len() >= room,
            };
            if !is_due || !self.has_segment(who) {
                return;
            }
            self.write_rows(who);
        }
    }

    /// Whether there is a segment to fill; begins one if need be.
    fn has_segment(&mut self, who: Who) -> bool {
        if self.stream(who).filling.is_some() {
            return true;
        }
        let reserve = if who == Who::Hosts { RESERVE } else { 0 };
        let opened = if self.ledger.free() > reserve { self.ledger.open() } else { None };
        self.stream(who).filling = opened.map(|segment| Filling { segment, row: 0 });
        opened.is_some()
    }

    /// Writes as many rows of the segment that is being filled as entries need.
    fn write_rows(&mut self, who: Who) {
        let Shape { rows, unit, .. } = self.shape;
        let (columns, unit_bytes) = (self.shape.columns(), unit.bytes().get());
        let stream = self.stream(who);
        let Filling { segment, row } = stream.filling.take().expect("a segment is being filled");
        let most = room((rows - row) * columns, unit_bytes) as usize;
        let entries: Vec<Entry> = stream.entries.drain(..stream.entries.len().min(most)).collect();
        let summary = summary(entries.len() as u32, unit_bytes);
        let count = (entries.len() as u32 + summary).div_ceil(columns).max(1);
        stream.written += entries.len();
        // What is left after these rows must have room for a unit and its summary.
        let closes = room((rows - row - count) * columns, unit_bytes) == 0;
        if !closes {
            stream.filling = Some(Filling { segment, row: row + count });
        }
        let first = self.shape.first(segment) + row * columns + summary;
        let members = self.shape.members;
        let writing = self.writings.insert(Writing { segment, first, entries, left: members, closes });
        let act = Act::Write { at: self.shape.row(segment, row), length: unit * count.into() };
        for column in 0..members.into() {
            let (member, note) = (self.shape.member(segment, column), Note::Rows { writing, who });
            match who {
                Who::Hosts => self.desk.ask(writing * 3 + 1, member, act, note),
                Who::Cleaner => self.desk.ask_later(writing * 3 + 1, member, act, note),
            }
        }
    }

    /// A member has written its part of some rows.
    fn wrote(&mut self, number: u32, who: Who) {
        let writing = self.writings.get_mut(number);
        writing.left -= 1;
        if writing.left > 0 {
            return;
        }
        let Writing { segment, first, entries, closes, .. } = self.writings.remove(number);
        self.stream(who).written -= entries.len();
        for (place, entry) in (first..).zip(entries) {
            self.settle_entry(place, entry);
        }
        if closes {
            self.ledger.close(segment);
        }
        self.work();
    }

    /// An entry is on the members.
    fn settle_entry(&mut self, place: u32, Entry { unit, version, origin }: Entry) {
        if let Origin::Cleaned(from) = origin {
            if self.ledger.place(unit) == Some(from) {
                self.ledger.moved(unit, place, version);
            }
            return self.ledger.copied(self.shape.segment(from));
        }
        // If it was overwritten in memory meanwhile, nothing is live here.
        if self.memory.get(&unit) == Some(&version) {
            self.memory.remove(&unit);
            self.ledger.moved(unit, place, version);
        }
        if let Origin::Request(job) = origin {
            self.part_done(job);
        }
    }

    /// Lets all go on that may.
    fn work(&mut self) {
        self.clean();
        self.fill(Who::Cleaner);
        self.fill(Who::Hosts);
        self.take_writes();
    }

    /// Begins to clean if few segments are free.
    fn clean(&mut self) {
        let enough = if self.is_short { FEW + BATCH } else { FEW };
        self.is_short = self.ledger.free() < enough;
        let full = self.cleaner.held() > BATCH * self.room as usize;
        if !self.is_short || self.cleaning.is_some() || full {
            return;
        }
        let chosen = self.ledger.choose(BATCH, self.room, self.version);
        let mut accesses = 0;
        for segment in &chosen {
            self.counts.cleaned += 1;
            self.counts.live += u64::from(self.ledger.live(*segment));
            let act = Act::Read {
                at: self.shape.row(*segment, 0),
                length: self.shape.unit * self.shape.rows.into(),
            };
            for column in 0..self.shape.columns() {
                accesses += 1;
                self.desk.ask_later(CLEANING, self.shape.member(*segment, column), act, Note::Clean);
            }
        }
        self.cleaning = (accesses > 0).then_some((chosen, accesses));
    }

    /// A member has read its part of a segment that is cleaned.
    fn cleaned(&mut self) {
        let (_, left) = self.cleaning.as_mut().expect("segments are cleaned");
        *left -= 1;
        if *left > 0 {
            return;
        }
        let (segments, _) = self.cleaning.take().expect("segments are cleaned");
        for segment in segments {
            for (unit, place, version) in self.ledger.gather(segment) {
                self.counts.copied += 1;
                self.cleaner.entries.push_back(Entry { unit, version, origin: Origin::Cleaned(place) });
            }
            self.ledger.has_read(segment);
        }
        self.work();
    }
}

/// The job number of reads of the cleaner. Those of requests and of rows that are written leave
/// other remainders of 3.
const CLEANING: u32 = 2;

impl Rival for LogStructured {
    fn members(&self) -> u16 {
        self.shape.members
    }

    fn unit(&self) -> Sectors {
        self.shape.unit
    }

    fn capacity(&self) -> Sectors {
        self.shape.unit * self.units.into()
    }

    fn submit(&mut self, Request { tag, way, at, length }: Request) {
        let first = (at.from_start() / self.shape.unit) as u32;
        let units = first..first + (length / self.shape.unit) as u32;
        match way {
            Way::Read => self.read(tag, units),
            Way::Write if units.is_empty() => self.desk.answer(tag),
            Way::Write => {
                let job = self.jobs.insert(Job { tag, left: units.len() });
                self.waiting.push_back((job, units));
                self.take_writes();
            }
        }
    }

    fn complete(&mut self, id: AccessId, _placed: Option<Sector>) {
        match self.desk.done(id).1 {
            Note::Read { job, segment } => {
                self.part_done(job);
                self.ledger.has_read(segment);
                self.work();
            }
            Note::Rows { writing, who } => self.wrote(writing, who),
            Note::Clean => self.cleaned(),
        }
    }

    fn poll_access(&mut self) -> Option<Access> {
        self.desk.poll_access()
    }

    fn poll_answer(&mut self) -> Option<Tag> {
        self.desk.poll_answer()
    }

    /// Each unit is written once in order, and then several times in a drawn order.
    fn age(&mut self, below: &mut dyn FnMut(u64) -> u64) {
        let volatile = std::mem::replace(&mut self.volatile, false);
        let units = u64::from(self.units);
        for number in 0..units * (1 + AGES) {
            let unit = if number < units { number } else { below(units) };
            let at = Sector::ZERO + self.shape.unit * unit;
            self.submit(Request { tag: Tag(0), way: Way::Write, at, length: self.shape.unit });
            settle(self, &mut |_, _| Sector::ZERO, &mut |_| ());
        }
        self.volatile = volatile;
        self.forget();
    }

    fn measured(&self) -> Vec<Measured> {
        let Counts { written, cleaned, live, copied } = self.counts;
        let all = cleaned * u64::from(self.room);
        let part = |of: u64, all: u64| of as f64 / all.max(1) as f64;
        if written == 0 {
            return Vec::new();
        }
        vec![
            ("write cost", part(all + copied + written, written)),
            ("live part of cleaned segments", part(live, all)),
        ]
    }

    fn forget(&mut self) {
        self.counts = Counts::default();
    }

    fn check(&self) {
        self.ledger.check();
        assert!(self.hosts.held() <= self.most, "no more in memory than there is room for");
        let waits = !self.waiting.is_empty();
        assert!(!waits || self.desk.under_way() > 0, "who waits, waits for something that goes on");
    }
}
