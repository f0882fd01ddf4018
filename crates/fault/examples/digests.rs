//! Prints a digest of each of a range of seeds: of all answers and their times, of all effects and
//! events in their order, and how many accesses there were. Two versions of the array behave alike
//! on the seeds whose digests are equal, which is what a change that should change nothing is held
//! to.
//!
//! ```text
//! cargo run --release -p parlour-fault --example digests -- FIRST COUNT
//! ```

#![expect(clippy::disallowed_methods, reason = "the crate has no environment, its examples do")]

use std::env::args;
use std::process::ExitCode;

use parlour_fault::{Limits, run};

fn main() -> ExitCode {
    let numbers: Vec<u64> = args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let [first, count] = numbers[..] else {
        eprintln!("usage: digests FIRST COUNT");
        return ExitCode::from(2);
    };
    for seed in first..first + count {
        let report = run(seed, &Limits { digest_effects: true, ..Limits::default() });
        let end = report.violation.map_or_else(|| "kept".to_owned(), |violation| format!("{violation:?}"));
        println!("{seed} {:016x} {} {end}", report.digest, report.accesses);
    }
    ExitCode::SUCCESS
}
