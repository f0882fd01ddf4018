//! Prints what each seed has shown, a line a seed: for those who make the tester faster, and compare before and after.
//!
//! ```text
//! cargo run --release -p parlour-fault --example digests -- 1000 > after.txt
//! ```

#![expect(clippy::disallowed_methods, reason = "the crate has no environment, its examples do")]

use std::process::ExitCode;

use parlour_fault::{Limits, run};

fn main() -> ExitCode {
    let Some(count) = std::env::args().nth(1).and_then(|count| count.parse::<u64>().ok()) else {
        eprintln!("usage: digests COUNT");
        return ExitCode::from(2);
    };
    let limits = Limits::default();
    for report in (0..count).map(|seed| run(seed, &limits)) {
        println!(
            "{} {} {} requests {} accesses {} faults {} digest {:016x} {:?}",
            report.seed,
            report.organization,
            report.consistency,
            report.requests,
            report.accesses,
            report.coverage.total(),
            report.digest,
            report.violation,
        );
    }
    ExitCode::SUCCESS
}
