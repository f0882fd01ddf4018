//! House rule: the components of the array do not depend on `Array`.
//!
//! `array.rs` puts the components together. A component that names `Array` could access all the
//! others.

use super::arrows::Target;
use super::debts;
use super::finding::Finding;

const FOLDER: &str = "crates/array/src";

/// Files that may name the array: those with its public methods, which no component calls; the
/// re-exports; and recording and replay, which use it from outside.
const OUTSIDE: [&str; 5] = ["commands.rs", "inspect.rs", "lib.rs", "opening.rs", "record/"];

const ANSWER: &str =
    "own what it needs, take the rest as arguments, and answer with what is to happen elsewhere";
const STRIKE: &str = "strike it from NAMING_ARRAY, so that it stays so";

/// Checks the array's files. Those listed in `debts` are allowed to name `Array`, and must still do
/// so.
pub(super) fn check(targets: &[Target], debts: &[&str]) -> Vec<Finding> {
    let array = format!("{FOLDER}/array.rs");
    let references = targets.iter().filter(|target| target.folder == FOLDER).flat_map(|t| &t.references);
    let naming = references.filter(|reference| reference.to == array && reference.name == "Array");
    let mut first: Vec<(&str, usize)> = Vec::new();
    for reference in naming {
        let file = reference.from.strip_prefix(FOLDER).unwrap_or_default().trim_start_matches('/');
        if !first.iter().any(|(known, _)| *known == file) {
            first.push((file, reference.line));
        }
    }
    let is_outside = |file: &str| OUTSIDE.iter().any(|outside| file.starts_with(outside));
    let mut findings = Vec::new();
    for (file, line) in &first {
        if !is_outside(file) && !debts.contains(file) {
            let path = format!("{FOLDER}/{file}");
            findings.push(Finding::new(&path, *line, "a part of the array that names `Array`", ANSWER));
        }
    }
    for debt in debts {
        if !first.iter().any(|(file, _)| file == debt) {
            let line = debts::line_of("NAMING_ARRAY", debt);
            let wrong = format!("{debt} does not name `Array` any more");
            findings.push(Finding::new(debts::PATH, line, wrong, STRIKE));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::arrows::of;
    use super::*;

    /// An array with one component that names `Array`, and files outside of it.
    const PLANTED: [(&str, &str); 6] = [
        (
            "crates/array/src/lib.rs",
            "mod array; mod host; mod locks; mod record; pub use array::{Array, Mode};",
        ),
        ("crates/array/src/array.rs", "pub struct Array; pub enum Mode {}"),
        ("crates/array/src/host.rs", "//! Of [`Array`].\nuse crate::array::Array;\nimpl Array {}"),
        ("crates/array/src/locks.rs", "use crate::Mode;\n/// As [`crate::Array`] says.\nstruct Locks;"),
        ("crates/array/src/record/mod.rs", "mod replay;"),
        ("crates/array/src/record/replay.rs", "use crate::Array;"),
    ];

    fn findings(files: &[(&str, &str)], debts: &[&str]) -> Vec<String> {
        check(&of(files), debts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_part_that_names_the_array_is_found_with_its_first_line() {
        let found = format!("crates/array/src/host.rs:2: a part of the array that names `Array`: {ANSWER}");
        assert_eq!(findings(&PLANTED, &[]), [found]);
    }

    #[test]
    fn a_part_that_passes_the_array_on_names_it_too() {
        let passing = ("crates/array/src/locks.rs", "pub use crate::Array as Whole;");
        assert_eq!(findings(&[PLANTED[0], PLANTED[1], passing], &[]).len(), 1);
    }

    #[test]
    fn a_listed_part_may_name_the_array_and_must() {
        assert_eq!(findings(&PLANTED, &["host.rs"]), [""; 0]);
        let found = findings(&PLANTED, &["host.rs", "locks.rs"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("locks.rs does not name `Array` any more"), "{}", found[0]);
    }

    #[test]
    fn other_crates_have_arrays_of_their_own() {
        let files = [
            ("crates/model/src/lib.rs", "mod array;\nuse array::Array;"),
            ("crates/model/src/array.rs", "pub struct Array;"),
        ];
        assert_eq!(findings(&files, &[]), [""; 0]);
    }
}
