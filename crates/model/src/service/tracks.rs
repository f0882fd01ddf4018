//! A zone's tracks: how long sectors take to pass, and what it costs to go on from one track to the next.

use parlour_drive::angle::Angle;
use parlour_drive::mechanics::{Arm, Mechanics, Way};
use parlour_drive::surface::{Arrangement, HeadOrder, Zone};
use parlour_units::Instant;

use super::milliseconds;
use super::positioning::Latency;

/// Tracks of one zone; times in ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tracks {
    /// Sectors of each.
    sectors: f64,
    revolution: f64,
    /// From the end of a track to where the next one begins to be read or written, in the mean.
    crossing: f64,
    /// The same onto a track of which all is wanted, where sectors may come in any order.
    full_crossing: f64,
    any_order: bool,
}

/// Tracks that are looked at to know a zone's: patterns are shorter, but where they are, not all of it is looked at.
const MOST: u64 = 1 << 16;

/// Places on a track at which requests may begin that are looked at.
const BEGINNINGS: u32 = 8;

impl Tracks {
    /// Those of the zone of this number.
    pub(super) fn of(mechanics: &Mechanics, zone: usize, way: Way) -> Tracks {
        let zone = &mechanics.surface.zones()[zone];
        let revolution = milliseconds(mechanics.spindle.revolution);
        let sectors = zone.shape.sectors as f64;
        let (mut block, end) = (zone.first, zone.first + zone.blocks);
        let (mut crossings, mut moves, mut count) = (0.0, 0.0, 0.0);
        for _ in 0..pattern(zone).min(MOST) {
            let (place, blocks, passed) = mechanics.surface.run(block, u64::MAX);
            block += blocks;
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
        let full = mean(moves) + revolution / sectors / 2.0;
        Tracks { sectors, revolution, crossing: mean(crossings), full_crossing: full, any_order }
    }

    /// How many ends of tracks a request crosses that begins anywhere: with their probabilities, one number or the next.
    pub(super) fn crossings(&self, blocks: u64) -> [(f64, f64); 2] {
        let mean = (blocks - 1) as f64 / self.sectors;
        let (fewer, part) = (mean.floor(), mean.fract());
        [(1.0 - part, fewer), (part, fewer + 1.0)]
    }

    /// From the first sector on, if so many ends are crossed.
    pub(super) fn passing(&self, blocks: u64, crossed: f64) -> f64 {
        // Of the tracks that are come to, all but the last are wanted whole.
        let full = if self.any_order { (crossed - 1.0).max(0.0) } else { 0.0 };
        let sectors = blocks as f64 * self.revolution / self.sectors;
        sectors + full * self.full_crossing + (crossed - full) * self.crossing
    }

    /// From the first sector on, in the mean.
    pub(super) fn mean_passing(&self, blocks: u64) -> f64 {
        self.crossings(blocks).iter().map(|(weight, crossed)| weight * self.passing(blocks, *crossed)).sum()
    }

    /// What each so many blocks of a stream without end take.
    pub(super) fn long_run(&self, blocks: u64) -> f64 {
        blocks as f64 / self.sectors * (self.revolution + self.crossing)
    }

    /// How long it takes until the first sector passes that is wanted: of a request that begins anywhere on its first track, in some
    /// cases that are as likely.
    pub(super) fn latencies(&self, blocks: u64) -> Vec<Latency> {
        let of = |wanted| Latency { revolution: self.revolution, wanted };
        if !self.any_order {
            return vec![of(0.0)];
        }
        let left = |number: u32| (f64::from(number) + 0.5) / f64::from(BEGINNINGS);
        let wanted = blocks as f64 / self.sectors;
        (0..BEGINNINGS).map(|number| of(left(number).min(wanted))).collect()
    }
}

/// After how many tracks it begins again.
fn pattern(zone: &Zone) -> u64 {
    match &zone.arrangement {
        Arrangement::Cylinders { heads: HeadOrder::Up, .. } => zone.shape.heads,
        Arrangement::Cylinders { .. } => 2 * zone.shape.heads,
        Arrangement::Strips { strips, .. } => strips.iter().map(|strip| u64::from(strip.cylinders)).sum(),
    }
}
