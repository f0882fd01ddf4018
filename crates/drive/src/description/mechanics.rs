//! The mechanics in a drive's file, apart from its zones.

use parlour_units::Duration;
use serde::Deserialize;

use crate::angle::{Angle, Spindle};
use crate::mechanics::{Mechanics, Settle, ZeroLatency};
use crate::refusal::{DescriptionError, optional, time};
use crate::seek::SeekCurve;
use crate::sparing::Sharing;
use crate::surface::Surface;

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

impl SeekTable {
    /// All times `factor` times as long.
    pub(super) fn scale(&mut self, factor: f64) {
        match self {
            SeekTable::Table { table } => table.iter_mut().for_each(|(_, time)| *time *= factor),
            SeekTable::Formula { constant, linear, root, .. } => {
                [constant, linear, root].into_iter().for_each(|part| *part *= factor);
            }
        }
    }
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

impl MechanicsTable {
    /// The mechanical parts around `surface`, with the platters at `phase` at time zero.
    pub(super) fn mechanics(&self, surface: Surface, phase: Angle) -> Result<Mechanics, DescriptionError> {
        let seek = match &self.seek {
            SeekTable::Table { table: points } => SeekCurve::table(points, self.cylinders)?,
            SeekTable::Formula { constant, linear, root, destination_counts } => {
                SeekCurve::formula((*constant, *linear, *root), *destination_counts, self.cylinders)?
            }
        };
        Ok(Mechanics {
            surface,
            seek,
            head_switch: optional("mechanics.head_switch", self.head_switch.as_deref())?,
            write_settle: settle(self.write_settle.as_deref())?,
            spindle: Spindle { revolution: self.revolution()?, phase },
            zero_latency: ZeroLatency { reads: self.zero_latency_reads, writes: self.zero_latency_writes },
        })
    }

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

    /// The group of sectors that share spares.
    pub(super) fn sharing(&self) -> Result<Sharing, DescriptionError> {
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

fn settle(text: Option<&str>) -> Result<Settle, DescriptionError> {
    let text = text.unwrap_or("0ms");
    let (sign, amount) = text.strip_prefix('-').map_or((1, text), |amount| (-1, amount));
    let amount = time("mechanics.write_settle", amount)?.nanoseconds();
    Ok(Settle { nanoseconds: sign * i64::try_from(amount).unwrap_or(i64::MAX) })
}
