//! `parlour layout`: draws the positions of units, as the figures of the papers do.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use parlour_array::{Block, Cell, DrawnContent, Geometry, Row, draw_region, draw_regions, draw_units};
use parlour_units::{Bytes, Region};
use serde::Serialize;

use crate::console::{Columns, Console, counted};
use crate::failure::Failure;
use crate::settings::{ShapeOptions, describe};

/// Draw where the units of an array live
///
/// Draws the array that MEMBERs belong to, or one that need not exist: parity logging on five
/// members unless options say otherwise. Layouts in regions are drawn region by region; --region
/// draws one of them unit by unit.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Members of an array, or a directory of them; without, options describe the array
    #[arg(value_name = "MEMBER")]
    array: Vec<PathBuf>,
    /// How many rows to draw
    #[arg(long, short = 'r', value_name = "COUNT", default_value_t = 10)]
    rows: usize,
    /// Draw this region unit by unit
    #[arg(long, value_name = "REGION")]
    region: Option<u32>,
    /// What parity is called: the data units it protects (P0-3), or its stripe (P0)
    #[arg(long, value_name = "HOW", default_value = "units")]
    parity: ParityLabel,
    #[command(flatten)]
    shape: ShapeOptions,
}

/// The label of parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ParityLabel {
    /// Data units, as in Stodolsky figure 1.
    Units,
    /// Stripe, as in Chen figure 1.
    Stripe,
}

/// The answer: a drawing, and the geometry of the array.
#[derive(Serialize)]
struct Drawing {
    organization: &'static str,
    members: u16,
    groups: u16,
    stripe_unit: Bytes,
    data_units: u16,
    check_units: u16,
    capacity: Bytes,
    data_start: Bytes,
    regions: Option<RegionSizes>,
    /// By row, then member.
    units: Option<Vec<Row<Option<Cell>>>>,
    /// By row, then member.
    blocks: Option<Vec<Row<Vec<Block>>>>,
}

/// The sizes of regions, in the terms of the paper.
#[derive(Serialize)]
struct RegionSizes {
    count: u32,
    stripes: u32,
    sublogs: u16,
    sublog: Bytes,
    log_copies: u16,
    log_segment: Bytes,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let (geometry, _) = options.shape.geometry(&options.array)?;
    let drawing = draw(&geometry, options)?;
    console.answer(&drawing, || text(&geometry, &drawing, options.parity))?;
    Ok(())
}

fn draw(geometry: &Geometry, options: &Options) -> Result<Drawing, Failure> {
    let layout = geometry.layout();
    let in_regions = layout.logs().is_some();
    let (units, blocks) = match options.region {
        None if in_regions => (None, Some(draw_regions(geometry, options.rows))),
        None => (Some(draw_units(geometry, options.rows)), None),
        Some(_) if !in_regions => return Err(Failure::NoRegions),
        Some(region) if region >= layout.region_count() => {
            return Err(Failure::NoSuchRegion(region, layout.region_count() - 1));
        }
        Some(region) => (Some(draw_region(geometry, Region::new(region), options.rows)), None),
    };
    Ok(Drawing {
        organization: geometry.stored().organization_name(),
        members: geometry.members(),
        groups: layout.groups(),
        stripe_unit: layout.unit_length().bytes(),
        data_units: layout.data_units(),
        check_units: layout.check_units(),
        capacity: geometry.capacity().bytes(),
        data_start: geometry.data_start().from_start().bytes(),
        regions: region_sizes(geometry),
        units,
        blocks,
    })
}

fn region_sizes(geometry: &Geometry) -> Option<RegionSizes> {
    let shape = geometry.layout().logs()?.shape();
    Some(RegionSizes {
        count: geometry.layout().region_count(),
        stripes: shape.stripes,
        sublogs: shape.sublogs,
        sublog: Bytes::new(shape.segment * u64::from(shape.sublog_segments) * 512),
        log_copies: geometry.log_copies(),
        log_segment: Bytes::new(shape.segment * 512),
    })
}

fn text(geometry: &Geometry, drawing: &Drawing, parity: ParityLabel) -> String {
    let mut text = heading(geometry, drawing);
    if let Some(rows) = &drawing.units {
        let label = |cell: &Option<Cell>| cell.map_or(String::new(), |cell| label(cell.content, parity));
        let number = |(index, row): (usize, &Row<Option<Cell>>)| {
            (number(drawing, index, row), row.iter().map(label).collect())
        };
        text += &table("Row", drawing.members, rows.iter().enumerate().map(number));
    }
    if let Some(rows) = &drawing.blocks {
        let label =
            |blocks: &Vec<Block>| blocks.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        let number =
            |(index, row): (usize, &Row<Vec<Block>>)| (index as u64, row.iter().map(label).collect());
        text += &table("Region", drawing.members, rows.iter().enumerate().map(number));
    }
    text
}

/// A description of the array in words.
fn heading(geometry: &Geometry, drawing: &Drawing) -> String {
    let groups = match drawing.groups {
        1 => String::new(),
        groups => format!(" in {groups} groups"),
    };
    let mut text = format!(
        "{}\n{}{groups}, stripe unit {}, {} for data of {}\n",
        describe(geometry.stored()),
        counted(u64::from(drawing.members), "member"),
        drawing.stripe_unit,
        drawing.capacity,
        Bytes::new(geometry.stored().layout.length * 512 * u64::from(drawing.members)),
    );
    if let Some(regions) = &drawing.regions {
        text += &format!(
            "{} of {}, each with {} of {} in log segments of {}{}\n",
            counted(u64::from(regions.count), "region"),
            counted(u64::from(regions.stripes), "stripe"),
            counted(u64::from(regions.sublogs), "sublog"),
            regions.sublog,
            regions.log_segment,
            if regions.log_copies > 1 { format!(", {} times", regions.log_copies) } else { String::new() },
        );
    }
    text + "\n"
}

/// The number of a row of units. With far copies, the rows between the rows of two sections are
/// left out.
fn number(drawing: &Drawing, index: usize, row: &Row<Option<Cell>>) -> u64 {
    let at = |cell: &Cell| (cell.at.get() - drawing.data_start.get()) / drawing.stripe_unit.get();
    let first = row.iter().flatten().next().filter(|_| drawing.regions.is_none());
    first.map_or(index as u64, at)
}

fn label(content: DrawnContent, parity: ParityLabel) -> String {
    match (content, parity) {
        (DrawnContent::Parity { stripe, check, of, .. }, ParityLabel::Stripe) => {
            format!("{}{stripe}", DrawnContent::parity_name(check, of))
        }
        (DrawnContent::Log { region, sublog, copy: 0 }, _) => format!("Log {region}.{sublog}"),
        (DrawnContent::Log { region, sublog, copy }, _) => {
            format!("Log {region}.{sublog} copy {}", copy + 1)
        }
        (content, _) => content.to_string(),
    }
}

fn table(first: &str, members: u16, rows: impl Iterator<Item = (u64, Vec<String>)>) -> String {
    let members = (0..members).map(|member| format!("Member {member}"));
    let mut columns = Columns::new(std::iter::once(first.to_owned()).chain(members)).right([0]);
    for (number, cells) in rows {
        columns.row(std::iter::once(number.to_string()).chain(cells));
    }
    columns.text()
}
