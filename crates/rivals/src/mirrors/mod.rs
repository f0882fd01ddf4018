//! Distorted mirrors (Solworth and Orji 1991) and doubly distorted mirrors (Orji and Solworth
//! 1993).
//!
//! Members are pairs. Each unit has a *master* on one disk of a pair, in a fixed place, and a
//! *slave* on the other, written anywhere: to the free place that the heads reach first. Each disk
//! has masters of half of the pair's units and slaves of the other half. Reads of neighbouring
//! units use masters, which are in order.
//!
//! Where they are *doubly* distorted, a small write goes near the heads on both disks, and is
//! answered; the master is written to its place later, in the order of places, from memory. That
//! memory need not survive: what it holds is on both disks, and found there by a scan.
//!
//! The papers themselves were not at hand, but for their abstracts. Assumed here:
//!
//! - Each cylinder has tracks for masters and tracks for slaves, so that places for slaves are near
//!   wherever the heads are.
//! - A read of one unit goes to the disk of the pair with fewer accesses under way.
//! - Of doubly distorted mirrors only writes of one unit float twice: longer ones are in order, and
//!   go to their places at once. Masters are written to their places when a disk has nothing else
//!   to do, or four at once when half of the memory is full.

mod copies;
mod free;
mod pending;
mod settings;
mod surface;

use std::ops::Range;

use parlour_units::{Member, Sector, Sectors};

use crate::desk::Desk;
use crate::order::Order;
use crate::refused::Refused;
use crate::seam::{Access, AccessId, Act, Measured, Request, Rival, Tag, Way};
use crate::slab::Slab;
use copies::{Copies, Copy, Piece};
pub use settings::Settings;
pub use surface::Cylinders;

/// Writes of masters to their places that are under way at once on a disk.
const DEPTH: u32 = 4;

/// Distorted mirrors.
#[derive(Debug)]
pub struct Mirrors {
    copies: Copies,
    desk: Desk<Note>,
    order: Order,
    jobs: Slab<Job>,
    counts: Counts,
}

/// A request, or the write of a master to its place.
#[derive(Clone, Debug)]
struct Job {
    /// The request; none for a write of a master to its place.
    tag: Option<Tag>,
    way: Way,
    units: Range<u64>,
    /// Accesses that are not completed.
    left: usize,
}

/// What an access is for.
#[derive(Clone, Copy, Debug)]
enum Note {
    /// A part of a job, in its place.
    Part(u32),
    /// A write to a free place.
    Floats(Piece),
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    writes: u64,
    in_place: u64,
    floated: u64,
}

impl Mirrors {
    /// New mirrors: all slaves are near their masters' cylinders.
    ///
    /// # Errors
    /// The settings contradict each other.
    pub fn new(settings: &Settings) -> Result<Mirrors, Refused> {
        Ok(Mirrors {
            copies: Copies::new(settings)?,
            desk: Desk::new(settings.members),
            order: Order::default(),
            jobs: Slab::default(),
            counts: Counts::default(),
        })
    }

    fn begin(&mut self, job: u32) {
        let Job { way, units, .. } = self.jobs.get(job).clone();
        match way {
            Way::Read => self.read(job, &units),
            Way::Write => self.write(job, units),
        }
    }

    /// A read: of one unit from the disk with less to do, and of more from the masters.
    fn read(&mut self, job: u32, units: &Range<u64>) {
        if units.end - units.start == 1 {
            let (master, slave) = (self.copies.master(units.start), self.copies.slave(units.start));
            let is_nearer = self.desk.busy(slave.0) < self.desk.busy(master.0);
            let (member, at) = if is_nearer { slave } else { master };
            return self.part(job, Way::Read, (member, at, 1));
        }
        for disk in 0..self.copies.stripes.disks {
            self.masters(job, Way::Read, disk, units);
        }
    }

    fn write(&mut self, job: u32, units: Range<u64>) {
        let count = (units.end - units.start) as usize;
        self.counts.writes += count as u64;
        // Counted beforehand, because a part that waits for room is not asked for yet.
        self.jobs.get_mut(job).left = count;
        for disk in 0..self.copies.stripes.disks {
            match self.goes_near(disk, &units) {
                Some(unit) => {
                    self.jobs.get_mut(job).left += 1;
                    self.float(Piece { job, unit, copy: Copy::First });
                }
                None => self.masters(job, Way::Write, disk, &units),
            }
        }
        units.for_each(|unit| self.float(Piece { job, unit, copy: Copy::Slave }));
    }

    /// The unit of a write whose master goes near the heads of a disk first: it is alone there.
    fn goes_near(&self, disk: u64, units: &Range<u64>) -> Option<u64> {
        let masters = self.copies.stripes.on_disk(disk, units);
        let is_alone = masters.end - masters.start == 1;
        (self.copies.is_doubly() && is_alone).then(|| self.copies.stripes.unit_at(disk, masters.start))
    }

    /// Reads or writes masters of a disk in their places.
    fn masters(&mut self, job: u32, way: Way, disk: u64, units: &Range<u64>) {
        for run in self.copies.runs(disk, units) {
            self.part(job, way, run);
        }
    }

    /// One access of a job, in its place.
    fn part(&mut self, job: u32, way: Way, (member, at, units): (Member, Sector, u64)) {
        self.jobs.get_mut(job).left += 1;
        let length = self.copies.unit * units;
        let act = match way {
            Way::Read => Act::Read { at, length },
            Way::Write => Act::Write { at, length },
        };
        self.counts.in_place += if way == Way::Write { units } else { 0 };
        self.desk.ask(job, member, act, Note::Part(job));
    }

