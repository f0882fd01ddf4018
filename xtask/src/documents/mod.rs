//! The documents for users: which there are, and whether what they name is there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

mod broken;
mod life;
mod links;
mod markdown;

pub(crate) use broken::Broken;
pub(crate) use links::place_of;
pub(crate) use markdown::links;

/// Why the documents could not be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}: {source}", path.display())]
pub(crate) struct DocumentError {
    path: PathBuf,
    source: io::Error,
}

/// The documents at the root.
const AT_ROOT: [&str; 5] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// All others are in and below this folder.
const FOLDER: &str = "docs";

/// The documents by their paths below `root`.
pub(crate) fn read(root: &Path) -> Result<BTreeMap<String, String>, DocumentError> {
    let mut texts = BTreeMap::new();
    for path in AT_ROOT.iter().map(|name| root.join(name)).chain(markdown_below(&root.join(FOLDER))?) {
        let text = fs::read_to_string(&path).map_err(|source| unreadable(&path, source))?;
        let below = path.strip_prefix(root).unwrap_or(&path);
        texts.insert(below.to_string_lossy().into_owned(), text);
    }
    Ok(texts)
}

/// What is broken in `documents`, which were read below `root`, in the order of places.
pub(crate) fn check(root: &Path, documents: &BTreeMap<String, String>) -> Vec<Broken> {
    let mut broken = links::check(root, documents);
    if let Some(architecture) = documents.get(life::PATH) {
        broken.extend(life::check(root, architecture));
    }
    broken.sort();
    broken
}

fn markdown_below(folder: &Path) -> Result<Vec<PathBuf>, DocumentError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(|source| unreadable(folder, source))? {
        let path = entry.map_err(|source| unreadable(folder, source))?.path();
        if path.is_dir() {
            found.extend(markdown_below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

fn unreadable(path: &Path, source: io::Error) -> DocumentError {
    DocumentError { path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn what_the_documents_name_is_there() {
        let root = workspace::root();
        let broken = check(&root, &read(&root).unwrap());
        let lines: Vec<String> = broken.iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "{}", lines.join("\n"));
    }

    #[test]
    fn every_page_is_in_the_summary() {
        let documents = read(&workspace::root()).unwrap();
        let summary = links(&documents["docs/SUMMARY.md"]);
        let listed: Vec<String> = summary
            .iter()
            .filter_map(|link| place_of("docs/SUMMARY.md", link.target))
            .map(|p| p.path)
            .collect();
        for path in documents.keys().filter(|path| *path != "docs/SUMMARY.md") {
            assert!(listed.contains(path), "{path} is not in docs/SUMMARY.md");
        }
    }
}
