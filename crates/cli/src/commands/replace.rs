//! `parlour replace`: puts a new member into a slot.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::control::Request;

use super::rebuild;
use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Put a new member into a slot, and rebuild what the old one held
///
/// If the path is the member that stood in the slot, and it was whole when it failed, only the
/// regions that were written since are rebuilt (unless --force is given, which makes it a new
/// member).
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The number of the member to be replaced, as `parlour status` shows it
    member: u16,
    /// A file or block device, as long as the other members (or other journal devices)
    path: PathBuf,
    /// Overwrite what is on it, and go on even if data that only the old member holds is lost
    #[arg(long)]
    force: bool,
    /// Wait until it is rebuilt
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let member = options.member;
    let request = Request::Replace { member, path: options.path.clone(), force: options.force };
    let answer = control::call(&options.array.array, &request)?;
    if options.wait {
        rebuild::wait(&options.array, u64::from(member), console)?;
    }
    let back = answer["back"] == true;
    console.answer(&answer, || {
        let reminder = control::reminder(&options.array.array, &options.path);
        let path = options.path.display();
        let state = if options.wait { "is rebuilt" } else { "is being rebuilt" };
        match back {
            true => format!("{path} is back as member {member}; what it has missed {state}\n{reminder}"),
            false => format!("{path} takes the place of member {member} and {state}\n{reminder}"),
        }
    })?;
    Ok(())
}
