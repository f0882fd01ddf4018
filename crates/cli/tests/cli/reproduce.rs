//! Tests of the commands that reproduce the papers.

use crate::common::Workbench;
use crate::tools::json;
use serde_json::Value;

/// The entries of `papers/published.json`.
fn published() -> Vec<Value> {
    serde_json::from_str(include_str!("../../../../papers/published.json")).expect("it is JSON")
}

#[test]
fn every_published_number_of_a_paper_is_told_under_its_name() {
    let bench = Workbench::new();
    let report = json(&bench.succeed("reproduce hauser molnar --quick --json"));
    assert_eq!(report["quick"], true);
    let papers = report["papers"].as_array().expect("a list of papers");
    assert_eq!(papers.iter().map(|paper| &paper["paper"]).collect::<Vec<_>>(), ["hauser", "molnar"]);
    for paper in papers {
        let numbers = paper["numbers"].as_object().expect("numbers by their names");
        let wanted = published().into_iter().filter(|number| number["paper"] == paper["paper"]);
        let wanted: Vec<String> =
            wanted.map(|number| number["id"].as_str().expect("a name").to_owned()).collect();
        assert_eq!(numbers.keys().cloned().collect::<Vec<_>>(), wanted);
    }
    let counts: u64 = report["summary"]["all"]
        .as_object()
        .expect("verdicts")
        .values()
        .map(|count| count.as_u64().expect("a count"))
        .sum();
    let numbers = papers.iter().filter_map(|paper| paper["numbers"].as_object()).flat_map(|all| all.values());
    let counted = numbers.filter(|number| number["repeats"].is_null()).count();
    assert_eq!(counts, counted as u64, "what repeats another number is not counted");
}

/// Collects all keys of an answer. Keys with a dot are ids, and only their values are searched.
fn keys(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(inner) => inner.iter().for_each(|(key, value)| {
            if !key.contains('.') {
                found.push(key.clone());
            }
            keys(value, found);
        }),
        Value::Array(several) => several.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}

#[test]
fn every_key_of_the_answer_is_documented() {
    let bench = Workbench::new();
    let mut found = Vec::new();
    keys(&json(&bench.succeed("reproduce molnar --quick --json")), &mut found);
    let documented = include_str!("../../../../docs/json.md");
    let section = documented.split("\n## reproduce\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let section = section.expect("docs/json.md has a section on reproduce");
    for key in found {
        assert!(section.contains(&format!("`{key}`")), "docs/json.md does not tell of '{key}'");
    }
}

#[test]
fn a_report_is_a_page_in_its_directory() {
    let bench = Workbench::new();
    let told = bench.succeed("reproduce molnar --quick --report out/of/it");
    assert!(told.ends_with("Figures: out/of/it/index.html\n"), "{told}");
    let page = std::fs::read_to_string(bench.path("out/of/it/index.html")).expect("it was written");
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<tr id=\"mo.10.5\"") && page.contains("<figure id=\"mo.law\">"));
}

#[test]
fn what_cannot_be_is_one_clear_line() {
    let bench = Workbench::new();
    let unknown = bench.refuse("reproduce knuth", 2);
    assert!(unknown.contains("there is no paper 'knuth'"), "{unknown}");
    assert!(unknown.contains("there are chen, hauser, molnar, stodolsky, varki, and all"), "{unknown}");
    std::fs::write(bench.path("taken"), "a file").expect("the workbench can be written");
    let taken = bench.fail("reproduce molnar --quick --report taken", 1);
    assert!(taken.contains("taken: the report cannot be written"), "{taken}");
    assert!(taken.contains("use another --report"), "{taken}");
}
