//! The paths of the workspace, and the `cargo` that built this program.

use std::env;
use std::path::PathBuf;
use std::process::Command;

/// The root of the workspace: the parent directory of this package.
pub(crate) fn root() -> PathBuf {
    // The environment of `cargo run` takes precedence: a built-in path is wrong if the directory
    // was moved.
    let package =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    package.parent().unwrap_or(&package).to_owned()
}

/// Cargo's target directory.
pub(crate) fn target() -> PathBuf {
    // A relative path is relative to the root, where cargo is started.
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The `cargo` that runs this program, started in the root. It uses the versions of Cargo.lock.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.arg("--locked").args(arguments).current_dir(root());
    command
}
