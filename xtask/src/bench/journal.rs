//! `cargo xtask bench journal`: measures the cost of the journal, in which a record is durable
//! before its data is overwritten.

use clap::Args;

use super::error::BenchError;
use super::fio::Job;
use super::places::Places;
use super::targets::{Array, Target};
use super::turns::measure;

/// How long and where.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Runs of each consistency, in turns; the table gives their median
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Seconds of each job
    #[arg(long, default_value_t = 2)]
    seconds: u32,
    #[command(flatten)]
    places: Places,
}

/// Measures arrays with parity logging that differ only in what is durable when, the default first,
/// and RAID 5.
pub(super) fn run(arguments: &Arguments) -> Result<(), BenchError> {
    let array = |name| Array::new("parity-logging", MEMBERS, MEMBER_MIB).with(name, &["--consistency", name]);
    let default = Array::new("parity-logging", MEMBERS, MEMBER_MIB);
    let through = default.clone().with("write-through", &["--write-back", "0"]);
    let raid5 = Array::new("raid5", MEMBERS, MEMBER_MIB);
    let targets = [default, through, array("bitmap"), raid5].map(Target::Parlour);
    for (title, place) in arguments.places.scratch()? {
        let results = measure(&targets, &Job::flushed(), arguments.runs, arguments.seconds, (title, &place))?;
        println!("{}", results.render(title));
    }
    Ok(())
}

const MEMBERS: u32 = 5;
const MEMBER_MIB: u64 = 256;
