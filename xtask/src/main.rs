//! The developers' commands: `cargo xtask test`, `lint`, `book`, `fuzz`, `planted`, `mutants`,
//! `golden`, `kernel` and `bench`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod bench;
mod book;
mod command;
mod copy;
mod deny;
mod documents;
mod fuzz;
mod golden;
mod kernel;
mod lines;
mod lint;
mod mutants;
mod packages;
mod planted;
mod table;
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
    /// Run every test, the end-to-end suite included; as root, first install the tools that it
    /// needs
    Test,
    /// Check formatting, clippy, documentation, dependencies and the house rules
    Lint,
    /// Check the links of all documents, and make a book of them with mdBook
    Book,
    /// Run each fuzzer for a while, and print one table
    Fuzz(fuzz::Arguments),
    /// Run cargo in a copy of the workspace in which tests can plant known bugs
    Planted(planted::Arguments),
    /// Change the array in one small way at a time, and see whether a test notices
    Mutants(mutants::Arguments),
    /// Write the golden images of the current version of the members' format anew
    Golden,
    /// A Linux kernel of our own, for tests of devices that fail
    #[command(subcommand)]
    Kernel(kernel::Kernel),
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
    Book(#[from] book::BookError),
    #[error(transparent)]
    Fuzz(#[from] fuzz::FuzzError),
    #[error(transparent)]
    Golden(command::CommandError),
    #[error(transparent)]
    Planted(#[from] planted::PlantedError),
    #[error(transparent)]
    Mutants(#[from] mutants::MutantsError),
    #[error(transparent)]
    Kernel(#[from] kernel::KernelError),
    #[error(transparent)]
    Bench(#[from] bench::BenchError),
}

fn main() -> ExitCode {
    match run(&Arguments::parse().task) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> Result<ExitCode, TaskError> {
    match task {
        Task::Test => test::run()?,
        Task::Lint => lint::run()?,
        Task::Book => book::run()?,
        Task::Fuzz(arguments) => fuzz::run(arguments)?,
        Task::Planted(arguments) => planted::run(arguments)?,
        Task::Mutants(arguments) => mutants::run(arguments)?,
        Task::Golden => golden::run().map_err(TaskError::Golden)?,
        Task::Kernel(kernel) => return Ok(kernel::run(kernel)?),
        Task::Bench(bench) => bench::run(bench)?,
    }
    Ok(ExitCode::SUCCESS)
}
