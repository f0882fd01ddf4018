//! House rule: comments are narrower than code, because long lines of running text are hard to
//! read.

use std::collections::BTreeMap;

use super::debts;
use super::finding::Finding;

/// The largest number of columns of a line that contains only a comment.
const WIDEST: usize = 100;

const WRAP: &str = "wrap it";
const STRIKE: &str = "strike it from WIDE_COMMENTS, so that it stays so";

/// Checks every source. In the packages listed in `debts` comments are allowed to be wider, and
/// some must still be.
pub(super) fn check(texts: &BTreeMap<String, String>, debts: &[&str]) -> Vec<Finding> {
    let mut found: Vec<(&str, Finding)> = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| path.ends_with(".rs")) {
        for (line, width) in wide_comments(text) {
            let wrong = format!("a comment of {width} columns, more than {WIDEST}");
            found.push((package_of(path), Finding::new(path, line, wrong, WRAP)));
        }
    }
    let mut findings: Vec<Finding> = debts
        .iter()
        .filter(|debt| !found.iter().any(|(package, _)| package == *debt))
        .map(|debt| {
            let line = debts::line_of("WIDE_COMMENTS", debt);
            let wrong = format!("{debt} has no comment any more that is too wide");
            Finding::new(debts::PATH, line, wrong, STRIKE)
        })
        .collect();
    findings.extend(
        found.into_iter().filter(|(package, _)| !debts.contains(package)).map(|(_, finding)| finding),
    );
    findings
}

/// The lines with too wide comments, and their numbers of columns.
fn wide_comments(text: &str) -> impl Iterator<Item = (usize, usize)> {
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| line.trim_start().starts_with("//"))
        .map(|(number, line)| (number, line.chars().count()))
        .filter(|(_, width)| *width > WIDEST)
}

/// The package of a path: `crates/array` of `crates/array/src/lib.rs`; `xtask` of
/// `xtask/src/main.rs`.
fn package_of(path: &str) -> &str {
    let folders = if path.starts_with("crates/") { 2 } else { 1 };
    path.match_indices('/').nth(folders - 1).map_or(path, |(end, _)| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str, debts: &[&str]) -> Vec<String> {
        let texts = BTreeMap::from([(path.to_owned(), text.to_owned())]);
        check(&texts, debts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_comment_may_have_100_columns_and_no_more() {
        let fits = format!("    /// {}\n", "é".repeat(WIDEST - 8));
        let wide = format!("    /// {}\n", "é".repeat(WIDEST - 7));
        assert_eq!(findings("crates/array/src/lib.rs", &fits, &[]), [""; 0]);
        assert_eq!(
            findings("crates/array/src/lib.rs", &format!("{fits}{wide}"), &[]),
            ["crates/array/src/lib.rs:2: a comment of 101 columns, more than 100: wrap it"]
        );
    }

    #[test]
    fn code_may_be_wider() {
        let code = format!("const WORDS: &str = \"{}\"; // A word on it.\n", "x".repeat(WIDEST));
        assert_eq!(findings("xtask/src/main.rs", &code, &[]), [""; 0]);
    }

    #[test]
    fn a_listed_package_may_have_wide_comments_and_must() {
        let wide = format!("//! {}\n", "x".repeat(WIDEST));
        assert_eq!(findings("crates/array/src/lib.rs", &wide, &["crates/array"]), [""; 0]);
        assert_eq!(findings("xtask/src/main.rs", &wide, &["crates/array"]).len(), 2);
        let found = findings("crates/array/src/lib.rs", "", &["crates/array"]);
        assert!(found[0].contains("no comment any more that is too wide"), "{}", found[0]);
    }
}
