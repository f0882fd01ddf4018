//! The developers' commands: `cargo xtask test`, `cargo xtask lint` and `cargo xtask bench`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod command;
mod lint;
mod packages;
mod test;
mod tidy;
mod workspace;

/// The developers' commands of Parlour.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run every test, the end-to-end suite included; as root, first install the tools that it needs
    Test,
    /// Check formatting, clippy and the house rules
    Lint,
    /// Measure, and print one table
    #[command(subcommand)]
    Bench(bench::Bench),
}

/// Why a task failed.
#[derive(Debug, thiserror::Error)]
enum TaskError {
    #[error(transparent)]
    Test(#[from] test::TestError),
    #[error(transparent)]
    Lint(#[from] lint::LintError),
    #[error(transparent)]
    Bench(#[from] bench::BenchError),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<(), TaskError> {
    match task {
        Task::Test => test::run()?,
        Task::Lint => lint::run()?,
        Task::Bench(bench) => bench::run(bench)?,
    }
    Ok(())
}
