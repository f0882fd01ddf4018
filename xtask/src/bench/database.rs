//! `cargo xtask bench database`: PostgreSQL's pgbench on ext4 on arrays of slow members, in the
//! lab's kernel.
//!
//! A member serves one access at a time, in a fixed time. The lab has one processor, on which the
//! array, the file system and the database run together, and it is slow: with members of 5 ms it is
//! what they wait for. So the usual time is 20 ms, and the table has the processor's share.

use std::process::Command;

use clap::Args;

use super::error::BenchError;
use crate::command;
use crate::table::of_numbers;
use crate::workspace;

const SCRIPT: &str = "xtask/src/bench/database.sh";
/// MiB of each of six members: enough for the database three times.
const MEMBER_MIB: u32 = 192;
/// Of pgbench: 500,000 accounts, some 80 MB.
const SCALE: u32 = 5;
/// MiB of the lab's memory, which has to hold the members.
const LAB_MIB: u32 = 4096;
/// Seconds until a boot is given up, besides those that are measured.
const LIMIT: u32 = 900;

/// How long, and on what.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Runs of each array, in turns; the table gives their median
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Milliseconds of an access to a member
    #[arg(long, default_value_t = 20)]
    access: u32,
    /// Clients of the database
    #[arg(long, default_value_t = 16)]
    clients: u32,
}

/// An array, by its options of `parlour create`.
struct Row {
    name: &'static str,
    options: &'static [&'static str],
    runs: Vec<Run>,
}

#[derive(Clone, Copy)]
struct Run {
    /// Transactions a second.
    transactions: f64,
    /// The processor's share of the time.
    busy: f64,
}

const ROWS: [(&str, &[&str]); 5] = [
    ("parity logging (the default)", &["-o", "parity-logging"]),
    ("parity logging, write-through", &["-o", "parity-logging", "--write-back", "0"]),
    ("parity logging, bitmap", &["-o", "parity-logging", "--consistency", "bitmap"]),
    ("RAID 5, bitmap", &["-o", "raid5"]),
    ("RAID 10", &["-o", "raid10"]),
];
/// The row that ratios refer to.
const REFERENCE: &str = "RAID 5, bitmap";

/// Measures the arrays in turns, and prints a table.
pub(super) fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let mut rows = ROWS.map(|(name, options)| Row { name, options, runs: Vec::new() });
    for run in 1..=arguments.runs {
        for row in &mut rows {
            eprint!("run {run} of {}: {} ... ", arguments.runs, row.name);
            let measured = measure(row.options, arguments)?;
            // (The table comes at the end: half an hour later.)
            eprintln!("{:.1} transactions/s", measured.transactions);
            row.runs.push(measured);
        }
    }
    println!("{}", table(&rows));
    Ok(())
}

/// Boots the lab, and measures one array.
fn measure(options: &[&str], arguments: &Arguments) -> Result<Run, BenchError> {
    let Arguments { seconds, access, clients, .. } = arguments;
    let here =
        std::env::current_exe().map_err(|source| BenchError::Place { path: "xtask".into(), source })?;
    let mut boot = Command::new(here);
    boot.current_dir(workspace::root());
    boot.args(["kernel", "run", "--memory", &LAB_MIB.to_string()]);
    boot.args(["--limit", &(LIMIT + seconds).to_string(), SCRIPT])
        .arg(workspace::target().join("release/parlour"));
    boot.args([access, &MEMBER_MIB, &SCALE, clients, seconds].map(ToString::to_string)).args(options);
    let told = String::from_utf8_lossy(&command::read(&mut boot)?).into_owned();
    let numbers = |word: &str| -> Option<Vec<f64>> {
        let line = told.lines().find_map(|line| line.trim().strip_prefix(word))?;
        line.split_whitespace().map(|number| number.parse().ok()).collect()
    };
    let run = || {
        let transactions = *numbers("transactions ")?.first()?;
        let [busy, all, busy_after, all_after] = numbers("processor ")?.try_into().ok()?;
        Some(Run { transactions, busy: (busy_after - busy) / (all_after - all) })
    };
    run().ok_or(BenchError::NoResult { what: "pgbench", told })
}

fn table(rows: &[Row]) -> String {
    let median = |row: &Row, of: fn(&Run) -> f64| {
        let mut values: Vec<f64> = row.runs.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let reference =
        rows.iter().find(|row| row.name == REFERENCE).map_or(1.0, |row| median(row, |run| run.transactions));
    let mut table =
        of_numbers(["organization", "transactions/s", "least", "most", "relative to RAID 5", "processor"]);
    for row in rows {
        let rates = || row.runs.iter().map(|run| run.transactions);
        let rate = median(row, |run| run.transactions);
        table.add_row([
            row.name.to_owned(),
            format!("{rate:.1}"),
            format!("{:.1}", rates().fold(f64::INFINITY, f64::min)),
            format!("{:.1}", rates().fold(0.0, f64::max)),
            format!("{:.2}", rate / reference),
            format!("{:.0}%", median(row, |run| run.busy) * 100.0),
        ]);
    }
    table.to_string()
}
