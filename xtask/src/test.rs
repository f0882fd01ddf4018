//! `cargo xtask test`: everything that must hold before a change is offered.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use serde::Deserialize;

use crate::command::{self, CommandError};
use crate::kernel::{self, KernelError};
use crate::packages::{self, PackageError};
use crate::workspace::{cargo, target};

/// Why the tests did not pass.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    /// The tools of the end-to-end suite are not there.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// The kernel in which some tests run is not there.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// A build or a test failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Nobody knows what tests there are.
    #[error("cannot read what `cargo metadata` says of the workspace: {0}")]
    Metadata(serde_json::Error),
}

/// Tests that mostly wait: for other programs, for disks, for processes that are to be killed. They
/// need little of the processors.
const WAITING: [&str; 5] = ["clients", "filesystem", "killed", "serving", "two_servers"];

/// Tests that boot the lab's kernel. They mostly wait, too, but first for that kernel.
const IN_LAB: &str = "kernel";

/// Installs what is missing, and runs every test.
pub(crate) fn run() -> Result<(), TestError> {
    let wanted = [Some(packages::look(&packages::TESTS)?), kernel::wanted()?];
    thread::scope(|scope| {
        // Packages are fetched and unpacked while all is built. Then the kernel is built, at a low
        // priority.
        let installing = scope.spawn(move || {
            wanted.iter().flatten().try_for_each(packages::Wanted::install)?;
            Ok::<_, PackageError>(scope.spawn(kernel::ensure))
        });
        let built = build();
        let kernel = joined(installing)?;
        built?;
        run_tests(move || joined(kernel))
    })
}

/// Runs every test, those in the lab when its kernel is there.
fn run_tests(kernel: impl FnOnce() -> Result<PathBuf, KernelError> + Send) -> Result<(), TestError> {
    let computing = computing()?;
    let aside = [("waiting.log", waiting()), ("planted-bugs.log", planted())];
    let in_lab = || kernel().map(|_| run_aside(("kernel.log", lab())));
    let (aside, held) = beside(|| (aside.map(run_aside), in_lab()), || run_all(computing));
    let (aside, in_lab) = aside;
    for (command, log, _) in aside.iter().chain(&in_lab) {
        command::show(command, log)?;
    }
    held?;
    aside.into_iter().try_for_each(|(.., ran)| ran)?;
    let (.., ran) = in_lab?;
    Ok(ran?)
}

/// Builds all that is run later.
fn build() -> Result<(), CommandError> {
    command::run(&mut cargo(&["test", "--workspace", "--no-run"]))?;
    command::run(planted().arg("--no-run"))
}

/// Runs what is shown when all else has run. Says what that was, where its words are, and how it
/// went.
fn run_aside((log, mut command): (&str, Command)) -> (Command, PathBuf, Result<(), CommandError>) {
    let log = target().join(log);
    let ran = command::run_quietly(&mut command, &log);
    (command, log, ran)
}

fn run_all(commands: impl IntoIterator<Item = Command>) -> Result<(), CommandError> {
    commands.into_iter().try_for_each(|mut command| command::run(&mut command))
}

/// What waits.
fn waiting() -> Command {
    let mut waiting = cargo(&["test", "--workspace"]);
    waiting.args(WAITING.iter().flat_map(|test| ["--test", test]));
    waiting
}

/// What runs in the lab.
fn lab() -> Command {
    cargo(&["test", "--workspace", "--test", IN_LAB])
}

/// All else: `cargo test` can be told what to run, and not what to leave out.
fn computing() -> Result<[Command; 2], TestError> {
    let tests = integration_tests()?;
    let mut computing = cargo(&["test", "--workspace", "--lib", "--bins"]);
    let all_else = tests.iter().filter(|test| !WAITING.contains(&test.as_str()) && *test != IN_LAB);
    computing.args(all_else.flat_map(|test| ["--test", test]));
    Ok([computing, cargo(&["test", "--workspace", "--doc"])])
}

/// The names of the workspace's integration tests.
fn integration_tests() -> Result<BTreeSet<String>, TestError> {
    let said = command::read(&mut cargo(&["metadata", "--no-deps", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_slice(&said).map_err(TestError::Metadata)?;
    let targets = metadata.packages.into_iter().flat_map(|package| package.targets);
    let tests = targets.filter(|target| target.kind.iter().any(|kind| kind == "test"));
    Ok(tests.map(|target| target.name).collect())
}

/// What cargo says of the workspace, as far as it is needed.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    name: String,
}

/// The tests' own test: with known bugs in the array they fail.
fn planted() -> Command {
    let packages = ["parlour-array", "parlour-engine", "parlour-fault", "parlour-sim"];
    let features = packages.map(|package| format!("{package}/planted-bugs")).join(",");
    let tests = [
        "away",
        "clones",
        "corpus",
        "corpus_in_memory",
        "damaged",
        "durability",
        "excluded",
        "planted",
        "planted_exhaustive",
        "starved",
        "unreadable",
    ];
    // All of the workspace is named, so that what others build on, which is chosen by what all
    // packages want of it, is not built anew.
    let mut planted = cargo(&["test", "--workspace", "--features", &features]);
    planted.args(tests.iter().flat_map(|test| ["--test", test]));
    planted
}

/// Does the one in a thread of its own while the other is done here.
fn beside<A: Send, B>(one: impl FnOnce() -> A + Send, other: impl FnOnce() -> B) -> (A, B) {
    thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        (joined(one), other)
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
