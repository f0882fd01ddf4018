//! A zone in a drive's file: where its blocks are.

use serde::Deserialize;

use super::mechanics::{HeadOrderName, MechanicsTable};
use crate::angle::Angle;
use crate::refusal::ZoneProblem;
use crate::sparing::{Shape, Sharing, Sparing};
use crate::surface::{Arrangement, HeadOrder, Strip, Zone};

/// A `[[zone]]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZoneTable {
    /// First and last cylinder.
    pub cylinders: (u32, u32),
    /// Sectors of 512 bytes on each track.
    pub sectors_per_track: u32,
    /// The number of sectors by which each track begins later than the track before it on the same
    /// cylinder.
    #[serde(default)]
    pub track_skew: u64,
    /// The same from the last track of a cylinder to the first track of the next.
    #[serde(default)]
    pub cylinder_skew: u64,
    /// The position of the zone's first sector, in sectors.
    #[serde(default)]
    pub first_offset: u64,
    /// The number of sectors at the zone's beginning that hold no blocks.
    #[serde(default)]
    pub front_spares: u64,
    /// The number of spares of each group: tracks or sectors, as `spares_per` says.
    #[serde(default)]
    pub spares: u64,
    /// The bad sectors or tracks that are slipped, numbered from the zone's beginning.
    #[serde(default)]
    pub slips: Vec<u64>,
    /// The bad sectors or tracks that are replaced, each with its replacement.
    #[serde(default)]
    pub defects: Vec<(u64, u64)>,
    /// The number of blocks. The default is all that remains without spares and slips.
    #[serde(default)]
    pub blocks: Option<u64>,
    /// The strips, on a drive that arranges its tracks in strips.
    #[serde(default)]
    pub strips: Option<StripsTable>,
}

/// `[zone.strips]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StripsTable {
    /// The revolutions from the beginning of one pattern to the next.
    pub advance: f64,
    /// The number of cylinders of a pattern.
    pub cylinders: u32,
    /// Strips: first cylinder, start (revolutions), step (revolutions), 1 inwards or -1 outwards,
    /// cylinders, head.
    pub rows: Vec<(u32, f64, f64, i8, u32, u32)>,
}

impl ZoneTable {
    /// The model of the zone. Checks that its cylinders come after those of the zone before.
    pub(super) fn zone(
        &self,
        mechanics: &MechanicsTable,
        sharing: Sharing,
        (first, free): (u64, u32),
    ) -> Result<Zone, ZoneProblem> {
        let (from, to) = self.cylinders;
        if from < free || to < from {
            return Err(ZoneProblem::Cylinders(from, to));
        }
        if self.sectors_per_track == 0 {
            return Err(ZoneProblem::Track);
        }
        let shape = Shape {
            cylinders: u64::from(to - from) + 1,
            heads: mechanics.heads.into(),
            sectors: self.sectors_per_track.into(),
        };
        let sparing = Sparing::new(sharing, shape, self.spares, &self.slips, &self.defects)?;
        let room =
            room(sharing, shape, self.spares, self.slips.len() as u64).saturating_sub(self.front_spares);
        let blocks = self.blocks.unwrap_or(room);
        if blocks > room || blocks == 0 {
            return Err(ZoneProblem::Blocks { blocks, room });
        }
        let arrangement = self.arrangement(mechanics)?;
        Ok(Zone { first, blocks, cylinder: from, shape, front: self.front_spares, sparing, arrangement })
    }

    fn arrangement(&self, mechanics: &MechanicsTable) -> Result<Arrangement, ZoneProblem> {
        let Some(strips) = &self.strips else {
            let heads = match mechanics.head_order {
                HeadOrderName::Up => HeadOrder::Up,
                HeadOrderName::SerpentineInZone => HeadOrder::SerpentineInZone,
                HeadOrderName::Serpentine => HeadOrder::Serpentine,
            };
            return Ok(Arrangement::Cylinders {
                heads,
                first_offset: self.first_offset,
                track_skew: self.track_skew,
                cylinder_skew: self.cylinder_skew,
            });
        };
        let strip = |(index, row): (usize, &(u32, f64, f64, i8, u32, u32))| {
            let (cylinder, start, step, direction, cylinders, head) = *row;
            let inwards = direction > 0;
            let inside = match inwards {
                true => cylinder + cylinders <= strips.cylinders,
                false => cylinder < strips.cylinders && cylinders <= cylinder + 1,
            };
            let sound = inside && cylinders > 0 && head < mechanics.heads;
            let (start, step) = (Angle::from_revolutions(start), Angle::from_revolutions(step));
            let strip = Strip { cylinder, inwards, cylinders, head, start, step };
            sound.then_some(strip).ok_or(ZoneProblem::Strip(index + 1))
        };
        Ok(Arrangement::Strips {
            first: Angle::of(self.first_offset, self.sectors_per_track.into()),
            advance: Angle::from_revolutions(strips.advance),
            cylinders: strips.cylinders,
            strips: strips.rows.iter().enumerate().map(strip).collect::<Result<_, _>>()?,
        })
    }
}

/// The default number of blocks of a zone.
fn room(sharing: Sharing, shape: Shape, spares: u64, slips: u64) -> u64 {
    let Shape { cylinders, heads, sectors } = shape;
    let all = cylinders * heads * sectors;
    all.saturating_sub(match sharing {
        Sharing::ZoneOfTracks => spares * sectors,
        Sharing::Zone => spares,
        Sharing::Cylinders(range) => spares * (cylinders / u64::from(range)),
        Sharing::Track => spares * cylinders * heads,
        Sharing::Drive => slips,
    })
}
