//! The list of drives.

use parlour_drive::catalogue::DRIVES;
use parlour_units::Bytes;
use serde::Serialize;

use super::found::{Found, Model, solid_rates};
use crate::console::{Columns, Console};
use crate::failure::Failure;

/// A drive of the list. Mechanical values are null for a drive without mechanics.
#[derive(Serialize)]
struct Listed {
    drive: &'static str,
    name: String,
    capacity: Bytes,
    rpm: Option<f64>,
    cylinders: Option<u32>,
    heads: Option<u32>,
    zones: Option<usize>,
    mean_seek_ms: Option<f64>,
    /// Megabytes per second: in the outermost and the innermost zone; without mechanics, of reads
    /// and of writes.
    rates_mb_s: [f64; 2],
}

pub(super) fn run(console: Console) -> Result<(), Failure> {
    let drives = DRIVES.iter().map(|(name, _)| listed(name)).collect::<Result<Vec<_>, _>>()?;
    console.answer(&drives, || text(&drives))?;
    Ok(())
}

fn listed(drive: &'static str) -> Result<Listed, Failure> {
    let found = Found::named(drive)?;
    let moving = match &found.model {
        Model::Moves(moving) => Some(moving),
        Model::Solid(_) => None,
    };
    let mechanics = moving.map(|moving| &moving.mechanics);
    let table = found.description.mechanics.as_ref();
    let rates_mb_s = match &found.model {
        Model::Moves(moving) => moving.rates().into(),
        Model::Solid(solid) => solid_rates(solid),
    };
    Ok(Listed {
        drive,
        name: found.description.name.clone(),
        capacity: found.capacity(),
        rpm: mechanics.map(|mechanics| 60.0 / mechanics.spindle.revolution.as_secs_f64()),
        cylinders: table.map(|table| table.cylinders),
        heads: table.map(|table| table.heads),
        zones: mechanics.map(|mechanics| mechanics.surface.zones().len()),
        mean_seek_ms: mechanics.map(|mechanics| mechanics.seek.mean().as_secs_f64() * 1e3),
        rates_mb_s,
    })
}

fn text(drives: &[Listed]) -> String {
    let header =
        ["Drive", "name", "GB", "rpm", "cylinders", "heads", "zones", "mean seek", "MB/s outer", "inner"];
    let mut columns = Columns::new(header).right(2..10);
    let told = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
    for drive in drives {
        columns.row([
            drive.drive.to_owned(),
            drive.name.clone(),
            format!("{:.2}", drive.capacity.get() as f64 / 1e9),
            told(drive.rpm.map(|rpm| format!("{rpm:.0}"))),
            told(drive.cylinders.map(|cylinders| cylinders.to_string())),
            told(drive.heads.map(|heads| heads.to_string())),
            told(drive.zones.map(|zones| zones.to_string())),
            told(drive.mean_seek_ms.map(|seek| format!("{seek:.2} ms"))),
            format!("{:.1}", drive.rates_mb_s[0]),
            format!("{:.1}", drive.rates_mb_s[1]),
        ]);
    }
    columns.text()
}
