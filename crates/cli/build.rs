//! Finds out which commit the program is built from, for `parlour --version`.
//!
//! Where that cannot be known (no git, or a source archive, wherever it was unpacked) the version
//! stands alone. Nothing here fails a build.

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

/// The commit that is checked out, and whether the sources differ from it.
fn commit() -> Option<String> {
    // Not that of another project, in which an archive of this one lies.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    watch();
    git(&["describe", "--always", "--abbrev=12", "--exclude=*", "--dirty"])
}

/// Has this run again when another commit is checked out, or when the sources change.
fn watch() {
    // What is not there must not be named: cargo would run this each time. `reftable` is a newer
    // way to keep references.
    let fixed = ["HEAD", "packed-refs", "reftable"].iter().filter_map(|name| inside_git(name));
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]).and_then(|name| inside_git(&name));
    // A branch that is packed gets a file of its own with the next commit.
    let branch = branch.as_deref().and_then(|file| file.ancestors().find(|place| place.exists()));
    let sources =
        Path::new("..").read_dir().into_iter().flatten().flatten().map(|krate| krate.path().join("src"));
    let sources = sources.chain([PathBuf::from("../../Cargo.lock")]);
    for path in fixed.chain(branch.map(Path::to_path_buf)).chain(sources).filter(|path| path.exists()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Where git keeps this. In a worktree of several, some of it lies with the others.
fn inside_git(name: &str) -> Option<PathBuf> {
    git(&["rev-parse", "--git-path", name]).map(PathBuf::from)
}

/// What git says, if it is there and succeeds.
fn git(arguments: &[&str]) -> Option<String> {
    let said = Command::new("git").args(arguments).output().ok().filter(|said| said.status.success())?;
    Some(String::from_utf8(said.stdout).ok()?.trim_end().to_owned())
}
