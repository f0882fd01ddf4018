//! What is wrong in a document, and where.

use std::fmt;

/// A place in a document that names what is not there.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Broken {
    pub(super) path: String,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) wrong: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.wrong)
    }
}
