//! `cargo xtask lint`: formatting, clippy and the house rules.

use crate::command::{self, CommandError};
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
    if !passes(&["fmt", "--all", "--check"]) {
        failed.push("formatting (`cargo fmt` mends it)");
    }
    if !passes(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]) {
        failed.push("clippy");
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

/// Whether a cargo command succeeds; cargo itself prints why not.
fn passes(arguments: &[&str]) -> bool {
    match command::run(&mut cargo(arguments)) {
        Ok(()) => true,
        Err(CommandError::Failed { .. }) => false,
        Err(error) => {
            eprintln!("{error}");
            false
        }
    }
}
