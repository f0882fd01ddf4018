//! `parlour serve`: serves an array over NBD until it is stopped.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::OpenRequest;

use crate::arrival::await_members;
use crate::console::Console;
use crate::failure::Failure;
use crate::members::Looks;
use crate::serve::{Service, Serving};
use crate::settings::{ConfigFile, ServingSettings, TimeoutSettings, TuningSettings};

/// Serve an array over NBD until it is stopped
///
/// Members are found by their superblocks, in any order; a directory stands for all members in it.
/// Prints `ready` when clients may connect. Only the user who serves may connect, unless options
/// let others in. Stops cleanly on SIGINT, SIGTERM, SIGHUP and `parlour stop`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Members and spares, or one directory of them
    #[arg(value_name = "MEMBER")]
    members: Vec<PathBuf>,
    /// Write nothing: no data, no metadata
    #[arg(long)]
    read_only: bool,
    /// Serve though something may be lost: an array that was not shut down cleanly and lacks a
    /// member. With --read-only: what is left of one that lacks more members than it survives
    #[arg(long)]
    force: bool,
    /// Take what options leave open from this TOML file
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    serving: ServingSettings,
    #[command(flatten)]
    timeouts: TimeoutSettings,
    #[command(flatten)]
    tuning: TuningSettings,
}

pub(crate) fn run(options: &Options, console: Console) -> Result<(), Failure> {
    let file = ConfigFile::load(options.config.as_deref())?;
    let of_file = || file.members.iter().chain(&file.journals).cloned().collect();
    let named: Vec<PathBuf> = if options.members.is_empty() { of_file() } else { options.members.clone() };
    if named.is_empty() {
        return Err(Failure::NoMembers("serve"));
    }
    let serving = options.serving.clone().or(file.serving);
    let timeouts = options.timeouts.clone().or(file.timeouts);
    let looks = Looks::new(timeouts.access_timeout());
    let open = parlour_engine::open(&OpenRequest {
        members: await_members(&named, timeouts.wait(), &looks, console)?,
        read_only: options.read_only,
        force: options.force,
        tuning: options.tuning.clone().or(file.tuning).tuning()?,
        io: serving.io.map(Into::into).unwrap_or_default(),
        access_timeout: timeouts.access_timeout(),
        recorded: false,
    })
    .map_err(|error| Failure::opening(error, None))?;
    let directory = match named.as_slice() {
        [directory] if directory.is_dir() => Some(directory.as_path()),
        _ => None,
    };
    let read_only = options.read_only;
    let (settings, timeouts) = (&serving, &timeouts);
    let serving = Serving { settings, timeouts, named: &named, directory, read_only, any_port: false };
    Ok(Service::new(open, &serving)?.run(console, |_| String::new())?)
}
