//! Shows one drive, with a drawing of its seek curve.

use parlour_drive::solid::Solid;
use parlour_units::{Bytes, Duration};
use serde::Serialize;

use super::found::{Found, Model, Moving, solid_rates};
use crate::console::{Columns, Console};
use crate::failure::Failure;

/// The columns and rows of the drawing.
const WIDTH: u32 = 64;
const HEIGHT: u32 = 12;

/// The answer: the properties of a drive.
#[derive(Serialize)]
struct Shown {
    name: String,
    source: String,
    note: Option<String>,
    capacity: Bytes,
    #[serde(flatten)]
    moves: Option<Moves>,
    #[serde(skip_serializing_if = "Option::is_none")]
    solid: Option<SolidRow>,
}

/// The mechanical properties.
#[derive(Serialize)]
struct Moves {
    revolution_ms: f64,
    head_switch_ms: f64,
    write_settle_ms: f64,
    seek: Seek,
    zones: Vec<ZoneRow>,
}

/// The properties of a drive without mechanics.
#[derive(Serialize)]
struct SolidRow {
    /// The number of accesses that it works on at once.
    units: u16,
    read_4k_ms: f64,
    write_4k_ms: f64,
    flush_ms: f64,
    /// Accesses of 4 KiB per second.
    reads_4k: f64,
    writes_4k: f64,
    /// Megabytes per second, of reads and of writes.
    rates_mb_s: [f64; 2],
}

/// Its seek curve.
#[derive(Serialize)]
struct Seek {
    single_cylinder_ms: f64,
    mean_ms: f64,
    longest_ms: f64,
    /// Distance in cylinders, and time in milliseconds.
    curve: Vec<(u32, f64)>,
}

/// A zone of the drive.
#[derive(Serialize)]
struct ZoneRow {
    first_cylinder: u32,
    last_cylinder: u32,
    sectors_per_track: u64,
    first_block: u64,
    blocks: u64,
    rate_mb_s: f64,
}

