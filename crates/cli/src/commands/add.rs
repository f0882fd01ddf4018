//! `parlour add`: adds a spare, or a journal device.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::control::Request;
use serde_json::Value;

use super::rebuild;
use crate::console::Console;
use crate::control::{self, ArrayOption};
use crate::failure::Failure;

/// Add a spare, which takes the slot of a failed member by itself; or a journal device
///
/// A member of this array that was removed and may return goes back into its own slot. Then only
/// the regions that were written since are rebuilt (unless --force is given, which makes it a new
/// member).
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// A file or block device, as long as the other members (or other journal devices)
    path: PathBuf,
    /// Make it a journal device, which takes the entries of the journal instead of the members.
    /// They go there as soon as there are as many as an entry stands on: two, where one member may
    /// be lost
    #[arg(long)]
    journal: bool,
    /// Overwrite what is on it
    #[arg(long)]
    force: bool,
    /// If it takes a failed member's slot at once, wait until it is rebuilt
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let Options { path, force, journal, .. } = options;
    let request = Request::Add { path: path.clone(), force: *force, journal: *journal };
    let mut answer = control::call(&options.array.array, &request)?;
    let back = answer["back"] == true;
    let slot = match answer["slot"].as_u64() {
        Some(slot) => Some(slot),
        None => taken(&answer, &options.array)?,
    };
    answer["slot"] = slot.into();
    if let Some(slot) = slot.filter(|_| options.wait) {
        rebuild::wait(&options.array, slot, console)?;
    }
    console.answer(&answer, || {
        let reminder = control::reminder(&options.array.array, &options.path);
        let path = options.path.display();
        let state = if options.wait { "is rebuilt" } else { "is being rebuilt" };
        match slot {
            Some(slot) if options.journal => format!("{path} is journal device {slot}\n{reminder}"),
            Some(slot) if back => {
                format!("{path} is back as member {slot}; what it has missed {state}\n{reminder}")
            }
            Some(slot) => format!("{path} takes the place of member {slot} and {state}\n{reminder}"),
            None => format!("{path} is a spare of the array\n{reminder}"),
        }
    })?;
    Ok(())
}

/// The slot that a new spare has taken at once, if any.
fn taken(answer: &Value, array: &ArrayOption) -> Result<Option<u64>, Failure> {
    let number = answer["member"].as_u64();
    let account = rebuild::account(array)?;
    let slot = account.members.iter().find(|member| member.member.map(u64::from) == number);
    Ok(slot.map(|member| u64::from(member.slot)))
}
