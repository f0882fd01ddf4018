//! `cargo xtask kernel`: a kernel of our own, for what this machine's has not or must not be used
//! for.
//!
//! User-mode Linux is a program: it needs no rights, boots in about a second on the host's files,
//! and takes with it whatever a test has done to its devices. It has one processor, and every
//! system call costs some microseconds: it is for behaviour, never for speed.

mod boot;
mod build;
mod cache;
mod init;
mod recipe;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::command::CommandError;
use crate::packages::PackageError;
use boot::{Boot, End};

pub(crate) use build::{ensure, wanted};

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

/// Why the lab did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KernelError {
    /// What the build needs is not there.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// There is no folder to keep it in.
    #[error("cannot keep a kernel: set HOME or XDG_CACHE_HOME to where there is room for it")]
    NoCache,
    /// A folder or file cannot be used.
    #[error("cannot use {path}: {source}", path = path.display())]
    Unusable { path: PathBuf, source: io::Error },
    /// A step of the build failed.
    #[error("the lab's kernel cannot be built: {0}")]
    Build(#[source] CommandError),
    /// The source is not the one for which the changes were made.
    #[error("the kernel's {file} is not as expected; see `CHANGES` in xtask/src/kernel/recipe.rs")]
    OtherSource { file: &'static str },
    /// The configuration names what the kernel does not have.
    #[error("the kernel's configuration drops {0}; see xtask/src/kernel/config")]
    Ignored(String),
    /// The limit was reached.
    #[error("the program did not end in {0} seconds; the kernel was killed")]
    Limit(u64),
    /// The kernel died.
    #[error("the kernel ended before the program did")]
    Died,
}

impl KernelError {
    /// Says that a path cannot be used.
    fn unusable(path: &Path) -> impl FnOnce(io::Error) -> KernelError {
        let path = path.to_owned();
        move |source| KernelError::Unusable { path, source }
    }
}

/// Carries it out. A program's exit status becomes this one's.
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
