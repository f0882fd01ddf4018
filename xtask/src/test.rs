//! `cargo xtask test`: everything that must hold before a change is offered.

use std::panic::resume_unwind;
use std::process::Command;
use std::thread;

use crate::command::{self, CommandError};
use crate::packages::{self, PackageError};
use crate::workspace::{cargo, target};

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

/// What `cargo test` is told for the array as it is. The end-to-end suite is among these: the integration tests of crates/cli.
const SOUND: [&str; 2] = ["test", "--workspace"];

/// Installs what is missing, and runs every test.
pub(crate) fn run() -> Result<(), TestError> {
    let wanted = packages::look()?;
    // Packages are fetched and unpacked while all is built.
    let (installed, built) = beside(|| wanted.install(), build);
    installed?;
    built?;
    // The end-to-end suite comes first and mostly waits. What it leaves of the processors goes to the tests' own test.
    let log = target().join("planted-bugs.log");
    let mut planted = planted();
    let (noticed, held) =
        beside(|| command::run_quietly(&mut planted, &log), || command::run(&mut cargo(&SOUND)));
    command::show(&planted, &log)?;
    held?;
    noticed?;
    Ok(())
}

/// Builds all that is run later.
fn build() -> Result<(), CommandError> {
    command::run(cargo(&SOUND).arg("--no-run"))?;
    command::run(planted().arg("--no-run"))
}

/// The tests' own test: with known bugs in the array they fail.
fn planted() -> Command {
    let packages = ["parlour-array", "parlour-engine", "parlour-fault", "parlour-sim"];
    let features = packages.map(|package| format!("{package}/planted-bugs")).join(",");
    let tests =
        ["away", "corpus", "corpus_in_memory", "durability", "planted", "planted_exhaustive", "unreadable"];
    // All of the workspace is named, so that what others build on, which is chosen by what all packages want of it, is not built anew.
    let mut planted = cargo(&["test", "--workspace", "--features", &features]);
    planted.args(tests.iter().flat_map(|test| ["--test", test]));
    planted
}

/// Does the one in a thread of its own while the other is done here.
fn beside<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (one.join().unwrap_or_else(|panic| resume_unwind(panic)), other)
    })
}
