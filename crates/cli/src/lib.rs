//! The `parlour` program: a disk array in software, served over NBD.
//!
//! `arguments.rs` has the command line, `commands/` the commands (one file each), `settings/` the
//! settings that options and configuration files share, and `serve/` the connection of the array to
//! the network.

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

/// Runs the program: parses its arguments, runs the command, and reports the result.
#[must_use]
pub fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    match Arguments::try_parse_from(&words) {
        Ok(arguments) => report(commands::run(&arguments)),
        Err(error) if error.use_stderr() => {
            report(Err(misuse::failure(&error, words.get(1..).unwrap_or_default())))
        }
        // Help and version are requested output, not errors.
        Err(error) => match error.print() {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
    }
}

/// The exit status: 0 success, 1 failure, 2 misuse (`status --check` has its own).
fn report(result: Result<ExitCode, Failure>) -> ExitCode {
    match result {
        Ok(code) => code,
        Err(failure) => {
            console::note(&failure);
            failure.exit_code()
        }
    }
}
