//! LRAID-X4 (Bhide and Dias 1992), as Stodolsky et al. describe it (section 10).
//!
//! Data disks as in RAID 4, two parity disks and two log disks. What a write changes in the parity
//! is an update in memory. Updates leave memory as sorted runs, in long writes to the log disk
//! whose turn it is. Meanwhile the other log disk, which is full, is merged with the parity: the
//! old parity is read from one parity disk, and the new written to the other. When the merge is
//! done and the log full, both pairs change their roles.
//!
//! The report itself was not at hand. Assumed here:
//!
//! - Half of the memory sorts, by replacement selection; the other half has two areas of parity,
//!   one that is read and merged, and one that is written.
//! - The memory survives failures of power and of the controller, as that of parity logging in the
//!   paper: a write is answered when its data is in place and its update in memory.
//! - The log fills no faster than the other is merged: hosts wait a little all the time instead of
//!   for minutes at each change of roles.
//! - What the paper calls no preread is [`old_data_known`](Settings::old_data_known).

mod log;
mod merge;
mod settings;
mod sorter;
mod updates;

use std::collections::VecDeque;
use std::ops::Range;

use parlour_units::{Member, Sector, Sectors};

use crate::desk::Desk;
use crate::order::Order;
use crate::refused::Refused;
use crate::seam::{Access, AccessId, Act, Measured, Request, Rival, Tag, Way};
use crate::slab::Slab;
use crate::stripes::{Stripes, checked_unit};
use log::Log;
use merge::{Merge, Next};
pub use settings::Settings;
use updates::Updates;

/// How far the log may be filled ahead of the merge of the other.
const AHEAD: f64 = 1.0 / 16.0;
/// The least units of an area, and updates in memory.
const LEAST: u64 = 16;

/// An LRAID-X4 array.
#[derive(Debug)]
pub struct LraidX4 {
    settings: Settings,
    stripes: Stripes,
    /// Units of a disk.
    room: u64,
    desk: Desk<Note>,
    order: Order,
    jobs: Slab<Job>,
    /// Jobs that wait for memory.
    waiting: VecDeque<u32>,
    updates: Updates,
    /// The log that takes updates, and the one that is merged.
    logs: [Log; 2],
    /// Which of the log disks takes updates.
    active: usize,
    /// Which of the parity disks has all updates up to the last merge.
    current: usize,
    merge: Option<Merge>,
    counts: Counts,
}

/// A request.
#[derive(Clone, Debug)]
struct Job {
    tag: Tag,
    way: Way,
    units: Range<u64>,
    /// Accesses that are not completed.
    left: usize,
}

/// What an access is for.
#[derive(Clone, Copy, Debug)]
enum Note {
    /// A part of a request.
    Part(u32),
    /// Old data that is then overwritten.
    Old { job: u32, at: Sector, length: Sectors },
    /// Updates to the log.
    Append,
    /// The old parity or updates of the area that is merged.
    MergeRead,
    /// The new parity of an area.
    MergeWrite,
}

/// The job numbers of accesses that are not for a request; those of requests are even.
const APPENDS: u32 = 1;
const READS_AREA: u32 = 3;
const WRITES_AREA: u32 = 5;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    writes: u64,
    updates: u64,
    appended: u64,
    appends: u64,
    merged: u64,
    subsequences: u64,
}

