//! A finding of a rule, and the file that rules check.

use std::fmt;

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    /// The line's number, from 1.
    pub(super) line: usize,
    pub(super) wrong: String,
    remedy: &'static str,
}

impl Finding {
    pub(super) fn new(path: &str, line: usize, wrong: impl Into<String>, remedy: &'static str) -> Finding {
        Finding { path: path.to_owned(), line, wrong: wrong.into(), remedy }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.wrong, self.remedy)
    }
}

/// A file to check.
pub(super) struct File<'a> {
    /// The path below the workspace's root, with `/` as separator.
    pub(super) path: &'a str,
    pub(super) text: &'a str,
}

impl File<'_> {
    pub(super) fn finding(&self, line: usize, wrong: impl Into<String>, remedy: &'static str) -> Finding {
        Finding::new(self.path, line, wrong, remedy)
    }
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
}
