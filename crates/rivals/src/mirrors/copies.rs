//! Where the copies of units are, and which writes wait for a place.

use std::collections::VecDeque;
use std::ops::Range;

use parlour_units::{Member, Sector, Sectors};

use super::free::Free;
use super::pending::Pending;
use super::settings::Settings;
use super::surface::Surface;
use crate::refused::Refused;
use crate::stripes::Stripes;

/// No place.
const NOWHERE: u32 = u32::MAX;

/// A copy that floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copy {
    /// The slave.
    Slave,
    /// The master, near the heads.
    First,
}

/// A write of one unit to a free place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// Whose it is.
    pub(super) job: u32,
    pub(super) unit: u64,
    pub(super) copy: Copy,
}

/// The copies of all units.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    pub(super) unit: Sectors,
    pub(super) stripes: Stripes,
    surface: Surface,
    /// Of doubly distorted mirrors: the masters of a disk that may be out of their places.
    most_pending: Option<usize>,
    disks: Vec<Disk>,
    /// By unit: the place of its slave on the other disk of the pair.
    slaves: Vec<u32>,
    /// By unit: the place near the heads of its master, on its own disk, if it is not in its place.
    firsts: Vec<u32>,
}

#[derive(Clone, Debug)]
struct Disk {
    free: Free,
    /// Places that writes under way will take.
    reserved: u32,
    /// Masters near the heads that writes under way will add.
    coming: usize,
    pending: Pending,
    /// Writes that wait for a free place, or for memory.
    waiting: VecDeque<Piece>,
}

impl Copies {
    /// New mirrors: slaves are in the order of masters.
    pub(super) fn new(settings: &Settings) -> Result<Copies, Refused> {
        let Settings { members, length, unit, cylinders, master_tracks, doubly } = *settings;
        if members < 2 || !members.is_multiple_of(2) {
            let organization = "distorted mirrors";
            return Err(Refused::Members { members, organization, takes: "pairs: 2, 4, 6, …" });
        }
        let surface = Surface::new(unit, cylinders, master_tracks, length)?;
        let most_pending = doubly.map(|memory| memory / (unit * members.into()));
        if let (Some(0), Some(memory)) = (most_pending, doubly) {
            return Err(Refused::Memory { memory, needs: unit * members.into() });
        }
        let units = surface.masters() * u64::from(members);
        if units >= NOWHERE.into() {
            return Err(Refused::Units(units));
        }
        let disk = Disk {
            free: surface.all_free(),
            reserved: 0,
            coming: 0,
            pending: Pending::default(),
            waiting: VecDeque::new(),
        };
        let mut copies = Copies {
            unit,
            surface,
            stripes: Stripes { disks: members.into(), unit },
            // Masters near the heads never take all places that slaves leave.
            most_pending: most_pending.map(|most| (most as usize).min(surface.spare() / 2).max(1)),
            disks: vec![disk; members.into()],
            slaves: vec![NOWHERE; units as usize],
            firsts: vec![NOWHERE; units as usize],
        };
        let (places, masters) = (u64::from(surface.all_places()), surface.masters());
        // As evenly as masters are.
        (0..units).for_each(|unit| {
            let (disk, index) = copies.stripes.place(unit);
            copies.settle(disk, index, (u128::from(index) * u128::from(places) / u128::from(masters)) as u32);
        });
        Ok(copies)
    }

    /// Puts all slaves to places that are drawn.
    pub(super) fn scatter(&mut self, below: &mut dyn FnMut(u64) -> u64) {
        for disk in 0..self.stripes.disks {
            let mut drawn: Vec<u32> = (0..self.surface.all_places()).collect();
            self.disks[other(disk)].free = self.surface.all_free();
            for index in 0..self.surface.masters() {
                let chosen = index + below(drawn.len() as u64 - index);
                drawn.swap(index as usize, chosen as usize);
                self.settle(disk, index, drawn[index as usize]);
            }
        }
    }

