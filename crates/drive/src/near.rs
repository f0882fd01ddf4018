//! Tracks that are kept in every cylinder for writes that go where the heads are, such as the
//! entries of a journal: *write-twice* (Stodolsky et al., section 10; Solworth and Orji).
//!
//! Some rings of the drive's blocks have no fixed place. What is written there goes to free sectors
//! of a kept track, to those that pass first: in the cylinder of the arm, or in one of the nearest.
//! If no cylinder has room, it goes to its own place. A ring is written in order, perhaps with
//! gaps: what a write passes over, and what was in its place, is out of date, and its sectors are
//! free.
//!
//! The kept tracks are further tracks of the drive, beside those of its blocks.
//!
//! Invariant: a sector of a kept track has one block of a ring, or none.

use std::collections::BTreeMap;
use std::ops::Range;

use parlour_units::{Duration, Instant};

use crate::angle::Angle;
use crate::mechanics::{Arm, Mechanics, Parts, Way};

/// The head of the kept tracks: none of those for blocks.
const HEAD: u32 = u32::MAX;

/// So many cylinders with room are compared.
const NEAREST: usize = 4;

/// Free sectors in a row.
#[derive(Clone, Copy, Debug)]
struct Spot {
    cylinder: u32,
    first: u32,
    count: u64,
    /// The time of the arm.
    seek: Duration,
    /// When the first one begins to pass.
    begins: Instant,
}

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Near {
    rings: Vec<Ring>,
    /// By cylinder, for each sector whether it is used. Those that are not there are free.
    used: BTreeMap<u32, Vec<bool>>,
    /// By block: the cylinder and the sector.
    places: BTreeMap<u64, (u32, u32)>,
}

#[derive(Clone, Debug)]
struct Ring {
    blocks: Range<u64>,
    /// Where the last write ended.
    end: u64,
}

impl Near {
    /// These rings have no fixed place.
    pub(crate) fn new(rings: impl IntoIterator<Item = Range<u64>>) -> Near {
        let rings = rings.into_iter().map(|blocks| Ring { end: blocks.start, blocks });
        Near { rings: rings.collect(), used: BTreeMap::new(), places: BTreeMap::new() }
    }

    pub(crate) fn has(&self, block: u64) -> bool {
        self.rings.iter().any(|ring| ring.blocks.contains(&block))
    }

    /// Whether a block was written near the heads, and is up to date there.
    pub(crate) fn holds(&self, block: u64) -> bool {
        self.places.contains_key(&block)
    }

    /// Writes blocks from `at` on, but not before their data is there. Returns when the last one is
    /// written; `None` if there is no room.
    pub(crate) fn write(
        &mut self,
        mechanics: &Mechanics,
        arm: &mut Arm,
        (at, data): (Instant, Instant),
        blocks: Range<u64>,
    ) -> Option<(Parts, Instant)> {
        self.pass_over(&blocks);
        let (mut parts, mut now, mut next) = (Parts::default(), at, blocks.start);
        while next < blocks.end {
            let Some(spot) = self.spot(mechanics, *arm, (now, data), blocks.end - next) else {
                self.free(blocks);
                return None;
            };
            *arm = Arm { cylinder: spot.cylinder, head: HEAD };
            let track = track_of(mechanics, spot.cylinder);
            let transfer = mechanics.spindle.pass(spot.count, track);
            parts += Parts { seek: spot.seek, rotation: spot.begins.since(now + spot.seek), transfer };
            now = spot.begins + transfer;
            for index in 0..spot.count {
                let sector = (u64::from(spot.first) + index) % u64::from(track);
                self.use_sector(next + index, (spot.cylinder, sector as u32), track);
            }
            next += spot.count;
        }
        Some((parts, now))
    }

    /// Reads blocks that were written near the heads.
    pub(crate) fn read(
        &self,
        mechanics: &Mechanics,
        arm: &mut Arm,
        at: Instant,
        blocks: Range<u64>,
    ) -> (Parts, Instant) {
        let (mut parts, mut now) = (Parts::default(), at);
        for (_, (cylinder, sector)) in self.places.range(blocks) {
            let seek = mechanics.movement_to(*arm, Arm { cylinder: *cylinder, head: HEAD }, Way::Read);
            *arm = Arm { cylinder: *cylinder, head: HEAD };
            let track = track_of(mechanics, *cylinder);
            let rotation = mechanics.spindle.wait(now + seek, Angle::of((*sector).into(), track.into()));
            let transfer = mechanics.spindle.pass(1, track);
            parts += Parts { seek, rotation, transfer };
            now = now + seek + rotation + transfer;
        }
        (parts, now)
    }

