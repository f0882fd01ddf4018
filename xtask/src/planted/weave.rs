//! Puts all bugs into the sources, and finds the bugs that have lost their place.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::data::{self, Bug, Data, Edit, Flaw, LISTS};
use super::module;

/// What `put` says where it is asked whether the bug is planted.
const ASKED: &str = "PLANTED";
/// The array's own sources name it in another way than others do.
const ARRAY: &str = "crates/array/";

const FIND_ITS_PLACE: &str =
    "look for the code in which the bug is still one, and mend `file`, `find` and `put`";
const ASK: &str = "say PLANTED where it is asked whether the bug is planted, or it always is";
const PART_THEM: &str = "let each `find` be as short as it can";
const LIST_IT: &str = "name a list of planted/lists.toml, so that a test looks for it";
const TEST_IT: &str = "let a test look for the bugs of the list, or remove it";

/// An edit with its bug, and the bytes that it replaces.
struct Site<'a> {
    bug: &'a Bug,
    edit: &'a Edit,
    bytes: Range<usize>,
}

/// The sources that are changed and added, with all bugs in them. `texts` are the texts of all
/// sources, and of the data, by their paths.
pub(crate) fn weave(texts: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Vec<Flaw>> {
    let data = data::read(texts)?;
    let mut flaws = unsought(&data, texts);
    let mut sites: BTreeMap<&str, Vec<Site<'_>>> = BTreeMap::new();
    for (bug, edit) in data.bugs.iter().flat_map(|bug| bug.edits.iter().map(move |edit| (bug, edit))) {
        match site(bug, edit, texts) {
            Ok(site) => sites.entry(&edit.file).or_default().push(site),
            Err(flaw) => flaws.push(flaw),
        }
    }
    for sites in sites.values_mut() {
        sites.sort_by_key(|site| site.bytes.start);
        flaws.extend(overlaps(sites));
    }
    if !flaws.is_empty() {
        return Err(flaws);
    }
    let with_bugs = |(file, sites): (&str, Vec<Site<'_>>)| (file.to_owned(), replace(&texts[file], &sites));
    let mut woven = sites.into_iter().map(with_bugs).collect();
    module::add(&mut woven, &data, texts);
    Ok(woven)
}

/// Bugs that are in no list, and lists that are in no test.
fn unsought(data: &Data, texts: &BTreeMap<String, String>) -> Vec<Flaw> {
    let mut flaws = Vec::new();
    for bug in &data.bugs {
        if bug.lists.is_empty() {
            flaws.push(bug.flaw(bug.line, format!("the bug {} is in no list", bug.name), LIST_IT));
        }
        for list in bug.lists.iter().filter(|list| !data.lists.contains_key(*list)) {
            let wrong = format!("the bug {} is in {list}, which is no list", bug.name);
            flaws.push(bug.flaw(bug.line, wrong, LIST_IT));
        }
    }
    let tests = || texts.iter().filter(|(path, _)| path.contains("/tests/")).map(|(_, text)| text);
    let named: BTreeSet<&str> = tests().flat_map(|text| lists_of(text)).collect();
    for list in data.lists.keys().filter(|list| !named.contains(list.as_str())) {
        let wrong = format!("no test names `Bug::{list}`");
        flaws.push(Flaw { path: LISTS.to_owned(), line: 1, wrong, remedy: TEST_IT });
    }
    flaws
}

/// The words that follow `Bug::` in a test.
fn lists_of(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.split("Bug::").skip(1).map(move |rest| rest.split(|c| !is_part(c)).next().unwrap_or_default())
}

/// Looks for the place of an edit.
fn site<'a>(bug: &'a Bug, edit: &'a Edit, texts: &BTreeMap<String, String>) -> Result<Site<'a>, Flaw> {
    let Edit { line, file, find, put } = edit;
    let lost = |why: String| {
        let wrong = format!("the bug {} has lost its place: {why}", bug.name);
        Err(bug.flaw(*line, wrong, FIND_ITS_PLACE))
    };
    if !put.contains(ASKED) {
        return Err(bug.flaw(*line, format!("the bug {} does not ask", bug.name), ASK));
    }
    let Some(text) = texts.get(file) else { return lost(format!("there is no source {file}")) };
    let found: Vec<usize> = text.match_indices(find.as_str()).map(|(at, _)| at).collect();
    match found[..] {
        [at] => Ok(Site { bug, edit, bytes: at..at + find.len() }),
        [] => lost(format!("`find` is not in {file}")),
        _ => lost(format!("`find` is in {file} {} times", found.len())),
    }
}

/// The edits of one source that replace the same text. They are sorted.
fn overlaps(sites: &[Site<'_>]) -> Vec<Flaw> {
    let pairs = sites.windows(2).filter(|pair| pair[1].bytes.start < pair[0].bytes.end);
    pairs
        .map(|pair| {
            let [one, other] = [&pair[0], &pair[1]];
            let wrong = format!(
                "the bugs {} and {} change the same text of {}",
                one.bug.name, other.bug.name, one.edit.file
            );
            other.bug.flaw(other.edit.line, wrong, PART_THEM)
        })
        .collect()
}

/// The text of a source with all of its edits, which are sorted.
fn replace(text: &str, sites: &[Site<'_>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for Site { bug, edit, bytes } in sites {
        let array = if edit.file.starts_with(ARRAY) { "crate" } else { "parlour_array" };
        let asks = format!("{array}::is_planted({array}::Bug::{})", bug.name);
        out.push_str(&text[from..bytes.start]);
        out.push_str(&edit.put.replace(ASKED, &asks));
        from = bytes.end;
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOP: &str = "crates/array/src/stop.rs";
    const SYNC: &str = "crates/engine/src/sync.rs";

    /// Two bugs, one with two edits, and what they need.
    fn texts() -> BTreeMap<String, String> {
        let bugs = "\
[[bug]]
name = 'StopsEarly'
wrong = 'It stops early.'
lists = ['FEW']

[[bug.edit]]
file = 'crates/array/src/stop.rs'
find = 'wait();'
put = 'if !PLANTED { wait(); }'

[[bug.edit]]
file = 'crates/engine/src/sync.rs'
find = 'true'
put = '!PLANTED'

[[bug]]
name = 'StopsLate'
wrong = 'It stops late.'
lists = ['FEW']

[[bug.edit]]
file = 'crates/array/src/stop.rs'
find = 'stop();'
put = 'stop(PLANTED);'
";
        let texts = [
            (LISTS, "FEW = 'A few.'\n"),
            ("planted/bugs/core.toml", bugs),
            (STOP, "fn f() {\n    wait();\n    stop();\n}\n"),
            (SYNC, "const SYNC: bool = true;\n"),
            ("crates/array/tests/few.rs", "fn few() { find(&Bug::FEW) }"),
        ];
        texts.map(|(path, text)| (path.to_owned(), text.to_owned())).into()
    }

    /// The flaws after `old` became `new` in a file.
    fn flaws(path: &str, old: &str, new: &str) -> Vec<String> {
        let mut texts = texts();
        let text = texts.get_mut(path).unwrap();
        assert!(text.contains(old));
        *text = text.replacen(old, new, 1);
        weave(&texts).err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_bugs_are_put_where_they_belong() {
        let woven = weave(&texts()).unwrap();
        let [early, late] =
            ["StopsEarly", "StopsLate"].map(|name| format!("crate::is_planted(crate::Bug::{name})"));
        assert_eq!(woven[STOP], format!("fn f() {{\n    if !{early} {{ wait(); }}\n    stop({late});\n}}\n"));
        let asks = "parlour_array::is_planted(parlour_array::Bug::StopsEarly)";
        assert_eq!(woven[SYNC], format!("const SYNC: bool = !{asks};\n"));
    }

    #[test]
    fn a_bug_that_has_lost_its_place_is_named_with_its_file() {
        let place = "planted/bugs/core.toml:8: the bug StopsEarly has lost its place";
        assert_eq!(
            flaws(STOP, "wait()", "rest()"),
            [format!("{place}: `find` is not in {STOP}: {FIND_ITS_PLACE}")]
        );
        assert_eq!(
            flaws(STOP, "stop();", "wait();\n    stop();"),
            [format!("{place}: `find` is in {STOP} 2 times: {FIND_ITS_PLACE}")]
        );
        let gone = flaws("planted/bugs/core.toml", STOP, "crates/array/src/gone.rs");
        assert_eq!(gone, [format!("{place}: there is no source crates/array/src/gone.rs: {FIND_ITS_PLACE}")]);
    }

    #[test]
    fn a_bug_that_is_always_there_is_found() {
        let found = flaws("planted/bugs/core.toml", "!PLANTED'", "false'");
        assert_eq!(found, [format!("planted/bugs/core.toml:13: the bug StopsEarly does not ask: {ASK}")]);
    }

    #[test]
    fn bugs_that_change_the_same_text_are_found() {
        let found = flaws("planted/bugs/core.toml", "find = 'wait();'", "find = \"wait();\\n    stop();\"");
        let wrong = format!("the bugs StopsEarly and StopsLate change the same text of {STOP}");
        assert_eq!(found, [format!("planted/bugs/core.toml:23: {wrong}: {PART_THEM}")]);
    }

    #[test]
    fn a_bug_for_which_no_test_looks_is_found() {
        let bugs = "planted/bugs/core.toml";
        let none = flaws(bugs, "lists = ['FEW']", "lists = []");
        assert_eq!(none, [format!("{bugs}:2: the bug StopsEarly is in no list: {LIST_IT}")]);
        let stranger = flaws(bugs, "lists = ['FEW']", "lists = ['MANY']");
        assert_eq!(
            stranger,
            [format!("{bugs}:2: the bug StopsEarly is in MANY, which is no list: {LIST_IT}")]
        );
        let untested = flaws("crates/array/tests/few.rs", "FEW", "FEWER");
        assert_eq!(untested, [format!("{LISTS}:1: no test names `Bug::FEW`: {TEST_IT}")]);
    }

    #[test]
    fn data_that_cannot_be_read_is_named_with_its_line() {
        let found = flaws("planted/bugs/core.toml", "wrong = 'It stops late.'\n", "");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("planted/bugs/core.toml:16: missing field `wrong`"), "{}", found[0]);
    }
}
