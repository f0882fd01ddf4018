//! `parlour completions`: completions for a shell.

use clap::{Args, Command};
use clap_complete::Shell;

use crate::console;
use crate::failure::Failure;

/// Print completions for a shell
///
/// For bash: parlour completions bash > ~/.local/share/bash-completion/completions/parlour
#[derive(Args, Debug)]
pub(crate) struct Options {
    /// Which shell
    shell: Shell,
}

/// Prints the completions of the command line `line`.
pub(crate) fn run(options: &Options, mut line: Command) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(options.shell, &mut line, "parlour", &mut script);
    Ok(console::print(&String::from_utf8_lossy(&script))?)
}
