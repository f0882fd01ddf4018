//! The bugs as data: `planted/lists.toml`, and the bugs of a part of the product in each file of
//! `planted/bugs/`.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use toml::Spanned;

use crate::lines::line_at;

/// The folder of the data.
pub(crate) const FOLDER: &str = "planted/";
/// What each list of bugs has in common.
pub(super) const LISTS: &str = "planted/lists.toml";
const BUGS: &str = "planted/bugs/";

const MEND_TOML: &str = "mend it; `xtask/src/planted/data.rs` says what a bug consists of";

/// All bugs, and the lists that they are in.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// The lists' names, with one sentence on each.
    pub(super) lists: BTreeMap<String, String>,
    pub(super) bugs: Vec<Bug>,
}

/// A bug.
#[derive(Debug)]
pub(super) struct Bug {
    /// The file with the bug's data.
    pub(super) path: String,
    pub(super) line: usize,
    pub(super) name: String,
    /// One sentence on what is wrong with this bug.
    pub(super) wrong: String,
    /// The lists that it is in. Each list has a test.
    pub(super) lists: Vec<String>,
    pub(super) edits: Vec<Edit>,
}

/// A change of a source.
#[derive(Debug)]
pub(super) struct Edit {
    pub(super) line: usize,
    /// The path of the source below the workspace's root.
    pub(super) file: String,
    /// The text that is replaced. It occurs exactly once in the source.
    pub(super) find: String,
    /// The text that replaces it. In it `PLANTED` stands for the question whether the bug is
    /// planted.
    pub(super) put: String,
}

/// An error in the data.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flaw {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) wrong: String,
    /// What to do.
    pub(crate) remedy: &'static str,
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.wrong, self.remedy)
    }
}

impl Bug {
    pub(super) fn flaw(&self, line: usize, wrong: String, remedy: &'static str) -> Flaw {
        Flaw { path: self.path.clone(), line, wrong, remedy }
    }
}

/// Reads the data from `texts`, which are texts of files by their paths.
pub(super) fn read(texts: &BTreeMap<String, String>) -> Result<Data, Vec<Flaw>> {
    let (mut data, mut flaws) = (Data::default(), Vec::new());
    let lists = texts.get(LISTS).map_or("", String::as_str);
    match toml::from_str(lists) {
        Ok(lists) => data.lists = lists,
        Err(error) => flaws.push(unreadable(LISTS, lists, &error)),
    }
    for (path, text) in texts.iter().filter(|(path, _)| path.starts_with(BUGS)) {
        match toml::from_str(text) {
            Ok(Stored { bug }) => data.bugs.extend(bug.into_iter().map(|bug| bug.at(path, text))),
            Err(error) => flaws.push(unreadable(path, text, &error)),
        }
    }
    if flaws.is_empty() { Ok(data) } else { Err(flaws) }
}

fn unreadable(path: &str, text: &str, error: &toml::de::Error) -> Flaw {
    let line = line_at(text, error.span().map_or(0, |span| span.start));
    Flaw { path: path.to_owned(), line, wrong: error.message().to_owned(), remedy: MEND_TOML }
}

/// A file with bugs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    bug: Vec<StoredBug>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredBug {
    name: Spanned<String>,
    wrong: String,
    lists: Vec<String>,
    edit: Vec<StoredEdit>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredEdit {
    file: String,
    find: Spanned<String>,
    put: String,
}

impl StoredBug {
    fn at(self, path: &str, text: &str) -> Bug {
        let edit = |StoredEdit { file, find, put }| {
            let line = line_at(text, find.span().start);
            Edit { line, file, find: find.into_inner(), put }
        };
        Bug {
            path: path.to_owned(),
            line: line_at(text, self.name.span().start),
            name: self.name.into_inner(),
            wrong: self.wrong,
            lists: self.lists,
            edits: self.edit.into_iter().map(edit).collect(),
        }
    }
}
