//! `parlour rebuild`: continues rebuilds that have stopped, or rebuilds onto spares.

use clap::Args;
use parlour_engine::control::{ControlError, Request};
use serde_json::{Value, json};

use crate::console::Console;
use crate::control::{self, ArrayOption, CommandError};
use crate::failure::Failure;
use crate::status::{Account, Task};
use crate::waiting;

/// Continue rebuilds that have stopped, or rebuild onto spares
///
/// A rebuild starts by itself when a member is replaced or a spare is available. This command is
/// for a rebuild that stopped because something could not be read. With --wait it also succeeds
/// if nothing is left to rebuild.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Wait until it is done
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let answer = match control::call(&options.array.array, &Request::Rebuild) {
        Err(CommandError::Control(ControlError::Refused(_)))
            if options.wait && account(&options.array)?.is_whole() =>
        {
            json!({ "rebuilding": [] })
        }
        answer => answer?,
    };
    let slots: Vec<u64> =
        answer["rebuilding"].as_array().into_iter().flatten().filter_map(Value::as_u64).collect();
    for slot in slots.iter().filter(|_| options.wait) {
        wait(&options.array, *slot, console)?;
    }
    let line = |slot: &u64| match options.wait {
        true => format!("Member {slot} is rebuilt\n"),
        false => format!("Member {slot} is being rebuilt\n"),
    };
    console.answer(&answer, || match slots[..] {
        [] => "Nothing is left to rebuild: every member is active\n".to_owned(),
        _ => slots.iter().map(line).collect(),
    })?;
    Ok(())
}

/// The array's status.
///
/// # Errors
/// The server does not answer.
pub(crate) fn account(array: &ArrayOption) -> Result<Account, Failure> {
    let answer = control::call(&array.array, &Request::Status)?;
    Ok(Account::parse(&answer).map_err(CommandError::from)?)
}

/// Waits until the member in `slot` is rebuilt and recorded as active, and shows the progress.
///
/// # Errors
/// The rebuild stopped before its end, the new member failed, or the server ended.
pub(crate) fn wait(array: &ArrayOption, slot: u64, console: Console) -> Result<(), Failure> {
    let mut state = String::new();
    let last = waiting::until_done(console, || {
        let account = account(array)?;
        let mut slots = account.members.iter().chain(&account.journals);
        let member = slots.find(|member| u64::from(member.slot) == slot);
        state = member.map_or_else(String::new, |member| member.state.clone());
        // The superblocks record the end of a rebuild shortly after the last stripe is rebuilt.
        let recording = Task { done: 1, total: 1, left_seconds: None, stopped: false };
        Ok((state == "rebuilding").then(|| account.rebuild.unwrap_or(recording)))
    })?;
    match (last, state.as_str()) {
        (Some(Task { stopped: true, .. }), _) => Err(Failure::RebuildStopped),
        (_, "active") => Ok(()),
        _ => Err(Failure::RebuildFailed(slot)),
    }
}