impl LraidX4 {
    /// An array with empty logs.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub fn new(settings: &Settings) -> Result<LraidX4, Refused> {
        let Settings { members, length, unit, memory, .. } = *settings;
        if members < 5 {
            let takes = "5 or more: 4 of them for parity and logs";
            return Err(Refused::Members { members, organization: "LRAID-X4", takes });
        }
        let unit = checked_unit(unit, length)?;
        let room = length / unit;
        if room > u32::MAX.into() {
            return Err(Refused::Units(room));
        }
        let least = unit * (4 * LEAST);
        if memory < least {
            return Err(Refused::Memory { memory, needs: least });
        }
        Ok(LraidX4 {
            settings: *settings,
            stripes: Stripes { disks: u64::from(members) - 4, unit },
            room,
            desk: Desk::new(members),
            order: Order::default(),
            jobs: Slab::default(),
            waiting: VecDeque::new(),
            updates: Updates::new((memory / (unit * 2)) as usize),
            logs: [Log::new(room), Log::new(room)],
            active: 0,
            current: 0,
            merge: None,
            counts: Counts::default(),
        })
    }

    /// The units of parity that are merged at once.
    fn area(&self) -> u64 {
        (self.settings.memory / (self.stripes.unit * 4)).min(self.room)
    }

    fn parity_disk(&self, which: usize) -> Member {
        Member::new(self.stripes.disks as u16 + which as u16)
    }

    fn log_disk(&self, which: usize) -> Member {
        Member::new(self.stripes.disks as u16 + 2 + which as u16)
    }

    /// The stripes of some units.
    fn stripes_of(&self, units: &Range<u64>) -> Range<u64> {
        units.start / self.stripes.disks..units.end.div_ceil(self.stripes.disks)
    }

    fn begin(&mut self, number: u32) {
        let Job { way, units, .. } = self.jobs.get(number).clone();
        if way == Way::Read {
            return self.parts(number, &units, |at, length| Act::Read { at, length });
        }
        self.waiting.push_back(number);
        self.work();
    }

    /// Begins writes for whose updates there is memory, in order. (One that is larger than all
    /// memory begins when it is alone.)
    fn begin_waiting(&mut self) {
        while let Some(number) = self.waiting.front().copied() {
            let units = self.jobs.get(number).units.clone();
            let stripes = self.stripes_of(&units);
            if !self.updates.expect((stripes.end - stripes.start) as usize) {
                return;
            }
            self.waiting.pop_front();
            self.write(number, units);
        }
    }

    /// Writes the data of a request. Of whole stripes the old data is not needed.
    fn write(&mut self, number: u32, units: Range<u64>) {
        self.counts.writes += units.end - units.start;
        let disks = self.stripes.disks;
        let whole = units.start.next_multiple_of(disks)..units.end / disks * disks;
        let whole = if whole.is_empty() { units.end..units.end } else { whole };
        for part in [units.start..whole.start, whole.end..units.end] {
            if self.settings.old_data_known {
                self.parts(number, &part, |at, length| Act::Write { at, length });
            } else if self.settings.combined {
                self.parts(number, &part, |at, length| Act::Modify { at, length });
            } else {
                self.read_old(number, &part);
            }
        }
        self.parts(number, &whole, |at, length| Act::Write { at, length });
    }

    /// The accesses of a request for some units, one for each disk.
    fn parts(&mut self, number: u32, units: &Range<u64>, act: impl Fn(Sector, Sectors) -> Act) {
        for (member, at, length) in self.runs(units) {
            self.jobs.get_mut(number).left += 1;
            self.desk.ask(number * 2, member, act(at, length), Note::Part(number));
        }
    }

    /// The same for old data that is to be overwritten.
    fn read_old(&mut self, number: u32, units: &Range<u64>) {
        for (member, at, length) in self.runs(units) {
            self.jobs.get_mut(number).left += 1;
            let note = Note::Old { job: number, at, length };
            self.desk.ask(number * 2, member, Act::Read { at, length }, note);
        }
    }

    /// The places of some units: one run on each disk that has any.
    fn runs(&self, units: &Range<u64>) -> Vec<(Member, Sector, Sectors)> {
        let run = |disk: u64| {
            let indices = self.stripes.on_disk(disk, units);
            let length = self.stripes.unit * (indices.end - indices.start);
            (Member::new(disk as u16), self.at(indices.start), length)
        };
        (0..self.stripes.disks).map(run).filter(|(.., length)| !length.is_zero()).collect()
    }

    /// Where a unit of a disk begins.
    fn at(&self, index: u64) -> Sector {
        Sector::ZERO + self.stripes.unit * index
    }

    /// An access of a request is completed.
    fn part_done(&mut self, number: u32) {
        let job = self.jobs.get_mut(number);
        job.left -= 1;
        if job.left > 0 {
            return;
        }
        let job = self.jobs.remove(number);
        if job.way == Way::Write {
            self.update(&job.units);
        }
        self.desk.answer(job.tag);
        for next in self.order.leave(number) {
            self.begin(next);
        }
    }

    /// The data of a write is in place: its updates are in memory.
    fn update(&mut self, units: &Range<u64>) {
        for parity in self.stripes_of(units) {
            self.counts.updates += 1;
            self.updates.add(parity as u32);
        }
        self.work();
    }

    /// Lets the logs go on.
    fn work(&mut self) {
        self.begin_waiting();
        self.append();
        self.change_roles();
        self.go_on_merging();
    }

    /// Writes a part of a run to the log, if memory is nearly full or a write waits for some, and
    /// if the log may be filled so far.
    fn append(&mut self) {
        let log = &self.logs[self.active];
        let may_fill = self.merge.as_ref().is_none_or(|merge| log.filled() <= merge.part() + AHEAD);
        let is_due = self.updates.is_nearly_full() || !self.waiting.is_empty();
        if !may_fill || !is_due {
            return;
        }
        let Some(chunk) = self.updates.take(log.left()) else { return };
        let at = self.logs[self.active].append(&chunk.updates, chunk.begins);
        let length = self.stripes.unit * chunk.updates.len() as u64;
        let act = Act::Write { at: self.at(at), length };
        self.counts.appends += 1;
        self.counts.appended += chunk.updates.len() as u64;
        self.desk.ask_later(APPENDS, self.log_disk(self.active), act, Note::Append);
    }

    /// The full log is merged from now on, and the other takes updates, once that is merged.
    fn change_roles(&mut self) {
        let is_full = self.logs[self.active].left() == 0 && !self.updates.are_leaving();
        if self.merge.is_some() || !is_full {
            return;
        }
        self.active = 1 - self.active;
        self.logs[self.active].truncate();
        self.updates.end_run();
        self.merge = Some(Merge::new(self.room, self.area()));
        self.append();
    }

    fn go_on_merging(&mut self) {
        while let Some(next) = self.merge.as_mut().and_then(Merge::begin) {
            match next {
                Next::Read(area) => self.read_area(&area),
                Next::Write(area) => {
                    let length = self.stripes.unit * (area.end - area.start);
                    let act = Act::Write { at: self.at(area.start), length };
                    let member = self.parity_disk(1 - self.current);
                    self.desk.ask_later(WRITES_AREA, member, act, Note::MergeWrite);
                }
            }
        }
    }

    /// Reads the old parity of an area, and its updates from each run.
    fn read_area(&mut self, area: &Range<u64>) {
        let old = Act::Read { at: self.at(area.start), length: self.stripes.unit * (area.end - area.start) };
        self.desk.ask_later(READS_AREA, self.parity_disk(self.current), old, Note::MergeRead);
        let full = 1 - self.active;
        let parts = self.logs[full].subsequences(area);
        for part in &parts {
            let act =
                Act::Read { at: self.at(part.start), length: self.stripes.unit * (part.end - part.start) };
            self.counts.merged += part.end - part.start;
            self.desk.ask_later(READS_AREA, self.log_disk(full), act, Note::MergeRead);
        }
        self.counts.subsequences += parts.len() as u64;
        self.merge.as_mut().expect("an area is read").reads(parts.len() + 1);
    }

    /// A part of the new parity is written.
    fn merged(&mut self) {
        let merge = self.merge.as_mut().expect("parity is merged");
        merge.wrote();
        if merge.is_done() {
            self.merge = None;
            self.current = 1 - self.current;
        }
    }
}

