//! Where the workspace is, and its own `cargo`.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The root of the workspace: the folder that holds this package's.
pub(crate) fn root() -> PathBuf {
    // As `cargo run` says it; a program that was built before its folder moved would not know.
    let package =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_owned()
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    // A relative one is meant from the root, where cargo is started.
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The `cargo` that runs this program, started at the root. What it builds with is what Cargo.lock
/// says.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.arg("--locked").args(arguments).current_dir(root());
    command
}
