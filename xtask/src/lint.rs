//! `cargo xtask lint`: formatting, clippy, documentation, what is depended on, and the house rules.

use crate::command::{self, CommandError};
use crate::deny;
use crate::tidy::{self, TidyError};
use crate::workspace::{self, cargo};

/// Why a change is not clean. Each cause has already been printed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LintError {
    /// The sources could not be read.
    #[error(transparent)]
    Tidy(#[from] TidyError),
    /// Some of the checks failed.
    #[error("not clean: {}", .0.join(", "))]
    NotClean(Vec<&'static str>),
}

/// Runs every check, the quick ones first, and goes on after a failure, to show everything at once.
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

/// Whether the house rules hold; prints where they do not.
fn tidy() -> Result<bool, TidyError> {
    let findings = tidy::check(&workspace::root())?;
    for finding in &findings {
        eprintln!("{finding}");
    }
    Ok(findings.is_empty())
}

/// Builds the documentation. A link from what is public to what is private is plain text in it, and
/// helps who reads the source.
fn document() -> Result<(), CommandError> {
    let mut doc = cargo(&["doc", "--workspace", "--no-deps"]);
    command::run(doc.env("RUSTDOCFLAGS", "-D warnings -A rustdoc::private-intra-doc-links"))
}

fn run_cargo(arguments: &[&str]) -> Result<(), CommandError> {
    command::run(&mut cargo(arguments))
}

/// Whether a command succeeded; a program that ran has itself printed why not.
fn passes(ran: Result<(), CommandError>) -> bool {
    if let Err(error @ (CommandError::NotStarted { .. } | CommandError::LogUnread { .. })) = &ran {
        eprintln!("{error}");
    }
    ran.is_ok()
}
