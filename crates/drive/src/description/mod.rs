//! The content of a drive's file.
//!
//! `docs/drives.md` describes each key with its unit. An impossible drive is refused, and the error
//! names the wrong key.

mod electronics;
mod mechanics;
mod zone;

use serde::Deserialize;

use crate::angle::Angle;
use crate::electronics::Electronics;
use crate::mechanics::Mechanics;
pub use crate::refusal::{DescriptionError, ZoneProblem};
use crate::solid::{Solid, SolidTable};
use crate::surface::{Surface, Zone};
pub use electronics::{AfterTable, BufferTable, BusTable, OverheadsTable, ReadAheadName, SecondWriteTable};
pub use mechanics::{HeadOrderName, MechanicsTable, SeekTable, SharingName};
pub use zone::{StripsTable, ZoneTable};

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

impl Description {
    /// The same drive with seeks that take `factor` times as long. Nothing else is changed, and so
    /// skews hide shorter or longer seeks than they do on the drive.
    #[must_use]
    pub fn with_seeks(mut self, factor: f64) -> Description {
        if let Some(mechanics) = &mut self.mechanics {
            mechanics.seek.scale(factor);
        }
        self
    }

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
        table.mechanics(self.surface(table)?, phase)
    }

    /// The electronics between the mechanical parts and the bus.
    pub fn electronics(&self) -> Result<Electronics, DescriptionError> {
        Ok(Electronics {
            buffer: self.buffer.buffer(),
            overheads: self.overheads.overheads()?,
            bus: self.bus.times()?,
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

#[cfg(test)]
mod tests {
    use parlour_units::Duration;

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
    fn seeks_are_scaled_and_nothing_else() {
        let drive = Description::parse(DRIVE).expect("it is one");
        let time = |drive: &Description, distance| {
            drive.mechanics(Angle::default()).expect("it is one").seek.time(distance).nanoseconds()
        };
        let slower = drive.clone().with_seeks(2.5);
        assert_eq!([time(&drive, 4), time(&slower, 4), time(&slower, 0)], [1_400_000, 3_500_000, 0]);
        assert_eq!(Description { mechanics: drive.mechanics.clone(), ..slower }, drive);
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
