//! The house rules that neither rustc nor clippy can check.
//!
//! Every rule looks at one file's text and its path below the workspace's root, and says what it finds.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod house;
mod source;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// Counted from 1.
    line: usize,
    wrong: String,
    remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.wrong, self.remedy)
    }
}

/// Why the rules could not be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// One file to be checked.
struct File<'a> {
    /// Below the workspace's root, with `/` between its parts.
    path: &'a str,
    text: &'a str,
}

impl File<'_> {
    fn finding(&self, line: usize, wrong: impl Into<String>, remedy: &'static str) -> Finding {
        Finding { path: self.path.to_owned(), line, wrong: wrong.into(), remedy }
    }
}

/// The folders that hold our own sources, as far as they exist.
const FOLDERS: [&str; 4] = ["bench", "crates", "fuzz", "xtask"];

/// Checks the workspace at `root`; the findings come ordered by place.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, TidyError> {
    let mut findings = Vec::new();
    for folder in FOLDERS.map(|name| root.join(name)).iter().filter(|folder| folder.is_dir()) {
        for path in files_below(folder)? {
            let text = fs::read_to_string(&path).map_err(|source| unreadable(&path, source))?;
            findings.extend(check_file(&File { path: &below(root, &path), text: &text }));
        }
    }
    findings.sort();
    Ok(findings)
}

fn check_file(file: &File<'_>) -> Vec<Finding> {
    if file.path.ends_with(".rs") { source::check(file) } else { house::check(file) }
}

/// The Rust sources and Cargo manifests in and below `folder`.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, TidyError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
        let path = entry.map_err(|source| unreadable(folder, source))?.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") || path.ends_with("Cargo.toml")
        {
            found.push(path);
        }
    }
    Ok(found)
}

fn below(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned()
}

fn unreadable(path: &Path, source: io::Error) -> TidyError {
    TidyError::Unreadable { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_reads_as_place_fault_and_remedy() {
        let file = File { path: "crates/array/src/lib.rs", text: "" };
        let finding = file.finding(7, "a fault", "what to do");
        assert_eq!(finding.to_string(), "crates/array/src/lib.rs:7: a fault: what to do");
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = files_below(Path::new("no/such/folder")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read no/such/folder"), "{error}");
    }

    #[test]
    fn both_kinds_of_file_are_found_and_checked() {
        let found = files_below(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap();
        assert!(found.iter().any(|path| path.ends_with("xtask/Cargo.toml")));
        assert!(found.iter().any(|path| path.ends_with("xtask/src/tidy.rs")));
        assert!(!check_file(&File { path: "crates/array/src/lib.rs", text: "unsafe fn f() {}" }).is_empty());
        assert!(!check_file(&File { path: "crates/stranger/Cargo.toml", text: "" }).is_empty());
    }
}
