//! Runs cargo-deny, which checks licences, versions and origins of all dependencies against
//! `deny.toml`.

use std::process::Command;

use crate::command::{self, CommandError};
use crate::workspace::{cargo, root, target};

/// The version that everyone uses, so that the result is the same everywhere.
const VERSION: &str = "0.20.2";

/// Runs the checks except for advisories: their server is not reachable everywhere.
pub(crate) fn check() -> Result<(), CommandError> {
    let folder = target().join("tools").join(format!("cargo-deny-{VERSION}"));
    let program = folder.join("bin/cargo-deny");
    if !program.is_file() {
        // An unoptimized build takes a quarter of the time, and the program still answers within a
        // second.
        let mut install = cargo(&["install", "cargo-deny", "--version", VERSION, "--debug", "--quiet"]);
        command::run(install.arg("--root").arg(&folder))?;
    }
    let mut deny = Command::new(program);
    // cargo-deny prints its own findings. Its exit status says whether there are any.
    deny.args(["--locked", "--log-level", "error", "check", "--hide-inclusion-graph"]);
    command::run(deny.args(["bans", "licenses", "sources"]).current_dir(root()))
}
