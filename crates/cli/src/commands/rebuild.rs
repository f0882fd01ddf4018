//! `parlour rebuild`: goes on with a rebuild that has stopped, or rebuilds onto a spare.

use clap::Args;
use parlour_engine::control::Request;

use crate::console::Console;
use crate::control::{self, ArrayOption, CommandError};
use crate::failure::Failure;
use crate::status::{Account, Task};
use crate::waiting;

/// Go on with a rebuild that has stopped, or rebuild onto a spare
///
/// Rebuilds begin by themselves when a member is replaced or a spare is there; this is for those that stopped because
/// something could not be read.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Wait until it is done
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let answer = control::call(&options.array.array, &Request::Rebuild)?;
    if options.wait {
        wait(&options.array, console)?;
    }
    let state = if options.wait { "is rebuilt" } else { "is being rebuilt" };
    console.answer(&answer, || format!("Member {} {state}\n", answer["rebuilding"]))?;
    Ok(())
}

/// Waits until no rebuild is under way, showing how far it is.
///
/// # Errors
/// It stopped before its end, or the server did.
pub(crate) fn wait(array: &ArrayOption, console: Console) -> Result<(), Failure> {
    let last = waiting::until_done(console, || {
        let answer = control::call(&array.array, &Request::Status)?;
        Ok(Account::parse(&answer).map_err(CommandError::from)?.rebuild)
    })?;
    match last {
        Some(Task { stopped: true, .. }) => Err(Failure::RebuildStopped),
        _ => Ok(()),
    }
}
