//! The content of a drive's file.
//!
//! `docs/drives.md` describes each key with its unit. An impossible drive is refused, and the error
//! names the wrong key.

use parlour_units::Duration;
use serde::Deserialize;

use crate::angle::{Angle, Spindle};
use crate::electronics::{After, Buffer, Electronics, Overheads, ReadAhead, SecondWrite, WriteBuffered};
use crate::mechanics::{Mechanics, Settle, ZeroLatency};
pub use crate::refusal::{DescriptionError, ZoneProblem};
use crate::refusal::{optional, time};
use crate::seek::SeekCurve;
use crate::solid::{Solid, SolidTable};
use crate::sparing::{Shape, Sharing, Sparing};
use crate::surface::{Arrangement, HeadOrder, Strip, Surface, Zone};

/// A drive's file.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The drive's name, with its maker's.
    pub name: String,
    /// The source of its figures.
    pub source: String,
    /// Further information.
    #[serde(default)]
    pub note: Option<String>,
    /// The demerit figure of DiskSim 4.0's model of the drive compared with measurements, in
    /// milliseconds.
    #[serde(default)]
    pub disksim_rms_ms: Option<f64>,
    /// The mechanics, if it is a mechanical drive.
    #[serde(default)]
    pub mechanics: Option<MechanicsTable>,
    /// The parameters of a drive without mechanics.
    #[serde(default)]
    pub solid: Option<SolidTable>,
    /// The buffer.
    #[serde(default)]
    pub buffer: BufferTable,
    /// The overheads of commands.
    #[serde(default)]
    pub overheads: OverheadsTable,
    /// The transfer to and from the host.
    #[serde(default)]
    pub bus: BusTable,
    /// Its zones, from the outermost on.
    #[serde(rename = "zone", default)]
    pub zones: Vec<ZoneTable>,
}

/// `[mechanics]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MechanicsTable {
    /// The number of cylinders that the arm can reach.
    pub cylinders: u32,
    /// The number of surfaces in use.
    pub heads: u32,
    /// Revolutions per minute; alternative to `revolution`.
    #[serde(default)]
    pub rpm: Option<f64>,
    /// The time of one revolution.
    #[serde(default)]
    pub revolution: Option<String>,
    /// Seek times.
    pub seek: SeekTable,
    /// The time of a switch to another head of the same cylinder.
    #[serde(default)]
    pub head_switch: Option<String>,
    /// The additional time before a write may begin; may be negative.
    #[serde(default)]
    pub write_settle: Option<String>,
    /// Whether a read begins with the first wanted sector that passes.
    #[serde(default)]
    pub zero_latency_reads: bool,
    /// Whether a write does.
    #[serde(default)]
    pub zero_latency_writes: bool,
    /// The order in which blocks fill the heads of a cylinder.
    #[serde(default)]
    pub head_order: HeadOrderName,
    /// The group of sectors that share spares.
    #[serde(default)]
    pub spares_per: SharingName,
    /// The number of cylinders per group, with `spares_per = "cylinders"`.
    #[serde(default)]
    pub spare_range: Option<u32>,
}

/// `[mechanics.seek]`: a table, or the coefficients of a formula.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum SeekTable {
    /// Points of the curve.
    Table {
        /// Distance in cylinders, and time in milliseconds.
        table: Vec<(u32, f64)>,
    },
    /// `constant + linear · d + root · √d`, in milliseconds.
    Formula {
        /// Milliseconds.
        constant: f64,
        /// Milliseconds per cylinder.
        #[serde(default)]
        linear: f64,
        /// Milliseconds per square root of cylinders.
        #[serde(default)]
        root: f64,
        /// Whether `d` includes the cylinder at which the arm stops; the default is that it does.
        #[serde(default = "yes")]
        destination_counts: bool,
    },
}

fn yes() -> bool {
    true
}

/// `head_order`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeadOrderName {
    /// From the first head to the last.
    #[default]
    Up,
    /// In reverse order in every second cylinder of a zone.
    SerpentineInZone,
    /// In reverse order in every odd cylinder.
    Serpentine,
}

