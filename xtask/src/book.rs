//! `cargo xtask book`: the documents as a book, by mdBook.
//!
//! The book has README.md and other documents of the root, and mdBook takes pages of one folder
//! only. So all are copied below `target/book`, at the same places as in the workspace: links
//! among them hold as they are. Those to other files lead to the repository.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{self, CommandError};
use crate::documents::{self, DocumentError};
use crate::workspace::{cargo, root, target};

/// The version that all use, so that it says the same everywhere.
const VERSION: &str = "0.5.4";

/// Where files are that are not in the book.
const REPOSITORY: &str = "https://github.com/parlour-array/parlour";

/// The list of pages, which mdBook wants at the top.
const SUMMARY: &str = "docs/SUMMARY.md";

/// Why there is no book.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BookError {
    /// A document cannot be read.
    #[error(transparent)]
    Documents(#[from] DocumentError),
    /// What they name is not there. Each place has already been printed.
    #[error("the documents name {0} files or headings that are not there")]
    Broken(usize),
    /// A page cannot be copied.
    #[error("cannot write {}: {source}", path.display())]
    Unwritten {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// mdBook could not be installed, or refuses the book.
    #[error(transparent)]
    Command(#[from] CommandError),
}

/// Checks all links, and builds the book.
pub(crate) fn run() -> Result<(), BookError> {
    let root = root();
    let documents = documents::read(&root)?;
    let broken = documents::check(&root, &documents);
    for place in &broken {
        eprintln!("{place}");
    }
    if !broken.is_empty() {
        return Err(BookError::Broken(broken.len()));
    }
    let (source, html) = (target().join("book/source"), target().join("book/html"));
    for (path, text) in &documents {
        let (to, text) = match path.as_str() {
            SUMMARY => ("SUMMARY.md", linked(path, text, |place| place.to_owned())),
            path => (path, linked(path, text, |place| elsewhere(&root, place))),
        };
        write(&source.join(to), &text)?;
    }
    let mut build = Command::new(mdbook()?);
    build.arg("build").current_dir(&root);
    command::run(build.env("MDBOOK_BOOK__SRC", &source).env("MDBOOK_BUILD__BUILD_DIR", &html))?;
    println!("{}", html.join("index.html").display());
    Ok(())
}

/// The text with links to files that are no documents turned into what `to` says.
fn linked(path: &str, text: &str, to: impl Fn(&str) -> String) -> String {
    let mut linked = String::with_capacity(text.len());
    let mut copied = 0;
    for link in documents::links(text) {
        let Some(place) = documents::place_of(path, link.target) else { continue };
        if path != SUMMARY && is_page(&place.path) {
            continue;
        }
        linked.push_str(&text[copied..link.at]);
        linked.push_str(&to(&place.path));
        copied = link.at + link.target.len();
    }
    linked.push_str(&text[copied..]);
    linked
}

fn is_page(path: &str) -> bool {
    path != SUMMARY && Path::new(path).extension().is_some_and(|extension| extension == "md")
}

fn elsewhere(root: &Path, path: &str) -> String {
    let kind = if root.join(path).is_dir() { "tree" } else { "blob" };
    format!("{REPOSITORY}/{kind}/main/{path}")
}

fn write(path: &Path, text: &str) -> Result<(), BookError> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|source| BookError::Unwritten { path: path.to_owned(), source })
}

/// The program, which is built if it is not there yet.
fn mdbook() -> Result<PathBuf, CommandError> {
    let folder = target().join("tools").join(format!("mdbook-{VERSION}"));
    let program = folder.join("bin/mdbook");
    if !program.is_file() {
        // Unoptimized and without its server, it is built sooner, and is fast enough.
        let mut install = cargo(&["install", "mdbook", "--version", VERSION, "--debug", "--quiet"]);
        install.args(["--no-default-features", "--features", "search"]);
        command::run(install.arg("--root").arg(&folder))?;
    }
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_among_pages_stay_and_others_lead_to_the_repository() {
        let text =
            "[a](b.md#c) [d](../xtask/src/main.rs) [e](../xtask) [f](https://example.org) [g](SUMMARY.md)\n";
        assert_eq!(
            linked("docs/x.md", text, |place| elsewhere(&root(), place)),
            format!(
                "[a](b.md#c) [d]({REPOSITORY}/blob/main/xtask/src/main.rs) [e]({REPOSITORY}/tree/main/xtask) \
                 [f](https://example.org) [g]({REPOSITORY}/blob/main/{SUMMARY})\n"
            )
        );
    }

    #[test]
    fn the_summary_is_told_from_the_top() {
        let text = "- [a](../README.md)\n- [b](decisions/c.md)\n";
        let linked = linked(SUMMARY, text, |place| place.to_owned());
        assert_eq!(linked, "- [a](README.md)\n- [b](docs/decisions/c.md)\n");
    }
}
