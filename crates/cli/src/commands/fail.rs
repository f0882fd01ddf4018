//! `parlour fail`: excludes a member.

use clap::Args;
use parlour_engine::control::Request;

use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Exclude a member from its array
///
/// What it holds is not believed any more. A spare takes its place by itself. Refused as long as it
/// holds what no other member does: while its array is resynced, say.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The member's number, as `parlour status` shows it
    member: u16,
    /// Even if it holds what no other member does, which is lost then
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let Options { member, force, .. } = *options;
    let answer = control::call(&options.array.array, &Request::Fail { member, force })?;
    console.answer(&answer, || format!("Member {member} is failed\n"))?;
    Ok(())
}
