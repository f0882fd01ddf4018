//! `parlour remove`: forgets a failed member.

use clap::Args;
use parlour_engine::control::Request;

use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Close a failed member, so that its file or device can be used for something else
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The member's number, as `parlour status` shows it
    member: u16,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let member = options.member;
    let answer = control::call(&options.array.array, &Request::Remove { member })?;
    console.answer(&answer, || match answer["path"].as_str() {
        Some(path) => format!("Member {member} is removed; {path} is free\n"),
        None => format!("Member {member} is removed\n"),
    })?;
    Ok(())
}
