//! Prints a digest for each seed of a range: of all answers, their times, and the number of
//! accesses. Two versions of the array behave alike on seeds with equal digests. Use it to check
//! that a change, such as a refactoring, changes no behaviour.
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
        let report = run(seed, &Limits::default());
        let end = report.violation.map_or_else(|| "kept".to_owned(), |violation| format!("{violation:?}"));
        println!("{seed} {:016x} {} {end}", report.digest, report.accesses);
    }
    ExitCode::SUCCESS
}
