//! `cargo xtask fuzz`: runs each fuzzer for some time, and prints one table.
//!
//! The fuzzers are the targets of `fuzz/`, linked with libFuzzer. They need no nightly toolchain,
//! because the compiler flags that a nightly tool would set are available on stable. New inputs go
//! to a directory below `target/`; `--keep` copies a small set of them with the same coverage to
//! `fuzz/corpus/`, which every test run replays.

mod build;
mod corpus;
mod error;
mod libfuzzer;

use clap::Args;
use comfy_table::Table;

use crate::table::of_numbers;
use build::Runners;
pub(crate) use error::FuzzError;
use libfuzzer::Summary;

/// What to fuzz, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Seconds of each target
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Only these targets (names as in the table)
    #[arg(long = "target", value_name = "TARGET", value_delimiter = ',')]
    targets: Vec<String>,
    /// Afterwards, keep few inputs that together reach what was reached
    #[arg(long)]
    keep: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), FuzzError> {
    let targets = chosen(&arguments.targets)?;
    let runners = Runners::build(&targets)?;
    let mut table = table();
    let mut failed = Vec::new();
    for target in &targets {
        let places = corpus::Places::of(target, &runners)?;
        let summary = libfuzzer::run(&runners.program(target), &places, arguments.seconds)?;
        table.add_row(row(target, arguments.seconds, &summary));
        if let Some(failure) = &summary.failure {
            eprintln!("{target} failed:\n{failure}");
            failed.push(target.clone());
        } else if arguments.keep {
            let kept = corpus::keep(&runners.program(target), &places)?;
            eprintln!("{target}: {} inputs kept, {} bytes", kept.count, kept.bytes);
        }
    }
    println!("{table}");
    if failed.is_empty() { Ok(()) } else { Err(FuzzError::Failed(failed)) }
}

/// All targets, or those named on the command line.
fn chosen(wanted: &[String]) -> Result<Vec<String>, FuzzError> {
    let all = build::targets()?;
    if let Some(name) = wanted.iter().find(|name| !all.contains(name)) {
        return Err(FuzzError::Unknown { name: name.clone(), known: all.join(", ") });
    }
    Ok(if wanted.is_empty() { all } else { wanted.to_vec() })
}

fn table() -> Table {
    of_numbers(["target", "seconds", "executions", "a second", "edges covered", "of", "features", "corpus"])
}

fn row(target: &str, seconds: u32, summary: &Summary) -> [String; 8] {
    [
        target.to_owned(),
        seconds.to_string(),
        summary.executions.to_string(),
        (summary.executions / u64::from(seconds.max(1))).to_string(),
        summary.edges.to_string(),
        summary.all_edges.to_string(),
        summary.features.to_string(),
        summary.corpus.to_string(),
    ]
}
