//! `parlour serve`: serves an array over NBD until it is stopped.

use std::path::PathBuf;

use clap::Args;
use parlour_engine::OpenRequest;

use crate::arrival::await_members;
use crate::console::Console;
use crate::failure::Failure;
use crate::serve::{Service, Sockets};
use crate::settings::{ConfigFile, ServingSettings, TimeoutSettings, TuningSettings};

/// Serve an array over NBD until it is stopped
///
/// Members are found by their superblocks, in any order; a directory stands for all members in it. Prints `ready` when
/// clients may connect. Stops cleanly on SIGINT, SIGTERM and `parlour stop`.
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Members and spares, or one directory of them
    #[arg(value_name = "MEMBER")]
    members: Vec<PathBuf>,
    /// Write nothing: no data, no metadata
    #[arg(long)]
    read_only: bool,
    /// Serve though something may be lost: an array that was not stopped properly and lacks a member
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
    let named = if options.members.is_empty() { &file.members } else { &options.members };
    if named.is_empty() {
        return Err(Failure::NoMembers("serve"));
    }
    let serving = options.serving.clone().or(file.serving);
    if serving.unix.is_none() && serving.tcp.is_none() {
        return Err(Failure::Nowhere);
    }
    let timeouts = options.timeouts.clone().or(file.timeouts);
    let open = parlour_engine::open(&OpenRequest {
        members: await_members(named, timeouts.wait(), console)?,
        read_only: options.read_only,
        force: options.force,
        tuning: options.tuning.clone().or(file.tuning).tuning()?,
        io: serving.io.map(Into::into).unwrap_or_default(),
        access_timeout: timeouts.access_timeout(),
    })?;
    let sockets = Sockets { unix: serving.unix.as_deref(), tcp: serving.tcp, any_port: false };
    let service =
        Service::new(open, &sockets, serving.export.as_deref(), options.read_only, &timeouts, named)?;
    Ok(service.run(console, |_| String::new())?)
}
