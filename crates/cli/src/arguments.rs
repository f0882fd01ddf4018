//! The command line.

use clap::{Parser, Subcommand};

use crate::commands::{
    add, completions, create, drives, examine, explain, fail, layout, lost, model, rebuild, reliability,
    remove, replace, reproduce, scrub, serve, simulate, status, stop, torture, up,
};

/// A disk array in software: files and block devices as one redundant network block device
#[derive(Parser, Debug)]
#[command(name = "parlour", version = env!("PARLOUR_VERSION"), propagate_version = true, max_term_width = 100)]
#[command(after_help = "Exit status: 0 fine, 1 failed, 2 misused. 'parlour up' is a good beginning.")]
pub(crate) struct Arguments {
    /// Answer in JSON (docs/json.md)
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Up(up::Options),
    Create(create::Options),
    Serve(serve::Options),
    Status(status::Options),
    Lost(lost::Options),
    Examine(examine::Options),
    Fail(fail::Options),
    Remove(remove::Options),
    Add(add::Options),
    Replace(replace::Options),
    Rebuild(rebuild::Options),
    Scrub(scrub::Options),
    Stop(stop::Options),
    Layout(layout::Options),
    Explain(explain::Options),
    Simulate(simulate::Options),
    Model(model::Options),
    Reliability(reliability::Options),
    Reproduce(reproduce::Options),
    Drives(drives::Options),
    Torture(torture::Options),
    Completions(completions::Options),
}
