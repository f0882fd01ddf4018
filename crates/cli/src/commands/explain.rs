//! `parlour explain`: shows what one request does, step by step.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use parlour_array::{
    ExplainedEntry, ExplainedOperation, ExplainedPlan, Explanation, Geometry, MappedPiece, Tuning, exact,
    explain,
};
use parlour_units::{Sector, Slot};

use crate::console::{Columns, Console, counted};
use crate::failure::Failure;
use crate::settings::{ShapeOptions, Size, describe};

/// Explain what a read or write will do, step by step
///
/// Prints which units the request touches, the strategy for each stripe, and the accesses to the
/// members, in phases: the steps of one phase run at the same time. It is the plan that the array
/// itself would carry out, if it were idle and its logs were empty.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// The request
    operation: OperationName,
    /// Its offset in the array
    offset: Size,
    /// Its length
    length: Size,
    /// Members of an array, or a directory of them; without, options describe the array
    #[arg(value_name = "MEMBER")]
    array: Vec<PathBuf>,
    /// Assume that this member has failed (may be repeated)
    #[arg(long, value_name = "NUMBER")]
    failed: Vec<u16>,
    #[command(flatten)]
    shape: ShapeOptions,
}

/// The operation of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OperationName {
    /// A read.
    Read,
    /// A write.
    Write,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let (geometry, vacant) = options.shape.geometry(&options.array)?;
    let operation = match options.operation {
        OperationName::Read => ExplainedOperation::Read,
        OperationName::Write => ExplainedOperation::Write,
    };
    let at = Sector::ZERO + options.offset.sectors();
    let mut failed: Vec<Slot> = options.failed.iter().copied().map(Slot::new).collect();
    failed.sort_unstable();
    failed.dedup();
    let length = options.length.sectors();
    let absent: Vec<Slot> = failed.iter().copied().chain(vacant).collect();
    let explanation = explain(&geometry, &Tuning::default(), operation, at, length, &absent)?;
    let failed = failed.iter().map(|slot| slot.get()).collect();
    let explanation = Explanation { failed, ..explanation };
    console.answer(&explanation, || text(&geometry, &explanation))?;
    Ok(())
}

fn text(geometry: &Geometry, explanation: &Explanation) -> String {
    let mut text = format!("{}\n\n{}\n", sentence(geometry, explanation), map(&explanation.map));
    if let Some(entry) = &explanation.acknowledged {
        text += &entry_text(entry);
    }
    for plan in &explanation.plans {
        text += &plan_text(plan);
        text.push('\n');
    }
    let all = counted_accesses(explanation.accesses);
    text + &match explanation.acknowledged {
        Some(entry) => format!("{} now, {all} later\n", counted_accesses(entry.copies.into())),
        None => format!("{all} in all\n"),
    }
}

fn entry_text(entry: &ExplainedEntry) -> String {
    let ExplainedEntry { copies, on_devices, length } = *entry;
    let places = counted(copies.into(), if on_devices { "journal device" } else { "member" });
    format!(
        "Now: an entry of the journal, {}\n  1.  write {places}, {} each: the data, its places and checksums\n  \
         Note: writes that wait go into one entry together; when it is durable, they are acknowledged\n\n\
         Later, with others in the order of their places:\n\n",
        counted_accesses(copies.into()),
        exact(length),
    )
}

fn sentence(geometry: &Geometry, explanation: &Explanation) -> String {
    let verb = match explanation.operation {
        ExplainedOperation::Read => "Read",
        ExplainedOperation::Write => "Write",
    };
    let failed: Vec<String> = explanation.failed.iter().map(|member| format!("member {member}")).collect();
    let failed = match failed.is_empty() {
        true => String::new(),
        false => format!(", with {} failed", failed.join(" and ")),
    };
    format!(
        "{verb} {} at {}: {}, {}, stripe unit {}{failed}",
        exact(explanation.length),
        exact(explanation.at),
        describe(geometry.stored()),
        counted(u64::from(geometry.members()), "member"),
        geometry.layout().unit_length(),
    )
}

/// The most pieces of the map that are shown; a long request has too many to read.
const SHOWN: usize = 32;

fn map(pieces: &[MappedPiece]) -> String {
    let header = ["Request", "Length", "Stripe", "Unit", "From", "Member", "At", ""];
    let mut columns = Columns::new(header).right([0, 1, 2, 4, 5, 6]);
    for piece in pieces.iter().take(SHOWN) {
        columns.row([
            exact(piece.request_offset),
            exact(piece.length),
            piece.stripe.to_string(),
            format!("D{}", piece.unit),
            exact(piece.unit_offset),
            piece.member.to_string(),
            exact(piece.at),
            if piece.failed { "failed".to_owned() } else { String::new() },
        ]);
    }
    let mut text = columns.text();
    if pieces.len() > SHOWN {
        text += &format!("  … and {} more\n", pieces.len() - SHOWN);
    }
    text
}

fn plan_text(plan: &ExplainedPlan) -> String {
    let place = plan.stripe.map_or("All stripes".to_owned(), |stripe| format!("Stripe {stripe}"));
    let mut text = format!("{place}: {}, {}\n", plan.strategy, counted_accesses(plan.accesses));
    for (index, phase) in plan.phases.iter().enumerate() {
        for (position, step) in phase.iter().enumerate() {
            let number = if position == 0 { format!("{}.", index + 1) } else { String::new() };
            text += &format!("  {number:<3} {step}\n");
        }
    }
    for note in &plan.notes {
        text += &format!("  Note: {note}\n");
    }
    text
}

fn counted_accesses(count: usize) -> String {
    if count == 1 { "1 access".to_owned() } else { format!("{count} accesses") }
}
