//! Links to files, to headings in them, and files that are named in code.

use std::collections::BTreeMap;
use std::path::Path;

use super::broken::Broken;
use super::markdown::{anchors, code_spans, links};

/// What a link without a scheme leads to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place<'a> {
    /// Below the root.
    pub(crate) path: String,
    /// Without its `#`; empty where there is none.
    pub(crate) anchor: &'a str,
}

/// Names in code that begin like this are files or folders of the workspace.
const FOLDERS: [&str; 8] =
    ["bench/", "crates/", "docs/", "drives/", "experiments/", "fuzz/", "papers/", "xtask/"];

pub(super) fn check(root: &Path, documents: &BTreeMap<String, String>) -> Vec<Broken> {
    let mut broken = Vec::new();
    for (path, text) in documents {
        let mut tell = |line, wrong| broken.push(Broken { path: path.clone(), line, wrong });
        for link in links(text) {
            let Some(place) = place_of(path, link.target) else { continue };
            if !root.join(&place.path).exists() {
                tell(link.line, format!("there is no `{}`", place.path));
            } else if !place.anchor.is_empty() && !has_anchor(documents, &place) {
                tell(link.line, format!("`{}` has no heading `#{}`", place.path, place.anchor));
            }
        }
        for (line, name) in code_spans(text) {
            if is_path(name) && !root.join(name).exists() {
                tell(line, format!("there is no `{name}`"));
            }
        }
    }
    broken
}

fn has_anchor(documents: &BTreeMap<String, String>, place: &Place<'_>) -> bool {
    documents.get(&place.path).is_some_and(|text| anchors(text).iter().any(|anchor| anchor == place.anchor))
}

fn is_path(name: &str) -> bool {
    FOLDERS.iter().any(|folder| name.starts_with(folder))
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'))
}

/// Where a link in the document at `from` leads to, unless that is another site.
pub(crate) fn place_of<'a>(from: &str, target: &'a str) -> Option<Place<'a>> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    if file.is_empty() {
        return Some(Place { path: from.to_owned(), anchor });
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    Some(Place { path: parts.join("/"), anchor })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(name: &str, text: &str) -> Vec<String> {
        let root = crate::workspace::root();
        let documents = BTreeMap::from([(name.to_owned(), text.to_owned())]);
        check(&root, &documents).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_link_is_taken_from_its_document() {
        let place = |path: &str, anchor| Some(Place { path: path.to_owned(), anchor });
        assert_eq!(place_of("docs/a/b.md", "../c.md#d"), place("docs/c.md", "d"));
        assert_eq!(place_of("docs/a.md", "#b"), place("docs/a.md", "b"));
        assert_eq!(place_of("a.md", "./docs/"), place("docs", ""));
        assert_eq!(place_of("a.md", "https://example.org/b.md"), None);
    }

    #[test]
    fn what_is_not_there_is_named() {
        let text = "# A\n\n[a](#a) [b](#b) [c](no/such.md)\n`xtask/src/main.rs` `xtask/src/none.rs`\n";
        let found = wrong("docs/x.md", text);
        assert_eq!(
            found,
            [
                "docs/x.md:3: there is no `docs/x.md`",
                "docs/x.md:3: there is no `docs/x.md`",
                "docs/x.md:3: there is no `docs/no/such.md`",
                "docs/x.md:4: there is no `xtask/src/none.rs`"
            ]
        );
        assert_eq!(
            wrong("README.md", "# A\n[a](#a) [b](#b)\n"),
            ["README.md:2: `README.md` has no heading `#b`"]
        );
    }

    #[test]
    fn patterns_are_no_paths() {
        assert!(is_path("crates/array/tests/corpus/"));
        assert!(!is_path("experiments/*.toml"));
        assert!(!is_path("crates/array/src: 3"));
        assert!(!is_path("log/commit.rs"));
    }
}
