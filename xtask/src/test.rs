//! `cargo xtask test`: runs all tests that must pass before a change is proposed.

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, ScopedJoinHandle};

use serde::Deserialize;

use crate::command::{self, CommandError};
use crate::kernel::{self, KernelError};
use crate::packages::{self, PackageError};
use crate::planted::{self, PlantedError};
use crate::workspace::{cargo, target};

/// Why the tests failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TestError {
    /// Tools of the end-to-end suite are missing.
    #[error(transparent)]
    Packages(#[from] PackageError),
    /// The kernel in which some tests run is missing.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The copy with planted bugs could not be made.
    #[error(transparent)]
    Planted(#[from] PlantedError),
    /// A build or a test failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The list of tests cannot be read.
    #[error("cannot read what `cargo metadata` says of the workspace: {0}")]
    Metadata(serde_json::Error),
}

/// Tests that mostly wait: for other programs, for disks, for processes that are killed. They need
/// little processor time.
const WAITING: [&str; 8] =
    ["clients", "filesystem", "hanging", "killed", "page", "report", "serving", "two_servers"];

/// Tests that boot the lab's kernel. They mostly wait as well, but the kernel has to be built
/// first.
const IN_LAB: &str = "kernel";

/// The tests that run in the copy with planted bugs.
const IN_COPY: [&str; 8] = [
    "choices",
    "corpus",
    "corpus_in_memory",
    "durability",
    "faults",
    "layouts",
    "planted",
    "planted_exhaustive",
];

/// Installs missing packages, and runs all tests.
pub(crate) fn run() -> Result<(), TestError> {
    let wanted = [Some(packages::look(&packages::TESTS)?), kernel::wanted()?];
    thread::scope(|scope| {
        // Packages are fetched and unpacked during the build of the tests. Then the kernel is
        // built, at a low priority.
        let installing = scope.spawn(move || {
            wanted.iter().flatten().try_for_each(packages::Wanted::install)?;
            Ok::<_, PackageError>(scope.spawn(kernel::ensure))
        });
        let built = build();
        let kernel = joined(installing)?;
        let copy = built?;
        run_tests(&copy, move || joined(kernel))
    })
}

/// Runs all tests, those with planted bugs in the `copy`; those in the lab start when the lab's
/// kernel is built.
fn run_tests(
    copy: &Path,
    kernel: impl FnOnce() -> Result<PathBuf, KernelError> + Send,
) -> Result<(), TestError> {
    let computing = computing()?;
    let waiting = || run_aside(("waiting.log", waiting()));
    let in_lab = || kernel().map(|_| run_aside(("kernel.log", lab())));
    let planted = || run_aside(("planted-bugs.log", tests_of_tests(copy)));
    let (waited, (planted, held)) =
        beside(|| (waiting(), in_lab()), || beside(planted, || run_all(computing)));
    let (waiting, in_lab) = waited;
    for (command, log, _) in [&waiting, &planted].into_iter().chain(&in_lab) {
        command::show(command, log)?;
    }
    held?;
    [waiting, planted].into_iter().try_for_each(|(.., ran)| ran)?;
    let (.., ran) = in_lab?;
    Ok(ran?)
}

/// Builds all tests. Returns the copy of the workspace in which known bugs can be planted.
fn build() -> Result<PathBuf, TestError> {
    // It is made first: a bug that has lost its place is reported at once.
    let copy = planted::make()?;
    command::run(&mut cargo(&["test", "--workspace", "--no-run"]))?;
    command::run(tests_of_tests(&copy).arg("--no-run"))?;
    Ok(copy)
}

/// Runs a command whose output is shown after all others have run. Returns the command, the file
/// with its output, and its result.
fn run_aside((log, mut command): (&str, Command)) -> (Command, PathBuf, Result<(), CommandError>) {
    let log = target().join(log);
    let ran = command::run_quietly(&mut command, &log);
    (command, log, ran)
}

fn run_all(commands: impl IntoIterator<Item = Command>) -> Result<(), CommandError> {
    commands.into_iter().try_for_each(|mut command| command::run(&mut command))
}

/// The tests that mostly wait.
fn waiting() -> Command {
    let mut waiting = cargo(&["test", "--workspace"]);
    waiting.args(WAITING.iter().flat_map(|test| ["--test", test]));
    waiting
}

/// The tests that run in the lab.
fn lab() -> Command {
    cargo(&["test", "--workspace", "--test", IN_LAB])
}

/// All other tests, listed by name: `cargo test` has no option to exclude tests.
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

/// The required part of cargo's metadata.
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

/// The tests of the tests, in the copy: with planted bugs in the array they must fail. The tests of
/// a code and layouts that only tests have are built with them.
fn tests_of_tests(copy: &Path) -> Command {
    // The command names the whole workspace. With fewer packages, cargo would choose other features
    // for common dependencies, and build them again.
    let arguments = ["test", "--workspace", "--features", "parlour-fault/test-choices"];
    let mut tests_of_tests = planted::cargo_in(copy, &arguments);
    tests_of_tests.args(IN_COPY.iter().flat_map(|test| ["--test", test]));
    tests_of_tests
}

/// Runs `one` in a thread of its own, and `other` in this thread at the same time.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::copy::{self, Entry};

    /// The program of a test that knows of planted bugs.
    fn planting((path, entry): (&String, &Entry)) -> Option<String> {
        let (_, test) = path.strip_prefix("crates/")?.split_once("/tests/")?;
        let Entry::Content(content) = entry else { return None };
        let plants = String::from_utf8_lossy(content).contains("feature = \"planted-bugs\"");
        let program = test.split(['/', '.']).next()?;
        (plants && program != "common").then(|| program.to_owned())
    }

    #[test]
    fn all_tests_that_plant_bugs_run_in_the_copy() {
        let entries = copy::entries().expect("the workspace can be read");
        let programs: BTreeSet<String> = entries.iter().filter_map(planting).collect();
        let forgotten: Vec<&String> =
            programs.iter().filter(|program| !IN_COPY.contains(&program.as_str())).collect();
        assert!(programs.contains("faults") && forgotten.is_empty(), "{forgotten:?}");
    }
}
