//! `cargo xtask kernel`: a kernel of our own, for tests that this machine's kernel does not support
//! or must not run.
//!
//! User-mode Linux is a normal program: it needs no special rights and boots in about a second on
//! the host's files, and all changes that a test makes to devices end with it. It has one
//! processor, and every system call costs some microseconds: use it to test behaviour, never speed.

mod boot;
mod build;
mod cache;
mod error;
mod init;
mod recipe;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};

use boot::{Boot, End};

pub(crate) use build::{ensure, wanted};
pub(crate) use error::KernelError;

/// What to do with the lab's kernel.
#[derive(Debug, Subcommand)]
pub(crate) enum Kernel {
    /// Build it, if it is not there; as root, first install what that needs
    Build(Building),
    /// Boot it, run one program in it, and end as that did
    Run(Running),
}

#[derive(Debug, Args)]
pub(crate) struct Building {
    /// Print where it is
    #[arg(long)]
    path: bool,
    /// Build it even if it is there
    #[arg(long)]
    anew: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Running {
    /// MiB of memory; what the guest keeps in tmpfs is in it
    #[arg(long, default_value_t = 1024)]
    memory: u32,
    /// Seconds until it is killed
    #[arg(long, default_value_t = 120)]
    limit: u64,
    /// Show what the kernel said even if all went well
    #[arg(long)]
    console: bool,
    /// A program or script of the host, and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the command. The exit status of the program becomes the exit status of this command.
pub(crate) fn run(kernel: &Kernel) -> Result<ExitCode, KernelError> {
    match kernel {
        Kernel::Build(building) => {
            let kernel = if building.anew { build::anew()? } else { ensure()? };
            if building.path {
                println!("{}", kernel.display());
            }
            Ok(ExitCode::SUCCESS)
        }
        Kernel::Run(running) => run_program(running),
    }
}

fn run_program(running: &Running) -> Result<ExitCode, KernelError> {
    let boot = Boot {
        kernel: ensure()?,
        program: running.program.clone(),
        mebibytes: running.memory,
        limit: Duration::from_secs(running.limit),
    };
    let report = boot.carry_out()?;
    if running.console || report.end != End::Program(0) {
        eprintln!("--- what the kernel said\n{}---", report.console);
    }
    match report.end {
        End::Program(status) => Ok(ExitCode::from(status)),
        End::Limit => Err(KernelError::Limit(running.limit)),
        End::Kernel => Err(KernelError::Died),
    }
}
