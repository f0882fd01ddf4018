//! The house rules that neither rustc nor clippy can check.
//!
//! Most rules look at one file's text and its path below the workspace's root. Some look at the
//! references between all files of a crate.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use arrows::Sources;
use finding::File;
pub(crate) use finding::Finding;

mod arrows;
mod choices;
mod circles;
mod debts;
mod finding;
mod house;
mod planted;
mod rooms;
mod source;
mod wide;

/// Why the rules could not be checked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TidyError {
    /// A file or directory cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

/// The directories with our own sources, and with the bugs that tests plant in them.
const FOLDERS: [&str; 5] = ["bench", "crates", "fuzz", "planted", "xtask"];

/// Checks the workspace at `root`. The findings are ordered by place.
pub(crate) fn check(root: &Path) -> Result<Vec<Finding>, TidyError> {
    let texts = texts_below(root)?;
    let mut findings: Vec<Finding> =
        texts.iter().flat_map(|(path, text)| check_file(&File { path, text })).collect();
    findings.extend(check_together(&texts));
    findings.sort();
    Ok(findings)
}

fn check_file(file: &File<'_>) -> Vec<Finding> {
    if file.path.ends_with(".rs") { source::check(file) } else { house::check(file) }
}

/// Checks the rules that need all files.
fn check_together(texts: &BTreeMap<String, String>) -> Vec<Finding> {
    let is_source = |(path, _): &(&String, &String)| path.ends_with(".rs");
    // rustc reports sources that cannot be parsed.
    let parse = |(path, text): (&String, &String)| Some((path.clone(), syn::parse_file(text).ok()?));
    let sources: Sources = texts.iter().filter(is_source).filter_map(parse).collect();
    let targets = arrows::targets(&sources, texts);
    let mut findings = circles::check(&targets, debts::CIRCLES);
    findings.extend(rooms::check(&targets, debts::NAMING_ARRAY));
    findings.extend(choices::check(texts, &sources));
    findings.extend(wide::check(texts, debts::WIDE_COMMENTS));
    findings.extend(planted::check(texts));
    findings
}

/// The text of every Rust source, Cargo manifest and planted bug, by its path below `root`.
fn texts_below(root: &Path) -> Result<BTreeMap<String, String>, TidyError> {
    let mut texts = BTreeMap::new();
    for folder in FOLDERS.map(|name| root.join(name)).iter().filter(|folder| folder.is_dir()) {
        for path in files_below(folder)? {
            let text = fs::read_to_string(&path).map_err(|source| unreadable(&path, source))?;
            texts.insert(below(root, &path), text);
        }
    }
    Ok(texts)
}

/// The files to check in and below `folder`.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>, TidyError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
        let path = entry.map_err(|source| unreadable(folder, source))?.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files_below(&path)?);
        } else if is_checked(&path) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether a file is a Rust source, a Cargo manifest or a part of the data on planted bugs.
fn is_checked(path: &Path) -> bool {
    let ends_with = |ending: &str| path.extension().is_some_and(|extension| extension == ending);
    let is_in = |folder: &str| path.parent().is_some_and(|parent| parent.ends_with(folder));
    ends_with("rs")
        || path.ends_with("Cargo.toml")
        || ends_with("toml") && (is_in("planted") || is_in("planted/bugs"))
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
