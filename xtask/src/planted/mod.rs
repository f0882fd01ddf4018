//! `cargo xtask planted`: runs cargo in a copy of the workspace in which known bugs can be planted,
//! to test the tests.
//!
//! The sources of the product contain none of this. The bugs are data in `planted/` ([`data`]):
//! for each bug, what is replaced in which file. The copy below the target directory has all of
//! them, each behind a question ([`mod@weave`]), and a module of the array that answers it. A test
//! plants one bug at a time.

mod data;
mod module;
mod weave;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::command::{self, CommandError};
use crate::copy::{self, CopyError, Entries, Entry};
use crate::workspace::{cargo, target};
pub(crate) use data::{FOLDER, Flaw};
pub(crate) use weave::weave;

/// What cargo is to do.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// What cargo is told, such as `test -p parlour-fault --test planted -- --nocapture`
    #[arg(value_name = "ARGUMENT", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    cargo: Vec<String>,
}

/// Why cargo did not succeed in the copy.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PlantedError {
    /// The workspace could not be copied.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// cargo failed.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// Some bugs cannot be planted.
    #[error("bugs cannot be planted:\n{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Flawed(Vec<Flaw>),
}

/// Makes the copy, and runs cargo in it.
pub(crate) fn run(arguments: &Arguments) -> Result<(), PlantedError> {
    let copy = make()?;
    Ok(command::run(&mut cargo_in(&copy, &arguments.cargo))?)
}

/// Makes the copy with all bugs, none of which is planted yet. Returns its folder.
pub(crate) fn make() -> Result<PathBuf, PlantedError> {
    let mut entries = copy::entries()?;
    let woven = weave(&texts(&entries)).map_err(PlantedError::Flawed)?;
    entries.extend(woven.into_iter().map(|(path, text)| (path, Entry::Content(text.into_bytes()))));
    for (_, entry) in entries.iter_mut().filter(|(path, _)| path.ends_with("Cargo.toml")) {
        if let Entry::Content(manifest) = entry {
            *manifest = with_feature(&String::from_utf8_lossy(manifest)).into_bytes();
        }
    }
    let folder = target().join("planted");
    copy::write(&folder, &entries)?;
    Ok(folder)
}

/// A cargo that works in the copy. It has the workspace's target directory, so that what others
/// have published is not built twice.
pub(crate) fn cargo_in<A: AsRef<OsStr>>(copy: &Path, arguments: &[A]) -> Command {
    let mut command = cargo(&[]);
    command.args(arguments).current_dir(copy).env("CARGO_TARGET_DIR", target());
    command
}

/// The texts of sources and of the bugs' data.
fn texts(entries: &Entries) -> BTreeMap<String, String> {
    let text = |(path, entry): (&String, &Entry)| match entry {
        Entry::Content(content) if path.ends_with(".rs") || path.starts_with(FOLDER) => {
            Some((path.clone(), String::from_utf8(content.clone()).ok()?))
        }
        _ => None,
    };
    entries.iter().filter_map(text).collect()
}

/// A package's manifest with the feature `planted-bugs`, which is on by default.
///
/// With it tests are compiled that look for planted bugs. It also keeps the packages of the copy
/// apart from those of the workspace, which cargo could not tell from each other: in a target
/// directory they have names that depend on features, but not on the folder of the workspace.
fn with_feature(manifest: &str) -> String {
    const FEATURE: &str = "[features]\ndefault = [\"planted-bugs\"]\nplanted-bugs = []\n";
    if !manifest.contains("[package]\n") {
        return manifest.to_owned();
    }
    match manifest.split_once("[features]\n") {
        Some((before, after)) => format!("{before}{FEATURE}{after}"),
        None => format!("{manifest}\n{FEATURE}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_package_gets_the_feature() {
        let feature = "[features]\ndefault = [\"planted-bugs\"]\nplanted-bugs = []\n";
        let package = "[package]\nname = \"a\"\n";
        assert_eq!(with_feature(package), format!("{package}\n{feature}"));
        let other = format!("{package}\n[features]\nother = []\n");
        assert_eq!(with_feature(&other), format!("{package}\n{feature}other = []\n"));
        assert_eq!(with_feature("[workspace]\n"), "[workspace]\n");
    }
}
