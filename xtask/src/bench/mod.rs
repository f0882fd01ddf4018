//! `cargo xtask bench`: tables of the engine's performance, each from one run.
//!
//! The speed of a shared machine drifts. So the targets take turns in each run, each time with
//! fresh members, and the table gives medians with their ranges, and ratios to the reference of the
//! same run.

mod database;
mod error;
mod fio;
mod journal;
mod places;
mod rebuild;
mod recovery;
mod size;
mod table;
mod targets;
mod turns;

use clap::{Args, Subcommand};

use crate::command;
use crate::packages;
use crate::workspace::cargo;
pub(crate) use error::BenchError;
use fio::Job;
use places::Places;
use targets::Target;
use turns::measure;

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The engine over NBD, for each organization, beside nbdkit and btrfs
    Engine(EngineArguments),
    /// The cost of records that are durable before their data: parity logging, journal against
    /// bitmap
    Journal(journal::Arguments),
    /// Transactions of PostgreSQL on ext4 on arrays of slow members, in the lab's kernel
    Database(database::Arguments),
    /// How long an array takes to come back after a kill, by its size
    Recovery(recovery::Arguments),
    /// How fast members that are as devices are rebuilt, beside what the survivors' reads allow
    Rebuild(RebuildArguments),
    /// How fast arrays are simulated
    Sim(SimArguments),
    /// How fast closed forms are
    Model(ModelArguments),
    /// How fast codes with check units are computed, beside ISA-L
    Codec(CodecArguments),
    /// How well update records of real data compress
    Records(RecordsArguments),
    /// How large the program is, by crate; fails where it is larger than it should be
    Size,
}

/// What is passed on to the bench.
#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// Runs of each case, in turns
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// The bandwidth of a member, in MiB/s
    #[arg(long, default_value_t = 50)]
    bandwidth: u32,
    /// The time of an access besides, in microseconds
    #[arg(long, default_value_t = 0)]
    overhead: u64,
    /// The stripe unit
    #[arg(long, default_value = "64KiB")]
    unit: String,
    /// Stripes that are rebuilt at once
    #[arg(long, default_value_t = 16)]
    maintenance_depth: u32,
}

/// What is passed on to the bench.
#[derive(Debug, Args)]
pub(crate) struct SimArguments {
    /// Requests of each run
    #[arg(long, default_value_t = 1_000_000)]
    requests: u64,
    /// Runs of each case, in turns
    #[arg(long, default_value_t = 5)]
    runs: u64,
}

/// What is passed on to the bench.
#[derive(Debug, Args)]
pub(crate) struct ModelArguments {
    /// Configurations of each run
    #[arg(long, default_value_t = 1_000_000)]
    configurations: u32,
    /// Runs of each model, in turns
    #[arg(long, default_value_t = 5)]
    runs: u64,
}

/// What is passed on to the bench.
#[derive(Debug, Args)]
pub(crate) struct CodecArguments {
    /// Runs of each case
    #[arg(long, default_value_t = 15)]
    runs: u16,
    /// Numbers of data units
    #[arg(long, value_delimiter = ',', default_values_t = [4, 8, 16, 32])]
    widths: Vec<u16>,
}

/// What is passed on to the bench.
#[derive(Debug, Args)]
pub(crate) struct RecordsArguments {
    /// Transactions of each database
    #[arg(long, default_value_t = 1_000)]
    transactions: u64,
    /// Commits of this repository
    #[arg(long, default_value_t = 200)]
    commits: u64,
}

/// How long and where.
#[derive(Debug, Args)]
pub(crate) struct EngineArguments {
    /// Runs of each target, in turns; the table gives their median
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Seconds of each job
    #[arg(long, default_value_t = 2)]
    seconds: u32,
    #[command(flatten)]
    places: Places,
    /// Only these targets (names as in the table)
    #[arg(long, value_name = "NAME")]
    targets: Vec<String>,
}

/// Runs a bench.
pub(crate) fn run(bench: &Bench) -> Result<(), BenchError> {
    if matches!(bench, Bench::Database(_) | Bench::Engine(_) | Bench::Journal(_) | Bench::Recovery(_)) {
        packages::look(&packages::TESTS)?.install()?;
    }
    if matches!(bench, Bench::Codec(_)) {
        packages::look(&packages::CODES)?.install()?;
    }
    if matches!(bench, Bench::Records(_)) {
        packages::look(&packages::RECORDS)?.install()?;
    }
    let by_itself = matches!(
        bench,
        Bench::Rebuild(_) | Bench::Sim(_) | Bench::Model(_) | Bench::Codec(_) | Bench::Records(_)
    );
    if !by_itself {
        command::run(&mut cargo(&["build", "--release", "-p", "parlour"]))?;
    }
    match bench {
        Bench::Engine(arguments) => engine(arguments),
        Bench::Journal(arguments) => journal::run(arguments),
        Bench::Database(arguments) => database::run(arguments),
        Bench::Recovery(arguments) => recovery::run(arguments),
        Bench::Size => size::measure(),
        Bench::Rebuild(arguments) => rebuild_devices(arguments),
        Bench::Sim(SimArguments { requests, runs }) => {
            let arguments = ["--requests", &requests.to_string(), "--runs", &runs.to_string()];
            program("parlour-bench", "sim", &arguments)
        }
        Bench::Model(ModelArguments { configurations, runs }) => {
            let arguments = ["--configurations", &configurations.to_string(), "--runs", &runs.to_string()];
            program("parlour-bench", "model", &arguments)
        }
        Bench::Records(RecordsArguments { transactions, commits }) => {
            let arguments = ["--transactions", &transactions.to_string(), "--commits", &commits.to_string()];
            program("parlour-bench", "records", &arguments)
        }
        Bench::Codec(CodecArguments { runs, widths }) => {
            let widths: Vec<String> = widths.iter().map(u16::to_string).collect();
            let arguments = ["--runs", &runs.to_string(), "--widths", &widths.join(",")];
            program("parlour-bench-codec", "parlour-bench-codec", &arguments)
        }
    }
}

fn rebuild_devices(arguments: &RebuildArguments) -> Result<(), BenchError> {
    let RebuildArguments { runs, bandwidth, overhead, unit, maintenance_depth } = arguments;
    let options = [
        ("--runs", runs.to_string()),
        ("--bandwidth", bandwidth.to_string()),
        ("--overhead", overhead.to_string()),
        ("--unit", unit.clone()),
        ("--maintenance-depth", maintenance_depth.to_string()),
    ];
    let arguments: Vec<&str> = options.iter().flat_map(|(name, value)| [*name, value.as_str()]).collect();
    program("parlour-bench", "rebuild", &arguments)
}

/// Runs one of the programs in `bench`.
fn program(package: &str, name: &str, arguments: &[&str]) -> Result<(), BenchError> {
    let mut bench = cargo(&["run", "--release", "--package", package, "--bin", name, "--"]);
    Ok(command::run(bench.args(arguments))?)
}

fn engine(arguments: &EngineArguments) -> Result<(), BenchError> {
    let wanted = |target: &Target| arguments.targets.is_empty() || arguments.targets.contains(&target.name());
    let targets: Vec<Target> = Target::all().into_iter().filter(wanted).collect();
    let places = arguments.places.scratch()?;
    for (index, (title, place)) in places.iter().enumerate() {
        let jobs = if index == 0 { Job::on_memory() } else { Job::on_disk() };
        let results = measure(&targets, &jobs, arguments.runs, arguments.seconds, (title, place))?;
        println!("{}", results.render(title));
    }
    rebuild::measure(&places[0].1, arguments.runs)
}