impl Rival for LraidX4 {
    fn members(&self) -> u16 {
        self.settings.members
    }

    fn unit(&self) -> Sectors {
        self.stripes.unit
    }

    fn capacity(&self) -> Sectors {
        self.stripes.unit * (self.room * self.stripes.disks)
    }

    fn submit(&mut self, Request { tag, way, at, length }: Request) {
        let units = self.stripes.units(at.get(), length);
        if units.is_empty() {
            return self.desk.answer(tag);
        }
        let number = self.jobs.insert(Job { tag, way, units: units.clone(), left: 0 });
        if self.order.enter(number, units, way == Way::Write) {
            self.begin(number);
        }
    }

    fn complete(&mut self, id: AccessId, _placed: Option<Sector>) {
        let (member, note) = self.desk.done(id);
        match note {
            Note::Part(job) => self.part_done(job),
            Note::Old { job, at, length } => {
                self.desk.ask(job * 2, member, Act::Write { at, length }, Note::Part(job));
            }
            Note::Append => {
                self.updates.left();
                self.work();
            }
            Note::MergeRead => {
                self.merge.as_mut().expect("an area is read").read();
                self.go_on_merging();
            }
            Note::MergeWrite => {
                self.merged();
                self.work();
            }
        }
    }

    fn poll_access(&mut self) -> Option<Access> {
        self.desk.poll_access()
    }

    fn poll_answer(&mut self) -> Option<Tag> {
        self.desk.poll_answer()
    }

    /// One log is full of runs as long as the memory makes them, and its merge begins.
    fn age(&mut self, _below: &mut dyn FnMut(u64) -> u64) {
        let run = 2 * self.updates.most() as u64;
        self.logs[1 - self.active] = Log::full(self.room, run, self.room);
        self.merge = Some(Merge::new(self.room, self.area()));
        self.go_on_merging();
    }

    fn measured(&self) -> Vec<Measured> {
        let Counts { writes, updates, appended, appends, merged, subsequences } = self.counts;
        let part = |of: u64, all: u64| of as f64 / all.max(1) as f64;
        if writes == 0 {
            return Vec::new();
        }
        vec![
            ("updates a written unit", part(updates, writes)),
            ("units logged an update", part(appended, updates)),
            ("units an append", part(appended, appends)),
            ("units a subsequence", part(merged, subsequences)),
        ]
    }

    fn forget(&mut self) {
        self.counts = Counts::default();
    }

    fn check(&self) {
        self.updates.check(self.jobs.len());
        if let Some(merge) = &self.merge {
            let ahead = self.logs[self.active].filled() - merge.part();
            let chunk = self.updates.chunk() as f64 / self.room as f64;
            assert!(ahead <= AHEAD + chunk, "the log is filled no faster than the other is merged");
            assert!(self.desk.under_way() > 0, "a merge goes on");
        }
    }
}
