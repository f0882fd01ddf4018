//! `cargo xtask golden`: rewrites the golden images of the format's current version.
//!
//! The tests that compare with the images also write them, if an environment variable says so.

use crate::command::{self, CommandError};
use crate::workspace::cargo;

/// Runs the command.
pub(crate) fn run() -> Result<(), CommandError> {
    let mut structures = cargo(&["test", "-p", "parlour-array", "--lib", "golden"]);
    command::run(structures.env("PARLOUR_GOLDEN", "write"))?;
    let mut images = cargo(&["test", "-p", "parlour-array", "--test", "golden"]);
    command::run(images.env("PARLOUR_GOLDEN", "write"))
}
