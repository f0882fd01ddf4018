//! cargo-deny, which looks at the licences, versions and origins of all that is built in, by what
//! `deny.toml` allows.

use std::process::Command;

use crate::command::{self, CommandError};
use crate::workspace::{cargo, root, target};

/// The version that all use, so that it says the same everywhere.
const VERSION: &str = "0.20.2";

/// Asks it, but for advisories: those come from a server that is not everywhere in reach.
pub(crate) fn check() -> Result<(), CommandError> {
    let folder = target().join("tools").join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        // Unoptimized, it is built in a quarter of the time, and answers within a second.
        let mut install = cargo(&["install", "cargo-deny", "--version", VERSION, "--debug", "--quiet"]);
        command::run(install.arg("--root").arg(&folder))?;
    }
    let mut deny = Command::new(program);
    // It comes with its own list of what is wrong; that all is well, its exit status says.
    deny.args(["--locked", "--log-level", "error", "check", "--hide-inclusion-graph"]);
    command::run(deny.args(["bans", "licenses", "sources"]).current_dir(root()))
}
