//! House rule: known bugs, which tests of the tests plant, are not in the product.
//!
//! They are in `planted/` alone, and each finds its place in the sources.

use std::collections::BTreeMap;

use super::finding::Finding;
use crate::planted::weave;

/// What the product's sources and manifests do not say.
const WORD: &str = "planted";

const MOVE_IT: &str = "known bugs are put into a copy of the sources only: describe it in planted/bugs/";

/// Checks the product's sources and manifests, and whether all bugs find their places.
pub(super) fn check(texts: &BTreeMap<String, String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in texts.iter().filter(|(path, _)| is_of_the_product(path)) {
        for (line, _) in (1..).zip(text.lines()).filter(|(_, line)| mentions(line)) {
            findings.push(Finding::new(path, line, "a planted bug in the product", MOVE_IT));
        }
    }
    let flaws = weave(texts).err().unwrap_or_default();
    findings
        .extend(flaws.into_iter().map(|flaw| Finding::new(&flaw.path, flaw.line, flaw.wrong, flaw.remedy)));
    findings
}

fn is_of_the_product(path: &str) -> bool {
    path.starts_with("crates/") && (path.contains("/src/") || path.ends_with("/Cargo.toml"))
}

/// Whether a line has the word, alone or as a part of a name such as `is_planted`. (Other words,
/// such as "supplanted", are free.)
fn mentions(line: &str) -> bool {
    let line = line.to_lowercase();
    line.match_indices(WORD).any(|(at, _)| {
        !line[..at].ends_with(char::is_alphanumeric)
            && !line[at + WORD.len()..].starts_with(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings in one file, beside data without a bug.
    fn findings(path: &str, text: &str) -> Vec<String> {
        let texts = BTreeMap::from([(path.to_owned(), text.to_owned())]);
        check(&texts).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_planted_bug_in_the_product_is_found() {
        for text in [
            "fn f() {\n    if !is_planted(Bug::StopsEarly) {}\n}",
            "mod a;\nmod planted;",
            "mod a;\n#[cfg(feature = \"planted-bugs\")]",
            "mod a;\n// Planted, for a test.",
        ] {
            let found = format!("crates/array/src/stop.rs:2: a planted bug in the product: {MOVE_IT}");
            assert_eq!(findings("crates/array/src/stop.rs", text), [found], "{text}");
        }
        assert_eq!(findings("crates/array/Cargo.toml", "[features]\nplanted-bugs = []\n").len(), 1);
    }

    #[test]
    fn tests_may_name_them_and_other_words_are_free() {
        assert_eq!(findings("crates/array/tests/faults/away/mod.rs", "mod planted;"), [""; 0]);
        assert_eq!(findings("xtask/src/main.rs", "mod planted;"), [""; 0]);
        assert_eq!(findings("crates/array/src/stop.rs", "// RAID 5 supplanted RAID 4."), [""; 0]);
    }

    #[test]
    fn a_bug_that_has_lost_its_place_is_found() {
        let bug = "[[bug]]\nname = 'StopsEarly'\nwrong = 'It stops early.'\nlists = ['FEW']\n\n";
        let edit = "[[bug.edit]]\nfile = 'crates/array/src/stop.rs'\nfind = 'wait();'\nput = 'PLANTED'\n";
        let files = |source: &str| {
            let texts = [
                ("planted/lists.toml", "FEW = 'A few.'\n"),
                ("planted/bugs/core.toml", &format!("{bug}{edit}")),
                ("crates/array/src/stop.rs", source),
                ("crates/array/tests/few.rs", "fn few() { find(&Bug::FEW) }"),
            ];
            texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
        };
        assert_eq!(check(&files("fn f() { wait(); }")), []);
        let found = check(&files("fn f() { rest(); }"));
        assert_eq!(found.len(), 1);
        assert!(found[0].to_string().starts_with("planted/bugs/core.toml:8: the bug StopsEarly has lost"));
    }
}