    /// Writes to a free place, as soon as there is room.
    fn float(&mut self, piece: Piece) {
        self.copies.wait(piece);
        self.go_on(self.copies.disk_of(piece));
    }

    /// Lets the writes go on that wait for a disk.
    fn go_on(&mut self, disk: Member) {
        self.begin_floats(disk);
        self.install(disk);
        while let Some(piece) = self.copies.next_stuck(disk) {
            // Its place in memory is not given up before this write is done: it goes to its place.
            self.jobs.get_mut(piece.job).left -= 1;
            let (member, at) = self.copies.master(piece.unit);
            self.part(piece.job, Way::Write, (member, at, 1));
        }
    }

    /// Begins writes for which a disk has room.
    fn begin_floats(&mut self, disk: Member) {
        while let Some(piece) = self.copies.next_with_room(disk) {
            self.counts.floated += 1;
            let (_, at) = match piece.copy {
                Copy::Slave => self.copies.slave(piece.unit),
                Copy::First => self.copies.master(piece.unit),
            };
            let act = Act::Place { at, length: self.copies.unit };
            self.desk.ask(piece.job, disk, act, Note::Floats(piece));
        }
    }

    /// Writes masters to their places: if the disk has nothing else to do, or if many wait.
    fn install(&mut self, disk: Member) {
        loop {
            let (order, is_idle) = (&self.order, self.desk.busy(disk) == 0);
            let may = |unit| order.is_free(&(unit..unit + 1), true);
            let Some(unit) = self.copies.next_to_install(disk, DEPTH, is_idle, may) else { return };
            let units = unit..unit + 1;
            let job = Job { tag: None, way: Way::Write, units: units.clone(), left: 1 };
            let job = self.jobs.insert(job);
            assert!(self.order.enter(job, units, true), "only what may begin was chosen");
            let act = Act::Write { at: self.copies.master(unit).1, length: self.copies.unit };
            self.counts.in_place += 1;
            self.desk.ask_later(job, disk, act, Note::Part(job));
        }
    }

    /// An access of a job is completed.
    fn part_done(&mut self, number: u32) {
        let job = self.jobs.get_mut(number);
        job.left -= 1;
        if job.left > 0 {
            return;
        }
        let job = self.jobs.remove(number);
        match job.tag {
            Some(tag) => {
                if job.way == Way::Write {
                    self.masters_written(&job.units);
                }
                self.desk.answer(tag);
            }
            None => self.copies.installed(job.units.start),
        }
        for next in self.order.leave(number) {
            self.begin(next);
        }
        if self.copies.is_doubly() && job.way == Way::Write {
            for disk in self.copies.disks_of(&job.units) {
                self.go_on(disk);
            }
        }
    }

    /// Masters that a request has written in their places are there.
    fn masters_written(&mut self, units: &Range<u64>) {
        if !self.copies.is_doubly() {
            return;
        }
        for disk in 0..self.copies.stripes.disks {
            if self.goes_near(disk, units).is_none() {
                for index in self.copies.stripes.on_disk(disk, units) {
                    self.copies.in_place(self.copies.stripes.unit_at(disk, index));
                }
            }
        }
    }
}

impl Rival for Mirrors {
    fn members(&self) -> u16 {
        self.copies.stripes.disks as u16
    }

    fn unit(&self) -> Sectors {
        self.copies.unit
    }

    fn capacity(&self) -> Sectors {
        self.copies.unit * self.copies.units()
    }

    fn submit(&mut self, Request { tag, way, at, length }: Request) {
        let mut units = self.copies.stripes.units(at.get(), length);
        if units.is_empty() || way == Way::Read && units.all(|unit| self.copies.is_in_memory(unit)) {
            return self.desk.answer(tag);
        }
        let units = self.copies.stripes.units(at.get(), length);
        let job = self.jobs.insert(Job { tag: Some(tag), way, units: units.clone(), left: 0 });
        if self.order.enter(job, units, way == Way::Write) {
            self.begin(job);
        }
    }

    fn complete(&mut self, id: AccessId, placed: Option<Sector>) {
        let (member, note) = self.desk.done(id);
        match note {
            Note::Part(job) => self.part_done(job),
            Note::Floats(piece) => {
                self.copies.placed(piece, placed.expect("a driver says where it has placed"));
                self.part_done(piece.job);
            }
        }
        self.go_on(member);
    }

    fn poll_access(&mut self) -> Option<Access> {
        self.desk.poll_access()
    }

    fn poll_answer(&mut self) -> Option<Tag> {
        self.desk.poll_answer()
    }

    fn places(&self, id: AccessId, cylinder: u32) -> Vec<Sector> {
        match self.desk.about(id) {
            (_, Note::Part(_)) => Vec::new(),
            (member, Note::Floats(_)) => self.copies.places(*member, cylinder),
        }
    }

    /// Slaves are in places that are drawn.
    fn age(&mut self, below: &mut dyn FnMut(u64) -> u64) {
        self.copies.scatter(below);
    }

    fn measured(&self) -> Vec<Measured> {
        let Counts { writes, in_place, floated } = self.counts;
        let each = |count: u64| count as f64 / writes.max(1) as f64;
        if writes == 0 {
            return Vec::new();
        }
        vec![("writes in place", each(in_place)), ("writes near the heads", each(floated))]
    }

    fn forget(&mut self) {
        self.counts = Counts::default();
    }

    fn check(&self) {
        self.copies.check();
    }
}
