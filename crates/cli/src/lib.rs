//! The `parlour` program: a disk array in software, served over NBD.
//!
//! Read `arguments.rs` for what can be asked, `commands/` for what is then done (a file each), `settings/` for what options
//! and configuration files have in common, `serve/` for the array's way to the network.

mod arguments;
mod commands;
mod console;
mod control;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
mod interrupt;
mod members;
mod serve;
mod settings;
mod status;
mod waiting;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Runs the program: reads its arguments, does what they say, prints what came of it.
#[must_use]
pub fn main() -> ExitCode {
    match Arguments::try_parse() {
        Ok(arguments) => report(commands::run(&arguments)),
        Err(error) if error.use_stderr() => report(Err(Failure::from(error))),
        // Help and version: people asked for them.
        Err(error) => match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}

/// Exit status 0, 1, 2: fine, failed, misused.
fn report(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            console::note(&failure);
            failure.exit_code()
        }
    }
}