/// `spares_per`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SharingName {
    /// Spare tracks at the end of each zone; slips are tracks too.
    ZoneOfTracks,
    /// Spare sectors at the end of each zone.
    #[default]
    Zone,
    /// Spare sectors at the end of each group of `spare_range` cylinders.
    Cylinders,
    /// Spare sectors at the end of each cylinder.
    Cylinder,
    /// Spare sectors at the end of each track.
    Track,
    /// Spare sectors at the end of the drive.
    Drive,
}

/// `[buffer]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BufferTable {
    /// The number of segments for reads.
    pub read_segments: usize,
    /// The number of blocks of each segment.
    pub segment_blocks: u64,
    /// Whether there is one more segment for writes.
    pub write_segment: bool,
    /// The extent of read-ahead.
    pub read_ahead: ReadAheadName,
    /// The most blocks of read-ahead.
    pub read_ahead_blocks: u64,
    /// Whether read-ahead resumes after a hit.
    pub reads_on_after_hit: bool,
    /// Whether written data can be read from the buffer.
    pub keeps_writes: bool,
    /// Whether the buffer keeps blocks that pass before a request on its first track.
    pub keeps_passing: bool,
    /// Whether read-ahead can stop in the middle of a sector.
    pub stops_within_sector: bool,
    /// Whether a write is complete once its data is in the buffer.
    pub caches_writes: bool,
    /// The fraction of a read that must be in the buffer before the bus is taken.
    pub read_watermark: f64,
    /// The blocks that must be in the buffer before a write begins; the length from which a write
    /// is long; and the blocks for a long write.
    pub write_buffered: (u64, u64, u64),
}

/// `read_ahead`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadAheadName {
    /// None.
    #[default]
    Nothing,
    /// To the end of the track.
    Track,
    /// To the end of the cylinder.
    Cylinder,
    /// A number of blocks.
    Blocks,
    /// To the end of the track, and of the next track.
    TrackAndNext,
}

/// One time; or two times, after a read and after a write.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum AfterTable {
    /// The same time in both cases.
    Always(String),
    /// The time after a read, and after a write.
    Each(String, String),
}

/// `[overheads]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct OverheadsTable {
    /// A read that hits the buffer.
    pub read_hit: Option<AfterTable>,
    /// A read that misses the buffer.
    pub read_miss: Option<AfterTable>,
    /// A write.
    pub write: Option<AfterTable>,
    /// Releasing the bus when a read has to wait.
    pub read_disconnect: Option<AfterTable>,
    /// Releasing the bus when the data of a write has arrived.
    pub write_disconnect: Option<String>,
    /// Taking the bus again.
    pub reselect: Option<String>,
    /// Before each transfer.
    pub data_preparation: Option<String>,
    /// Reporting the completion of a read.
    pub read_completion: Option<String>,
    /// Reporting the completion of a write.
    pub write_completion: Option<String>,
    /// The least seek time of a write.
    pub least_write_seek: Option<String>,
    /// The overheads of a write that follows another write elsewhere, on drives that release the
    /// bus before its data.
    pub second_write: Option<SecondWriteTable>,
}

/// `[overheads.second_write]`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecondWriteTable {
    /// The command.
    pub command: String,
    /// Releasing the bus the first time.
    pub first_disconnect: String,
    /// The time until the bus is taken again.
    pub gap: String,
    /// Releasing the bus after the data.
    pub second_disconnect: String,
    /// Taking the bus for the completion.
    pub reselect: String,
    /// The delay from the command until the arm starts.
    pub seek_delay: String,
}

/// `[bus]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct BusTable {
    /// The time per block of a read.
    pub read_block: Option<String>,
    /// The time per block of a write.
    pub write_block: Option<String>,
}

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