    /// When a write of so many blocks for which the arm moves at `at` has its first sector under
    /// the heads; `None` if there is no room.
    pub(crate) fn positioning(
        &self,
        mechanics: &Mechanics,
        arm: Arm,
        times: (Instant, Instant),
        blocks: u64,
    ) -> Option<Instant> {
        self.spot(mechanics, arm, times, blocks).map(|spot| spot.begins)
    }

    /// Where as many of these blocks go as fit on a track: of the nearest cylinders with room, the
    /// one where free sectors pass first. If none has room, for half as many, and so on.
    fn spot(
        &self,
        mechanics: &Mechanics,
        arm: Arm,
        (at, data): (Instant, Instant),
        blocks: u64,
    ) -> Option<Spot> {
        let last = mechanics.seek.longest();
        let mut most = blocks;
        while most > 0 {
            let around =
                (0..=last).flat_map(|far| [arm.cylinder.checked_add(far), arm.cylinder.checked_sub(far)]);
            let around = around.flatten().filter(|cylinder| *cylinder <= last);
            let spots = around.filter_map(|cylinder| {
                let count = most.min(track_of(mechanics, cylinder).into());
                let seek = mechanics.movement_to(arm, Arm { cylinder, head: HEAD }, Way::Write);
                let arrived = (at + seek).max(data);
                let (first, wait) = self.first_run(mechanics, cylinder, count, arrived)?;
                Some(Spot { cylinder, first, count, seek, begins: arrived + wait })
            });
            let best = spots.take(NEAREST).min_by_key(|spot| spot.begins);
            if best.is_some() {
                return best;
            }
            most /= 2;
        }
        None
    }

    /// Of `count` free sectors in a row: the first, and the time from `arrived` on until it begins
    /// to pass. The row that passes first.
    fn first_run(
        &self,
        mechanics: &Mechanics,
        cylinder: u32,
        count: u64,
        arrived: Instant,
    ) -> Option<(u32, Duration)> {
        let spindle = &mechanics.spindle;
        let track = u64::from(track_of(mechanics, cylinder));
        let used = self.used.get(&cylinder);
        let is_free = |sector: u64| used.is_none_or(|used| !used[(sector % track) as usize]);
        let passed = spindle.angle(arrived).revolutions() * track as f64;
        let from = passed.ceil() as u64;
        let mut free = 0;
        for sector in from..from + track + count {
            free = if is_free(sector) { free + 1 } else { 0 };
            if free == count {
                let first = (sector + 1 - count) % track;
                return Some((first as u32, spindle.wait(arrived, Angle::of(first, track))));
            }
        }
        None
    }

    /// Frees what a write of these blocks makes out of date.
    fn pass_over(&mut self, written: &Range<u64>) {
        let ring = self.rings.iter_mut().find(|ring| ring.blocks.contains(&written.start));
        let Ring { blocks, end } = ring.expect("it is a block of a ring");
        let from = std::mem::replace(end, written.end);
        let all = blocks.clone();
        if written.start < from {
            self.free(from..all.end);
            self.free(all.start..written.end);
        } else {
            self.free(from..written.end);
        }
    }

    fn free(&mut self, blocks: Range<u64>) {
        while let Some((block, (cylinder, sector))) =
            self.places.range(blocks.clone()).next().map(|(block, place)| (*block, *place))
        {
            self.places.remove(&block);
            self.used.get_mut(&cylinder).expect("it is used")[sector as usize] = false;
        }
    }

    fn use_sector(&mut self, block: u64, (cylinder, sector): (u32, u32), track: u32) {
        let used = self.used.entry(cylinder).or_insert_with(|| vec![false; track as usize]);
        assert!(!std::mem::replace(&mut used[sector as usize], true), "a sector has one block");
        self.places.insert(block, (cylinder, sector));
    }
}

/// The sectors of a track of a cylinder.
fn track_of(mechanics: &Mechanics, cylinder: u32) -> u32 {
    let zones = mechanics.surface.zones();
    let zone = zones.iter().rev().find(|zone| zone.cylinder <= cylinder).or(zones.first());
    zone.map_or(1, |zone| zone.shape.sectors as u32)
}