pub(super) fn run(drive: &str, console: Console) -> Result<(), Failure> {
    let found = Found::named(drive)?;
    let shown = shown(&found);
    console.answer(&shown, || text(&shown))?;
    Ok(())
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn shown(found: &Found) -> Shown {
    let (moves, solid) = match &found.model {
        Model::Moves(moving) => (Some(moves(moving)), None),
        Model::Solid(solid) => (None, Some(solid_row(solid))),
    };
    Shown {
        name: found.description.name.clone(),
        source: found.description.source.clone(),
        note: found.description.note.clone(),
        capacity: found.capacity(),
        moves,
        solid,
    }
}

fn moves(moving: &Moving) -> Moves {
    let mechanics = &moving.mechanics;
    let seek = &mechanics.seek;
    let longest = seek.longest();
    let points =
        (1..=WIDTH).map(|column| (u64::from(longest) * u64::from(column) / u64::from(WIDTH)).max(1) as u32);
    let zone = |zone: &parlour_drive::surface::Zone| ZoneRow {
        first_cylinder: zone.cylinder,
        last_cylinder: zone.cylinder + zone.shape.cylinders as u32 - 1,
        sectors_per_track: zone.shape.sectors,
        first_block: zone.first,
        blocks: zone.blocks,
        rate_mb_s: moving.rate(zone.shape.sectors),
    };
    Moves {
        revolution_ms: ms(mechanics.spindle.revolution),
        head_switch_ms: ms(mechanics.head_switch),
        write_settle_ms: mechanics.write_settle.nanoseconds as f64 / 1e6,
        seek: Seek {
            single_cylinder_ms: ms(seek.time(1)),
            mean_ms: ms(seek.mean()),
            longest_ms: ms(seek.time(longest)),
            curve: points.map(|distance| (distance, ms(seek.time(distance)))).collect(),
        },
        zones: mechanics.surface.zones().iter().map(zone).collect(),
    }
}

fn solid_row(solid: &Solid) -> SolidRow {
    const BLOCKS: u64 = 8;
    SolidRow {
        units: solid.units,
        read_4k_ms: ms(solid.access(true, BLOCKS)),
        write_4k_ms: ms(solid.access(false, BLOCKS)),
        flush_ms: ms(solid.flush),
        reads_4k: solid.rate(true, BLOCKS),
        writes_4k: solid.rate(false, BLOCKS),
        rates_mb_s: solid_rates(solid),
    }
}

fn text(shown: &Shown) -> String {
    let mut text = format!("{} ({})\n  {}\n", shown.name, shown.capacity, shown.source);
    if let Some(note) = &shown.note {
        text += &format!("  {note}\n");
    }
    text.push('\n');
    if let Some(moves) = &shown.moves {
        text += &moves_text(moves);
    }
    if let Some(solid) = &shown.solid {
        text += &solid_text(solid);
    }
    text
}

fn moves_text(moves: &Moves) -> String {
    let mut text = format!(
        "A revolution takes {:.3} ms, a head switch {:.3} ms; writes settle {:.3} ms.\n",
        moves.revolution_ms, moves.head_switch_ms, moves.write_settle_ms
    );
    let seek = &moves.seek;
    text += &format!(
        "Seeks: {:.2} ms to the next cylinder, {:.2} ms in the mean, {:.2} ms at the most.\n\n",
        seek.single_cylinder_ms, seek.mean_ms, seek.longest_ms
    );
    text += &drawing(&seek.curve);
    text.push('\n');
    let header = ["Cylinders", "sectors a track", "first block", "blocks", "MB/s"];
    let mut columns = Columns::new(header).right(1..5);
    for zone in &moves.zones {
        columns.row([
            format!("{}-{}", zone.first_cylinder, zone.last_cylinder),
            zone.sectors_per_track.to_string(),
            zone.first_block.to_string(),
            zone.blocks.to_string(),
            format!("{:.2}", zone.rate_mb_s),
        ]);
    }
    text + &columns.text()
}

fn solid_text(solid: &SolidRow) -> String {
    let mut text = format!(
        "Nothing moves. Accesses at once: {}. A flush takes {:.3} ms.\n\n",
        solid.units, solid.flush_ms
    );
    let mut columns = Columns::new(["", "4 KiB", "4 KiB a second", "MB/s"]).right(1..4);
    let rows = [("Read", solid.read_4k_ms, solid.reads_4k), ("Write", solid.write_4k_ms, solid.writes_4k)];
    for ((name, time, rate), long) in rows.into_iter().zip(solid.rates_mb_s) {
        columns.row([name.to_owned(), format!("{time:.3} ms"), format!("{rate:.0}"), format!("{long:.1}")]);
    }
    text += &columns.text();
    text
}

/// The seek curve: time upwards, distance to the right.
fn drawing(curve: &[(u32, f64)]) -> String {
    let highest = curve.iter().map(|(_, time)| *time).fold(0.0, f64::max);
    let row_of = |time: f64| ((time / highest * f64::from(HEIGHT)).ceil() as u32).clamp(1, HEIGHT);
    let mut text = String::new();
    for row in (1..=HEIGHT).rev() {
        let label = match row {
            HEIGHT => format!("{highest:>7.1} ms"),
            row if row == HEIGHT / 2 => format!("{:>7.1} ms", highest / 2.0),
            _ => " ".repeat(10),
        };
        let points: String =
            curve.iter().map(|(_, time)| if row_of(*time) == row { '*' } else { ' ' }).collect();
        text += &format!("{label} |{}\n", points.trim_end());
    }
    let last = curve.last().map_or(0, |(distance, _)| *distance);
    let axis = format!("{last} cylinders");
    text += &format!("{:>10} +{}\n", "0", "-".repeat(curve.len()));
    text += &format!("{:>width$}\n", axis, width = 12 + curve.len());
    text
}
