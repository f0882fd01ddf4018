//! House rules for a single Rust source.

use std::str::FromStr;

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::finding::{File, Finding};

/// The largest number of lines of a file.
const LONGEST: usize = 900;

/// Words that mark unfinished work. They are split here, so that this file passes its own check.
const MARKS: [&str; 3] = [concat!("FIX", "ME"), concat!("TO", "DO"), concat!("XX", "X")];

/// The crates that carry out the array's decisions. They must not depend on its organization.
const NAMELESS: [&str; 3] = ["crates/engine/src/", "crates/fault/src/", "crates/sim/src/"];

/// Macros that stand for missing code.
const STUBS: [&str; 2] = ["todo", "unimplemented"];

const SPLIT_IT: &str = "split it where its thoughts part";
const FINISH_IT: &str = "finish it, or take it out and open an issue";
const ASK_THE_ARRAY: &str =
    "all organizations are served alike here: let the array decide, take names as data";
const MOVE_IT: &str = "`unsafe` lives in crates/codec, crates/engine/src/uring* and bench/codec/src/isal.rs: write it safely, or move it there";
const MEND_IT: &str = "see what rustc says of it";

/// Checks one source against all rules that apply to its path.
pub(super) fn check(file: &File<'_>) -> Vec<Finding> {
    let mut findings = lines(file);
    match TokenStream::from_str(file.text) {
        Ok(stream) => findings.extend(tokens(file, &flatten(stream))),
        Err(error) => findings.push(file.finding(error.span().start().line, error.to_string(), MEND_IT)),
    }
    findings
}

/// Checks the rules on lines, including comments.
fn lines(file: &File<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (line, text) in (1..).zip(file.text.lines()) {
        if let Some(mark) = MARKS.iter().find(|mark| has_word(text, mark)) {
            findings.push(file.finding(line, format!("a mark of unfinished work, {mark}"), FINISH_IT));
        }
        if is_nameless(file.path) && names_an_organization(text) {
            findings.push(file.finding(line, "an organization's name where none may occur", ASK_THE_ARRAY));
        }
    }
    let length = file.text.lines().count();
    if is_in_src(file.path) && length > LONGEST {
        findings.push(file.finding(length, format!("more than {LONGEST} lines"), SPLIT_IT));
    }
    findings
}

/// Checks the rules on code, outside comments and strings.
fn tokens(file: &File<'_>, tokens: &[TokenTree]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        let TokenTree::Ident(ident) = token else { continue };
        let line = ident.span().start().line;
        if ident == "unsafe" && !may_be_unsafe(file.path) {
            findings.push(file.finding(line, "`unsafe` where it may not be", MOVE_IT));
        }
        if is_stub(ident, tokens.get(index + 1)) {
            findings.push(file.finding(line, format!("a stub, `{ident}!`"), FINISH_IT));
        }
    }
    findings
}

/// The tokens of a source in order, including those inside brackets.
fn flatten(stream: TokenStream) -> Vec<TokenTree> {
    let mut flat = Vec::new();
    for tree in stream {
        match tree {
            TokenTree::Group(group) => flat.extend(flatten(group.stream())),
            other => flat.push(other),
        }
    }
    flat
}

fn is_stub(ident: &Ident, next: Option<&TokenTree>) -> bool {
    let is_called = matches!(next, Some(TokenTree::Punct(punct)) if punct.as_char() == '!');
    is_called && STUBS.iter().any(|stub| ident == stub)
}

fn may_be_unsafe(path: &str) -> bool {
    path.starts_with("crates/codec/")
        || path.starts_with("crates/engine/src/uring")
        || path == "bench/codec/src/isal.rs"
}

fn is_nameless(path: &str) -> bool {
    NAMELESS.iter().any(|folder| path.starts_with(folder))
}

fn is_in_src(path: &str) -> bool {
    path.starts_with("crates/") && path.contains("/src/")
}

/// Whether `word` occurs in `text` with no letter, digit or underscore next to it.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(start, _)| {
        !text[..start].ends_with(is_part) && !text[start + word.len()..].starts_with(is_part)
    })
}

