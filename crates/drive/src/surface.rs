//! The positions of blocks on the platters.
//!
//! A drive's cylinders are divided into zones. All tracks of a zone have the same length. The
//! blocks of a zone fill its tracks one after another, in the order and at the angles of the zone's
//! [`Arrangement`].

use crate::angle::Angle;
use crate::sparing::{Shape, Sparing};

/// The order of tracks, and the angles at which they begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Arrangement {
    /// Cylinder by cylinder, with all heads of each.
    Cylinders {
        /// The order of heads.
        heads: HeadOrder,
        /// The position of the zone's first sector, in sectors.
        first_offset: u64,
        /// The sectors from the beginning of a track to the beginning of the next.
        track_skew: u64,
        /// The additional sectors where a new cylinder begins.
        cylinder_skew: u64,
    },
    /// In strips of neighbouring cylinders on one surface, then on the next, in recurring patterns.
    Strips {
        /// The beginning of the zone's first track.
        first: Angle,
        /// The angle from the beginning of a pattern to the beginning of the next.
        advance: Angle,
        /// The number of cylinders of a pattern.
        cylinders: u32,
        /// The strips of a pattern, in order.
        strips: Vec<Strip>,
    },
}

/// The order of the heads of a cylinder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeadOrder {
    /// From the first head to the last.
    Up,
    /// In reverse order in every second cylinder of a zone.
    SerpentineInZone,
    /// In reverse order in every odd cylinder.
    Serpentine,
}

/// A strip: neighbouring tracks on one surface.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    /// Its first cylinder, relative to the pattern's.
    pub cylinder: u32,
    /// Whether it runs inwards, to higher cylinders.
    pub inwards: bool,
    /// The number of its cylinders.
    pub cylinders: u32,
    /// Its surface.
    pub head: u32,
    /// The beginning of its first track, relative to the pattern's.
    pub start: Angle,
    /// The angle from the beginning of a track to the beginning of the next.
    pub step: Angle,
}

/// A zone.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// The address of its first block.
    pub first: u64,
    /// The number of its blocks.
    pub blocks: u64,
    /// Its first cylinder.
    pub cylinder: u32,
    /// Its dimensions without spares.
    pub shape: Shape,
    /// The number of sectors at its beginning that hold no blocks.
    pub front: u64,
    /// Its spares.
    pub sparing: Sparing,
    /// The arrangement of its tracks.
    pub arrangement: Arrangement,
}

/// The position of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The cylinder, counted from the outermost.
    pub cylinder: u32,
    /// The surface.
    pub head: u32,
    /// The angle at which it begins.
    pub angle: Angle,
    /// The number of sectors of its track.
    pub track: u32,
    /// The track's number in its zone, and the zone's number.
    pub(crate) number: (u64, u32),
    /// The number of its sector in the track.
    pub(crate) sector: u64,
}

/// All blocks of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Surface {
    zones: Vec<Zone>,
    blocks: u64,
}

impl Zone {
    /// The position of the block with index `block` in the zone.
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
    /// The zones in the order of their blocks, without gaps.
    pub(crate) fn new(zones: Vec<Zone>) -> Surface {
        let blocks = zones.last().map_or(0, |zone| zone.first + zone.blocks);
        Surface { zones, blocks }
    }

    /// The number of blocks of 512 bytes.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of blocks of a track and of tracks of a cylinder, if all cylinders are equal,
    /// consecutive, and filled with blocks.
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

    /// The position of a block, which must be on the drive.
    pub fn place(&self, block: u64) -> Place {
        assert!(block < self.blocks, "block {block} is beyond the drive's end, which is at {}", self.blocks);
        let zone = self.zones.partition_point(|zone| zone.first <= block) - 1;
        self.zones[zone].place(block - self.zones[zone].first, zone as u32)
    }

    /// The position of `block`; the number of blocks from there on, at most `most`, that are on the
    /// same track; and the number of sectors that these occupy.
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
        // A slipped sector is skipped on the same track.
        let (mut fits, mut too_many) = (straight + 1, longest + 1);
        while fits + 1 < too_many {
            let middle = fits + (too_many - fits) / 2;
            if same(middle).is_some() { fits = middle } else { too_many = middle }
        }
        (place, fits, same(fits).unwrap_or(1))
    }
}
