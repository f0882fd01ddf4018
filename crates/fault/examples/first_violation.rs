//! Runs seeds of the fault tester on one core until one breaks a promise, and prints that seed. Use
//! it to check that a test notices a change of the array.
//!
//! `first_violation COUNT [of|but ORGANIZATION]`: runs the first COUNT seeds: all of them, only
//! those that use the organization, or only the others.

#![expect(clippy::disallowed_methods, reason = "the crate has no environment, its examples do")]

use std::process::ExitCode;

use parlour_fault::{Limits, organization, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (count, wanted) = match arguments[..] {
        [count] => (count, None),
        [count, "of", name] => (count, Some((name, true))),
        [count, "but", name] => (count, Some((name, false))),
        _ => return usage(),
    };
    let Ok(count) = count.parse::<u64>() else { return usage() };
    let limits = Limits::default();
    let meant = |seed: &u64| wanted.is_none_or(|(name, is)| (organization(*seed, &limits) == name) == is);
    let violation = (0..count).filter(meant).map(|seed| run(seed, &limits)).find_map(|report| {
        Some(format!("seed {} ({}): {}", report.seed, report.organization, report.violation?))
    });
    match violation {
        None => ExitCode::SUCCESS,
        Some(violation) => {
            println!("{violation}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    eprintln!("usage: first_violation COUNT [of|but ORGANIZATION]");
    ExitCode::from(2)
}