/// Whether a line contains an organization's name as configuration or code would spell it: `raid5`,
/// `Raid10`, `RAID_4`, `parity-logging`, `ParityLogging`, `"simple"`. The same words with a space,
/// as in prose, are allowed.
fn names_an_organization(line: &str) -> bool {
    let compact = line.to_ascii_lowercase().replace(['-', '_'], "");
    let numbered = compact
        .match_indices("raid")
        .any(|(start, raid)| compact[start + raid.len()..].starts_with(|c: char| c.is_ascii_digit()));
    numbered || compact.contains("paritylogging") || compact.contains("\"simple\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lines of the findings whose text contains `wrong`.
    fn lines_with(path: &str, text: &str, wrong: &str) -> Vec<usize> {
        let findings = check(&File { path, text });
        findings.iter().filter(|finding| finding.wrong.contains(wrong)).map(|finding| finding.line).collect()
    }

    const NONE: [usize; 0] = [];

    #[test]
    fn no_driver_may_name_an_organization() {
        let spellings = [
            "\"raid5\"",
            "Raid10",
            "raid_01",
            "is_raid4()",
            "RAID0",
            "parity-logging",
            "ParityLogging",
            "\"simple\"",
        ];
        for spelling in spellings {
            let text = format!("\n// {spelling}\n");
            for path in ["crates/engine/src/members.rs", "crates/sim/src/lib.rs", "crates/fault/src/lib.rs"] {
                assert_eq!(lines_with(path, &text, "organization"), [2], "{spelling} in {path}");
            }
        }
    }

    #[test]
    fn drivers_may_speak_of_the_field_and_others_may_name_all() {
        let prose = "// As parity logging does, unlike RAID 5. A simple case; a raid; braided 5.\n";
        assert_eq!(lines_with("crates/engine/src/members.rs", prose, "organization"), NONE);
        assert_eq!(
            lines_with("crates/array/src/table.rs", "const NAME: &str = \"raid5\";", "organization"),
            NONE
        );
        assert_eq!(
            lines_with("crates/engine/tests/serve.rs", "const NAME: &str = \"raid5\";", "organization"),
            NONE
        );
    }

    #[test]
    fn unsafe_code_is_seen_wherever_it_hides() {
        let text = "fn f() {\n    if true {\n        unsafe { g() }\n    }\n}\nunsafe impl Send for T {}\n";
        assert_eq!(lines_with("crates/array/src/lib.rs", text, "unsafe"), [3, 6]);
        assert_eq!(lines_with("xtask/src/main.rs", text, "unsafe"), [3, 6]);
        assert_eq!(lines_with("bench/codec/src/main.rs", text, "unsafe"), [3, 6]);
        assert_eq!(lines_with("crates/engine/src/members.rs", text, "unsafe"), [3, 6]);
    }

    #[test]
    fn unsafe_code_may_be_in_the_codec_in_io_uring_and_in_calls_of_isal() {
        for path in [
            "crates/codec/src/xor.rs",
            "crates/engine/src/uring.rs",
            "crates/engine/src/uring/ring.rs",
            "bench/codec/src/isal.rs",
        ] {
            assert_eq!(lines_with(path, "unsafe fn f() {}", "unsafe"), NONE, "{path}");
        }
    }

    #[test]
    fn the_word_unsafe_is_free_in_comments_strings_and_other_words() {
        let text = "#![forbid(unsafe_code)]\n// unsafe\n/* unsafe */\n/// unsafe\nfn f() { g(\"unsafe\") }\n";
        assert_eq!(lines_with("crates/array/src/lib.rs", text, "unsafe"), NONE);
    }

    #[test]
    fn a_file_may_have_900_lines_and_no_more() {
        let path = "crates/array/src/lib.rs";
        assert_eq!(lines_with(path, &"\n".repeat(LONGEST), "lines"), NONE);
        assert_eq!(lines_with(path, &"\n".repeat(LONGEST + 1), "lines"), [LONGEST + 1]);
        assert_eq!(lines_with("crates/array/tests/corpus.rs", &"\n".repeat(LONGEST + 1), "lines"), NONE);
    }

    #[test]
    fn stubs_are_seen_and_their_names_alone_are_free() {
        let stubs = STUBS.map(|stub| format!("fn f() {{\n    {stub}!()\n}}\n"));
        for text in &stubs {
            assert_eq!(lines_with("crates/array/src/lib.rs", text, "stub"), [2], "{text}");
        }
        let free = "let todo = 1;\n// In a comment, unimplemented! is free.\n";
        assert_eq!(lines_with("crates/array/src/lib.rs", free, "stub"), NONE);
    }

    #[test]
    fn marks_are_seen_in_comments_as_whole_words() {
        for mark in MARKS {
            let text = format!("// Fine.\n// {mark}: later\n// {mark}ES\n");
            assert_eq!(lines_with("crates/array/src/lib.rs", &text, "mark"), [2], "{mark}");
        }
    }

    #[test]
    fn what_is_not_rust_is_named_with_its_line() {
        let findings = check(&File { path: "crates/array/src/lib.rs", text: "fn f() {}\nfn g() }\n" });
        assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [2]);
    }
}
