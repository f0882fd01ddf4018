//! Runs one case of the exhaustive check alone, and prints its story:
//!
//! ```text
//! cargo run -p parlour-fault --example case -- 'raid5:3:bitmap:0:durable writes:cut@9(--)'
//! ```

#![expect(clippy::disallowed_methods, reason = "the crate has no environment, its examples do")]

use std::process::ExitCode;

use parlour_fault::exhaustive::{Failure, NoTrial, Trial};

fn main() -> ExitCode {
    let name = std::env::args().nth(1).unwrap_or_default();
    match try_alone(&name) {
        Ok(Some(failure)) => {
            failure.trace.iter().for_each(|line| println!("{line}"));
            println!("{failure}");
            ExitCode::FAILURE
        }
        Ok(None) => {
            println!("{name}: no promise is broken");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn try_alone(name: &str) -> Result<Option<Failure>, NoTrial> {
    name.parse::<Trial>()?.try_alone()
}
