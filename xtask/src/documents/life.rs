//! "Life of a write" in ARCHITECTURE.md: files and functions in the order of the path.

use std::fs;
use std::path::Path;

use super::broken::Broken;
use super::markdown::section;

pub(super) const PATH: &str = "ARCHITECTURE.md";
const HEADING: &str = "## Life of a write";

/// A line such as "3. `path` `function`: what it does".
struct Step<'a> {
    line: usize,
    number: usize,
    path: &'a str,
    function: &'a str,
}

/// Each step's file is there and has its function, and a file of an earlier step calls it.
pub(super) fn check(root: &Path, architecture: &str) -> Vec<Broken> {
    let steps: Vec<Step<'_>> = section(architecture, HEADING).filter_map(step).collect();
    let mut broken = Vec::new();
    let mut tell = |line, wrong| broken.push(Broken { path: PATH.to_owned(), line, wrong });
    if steps.is_empty() {
        tell(1, format!("no steps below `{HEADING}`"));
    }
    let mut earlier: Vec<String> = Vec::new();
    for (count, Step { line, number, path, function }) in (1..).zip(steps) {
        if number != count {
            tell(line, format!("step {number} stands where step {count} should"));
        }
        let Ok(source) = fs::read_to_string(root.join(path)) else {
            tell(line, format!("there is no `{path}`"));
            continue;
        };
        if !is_defined(&source, function) {
            tell(line, format!("`{path}` has no function `{function}`"));
        } else if count > 1 && !earlier.iter().any(|text| is_called(text, function)) {
            tell(line, format!("no file of an earlier step calls `{function}`"));
        }
        earlier.push(source);
    }
    broken
}

fn step((line, text): (usize, &str)) -> Option<Step<'_>> {
    let (number, rest) = text.split_once(". `")?;
    let (path, rest) = rest.split_once("` `")?;
    let (function, _) = rest.split_once('`')?;
    Some(Step { line, number: number.parse().ok()?, path, function })
}

fn is_defined(source: &str, function: &str) -> bool {
    [format!("fn {function}("), format!("fn {function}<")].iter().any(|head| source.contains(head))
}

fn is_called(source: &str, function: &str) -> bool {
    let call = format!("{function}(");
    source.match_indices(&call).any(|(at, _)| {
        let before = &source[..at];
        let is_longer = before.ends_with(|c: char| c.is_alphanumeric() || c == '_');
        !is_longer && !before.ends_with("fn ")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(steps: &str) -> Vec<String> {
        let text = format!("# A\n{HEADING}\n\n{steps}\n## B\n9. `no/such.rs` `f`: not of the list\n");
        check(&crate::workspace::root(), &text).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_path_that_can_be_walked_is_well() {
        let steps = "1. `xtask/src/main.rs` `main`: begins.\n2. `xtask/src/lint.rs` `run`: goes on.\n";
        assert_eq!(wrong(steps), [""; 0]);
    }

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(wrong("Nothing.\n"), ["ARCHITECTURE.md:1: no steps below `## Life of a write`"]);
        let steps = "1. `xtask/src/none.rs` `main`: begins.\n3. `xtask/src/main.rs` `nothing`: goes on.\n";
        assert_eq!(
            wrong(steps),
            [
                "ARCHITECTURE.md:4: there is no `xtask/src/none.rs`",
                "ARCHITECTURE.md:5: step 3 stands where step 2 should",
                "ARCHITECTURE.md:5: `xtask/src/main.rs` has no function `nothing`"
            ]
        );
    }

    #[test]
    fn a_step_that_nobody_before_it_calls_is_out_of_order() {
        let steps = "1. `xtask/src/lint.rs` `run`: first.\n2. `xtask/src/main.rs` `main`: second.\n";
        assert_eq!(wrong(steps), ["ARCHITECTURE.md:5: no file of an earlier step calls `main`"]);
    }

    #[test]
    fn a_definition_or_a_longer_name_is_no_call() {
        assert!(!is_called("fn go(a: u8) {}\nlet_go(1);", "go"));
        assert!(is_called("self.go(1);", "go"));
    }
}
