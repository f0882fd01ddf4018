//! `cargo xtask bench engine`: one table of what the engine does, beside other servers, from one run.
//!
//! Speeds of a machine that others share drift. So targets take turns, run after run, each time on fresh members,
//! and the table gives medians with their ranges and ratios to the reference of the same run.

mod fio;
mod rebuild;
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
    /// A directory on tmpfs
    #[arg(long, default_value = "/dev/shm")]
    memory: PathBuf,
    /// A directory on a disk; without it, a temporary one
    #[arg(long)]
    disk: Option<PathBuf>,
    /// Leave out the disk
    #[arg(long)]
    only_memory: bool,
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
    let Bench::Engine(arguments) = bench;
    packages::ensure()?;
    command::run(&mut cargo(&["build", "--release", "-p", "parlour"]))?;
    let memory = scratch(&arguments.memory)?;
    measure(arguments, &memory, "members on tmpfs", &Job::on_memory())?;
    if !arguments.only_memory {
        let disk = match &arguments.disk {
            Some(disk) => scratch(disk)?,
            None => scratch(&std::env::temp_dir())?,
        };
        measure(arguments, &disk, "members on disk, O_DIRECT", &Job::on_disk())?;
    }
    rebuild::measure(&memory, arguments.runs)?;
    Ok(())
}

/// A directory of our own below `place`, gone at the end.
fn scratch(place: &Path) -> Result<tempfile::TempDir, BenchError> {
    let failed = |source| BenchError::Place { path: place.into(), source };
    tempfile::Builder::new().prefix("parlour-bench").tempdir_in(place).map_err(failed)
}

fn measure(
    arguments: &EngineArguments,
    place: &tempfile::TempDir,
    title: &str,
    jobs: &[Job],
) -> Result<(), BenchError> {
    let wanted = |target: &Target| arguments.targets.is_empty() || arguments.targets.contains(&target.name());
    let targets: Vec<Target> = Target::all().into_iter().filter(wanted).collect();
    let mut results = table::Results::new(&targets, jobs);
    for run in 0..arguments.runs {
        for (index, target) in targets.iter().enumerate() {
            eprintln!("{title}: run {} of {}: {}", run + 1, arguments.runs, target.name());
            let served = target.start(place.path())?;
            fio::fill(&served)?;
            served.settle()?;
            for (column, job) in jobs.iter().enumerate() {
                let before = served.accesses();
                let measured = job.run(&served, arguments.seconds)?;
                results.add(index, column, measured, before, served.accesses());
            }
            results.note_memory(index, served.peak_memory());
        }
    }
    println!("{}", results.render(title));
    Ok(())
}
