//! Finds the commit from which the program is built, for `parlour --version`.
//!
//! If the commit is unknown (no git, or a source archive, even inside another repository), the
//! version stands alone. No error here fails a build.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=PARLOUR_VERSION={version}");
}

/// The commit that is checked out, with a mark if the sources differ from it.
fn commit() -> Option<String> {
    // If this is an archive inside another project's repository, do not use that project's commit.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    watch();
    git(&["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"])
}

/// Makes cargo run this script again when another commit is checked out, or when the sources
/// change.
fn watch() {
    // A path that does not exist must not be named: cargo would run the script each time.
    // `reftable` is git's newer storage for references.
    let fixed = ["HEAD", "packed-refs", "reftable"].iter().filter_map(|name| inside_git(name));
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]).and_then(|name| inside_git(&name));
    // A packed branch gets a file of its own with the next commit.
    let branch = branch.as_deref().and_then(|file| file.ancestors().find(|place| place.exists()));
    let sources =
        Path::new("..").read_dir().into_iter().flatten().flatten().map(|krate| krate.path().join("src"));
    let sources = sources.chain([PathBuf::from("../../Cargo.lock")]);
    for path in fixed.chain(branch.map(Path::to_path_buf)).chain(sources).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// The path of a file of git's. In a worktree, some of these files are in the main repository.
fn inside_git(name: &str) -> Option<PathBuf> {
    git(&["rev-parse", "--git-path", name]).map(PathBuf::from)
}

/// The output of git, if git is installed and succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let said = Command::new("git").args(arguments).output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8(said.stdout).ok()?.trim_end().to_owned())
}
