//! `cargo xtask golden`: writes the golden images of the format's current version anew.
//!
//! The tests that compare with them make them, when the environment says so.

use crate::command::{self, CommandError};
use crate::workspace::cargo;

/// Carries it out.
pub(crate) fn run() -> Result<(), CommandError> {
    let mut structures = cargo(&["test", "-p", "parlour-array", "--lib", "golden"]);
    command::run(structures.env("PARLOUR_GOLDEN", "write"))?;
    let mut images = cargo(&["test", "-p", "parlour-array", "--test", "golden"]);
    command::run(images.env("PARLOUR_GOLDEN", "write"))
}
