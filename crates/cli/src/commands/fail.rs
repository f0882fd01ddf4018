//! `parlour fail`: excludes a member.

use clap::Args;
use parlour_engine::control::Request;

use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Exclude a member from its array
///
/// The array does not use the member's content any more. A spare, if there is one, takes the slot.
/// Refused while the member holds data that no other member has, for example during a resync.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The member's number, as `parlour status` shows it
    member: u16,
    /// Exclude it even if data that no other member has is lost
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
