//! `parlour stop`: stops an array's server.

use clap::Args;
use parlour_engine::control::Request;

use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Stop an array's server
///
/// Requests under way are finished, and acknowledged writes are put in their places. Parity updates
/// that are still in the logs stay there, and are applied after the next start.
#[derive(Args, Debug)]
pub(crate) struct Options {
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let answer = control::call(&options.array.array, &Request::Stop)?;
    console.answer(&answer, || "The array is stopped\n".to_owned())?;
    Ok(())
}