    /// Puts the slave of a master of a disk to a free place.
    fn settle(&mut self, disk: u64, index: u64, place: u32) {
        self.disks[other(disk)].free.take(place);
        self.slaves[self.stripes.unit_at(disk, index) as usize] = place;
    }

    /// The number of units.
    pub(super) fn units(&self) -> u64 {
        self.slaves.len() as u64
    }

    /// Whether masters of single units go near the heads first.
    pub(super) fn is_doubly(&self) -> bool {
        self.most_pending.is_some()
    }

    /// The disk and the place of a unit's master.
    pub(super) fn master(&self, unit: u64) -> (Member, Sector) {
        let (disk, index) = self.stripes.place(unit);
        (member(disk), self.surface.master(index))
    }

    /// The disk and the place of a unit's slave.
    pub(super) fn slave(&self, unit: u64) -> (Member, Sector) {
        let (disk, _) = self.stripes.place(unit);
        (member(other(disk) as u64), self.surface.slave(self.slaves[unit as usize]))
    }

    /// The places of some units' masters: runs without gaps, with their lengths in units.
    pub(super) fn runs(&self, disk: u64, units: &Range<u64>) -> Vec<(Member, Sector, u64)> {
        let (mut masters, mut runs) = (self.stripes.on_disk(disk, units), Vec::new());
        while !masters.is_empty() {
            let run = self.surface.run(&masters);
            runs.push((member(disk), self.surface.master(run.start), run.end - run.start));
            masters.start = run.end;
        }
        runs
    }

    /// The disk to which a copy floats.
    pub(super) fn disk_of(&self, Piece { unit, copy, .. }: Piece) -> Member {
        match copy {
            Copy::Slave => self.slave(unit).0,
            Copy::First => self.master(unit).0,
        }
    }

    /// A write to a free place is to begin as soon as there is room.
    pub(super) fn wait(&mut self, piece: Piece) {
        let disk = self.disk_of(piece);
        self.disks[disk.as_usize()].waiting.push_back(piece);
    }

    /// The next write for which a disk has room, which is reserved for it. Those behind one that
    /// has to wait may have it: a master that is near the heads already takes no more memory, and
    /// no write may wait for its own.
    pub(super) fn next_with_room(&mut self, disk: Member) -> Option<Piece> {
        let waiting = &self.disks[disk.as_usize()].waiting;
        let index = waiting.iter().position(|piece| self.has_room(disk, *piece))?;
        let disk = &mut self.disks[disk.as_usize()];
        let piece = disk.waiting.remove(index)?;
        disk.reserved += 1;
        disk.coming += usize::from(piece.copy == Copy::First);
        Some(piece)
    }

    /// Whether there is a free place for a copy and, if it is a master, memory until it is in its
    /// place.
    fn has_room(&self, disk: Member, piece: Piece) -> bool {
        let disk = &self.disks[disk.as_usize()];
        let has_place = disk.free.count() > disk.reserved;
        let (_, master) = self.stripes.place(piece.unit);
        let has_memory = || {
            let held = disk.pending.count() + disk.coming;
            disk.pending.has(master) || self.most_pending.is_some_and(|most| held < most)
        };
        has_place && (piece.copy == Copy::Slave || has_memory())
    }

    /// A master that waits for memory which nothing under way will free: each that holds some
    /// belongs to a write that has begun. It waits no longer.
    pub(super) fn next_stuck(&mut self, disk: Member) -> Option<Piece> {
        let disk = &mut self.disks[disk.as_usize()];
        if disk.pending.under_way > 0 || disk.coming > 0 {
            return None;
        }
        let index = disk.waiting.iter().position(|piece| piece.copy == Copy::First)?;
        disk.waiting.remove(index)
    }

    /// The disks of some units' masters.
    pub(super) fn disks_of(&self, units: &Range<u64>) -> Vec<Member> {
        let has_any = |disk: &u64| !self.stripes.on_disk(*disk, units).is_empty();
        (0..self.stripes.disks).filter(has_any).map(member).collect()
    }

