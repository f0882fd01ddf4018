//! `cargo xtask test`: everything that must hold before a change is offered.

use std::thread;

use crate::command::{self, CommandError};
use crate::packages::{self, PackageError};
use crate::workspace::cargo;

/// Why the tests did not pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    /// The tools of the end-to-end suite are not there.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// A build or a test failed.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Installs what is missing, and runs every test.
pub(crate) fn run() -> Result<(), TestError> {
    let wanted = packages::look()?;
    // Packages are fetched and unpacked while all is built.
    let (installed, built) = thread::scope(|scope| {
        let installing = scope.spawn(|| wanted.install());
        let built = command::run(&mut cargo(&["test", "--workspace", "--no-run"]));
        (installing.join().expect("installing does not panic"), built)
    });
    installed?;
    built?;
    // The end-to-end suite is among these: the integration tests of crates/cli.
    command::run(&mut cargo(&["test", "--workspace"]))?;
    // The tests' own test: with known bugs in the array they fail. All of the workspace is named, so that what others build on, which is
    // chosen by what all packages want of it, is not built anew.
    let packages = ["parlour-array", "parlour-engine", "parlour-fault", "parlour-sim"];
    let features = packages.map(|package| format!("{package}/planted-bugs")).join(",");
    let tests =
        ["away", "corpus", "corpus_in_memory", "durability", "planted", "planted_exhaustive", "unreadable"];
    let mut planted = cargo(&["test", "--workspace", "--features", &features]);
    planted.args(tests.iter().flat_map(|test| ["--test", test]));
    command::run(&mut planted)?;
    Ok(())
}
