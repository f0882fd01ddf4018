//! The tables of the recovery bench: the state after the kill, and the recovery times by size.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use serde_json::Value;

use super::point::{MEMBERS, Point, Recovered};
use crate::bench::table::median;

/// All kills of one array under one load in one size.
#[derive(Debug)]
struct Cell {
    array: String,
    load: String,
    size: u64,
    points: Vec<Point>,
}

/// All results.
#[derive(Debug, Default)]
pub(super) struct Results {
    cells: Vec<Cell>,
}

/// A figure of a cell: its text, and its median for the ratio.
struct Shown {
    text: String,
    median: Option<f64>,
    /// The figure is an estimate, or follows from one.
    projected: bool,
}

impl Results {
    pub(super) fn add(&mut self, array: &str, load: &str, size: u64, point: Point) {
        let same = |cell: &&mut Cell| cell.array == array && cell.load == load && cell.size == size;
        match self.cells.iter_mut().find(same) {
            Some(cell) => cell.points.push(point),
            None => {
                self.cells.push(Cell { array: array.into(), load: load.into(), size, points: vec![point] });
            }
        }
    }

    /// Returns the tables as text: the state after the kill, then the times.
    pub(super) fn render(&self) -> String {
        format!(
            "what the kill left, and the logs (log, commit log: of all members)\n{}\n\
             seconds from start to first answered read: of a new array\n{}\n\
             seconds from start to first answered read: after the kill\n{}\n\
             seconds from start until nothing is left to recover (~ not waited for: projected from its pace)\n{}\n\
             the most memory (VmHWM, MiB) after the kill\n{}\n",
            self.left(),
            self.times(|cell| cell.seconds(|point| point.fresh)),
            self.times(|cell| cell.seconds(|point| point.first_read)),
            self.times(Cell::recovered),
            self.times(Cell::memory),
        )
    }

    fn left(&self) -> Table {
        let header =
            ["", "load", "size", "live records", "dirty regions", "redone", "log", "segment", "commit log"];
        let mut table = table(&header.map(String::from));
        for cell in &self.cells {
            let point = &cell.points[0];
            let live = cell.median(|point| point.live_records.map(|records| records as f64));
            let dirty = cell.median(|point| Some(point.dirty as f64)).unwrap_or(0.0);
            table.add_row([
                cell.array.clone(),
                cell.load.clone(),
                size(cell.size),
                live.map_or("–".into(), |records| format!("{records:.0}")),
                format!("{dirty:.0} of {}", point.regions),
                cell.median(|point| Some(point.redone as f64))
                    .map_or_else(String::new, |n| format!("{n:.0}")),
                log(&point.geometry),
                sectors(&point.geometry["regions"]["segment"], 1),
                sectors(
                    &point.geometry["commit_log"],
                    point.geometry["layout"]["group_members"].as_u64().unwrap_or(0),
                ),
            ]);
        }
        right_aligned(table, 2)
    }

    /// A table with a row for each array and load, a column for each size, and a column for the
    /// ratio of the largest size to the smallest.
    fn times(&self, show: impl Fn(&Cell) -> Shown) -> Table {
        let mut sizes: Vec<u64> = self.cells.iter().map(|cell| cell.size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut header = vec![String::new(), "load".into()];
        header.extend(sizes.iter().map(|gib| size(*gib)));
        header.push("largest / smallest".into());
        let mut table = table(&header);
        let mut rows: Vec<(&str, &str)> = Vec::new();
        for cell in &self.cells {
            if !rows.contains(&(&cell.array, &cell.load)) {
                rows.push((&cell.array, &cell.load));
            }
        }
        for (array, load) in rows {
            let of_size = |size: &u64| {
                let same = |cell: &&Cell| cell.array == array && cell.load == load && cell.size == *size;
                self.cells.iter().find(same).map(&show)
            };
            let shown: Vec<Shown> = sizes.iter().filter_map(of_size).collect();
            let mut row = vec![array.to_owned(), load.to_owned()];
            row.extend(shown.iter().map(|shown| shown.text.clone()));
            row.push(ratio(shown.first(), shown.last()));
            table.add_row(row);
        }
        right_aligned(table, 2)
    }
}

impl Cell {
    fn seconds(&self, of: impl Fn(&Point) -> Duration) -> Shown {
        let mut times: Vec<f64> = self.points.iter().map(|point| of(point).as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        let edge = |figure: Option<&f64>| figure.copied().unwrap_or_default();
        let middle = median(&times);
        let text = format!("{middle:.3} [{:.3}–{:.3}]", edge(times.first()), edge(times.last()));
        Shown { text, median: Some(middle), projected: false }
    }

    /// The maximum of all runs, because it is compared with a limit.
    fn memory(&self) -> Shown {
        let most = self.points.iter().map(|point| point.peak_memory).max().unwrap_or(0) >> 20;
        Shown { text: most.to_string(), median: Some(most as f64), projected: false }
    }

    fn recovered(&self) -> Shown {
        let time = |point: &Point| match point.recovered {
            Recovered::After(time) | Recovered::Projected(time) => Some(time),
            Recovered::Unknown => None,
        };
        if self.points.iter().any(|point| time(point).is_none()) {
            return Shown { text: "?".into(), median: None, projected: true };
        }
        if self.points.iter().all(|point| matches!(point.recovered, Recovered::After(_))) {
            return self.seconds(|point| time(point).unwrap_or_default());
        }
        let middle = self.median(|point| time(point).map(|time| time.as_secs_f64()));
        Shown { text: format!("~{:.0}", middle.unwrap_or(0.0)), median: middle, projected: true }
    }

    fn median(&self, of: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
        let mut figures: Vec<f64> = self.points.iter().filter_map(of).collect();
        figures.sort_by(f64::total_cmp);
        (!figures.is_empty()).then(|| median(&figures))
    }
}

fn ratio(first: Option<&Shown>, last: Option<&Shown>) -> String {
    let (Some(first), Some(last)) = (first, last) else { return String::new() };
    match (first.median, last.median) {
        (Some(least), Some(most)) if least > 0.0 => {
            let times = most / least;
            let digits = if times < 10.0 { 2 } else { 0 };
            let mark = if first.projected || last.projected { "~" } else { "" };
            format!("{mark}{times:.digits$}")
        }
        _ => "?".into(),
    }
}

fn size(gib: u64) -> String {
    format!("{MEMBERS} × {}", bytes(gib))
}

fn bytes(gib: u64) -> String {
    if gib.is_multiple_of(1_024) { format!("{} TiB", gib / 1_024) } else { format!("{gib} GiB") }
}

/// The size of the parity log of all regions, as text.
fn log(geometry: &Value) -> String {
    let shape = &geometry["regions"];
    let number = |key: &str| shape[key].as_u64();
    match (number("regions"), number("sublogs"), number("sublog_segments")) {
        (Some(regions), Some(sublogs), Some(segments)) => {
            let all = sectors(&shape["segment"], regions * sublogs * segments);
            format!("{all} in {regions} regions")
        }
        _ => "–".into(),
    }
}

/// A multiple of a length in sectors, as text.
fn sectors(length: &Value, times: u64) -> String {
    match length.as_u64().map(|length| length * times / 2) {
        None | Some(0) => "–".into(),
        Some(kib) if kib >= 1_024 => format!("{} MiB", kib / 1_024),
        Some(kib) => format!("{kib} KiB"),
    }
}

fn table(header: &[String]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(header);
    table
}

fn right_aligned(mut table: Table, from: usize) -> Table {
    for column in table.column_iter_mut().skip(from) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