impl Description {
    /// Parses a file.
    pub fn parse(text: &str) -> Result<Description, DescriptionError> {
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            let message = parlour_units::words::bad_value(&message).unwrap_or(message);
            DescriptionError::Unreadable { line, message }
        })
    }

    /// The model of a drive without mechanics. None for a drive with
    /// [mechanics](Description::mechanics) and [electronics](Description::electronics).
    ///
    /// # Errors
    /// The description is invalid, or describes neither kind.
    pub fn solid(&self) -> Result<Option<Solid>, DescriptionError> {
        let moves = self.mechanics.is_some()
            || !self.zones.is_empty()
            || self.buffer != BufferTable::default()
            || self.overheads != OverheadsTable::default()
            || self.bus != BusTable::default();
        match &self.solid {
            None if self.mechanics.is_some() => Ok(None),
            Some(table) if !moves => table.solid().map(Some),
            _ => Err(DescriptionError::Kind),
        }
    }

    /// The number of its blocks of 512 bytes, for both kinds of drive.
    ///
    /// # Errors
    /// The description is invalid.
    pub fn blocks(&self) -> Result<u64, DescriptionError> {
        match self.solid()? {
            Some(solid) => Ok(solid.blocks),
            None => Ok(self.mechanics(Angle::default())?.surface.blocks()),
        }
    }

    /// The mechanical parts, with the platters at `phase` at time zero.
    ///
    /// # Errors
    /// The description is invalid, or has no mechanics.
    pub fn mechanics(&self, phase: Angle) -> Result<Mechanics, DescriptionError> {
        let (None, Some(table)) = (self.solid()?, &self.mechanics) else {
            return Err(DescriptionError::Kind);
        };
        if self.zones.is_empty() || table.heads == 0 || table.cylinders == 0 {
            return Err(DescriptionError::Empty);
        }
        let seek = match &table.seek {
            SeekTable::Table { table: points } => SeekCurve::table(points, table.cylinders)?,
            SeekTable::Formula { constant, linear, root, destination_counts } => {
                SeekCurve::formula((*constant, *linear, *root), *destination_counts, table.cylinders)?
            }
        };
        Ok(Mechanics {
            surface: self.surface(table)?,
            seek,
            head_switch: optional("mechanics.head_switch", table.head_switch.as_deref())?,
            write_settle: settle(table.write_settle.as_deref())?,
            spindle: Spindle { revolution: table.revolution()?, phase },
            zero_latency: ZeroLatency { reads: table.zero_latency_reads, writes: table.zero_latency_writes },
        })
    }

    /// The electronics between the mechanical parts and the bus.
    pub fn electronics(&self) -> Result<Electronics, DescriptionError> {
        let (buffer, overheads, bus) = (&self.buffer, &self.overheads, &self.bus);
        let second = |table: &SecondWriteTable| -> Result<SecondWrite, DescriptionError> {
            Ok(SecondWrite {
                command: time("overheads.second_write.command", &table.command)?,
                first_disconnect: time("overheads.second_write.first_disconnect", &table.first_disconnect)?,
                gap: time("overheads.second_write.gap", &table.gap)?,
                second_disconnect: time(
                    "overheads.second_write.second_disconnect",
                    &table.second_disconnect,
                )?,
                reselect: time("overheads.second_write.reselect", &table.reselect)?,
                seek_delay: time("overheads.second_write.seek_delay", &table.seek_delay)?,
            })
        };
        let (blocks, long, long_blocks) = buffer.write_buffered;
        Ok(Electronics {
            buffer: Buffer {
                read_segments: buffer.read_segments,
                segment_blocks: buffer.segment_blocks,
                write_segment: buffer.write_segment,
                read_ahead: match buffer.read_ahead {
                    ReadAheadName::Nothing => ReadAhead::Nothing,
                    ReadAheadName::Track => ReadAhead::Track(buffer.read_ahead_blocks),
                    ReadAheadName::Cylinder => ReadAhead::Cylinder(buffer.read_ahead_blocks),
                    ReadAheadName::Blocks => ReadAhead::Blocks(buffer.read_ahead_blocks),
                    ReadAheadName::TrackAndNext => ReadAhead::TrackAndNext,
                },
                reads_on_after_hit: buffer.reads_on_after_hit,
                keeps_writes: buffer.keeps_writes,
                keeps_passing: buffer.keeps_passing,
                stops_within_sector: buffer.stops_within_sector,
                caches_writes: buffer.caches_writes,
                read_watermark: buffer.read_watermark,
                write_buffered: WriteBuffered { blocks, long, long_blocks },
            },
            overheads: Overheads {
                read_hit: after("overheads.read_hit", overheads.read_hit.as_ref())?,
                read_miss: after("overheads.read_miss", overheads.read_miss.as_ref())?,
                write: after("overheads.write", overheads.write.as_ref())?,
                read_disconnect: after("overheads.read_disconnect", overheads.read_disconnect.as_ref())?,
                write_disconnect: optional(
                    "overheads.write_disconnect",
                    overheads.write_disconnect.as_deref(),
                )?,
                reselect: optional("overheads.reselect", overheads.reselect.as_deref())?,
                data_preparation: optional(
                    "overheads.data_preparation",
                    overheads.data_preparation.as_deref(),
                )?,
                read_completion: optional("overheads.read_completion", overheads.read_completion.as_deref())?,
                write_completion: optional(
                    "overheads.write_completion",
                    overheads.write_completion.as_deref(),
                )?,
                least_write_seek: optional(
                    "overheads.least_write_seek",
                    overheads.least_write_seek.as_deref(),
                )?,
                second_write: overheads.second_write.as_ref().map(second).transpose()?,
            },
            bus: (
                optional("bus.read_block", bus.read_block.as_deref())?,
                optional("bus.write_block", bus.write_block.as_deref())?,
            ),
        })
    }

    fn surface(&self, mechanics: &MechanicsTable) -> Result<Surface, DescriptionError> {
        let sharing = mechanics.sharing()?;
        let mut zones: Vec<Zone> = Vec::with_capacity(self.zones.len());
        let (mut first, mut free) = (0, 0);
        for (index, table) in self.zones.iter().enumerate() {
            let zone = table.zone(mechanics, sharing, (first, free));
            let zone = zone.map_err(|problem| DescriptionError::Zone { zone: index + 1, problem })?;
            (first, free) = (zone.first + zone.blocks, table.cylinders.1 + 1);
            zones.push(zone);
        }
        Ok(Surface::new(zones))
    }
}

