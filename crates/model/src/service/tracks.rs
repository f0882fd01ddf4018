//! The tracks of a zone: the time in which sectors pass, and the time to continue from one track to
//! the next.

use parlour_drive::angle::Angle;
use parlour_drive::mechanics::{Arm, Mechanics, Way};
use parlour_drive::surface::{Arrangement, HeadOrder, Zone};
use parlour_units::Instant;

use super::moments::milliseconds;

/// Tracks of one zone; times in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracks {
    /// The number of sectors of each.
    pub(super) sectors: f64,
    /// The mean number of blocks of each, without spares.
    held: f64,
    revolution: f64,
    /// The mean time from the end of a track to where the next one begins to be read or written.
    crossing: f64,
    /// The part of it in which the arm and heads move.
    moving: f64,
    /// Whether the sectors of a track may be taken in any order.
    pub(super) any_order: bool,
}

/// The position of a request on its first track.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Start {
    /// Its probability.
    pub(super) weight: f64,
    /// The number of its blocks on the first track,
    pub(super) first: f64,
    /// and on the last track, if that is another.
    last: f64,
    /// The number of ends of tracks that it crosses.
    crossed: f64,
}

/// The most tracks that are examined to find a zone's parameters. Patterns are shorter; where they
/// are not, only a part is examined.
const MOST: u64 = 1 << 16;

/// The number of beginnings of requests that are considered, for each number of crossed ends.
const BEGINNINGS: u32 = 4;

impl Tracks {
    /// The tracks of the zone with this number.
    pub(super) fn of(mechanics: &Mechanics, zone: usize, way: Way) -> Tracks {
        let zone = &mechanics.surface.zones()[zone];
        let revolution = milliseconds(mechanics.spindle.revolution);
        let sectors = zone.shape.sectors as f64;
        let (mut block, end) = (zone.first, zone.first + zone.blocks);
        let (mut crossings, mut moves, mut count, mut held) = (0.0, 0.0, 0.0, 0);
        for _ in 0..pattern(zone).min(MOST) {
            let (place, blocks, passed) = mechanics.surface.run(block, u64::MAX);
            (block, held) = (block + blocks, held.max(blocks));
            if block >= end {
                break;
            }
            let next = mechanics.surface.place(block);
            let spindle = &mechanics.spindle;
            let track_end = place.angle + Angle::of(passed, u64::from(place.track));
            let arm = Arm { cylinder: place.cylinder, head: place.head };
            let moving = mechanics.movement(arm, next, way);
            let arrived = Instant::ZERO + spindle.wait(Instant::ZERO, track_end) + moving;
            crossings += milliseconds(moving + spindle.wait(arrived, next.angle));
            moves += milliseconds(moving);
            count += 1.0;
        }
        let any_order = match way {
            Way::Read => mechanics.zero_latency.reads,
            Way::Write => mechanics.zero_latency.writes,
        };
        let mean = |sum: f64| if count > 0.0 { sum / count } else { 0.0 };
        let held = held as f64;
        Tracks { sectors, held, revolution, crossing: mean(crossings), moving: mean(moves), any_order }
    }

    /// The number of ends of tracks that a request crosses if it begins at a random block: one of
    /// two consecutive numbers, with their probabilities.
    pub(super) fn crossings(&self, blocks: u64) -> [(f64, f64); 2] {
        let mean = (blocks - 1) as f64 / self.held;
        let (fewer, part) = (mean.floor(), mean.fract());
        [(1.0 - part, fewer), (part, fewer + 1.0)]
    }

    /// The beginnings of requests that begin at a random block, represented by some of them.
    pub(super) fn starts(&self, blocks: u64) -> Vec<Start> {
        let likely = self.crossings(blocks).into_iter().filter(|(weight, _)| *weight > 0.0);
        let blocks = blocks as f64;
        let of = |(weight, crossed): (f64, f64)| {
            let (whole, parts) = (crossed == 0.0, if crossed == 0.0 { 1 } else { BEGINNINGS });
            let least = (blocks - crossed * self.held).max(1.0);
            let most = (blocks - 1.0 - (crossed - 1.0) * self.held).min(self.held);
            (0..parts).map(move |part| {
                let place = (f64::from(part) + 0.5) / f64::from(parts);
                let first = if whole { blocks } else { least - 0.5 + place * (most - least + 1.0) };
                let last = blocks - first - (crossed - 1.0).max(0.0) * self.held;
                Start { weight: weight / f64::from(parts), first, last, crossed }
            })
        };
        likely.flat_map(of).collect()
    }

    /// The time in which `sectors` pass.
    pub(super) fn sectors_pass(&self, sectors: f64) -> f64 {
        sectors * self.revolution / self.sectors
    }

    /// If sectors may be taken in any order: the time from when the heads leave the first track
    /// until the last sector has passed. They leave it `early` before its end passes. All following
    /// tracks except the last are wanted whole. They end where they begin, so the waiting times due
    /// to skews add up until the last track.
    pub(super) fn after_first(&self, start: &Start, early: f64) -> f64 {
        if start.crossed == 0.0 {
            return 0.0;
        }
        let (full, boundary) = (start.crossed - 1.0, self.sectors_pass(0.5));
        let waits = early + start.crossed * (self.crossing - self.moving) - full * boundary;
        let (wait, wanted) = (waits.rem_euclid(self.revolution), self.sectors_pass(start.last));
        let amid = wait + wanted > self.revolution;
        let last = if amid { self.revolution + boundary } else { wait + wanted };
        start.crossed * self.moving + full * (boundary + self.revolution) + last
    }

    /// The time from the first sector on, if it crosses `crossed` ends.
    pub(super) fn passing(&self, blocks: u64, crossed: f64) -> f64 {
        // All of these tracks except the last are wanted whole.
        let full = if self.any_order { (crossed - 1.0).max(0.0) } else { 0.0 };
        let full_crossing = self.moving + self.sectors_pass(0.5);
        self.sectors_pass(blocks as f64) + full * full_crossing + (crossed - full) * self.crossing
    }

    /// The mean time from the first sector on.
    pub(super) fn mean_passing(&self, blocks: u64) -> f64 {
        self.crossings(blocks).iter().map(|(weight, crossed)| weight * self.passing(blocks, *crossed)).sum()
    }

    /// The time of each `blocks` of an endless stream.
    pub(super) fn long_run(&self, blocks: u64) -> f64 {
        blocks as f64 / self.held * (self.sectors_pass(self.held) + self.crossing)
    }
}

/// The number of tracks after which the pattern repeats.
fn pattern(zone: &Zone) -> u64 {
    match &zone.arrangement {
        Arrangement::Cylinders { heads: HeadOrder::Up, .. } => zone.shape.heads,
        Arrangement::Cylinders { .. } => 2 * zone.shape.heads,
        Arrangement::Strips { strips, .. } => strips.iter().map(|strip| u64::from(strip.cylinders)).sum(),
    }
}
