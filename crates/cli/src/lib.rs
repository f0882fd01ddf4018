//! The `parlour` program: a disk array in software, served over NBD.
//!
//! Read `arguments.rs` for what can be asked, `commands/` for what is then done (a file each),
//! `settings/` for what options and configuration files have in common, `serve/` for the array's
//! way to the network.

mod arguments;
mod arrival;
mod commands;
mod console;
mod control;
mod failure;
#[doc(hidden)]
pub mod fuzzing;
mod interrupt;
mod members;
mod misuse;
mod serve;
mod settings;
mod status;
mod waiting;
mod wording;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Runs the program: reads its arguments, does what they say, prints what came of it.
#[must_use]
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match Arguments::try_parse_from(&words) {
        Ok(arguments) => report(commands::run(&arguments)),
        Err(error) if error.use_stderr() => {
            report(Err(misuse::failure(&error, words.get(1..).unwrap_or_default())))
        }
        // Help and version: people asked for them.
        Err(error) => match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}

/// Exit status 0, 1, 2: fine, failed, misused (but for what `status --check` says).
fn report(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(failure) => {
            console::note(&failure);
            failure.exit_code()
        }
    }
}
