//! Measures how fast closed forms are: each model over many different configurations, on one
//! thread.
//!
//! Cases take turns in each run; the table gives the median of each, with its range, in
//! microseconds per evaluation, and the time of a million evaluations.
#![allow(clippy::expect_used, reason = "a bench that cannot be set up measures nothing")]

use std::hint::black_box;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Instant;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use parlour_lab::experiment::Experiment;
use parlour_lab::experiment::predict::Clocks;
use parlour_lab::experiment::prepared::Prepared;
use parlour_model::fork_join::{Network, Phase};
use parlour_model::order::Distribution;
use parlour_model::raid::efficiency::efficiency;
use parlour_model::raid::{self, Direction, Level, Request};
use parlour_model::reliability::{Lifetimes, Redundancy, SparedArray, Spares, mttdl};
use parlour_model::utilization::{Array, Logging, Organization, Sublogs};

/// Measure how fast closed forms are
#[derive(Parser)]
struct Arguments {
    /// Configurations of each run; of what takes long, a hundredth or a thousandth of them
    #[arg(long, default_value_t = 1_000_000)]
    configurations: u32,
    /// Runs of each case
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

/// A case: what is evaluated, and the factor by which a slow one has fewer configurations.
struct Case {
    name: &'static str,
    fewer: u32,
    evaluate: Box<dyn FnMut(u32) -> f64>,
}

fn case(name: &'static str, fewer: u32, evaluate: impl FnMut(u32) -> f64 + 'static) -> Case {
    Case { name, fewer, evaluate: Box::new(evaluate) }
}

fn main() {
    let arguments = Arguments::parse();
    let mut cases = cases();
    let mut times = vec![Vec::new(); cases.len()];
    for number in 0..arguments.runs {
        for (case, times) in cases.iter_mut().zip(&mut times) {
            eprintln!("run {} of {}: {}", number + 1, arguments.runs, case.name);
            times.push(microseconds(case, (arguments.configurations / case.fewer).max(1)));
        }
    }
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header(["model", "µs each", "range", "a million takes"]);
    for column in 1..4 {
        table.column_mut(column).expect("there are four").set_cell_alignment(CellAlignment::Right);
    }
    for (case, mut times) in cases.iter().zip(times) {
        times.sort_unstable_by(f64::total_cmp);
        let median = times[times.len() / 2];
        let range = format!("{:.2} to {:.2}", times[0], times[times.len() - 1]);
        table.add_row([case.name.to_owned(), format!("{median:.2}"), range, format!("{median:.1} s")]);
    }
    println!("{table}");
}

/// The time of an evaluation, over this number of configurations.
fn microseconds(case: &mut Case, count: u32) -> f64 {
    let start = Instant::now();
    (0..count).for_each(|number| _ = black_box((case.evaluate)(black_box(number))));
    start.elapsed().as_secs_f64() * 1e6 / f64::from(count)
}

fn cases() -> Vec<Case> {
    let mut clocks = Clocks::default();
    let prepared = experiment();
    vec![
        case("parity logging, peak rate (Stodolsky §3)", 1, peak),
        case("efficiency of a request (Chen §3)", 1, |number| {
            let array = raid::Array::new(Level::Raid5, 5 + number % 40).expect("an array");
            efficiency(array, Direction::Write, Request { first: number % 97, units: 1 + number % 31 })
        }),
        case("mean time to data loss (Stodolsky §7)", 1, |number| {
            let redundancy = Redundancy::checked(5 + number % 40, 1 + number % 3).expect("an array");
            mttdl(redundancy, lifetimes(number)).expect("times")
        }),
        case("the same with one spare, a Markov chain", 100, |number| {
            let redundancy = Redundancy::new(1 + number % 4, 8, 1).expect("an array");
            let spares = Spares::Kept { spares: 1, replacement: 72.0 };
            let array = SparedArray::new(redundancy, lifetimes(number), spares, 1).expect("a chain");
            array.mttdl().expect("it can be solved")
        }),
        case("fork and join, 20 processes (Varki and Wang)", 1, fork_and_join),
        case("a whole experiment, `parlour model`", 1_000, move |number| {
            let run = &prepared[number as usize % prepared.len()];
            run.predict(&mut clocks).expect("closed forms say something of it").throughput
        }),
    ]
}

fn peak(number: u32) -> f64 {
    let logging = Logging {
        sublogs: Sublogs::Striped(1 + number % 8),
        ratio: 0.5 + f64::from(number % 1_000) / 500.0,
        ..Logging::default()
    };
    let organization = Organization::ParityLogging(logging);
    let array = Array { disks: 12 + number % 30, ..Array::example(organization) };
    array.model().expect("it can be").throughput_per_disk(1.0)
}

fn lifetimes(number: u32) -> Lifetimes {
    Lifetimes { failure: 200_000.0 + f64::from(number), repair: 1.0 + f64::from(number % 24) }
}

fn fork_and_join(number: u32) -> f64 {
    let times = Distribution::normal(15.0 + f64::from(number % 100) / 10.0, 4.0).expect("times");
    let siblings = NonZeroU32::new(1 + number % 21).expect("one at least");
    let network = Network::new(24, Phase::new(siblings, &times), 0.0).expect("a network");
    network.with(20).expect("it can be solved").response
}

/// An experiment of this repository: all its runs that closed forms can predict.
fn experiment() -> Vec<Prepared> {
    let file = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../experiments/small-writes.toml"));
    let points = Experiment::load(file, &[]).and_then(|experiment| experiment.points());
    let points = points.expect("it is an experiment").into_iter();
    let mut prepared: Vec<Prepared> =
        points.map(|point| point.setup.prepare(file).expect("it can be run")).collect();
    let mut clocks = Clocks::default();
    prepared.retain(|run| run.predict(&mut clocks).is_ok());
    prepared
}
