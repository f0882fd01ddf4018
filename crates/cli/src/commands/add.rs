//! `parlour add`: adds a spare.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::control::Request;
use serde_json::Value;

use super::rebuild;
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
    /// If it takes a failed member's place at once, wait until it is rebuilt
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    array: ArrayOption,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let request = Request::Add { path: options.path.clone(), force: options.force };
    let mut answer = control::call(&options.array.array, &request)?;
    let back = answer["back"] == true;
    let place = match answer["place"].as_u64() {
        Some(place) => Some(place),
        None => taken(&answer, &options.array)?,
    };
    answer["place"] = place.into();
    if let Some(place) = place.filter(|_| options.wait) {
        rebuild::wait(&options.array, place, console)?;
    }
    console.answer(&answer, || {
        let reminder = control::reminder(&options.array.array, &options.path);
        let path = options.path.display();
        let state = if options.wait { "is rebuilt" } else { "is being rebuilt" };
        match place {
            Some(place) if back => {
                format!("{path} is back as member {place}; what it has missed {state}\n{reminder}")
            }
            Some(place) => format!("{path} takes the place of member {place} and {state}\n{reminder}"),
            None => format!("{path} is a spare of the array\n{reminder}"),
        }
    })?;
    Ok(())
}

/// The place that a new spare has taken at once.
fn taken(answer: &Value, array: &ArrayOption) -> Result<Option<u64>, Failure> {
    let number = answer["member"].as_u64();
    let account = rebuild::account(array)?;
    let place = account.members.iter().find(|member| member.member.map(u64::from) == number);
    Ok(place.map(|member| u64::from(member.place)))
}
