//! `parlour scrub`: reads and compares all units.

use clap::{Args, ValueEnum};
use parlour_engine::control::{Repairing, Request};
use serde_json::Value;

use crate::console::Console;
use crate::control::{self, ArrayOption, CommandError};
use crate::failure::Failure;
use crate::status::{Account, Task, scrub_text};
use crate::waiting;

/// Read all redundancy and compare it, while the array serves
///
/// Mismatches are counted and listed. They are repaired only with --repair, because a comparison
/// cannot tell which side is right. The command waits for the end, unless --background is given.
/// It fails if mismatches are left, or if nothing could be compared.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Repair mismatches: by the majority of three or more copies, or parity from the data
    #[arg(long, value_name = "HOW")]
    repair: Option<RepairName>,
    /// Do not wait for the end
    #[arg(long)]
    background: bool,
    /// Cancel the scrub that is running
    #[arg(long, conflicts_with_all = ["repair", "background"])]
    cancel: bool,
    #[command(flatten)]
    array: ArrayOption,
}

/// How to repair a mismatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RepairName {
    /// Follow what most of three or more copies say.
    Majority,
    /// Believe the data, and compute parity from it.
    ParityFromData,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    if options.cancel {
        let answer = control::call(&options.array.array, &Request::ScrubCancel)?;
        console.answer(&answer, || {
            "The scrub is cancelled; 'parlour status' shows what it had found\n".to_owned()
        })?;
        return Ok(());
    }
    let repair = match options.repair {
        None => Repairing::Nothing,
        Some(RepairName::Majority) => Repairing::Majority,
        Some(RepairName::ParityFromData) => Repairing::ParityFromData,
    };
    let answer = control::call(&options.array.array, &Request::Scrub { repair })?;
    if options.background {
        console.answer(&answer, || {
            "The scrub is under way; 'parlour status' shows how far it is\n".to_owned()
        })?;
        return Ok(());
    }
    waiting::until_done(console, || Ok(task(&ask(options)?)?))?;
    report(&ask(options)?, options, console)
}

fn ask(options: &Options) -> Result<Value, CommandError> {
    control::call(&options.array.array, &Request::Status)
}

fn task(answer: &Value) -> Result<Option<Task>, CommandError> {
    Ok(Account::parse(answer)?.scrub)
}

/// Reports the result. Fails if mismatches are left.
fn report(answer: &Value, options: &Options, console: Console) -> Result<(), Failure> {
    let account = Account::parse(answer).map_err(CommandError::from)?;
    let Some(scrub) = account.last_scrub else { return Err(Failure::ScrubVanished) };
    console.answer(&answer["last_scrub"], || scrub_text(&scrub, "  "))?;
    let left = scrub.mismatches.saturating_sub(scrub.repaired);
    match (left, scrub.unreadable, scrub.complete) {
        (_, _, false) if scrub.cancelled => Err(Failure::ScrubCancelled),
        (_, _, false) => Err(Failure::ScrubBroken),
        (0, 0, true) if scrub.stripes == 0 => Err(Failure::NothingCompared { skipped: scrub.skipped }),
        (0, 0, true) => Ok(()),
        (left, unreadable, true) => {
            Err(Failure::Mismatches { left, unreadable, repairing: options.repair.is_some() })
        }
    }
}