impl MechanicsTable {
    fn revolution(&self) -> Result<Duration, DescriptionError> {
        match (self.rpm, &self.revolution) {
            (Some(rpm), None) if (60.0..=1e6).contains(&rpm) => {
                Ok(Duration::from_nanoseconds((60e9 / rpm).round() as u64))
            }
            (Some(rpm), None) => Err(DescriptionError::Rpm(rpm)),
            (None, Some(text)) => time("mechanics.revolution", text),
            _ => Err(DescriptionError::Revolution),
        }
    }

    fn sharing(&self) -> Result<Sharing, DescriptionError> {
        Ok(match self.spares_per {
            SharingName::ZoneOfTracks => Sharing::ZoneOfTracks,
            SharingName::Zone => Sharing::Zone,
            SharingName::Cylinder => Sharing::Cylinders(1),
            SharingName::Track => Sharing::Track,
            SharingName::Drive => Sharing::Drive,
            SharingName::Cylinders => {
                let range = self.spare_range.filter(|range| *range > 0);
                Sharing::Cylinders(range.ok_or(DescriptionError::NoRange)?)
            }
        })
    }
}

impl ZoneTable {
    /// The model of the zone. Checks that its cylinders come after those of the zone before.
    fn zone(
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

fn after(key: &'static str, table: Option<&AfterTable>) -> Result<After, DescriptionError> {
    Ok(match table {
        None => After::default(),
        Some(AfterTable::Always(text)) => After { read: time(key, text)?, write: time(key, text)? },
        Some(AfterTable::Each(read, write)) => After { read: time(key, read)?, write: time(key, write)? },
    })
}

fn settle(text: Option<&str>) -> Result<Settle, DescriptionError> {
    let text = text.unwrap_or("0ms");
    let (sign, amount) = text.strip_prefix('-').map_or((1, text), |amount| (-1, amount));
    let amount = time("mechanics.write_settle", amount)?.nanoseconds();
    Ok(Settle { nanoseconds: sign * i64::try_from(amount).unwrap_or(i64::MAX) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRIVE: &str = r#"
name = "small"
source = "nowhere"

[mechanics]
cylinders = 10
heads = 2
rpm = 6000
write_settle = "-0.1ms"
seek = { constant = 1.0, linear = 0.1 }

[[zone]]
cylinders = [0, 9]
sectors_per_track = 100
"#;

    fn refused(text: &str) -> String {
        let description = Description::parse(text);
        let mechanics = description.and_then(|description| description.mechanics(Angle::default()).map(drop));
        mechanics.expect_err("it is no drive").to_string()
    }

    #[test]
    fn a_small_file_is_a_drive() {
        let description = Description::parse(DRIVE).expect("it is one");
        let drive = description.mechanics(Angle::default()).expect("it is one");
        assert_eq!(drive.surface.blocks(), 2_000);
        assert_eq!(drive.spindle.revolution, Duration::from_millis(10));
        assert_eq!(drive.write_settle.nanoseconds, -100_000);
        assert_eq!(description.electronics().expect("it has none"), Electronics::default());
    }

    #[test]
    fn what_is_no_drive_is_told_by_its_key() {
        let told = |from: &str, to: &str| {
            assert!(DRIVE.contains(from), "{from}");
            refused(&DRIVE.replace(from, to))
        };
        assert!(told("heads = 2", "heads = 2\nspeed = 3").starts_with("line 8: unknown field `speed`"));
        assert!(told("rpm = 6000", "rpm = 6").starts_with("mechanics.rpm: 6 revolutions"));
        assert!(told("rpm = 6000", "").contains("either rpm or revolution"));
        assert!(told("-0.1ms", "-0.1").starts_with("mechanics.write_settle: '0.1' is not a duration"));
        assert!(told("linear = 0.1", "linear = -1.0").starts_with("mechanics.seek: a seek over 1 cylinders"));
        assert!(told("[0, 9]", "[5, 4]").starts_with("zone 1: cylinders 5 to 4"));
        assert!(told("_track = 100", "_track = 0").starts_with("zone 1: sectors_per_track"));
        assert!(told("_track = 100", "_track = 100\nspares = 2000").starts_with("zone 1: 2000 spares"));
        assert!(told("_track = 100", "_track = 100\nblocks = 2001").starts_with("zone 1: 2001 blocks"));
        assert!(told("rpm = 6000", "rpm = 6000\nspares_per = \"cylinders\"").contains("spare_range"));
        assert!(refused("name = \"a\"\nsource = \"b\"").starts_with("a drive has either [mechanics]"));
    }

    const SOLID: &str = r#"
name = "plain"
source = "nowhere"

[solid]
blocks = 1000
units = 4
read = "0.1ms"
write = "0.2ms"
read_block = "1us"
"#;

    #[test]
    fn a_drive_in_which_nothing_moves_is_one() {
        let description = Description::parse(SOLID).expect("it is one");
        let solid = description.solid().expect("it is one").expect("nothing moves");
        assert_eq!(description.blocks(), Ok(1_000));
        assert_eq!(solid.access(true, 8), Duration::from_micros(108));
        assert_eq!(solid.access(false, 8), Duration::from_micros(200));
        assert!((solid.rate(false, 8) - 20_000.0).abs() < 1e-6);
        assert_eq!(description.mechanics(Angle::default()).map(drop), Err(DescriptionError::Kind));
    }

    #[test]
    fn a_drive_is_of_one_kind() {
        let told = |from: &str, to: &str| {
            let description = Description::parse(&SOLID.replace(from, to)).expect("it can be read");
            description.solid().expect_err("it is no drive").to_string()
        };
        assert!(told("\"1us\"", "\"1us\"\n[bus]\nread_block = \"1us\"").starts_with("a drive has either"));
        assert!(told("units = 4", "units = 0").starts_with("solid: blocks and units"));
        assert!(told("0.2ms", "0.2").starts_with("solid.write: '0.2' is not a duration"));
    }
}
