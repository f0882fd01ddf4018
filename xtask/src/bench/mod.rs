//! `cargo xtask bench`: tables of what the engine does, each from one run.
//!
//! Speeds of a machine that others share drift. So targets take turns, run after run, each time on fresh members,
//! and the table gives medians with their ranges and ratios to the reference of the same run.

mod fio;
mod logged;
mod rebuild;
mod recovery;
mod size;
mod table;
mod targets;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use crate::command::{self, CommandError};
use crate::packages::{self, PackageError};
use crate::workspace::cargo;
use fio::{FioError, Job};
use targets::{Target, TargetError};

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum Bench {
    /// The engine over NBD, for each organization, beside nbdkit and btrfs
    Engine(EngineArguments),
    /// What it costs that records are durable before their data: parity logging, logged against resync
    Logged(logged::Arguments),
    /// How long an array takes to come back after a kill, by its size
    Recovery(recovery::Arguments),
    /// How fast arrays are simulated
    Sim(SimArguments),
    /// How fast closed forms are
    Model(ModelArguments),
    /// How large the program is, by crate; fails where it is larger than it should be
    Size,
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

/// Where members are put.
#[derive(Debug, Args)]
pub(crate) struct Places {
    /// A directory on tmpfs
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// A directory on a disk; without it, a temporary one
    #[arg(long)]
    disk: Option<PathBuf>,
    /// Leave out the disk
    #[arg(long)]
    only_memory: bool,
}

impl Places {
    /// The directories, with what to call members there.
    fn scratch(&self) -> Result<Vec<(&'static str, tempfile::TempDir)>, BenchError> {
        let mut places = vec![("members on tmpfs", scratch(&self.memory)?)];
        if !self.only_memory {
            let disk = self.disk.clone().unwrap_or_else(std::env::temp_dir);
            places.push(("members on disk, O_DIRECT", scratch(&disk)?));
        }
        Ok(places)
    }
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
    #[arg(long, value_delimiter = ',')]
    targets: Vec<String>,
}

/// Why a bench gave no table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// Tools are missing.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// The build failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A target did not start.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// fio failed.
    #[error(transparent)]
    Fio(#[from] FioError),
    /// What was built is not there.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// Where it should be.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The program has grown.
    #[error("the program is {size} bytes long, more than {bound}: see above what it is made of")]
    TooLarge {
        /// How long it is.
        size: u64,
        /// How long it may be.
        bound: u64,
    },
    /// The place to measure in cannot be used.
    #[error("cannot use {path}: {source}; name another with --memory or --disk")]
    Place {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Carries out a bench.
pub(crate) fn run(bench: &Bench) -> Result<(), BenchError> {
    if matches!(bench, Bench::Engine(_) | Bench::Logged(_) | Bench::Recovery(_)) {
        packages::look(&packages::TESTS)?.install()?;
    }
    if !matches!(bench, Bench::Sim(_) | Bench::Model(_)) {
        command::run(&mut cargo(&["build", "--release", "-p", "parlour"]))?;
    }
    match bench {
        Bench::Engine(arguments) => engine(arguments),
        Bench::Logged(arguments) => logged::run(arguments),
        Bench::Recovery(arguments) => recovery::run(arguments),
        Bench::Size => size::measure(),
        Bench::Sim(SimArguments { requests, runs }) => {
            program("sim", &["--requests", &requests.to_string(), "--runs", &runs.to_string()])
        }
        Bench::Model(ModelArguments { configurations, runs }) => {
            program("model", &["--configurations", &configurations.to_string(), "--runs", &runs.to_string()])
        }
    }
}

/// One of the programs in `bench`.
fn program(name: &str, arguments: &[&str]) -> Result<(), BenchError> {
    let mut bench = cargo(&["run", "--release", "--package", "parlour-bench", "--bin", name, "--"]);
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

/// A directory of our own below `place`, gone at the end.
fn scratch(place: &Path) -> Result<tempfile::TempDir, BenchError> {
    let failed = |source| BenchError::Place { path: place.into(), source };
    tempfile::Builder::new().prefix("parlour-bench").tempdir_in(place).map_err(failed)
}

/// The targets take turns.
fn measure(
    targets: &[Target],
    jobs: &[Job],
    runs: u32,
    seconds: u32,
    (title, place): (&str, &tempfile::TempDir),
) -> Result<table::Results, BenchError> {
    let mut results = table::Results::new(targets, jobs);
    for run in 0..runs {
        for (index, target) in targets.iter().enumerate() {
            eprintln!("{title}: run {} of {runs}: {}", run + 1, target.name());
            let served = target.start(place.path())?;
            fio::fill(&served)?;
            served.settle()?;
            for (column, job) in jobs.iter().enumerate() {
                let before = served.accesses();
                let measured = job.run(&served, seconds)?;
                results.add(index, column, measured, before, served.accesses());
            }
            results.note_memory(index, served.peak_memory());
        }
    }
    Ok(results)
}
