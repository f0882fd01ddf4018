//! `parlour add`: adds a spare.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::control::Request;

use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Add a spare: it takes the place of a member that fails, or has failed, by itself
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// A file or block device, as long as the other members
    path: PathBuf,
    /// Overwrite what is on it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let request = Request::Add { path: options.path.clone(), force: options.force };
    let answer = control::call(&options.array.array, &request)?;
    console.answer(&answer, || {
        let reminder = control::reminder(&options.array.array, &options.path);
        match answer["place"].as_u64() {
            Some(place) => format!("{} is back as member {place}\n{reminder}", options.path.display()),
            None => format!("{} is a spare of the array\n{reminder}", options.path.display()),
        }
    })?;
    Ok(())
}
