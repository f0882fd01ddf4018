//! The subcommands, one file each: the options, and what the command does.

pub(crate) mod add;
pub(crate) mod completions;
pub(crate) mod create;
pub(crate) mod drives;
pub(crate) mod examine;
pub(crate) mod experiments;
pub(crate) mod explain;
pub(crate) mod fail;
pub(crate) mod layout;
pub(crate) mod lost;
pub(crate) mod model;
pub(crate) mod rebuild;
pub(crate) mod reliability;
pub(crate) mod remove;
pub(crate) mod replace;
pub(crate) mod reproduce;
pub(crate) mod scrub;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod torture;
pub(crate) mod up;

use std::process::ExitCode;

use clap::CommandFactory;

use crate::arguments::{Arguments, Command};
use crate::console::Console;
use crate::failure::Failure;

/// Runs the command, and returns the exit status.
///
/// # Errors
/// The command has failed.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let console = Console { json: arguments.json };
    let done = match &arguments.command {
        Command::Up(options) => up::run(options, console),
        Command::Create(options) => create::run(options, console),
        Command::Serve(options) => serve::run(options, console),
        Command::Status(options) => return status::run(options, console),
        Command::Lost(options) => lost::run(options, console),
        Command::Examine(options) => examine::run(options, console),
        Command::Fail(options) => fail::run(options, console),
        Command::Remove(options) => remove::run(options, console),
        Command::Add(options) => add::run(options, console),
        Command::Replace(options) => replace::run(options, console),
        Command::Rebuild(options) => rebuild::run(options, console),
        Command::Scrub(options) => scrub::run(options, console),
        Command::Stop(options) => stop::run(options, console),
        Command::Layout(options) => layout::run(options, console),
        Command::Explain(options) => explain::run(options, console),
        Command::Simulate(options) => simulate::run(options, console),
        Command::Model(options) => model::run(options, console),
        Command::Reliability(options) => reliability::run(options, console),
        Command::Reproduce(options) => reproduce::run(options, console),
        Command::Drives(options) => drives::run(options, console),
        Command::Torture(options) => torture::run(options, console),
        Command::Completions(options) => completions::run(options, Arguments::command()),
    };
    done.map(|()| ExitCode::SUCCESS)
}
