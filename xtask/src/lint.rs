//! `cargo xtask lint`: formatting, clippy, documentation, dependencies, and the house rules.

use crate::command::{self, CommandError};
use crate::deny;
use crate::tidy::{self, TidyError};
use crate::workspace::{self, cargo};

/// Why the lint failed. Each cause has already been printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LintError {
    /// The sources could not be read.
    #[error(transparent)]
    Tidy(#[from] TidyError),
    /// Some checks failed.
    #[error("not clean: {}", .0.join(", "))]
    NotClean(Vec<&'static str>),
}

/// Runs all checks, the quick ones first. Continues after a failure, to show all problems at once.
pub(crate) fn run() -> Result<(), LintError> {
    let mut failed = Vec::new();
    if !tidy()? {
        failed.push("house rules");
    }
    if !passes(run_cargo(&["fmt", "--all", "--check"])) {
        failed.push("formatting (`cargo fmt` mends it)");
    }
    if !passes(run_cargo(&["fetch", "--manifest-path", "fuzz/runner/Cargo.toml"])) {
        failed.push("the fuzzers' lock file (`cargo fetch --manifest-path fuzz/runner/Cargo.toml` mends it)");
    }
    if !passes(run_cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])) {
        failed.push("clippy");
    }
    if !passes(document()) {
        failed.push("documentation");
    }
    if !passes(deny::check()) {
        failed.push("dependencies");
    }
    if failed.is_empty() { Ok(()) } else { Err(LintError::NotClean(failed)) }
}

/// Checks the house rules and prints the findings. Returns whether there are none.
fn tidy() -> Result<bool, TidyError> {
    let findings = tidy::check(&workspace::root())?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    Ok(findings.is_empty())
}

/// Builds the documentation.
fn document() -> Result<(), CommandError> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
    command::run(doc.env("RUSTDOCFLAGS", "-D warnings"))
}

fn run_cargo(arguments: &[&str]) -> Result<(), CommandError> {
    command::run(&mut cargo(arguments))
}

/// Whether a command succeeded. A program that ran has already printed its error; other errors are
/// printed here.
fn passes(ran: Result<(), CommandError>) -> bool {
    if let Err(error @ (CommandError::NotStarted { .. } | CommandError::LogUnread { .. })) = &ran {
        eprintln!("{error}");
    }
    ran.is_ok()
}
