//! Measures how fast members are rebuilt, beside what the survivors' reads allow.
//!
//! Members are stand-ins for devices: each serves one access after another at a bandwidth of its
//! own. What they allow is measured in the same run, by reading all survivors at once in long
//! accesses. No host does anything meanwhile. Cases take turns in each run; the table gives the
//! median of each.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up measures nothing")]

mod cases;
mod hosts;
mod served;
mod stand_in;
mod stream;

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use parlour_lab::settings::{Size, TuningSettings};
use parlour_units::Bytes;

use cases::{CASES, Case, Measured, Settings};
use stand_in::Speed;

/// Measure how fast members are rebuilt
#[derive(Parser)]
struct Arguments {
    /// Runs of each case
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// The bandwidth of a member, in MiB/s. (Twelve of them must not be what the processor waits
    /// for.)
    #[arg(long, default_value_t = 50)]
    bandwidth: u32,
    /// The time of an access besides, in microseconds
    #[arg(long, default_value_t = 0)]
    overhead: u64,
    /// The length of a member, in MiB
    #[arg(long, default_value_t = 256)]
    member: u64,
    /// Writes of 4 KiB at random, before the rebuild
    #[arg(long, default_value_t = 5_000)]
    short: u64,
    /// The stripe unit [default: 64KiB]
    #[arg(long)]
    unit: Option<Size>,
    /// A directory in memory
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// Only the cases whose names contain this
    #[arg(long)]
    only: Option<String>,
    #[command(flatten)]
    tuning: TuningSettings,
}

fn main() {
    let arguments = Arguments::parse();
    let settings = Settings {
        speed: Speed {
            bandwidth: f64::from(arguments.bandwidth) * f64::from(1 << 20),
            overhead: Duration::from_micros(arguments.overhead),
        },
        member: Bytes::mib(arguments.member),
        short: arguments.short,
        unit: arguments.unit,
        tuning: arguments.tuning.tuning().expect("the settings go together"),
    };
    let wanted = |case: &&Case| arguments.only.as_ref().is_none_or(|only| case.name.contains(only));
    let cases: Vec<&Case> = CASES.iter().filter(wanted).collect();
    let mut rows: Vec<Vec<Measured>> = vec![Vec::new(); cases.len()];
    for run in 1..=arguments.runs {
        for (case, row) in cases.iter().zip(&mut rows) {
            eprintln!("run {run} of {}: {}", arguments.runs, case.name);
            let place = tempfile::Builder::new().prefix("parlour-bench").tempdir_in(&arguments.memory);
            let place = place.expect("a directory in memory, or another by --memory");
            row.push(case.measure(place.path(), &settings));
        }
    }
    println!("{}", table(&cases, &rows));
}

fn table(cases: &[&Case], rows: &[Vec<Measured>]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header([
        "rebuilt",
        "MiB/s",
        "allowed",
        "ratio",
        "bytes read for each",
        "KiB an access",
        "processors",
    ]);
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    for (case, row) in cases.iter().zip(rows) {
        let of = |figure: fn(&Measured) -> f64| sorted(row, figure);
        let middle = |figure: fn(&Measured) -> f64| median(&of(figure));
        let ratios = of(|run| run.rate / run.bound);
        table.add_row([
            case.name.to_owned(),
            format!("{:.0}", middle(|run| run.rate / f64::from(1 << 20))),
            format!("{:.0}", middle(|run| run.bound / f64::from(1 << 20))),
            format!("{:.2} [{:.2}–{:.2}]", median(&ratios), ratios[0], ratios[ratios.len() - 1]),
            format!("{:.2}", middle(|run| run.reads)),
            format!("{:.0}", middle(|run| run.length / 1_024.0)),
            format!("{:.2}", middle(|run| run.busy)),
        ]);
    }
    table
}

fn sorted(row: &[Measured], figure: fn(&Measured) -> f64) -> Vec<f64> {
    let mut figures: Vec<f64> = row.iter().map(figure).collect();
    figures.sort_by(f64::total_cmp);
    figures
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}
