//! Where blocks are on the platters.
//!
//! A drive's cylinders are divided into zones, whose tracks are of one length. The blocks of a zone
//! fill its tracks one after the other, in an order and at angles that the zone's [`Arrangement`]
//! says.

use crate::angle::Angle;
use crate::sparing::{Shape, Sparing};

/// The order of tracks, and the angles at which they begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    /// Cylinder by cylinder, all heads of each.
    Cylinders {
        /// In which order.
        heads: HeadOrder,
        /// Where the zone's first sector is, in sectors.
        first_offset: u64,
        /// Sectors from one track's beginning to the next one's.
        track_skew: u64,
        /// The same, where a new cylinder begins: more by this.
        cylinder_skew: u64,
    },
    /// In strips of neighbouring cylinders on one surface, then on the next, in patterns that
    /// recur.
    Strips {
        /// Where the zone's first track begins.
        first: Angle,
        /// How much later each pattern begins than the one before it.
        advance: Angle,
        /// Cylinders of a pattern.
        cylinders: u32,
        /// The strips of a pattern, in order.
        strips: Vec<Strip>,
    },
}

/// In which order the heads of a cylinder come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOrder {
    /// From the first to the last.
    Up,
    /// The other way in every other cylinder of a zone.
    SerpentineInZone,
    /// The other way in every odd cylinder.
    Serpentine,
}

/// A strip: neighbouring tracks of a surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Its first cylinder, counted from its pattern's.
    pub cylinder: u32,
    /// Whether it goes inwards, to higher cylinders.
    pub inwards: bool,
    /// How many cylinders it has.
    pub cylinders: u32,
    /// On which surface.
    pub head: u32,
    /// Where its first track begins, counted from its pattern's.
    pub start: Angle,
    /// From one track's beginning to the next one's.
    pub step: Angle,
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Its first block's address.
    pub first: u64,
    /// How many it has.
    pub blocks: u64,
    /// Its first cylinder.
    pub cylinder: u32,
    /// What it would be without spares.
    pub shape: Shape,
    /// Sectors at its beginning that hold nothing.
    pub front: u64,
    /// Its spares.
    pub sparing: Sparing,
    /// Its tracks.
    pub arrangement: Arrangement,
}

/// A block's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cylinder, counted from the outermost.
    pub cylinder: u32,
    /// The surface.
    pub head: u32,
    /// Where it begins.
    pub angle: Angle,
    /// Sectors of its track.
    pub track: u32,
    /// The track's number in its zone, and the zone's.
    pub(crate) number: (u64, u32),
    /// Its sector in the track.
    pub(crate) sector: u64,
}

/// All blocks of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    zones: Vec<Zone>,
    blocks: u64,
}

impl Zone {
    /// Where the block that is `block`s from the zone's first is.
    fn place(&self, block: u64, zone: u32) -> Place {
        let spot = self.sparing.spot(block + self.front);
        let track = self.shape.sectors;
        let (number, sector) = (spot.sector / track, spot.sector % track);
        let (cylinder, head, start) = self.arrangement.track(number, self.cylinder, self.shape);
        Place {
            cylinder,
            head,
            angle: start + Angle::of(sector + spot.turned, track),
            track: track as u32,
            number: (number, zone),
            sector,
        }
    }
}

impl Arrangement {
    /// The cylinder, head and beginning of a track of a zone.
    fn track(&self, number: u64, first_cylinder: u32, shape: Shape) -> (u32, u32, Angle) {
        match self {
            Arrangement::Cylinders { heads, first_offset, track_skew, cylinder_skew } => {
                let (cylinder, head) = (number / shape.heads, number % shape.heads);
                let skews = (head + (shape.heads - 1) * cylinder) * track_skew + cylinder * cylinder_skew;
                let absolute = first_cylinder + cylinder as u32;
                let back = match heads {
                    HeadOrder::Up => false,
                    HeadOrder::SerpentineInZone => cylinder % 2 == 1,
                    HeadOrder::Serpentine => absolute % 2 == 1,
                };
                let head = if back { shape.heads - 1 - head } else { head };
                (absolute, head as u32, Angle::of(first_offset + skews, shape.sectors))
            }
            Arrangement::Strips { first, advance, cylinders, strips } => {
                let tracks: u64 = strips.iter().map(|strip| u64::from(strip.cylinders)).sum();
                let (pattern, mut rest) = (number / tracks, number % tracks);
                let strip = strips
                    .iter()
                    .find(|strip| {
                        let here = rest < u64::from(strip.cylinders);
                        rest -= if here { 0 } else { u64::from(strip.cylinders) };
                        here
                    })
                    .expect("a pattern has as many tracks as its strips");
                let along =
                    if strip.inwards { strip.cylinder + rest as u32 } else { strip.cylinder - rest as u32 };
                let cylinder = first_cylinder + pattern as u32 * cylinders + along;
                let start = *first + advance.times(pattern) + strip.start + strip.step.times(rest);
                (cylinder, strip.head, start)
            }
        }
    }
}

impl Surface {
    /// Zones in the order of their blocks, each following the one before.
    pub(crate) fn new(zones: Vec<Zone>) -> Surface {
        let blocks = zones.last().map_or(0, |zone| zone.first + zone.blocks);
        Surface { zones, blocks }
    }

    /// Blocks of 512 bytes.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Where all cylinders are alike, one after the other, and hold blocks and nothing else: blocks
    /// of a track, and tracks of a cylinder.
    pub fn cylinder(&self) -> Option<(u64, u64)> {
        let [zone] = &self.zones[..] else { return None };
        let Shape { cylinders, heads, sectors } = zone.shape;
        let full = zone.front == 0 && zone.blocks == cylinders * heads * sectors;
        let in_cylinders = matches!(zone.arrangement, Arrangement::Cylinders { .. });
        (full && in_cylinders).then_some((sectors, heads))
    }

    /// The zones, from the outermost on.
    pub fn zones(&self) -> &[Zone] {
        &self.zones
    }

    /// Where a block is. The block must be one of the drive's.
    pub fn place(&self, block: u64) -> Place {
        assert!(block < self.blocks, "block {block} is beyond the drive's end, which is at {}", self.blocks);
        let zone = self.zones.partition_point(|zone| zone.first <= block) - 1;
        self.zones[zone].place(block - self.zones[zone].first, zone as u32)
    }

    /// The place of `block`; and how many blocks from there on, of at most `most`, are on the same
    /// track, and how many sectors these take up.
    pub fn run(&self, block: u64, most: u64) -> (Place, u64, u64) {
        let place = self.place(block);
        let room = u64::from(place.track) - place.sector;
        let longest = most.min(room).min(self.blocks - block);
        let zone = &self.zones[place.number.1 as usize];
        let (number, after) = (block - zone.first, zone.first + zone.blocks - block);
        let straight = zone.sparing.straight(number + zone.front).min(after);
        if straight >= longest {
            return (place, longest, longest);
        }
        let same = |count: u64| {
            let other = self.place(block + count - 1);
            (other.number == place.number && other.sector >= place.sector)
                .then(|| other.sector - place.sector + 1)
        };
        if same(straight + 1).is_none() {
            return (place, straight, straight);
        }
        // What was slipped is passed over, on the same track.
        let (mut fits, mut too_many) = (straight + 1, longest + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if same(middle).is_some() { fits = middle } else { too_many = middle }
        }
        (place, fits, same(fits).unwrap_or(1))
    }
}
