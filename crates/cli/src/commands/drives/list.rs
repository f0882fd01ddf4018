//! The list of drives.

use parlour_drive::catalogue::DRIVES;
use parlour_units::Bytes;
use serde::Serialize;

use super::Found;
use crate::console::{Columns, Console};
use crate::failure::Failure;

/// A drive of the list.
#[derive(Serialize)]
struct Listed {
    drive: &'static str,
    name: String,
    capacity: Bytes,
    rpm: f64,
    cylinders: u32,
    heads: u32,
    zones: usize,
    mean_seek_ms: f64,
    /// Megabytes a second, outermost and innermost.
    rates_mb_s: [f64; 2],
}

pub(super) fn run(console: Console) -> Result<(), Failure> {
    let drives = DRIVES.iter().map(|(name, _)| listed(name)).collect::<Result<Vec<_>, _>>()?;
    console.answer(&drives, || text(&drives))?;
    Ok(())
}

fn listed(drive: &'static str) -> Result<Listed, Failure> {
    let found = Found::named(drive)?;
    let mechanics = &found.mechanics;
    let (outer, inner) = found.rates();
    Ok(Listed {
        drive,
        name: found.description.name.clone(),
        capacity: Bytes::new(mechanics.surface.blocks() * 512),
        rpm: 60.0 / mechanics.spindle.revolution.as_secs_f64(),
        cylinders: found.description.mechanics.cylinders,
        heads: found.description.mechanics.heads,
        zones: mechanics.surface.zones().len(),
        mean_seek_ms: mechanics.seek.mean().as_secs_f64() * 1e3,
        rates_mb_s: [outer, inner],
    })
}

fn text(drives: &[Listed]) -> String {
    let header =
        ["Drive", "name", "GB", "rpm", "cylinders", "heads", "zones", "mean seek", "MB/s outer", "inner"];
    let mut columns = Columns::new(header).right(2..10);
    for drive in drives {
        columns.row([
            drive.drive.to_owned(),
            drive.name.clone(),
            format!("{:.2}", drive.capacity.get() as f64 / 1e9),
            format!("{:.0}", drive.rpm),
            drive.cylinders.to_string(),
            drive.heads.to_string(),
            drive.zones.to_string(),
            format!("{:.2} ms", drive.mean_seek_ms),
            format!("{:.1}", drive.rates_mb_s[0]),
            format!("{:.1}", drive.rates_mb_s[1]),
        ]);
    }
    columns.text()
}