    /// The free places of a disk that are nearest to a cylinder.
    pub(super) fn places(&self, disk: Member, cylinder: u32) -> Vec<Sector> {
        let near = self.disks[disk.as_usize()].free.near(cylinder);
        near.into_iter().map(|place| self.surface.slave(place)).collect()
    }

    /// A copy was written to a free place, which it has from now on.
    pub(super) fn placed(&mut self, piece: Piece, at: Sector) {
        let (place, unit) = (self.surface.place_at(at), piece.unit as usize);
        let (_, index) = self.stripes.place(piece.unit);
        let disk = self.disk_of(piece);
        let disk = &mut self.disks[disk.as_usize()];
        disk.reserved -= 1;
        disk.free.take(place);
        let moved = match piece.copy {
            Copy::Slave => &mut self.slaves[unit],
            Copy::First => {
                disk.coming -= 1;
                disk.pending.insert(index);
                &mut self.firsts[unit]
            }
        };
        let old = std::mem::replace(moved, place);
        if old != NOWHERE {
            disk.free.give(old);
        }
    }

    /// The master of a unit is in its place: what was near the heads is out of date.
    pub(super) fn in_place(&mut self, unit: u64) {
        let first = std::mem::replace(&mut self.firsts[unit as usize], NOWHERE);
        if first != NOWHERE {
            let (disk, index) = self.stripes.place(unit);
            let disk = &mut self.disks[disk as usize];
            disk.free.give(first);
            disk.pending.remove(index);
        }
    }

    /// Whether the master of a unit is in memory, because it is not in its place.
    pub(super) fn is_in_memory(&self, unit: u64) -> bool {
        self.firsts[unit as usize] != NOWHERE
    }

    /// The next unit of a disk whose master is to be written to its place: if fewer than `depth`
    /// are under way there where many wait, or if none is where the disk `is_idle`. It `may` be
    /// written now.
    pub(super) fn next_to_install(
        &mut self,
        disk: Member,
        depth: u32,
        is_idle: bool,
        may: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let (most, number) = (self.most_pending?, u64::from(disk.get()));
        let Disk { pending, .. } = &mut self.disks[disk.as_usize()];
        let depth = if pending.count() * 2 >= most { depth } else { u32::from(is_idle) };
        if pending.under_way >= depth {
            return None;
        }
        let stripes = self.stripes;
        let index = pending.next(|index| may(stripes.unit_at(number, index)))?;
        pending.under_way += 1;
        Some(stripes.unit_at(number, index))
    }

    /// The master of a unit [was written](Copies::next_to_install) to its place.
    pub(super) fn installed(&mut self, unit: u64) {
        self.in_place(unit);
        let (disk, _) = self.master(unit);
        self.disks[disk.as_usize()].pending.under_way -= 1;
    }

    /// Checks that each copy has a place of its own, and all others are free.
    pub(super) fn check(&self) {
        let places = self.surface.all_places();
        let mut taken = vec![vec![false; places as usize]; self.disks.len()];
        for unit in 0..self.units() {
            let (disk, index) = self.stripes.place(unit);
            let (slave, first) = (self.slaves[unit as usize], self.firsts[unit as usize]);
            assert_ne!(slave, NOWHERE, "each unit has a slave");
            let copies = [(other(disk), slave), (disk as usize, first)];
            for (disk, place) in copies.into_iter().filter(|(_, place)| *place != NOWHERE) {
                let was_taken = std::mem::replace(&mut taken[disk][place as usize], true);
                assert!(!was_taken, "no two copies are in one place");
            }
            let waits = self.disks[disk as usize].pending.has(index);
            assert_eq!(waits, first != NOWHERE, "what is near the heads waits for its place");
        }
        for (disk, taken) in self.disks.iter().zip(taken) {
            let agrees = (0..places).all(|place| disk.free.is_free(place) != taken[place as usize]);
            assert!(agrees, "what no copy has is free");
            assert!(disk.reserved <= disk.free.count(), "each write under way has a place to go to");
        }
    }
}

/// The other disk of a pair.
fn other(disk: u64) -> usize {
    (disk ^ 1) as usize
}

fn member(disk: u64) -> Member {
    Member::new(disk as u16)
}
