//! The module of the array that says which bug is planted. Only the copy has it.

use std::collections::BTreeMap;

use super::data::Data;

/// The module's text, as it is.
const TEXT: &str = "planted/planted.rs";
/// Its place.
const MODULE: &str = "crates/array/src/planted.rs";
/// The place of the module below it, with the names of all bugs.
const NAMES: &str = "crates/array/src/planted/bugs.rs";
/// The file that gets the module, and what it gets.
const PARENT: &str = "crates/array/src/lib.rs";
const DECLARED: &str = "\nmod planted;\n\npub use planted::{Bug, is_planted, plant};\n";

/// The added and changed files, by their paths. If there is an edit in the parent of the module,
/// it is in `woven` already.
pub(super) fn add(woven: &mut BTreeMap<String, String>, data: &Data, texts: &BTreeMap<String, String>) {
    let text = |path: &str| texts.get(path).cloned().unwrap_or_default();
    woven.insert(MODULE.to_owned(), text(TEXT));
    woven.insert(NAMES.to_owned(), names(data));
    let parent = woven.entry(PARENT.to_owned()).or_insert_with(|| text(PARENT));
    parent.push_str(DECLARED);
}

/// The bugs as an enum, and its lists as constants.
fn names(data: &Data) -> String {
    let mut out = String::from("//! The bugs, as `planted/` says.\n\n");
    out.push_str("/// A bug.\n#[derive(Clone, Copy, Debug, PartialEq, Eq)]\n#[repr(u8)]\npub enum Bug {\n");
    for (number, bug) in (1..).zip(&data.bugs) {
        out += &format!("    /// {}\n    {} = {number},\n", bug.wrong, bug.name);
    }
    out.push_str("}\n\nimpl Bug {\n");
    for (list, about) in &data.lists {
        let bugs = data.bugs.iter().filter(|bug| bug.lists.contains(list));
        let names: Vec<String> = bugs.map(|bug| format!("Bug::{}", bug.name)).collect();
        let (count, names) = (names.len(), names.join(", "));
        out += &format!("    /// {about}\n    pub const {list}: [Bug; {count}] = [{names}];\n");
    }
    out.push_str("}\n");
    out
}

#[cfg(test)]
mod tests {
    use super::super::data::Bug;
    use super::*;

    #[test]
    fn bugs_and_lists_become_rust() {
        let bug = |name: &str, lists: &[&str]| Bug {
            path: String::new(),
            line: 1,
            name: name.to_owned(),
            wrong: format!("What {name} does."),
            lists: lists.iter().map(|list| (*list).to_owned()).collect(),
            edits: Vec::new(),
        };
        let data = Data {
            lists: BTreeMap::from([("FEW".to_owned(), "A few.".to_owned())]),
            bugs: vec![bug("First", &["FEW"]), bug("Second", &[]), bug("Third", &["FEW"])],
        };
        let names = names(&data);
        assert!(syn::parse_file(&names).is_ok(), "{names}");
        assert!(names.contains("    /// What Second does.\n    Second = 2,\n"), "{names}");
        let list = "    /// A few.\n    pub const FEW: [Bug; 2] = [Bug::First, Bug::Third];\n";
        assert!(names.contains(list), "{names}");
    }

    #[test]
    fn the_module_is_declared_once_in_its_parent() {
        let texts = BTreeMap::from([
            (TEXT.to_owned(), "mod bugs;".to_owned()),
            (PARENT.to_owned(), "mod array;\n".to_owned()),
        ]);
        let mut woven = BTreeMap::new();
        add(&mut woven, &Data::default(), &texts);
        assert_eq!(woven[MODULE], "mod bugs;");
        assert_eq!(woven[PARENT], format!("mod array;\n{DECLARED}"));
    }
}
