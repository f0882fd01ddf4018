//! The report on all five papers, in a browser: what stands in it is from a glance at the simulations, but it is the same page.

mod browser;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use browser::{WIDTHS, directory, opened};
use parlour_lab::reproduce::page::page;
use parlour_lab::reproduce::paper::Paper;
use parlour_lab::reproduce::plan::{Pace, Plan};
use serde::Deserialize;

/// What one picture shows: a higher one would take a browser very long.
const PART: u32 = 20_000;

/// What `report.js` finds.
#[derive(Debug, Deserialize)]
struct Found {
    width: u32,
    height: u32,
    figures: BTreeSet<String>,
    unseen: Vec<String>,
    charts: u32,
    empty: Vec<String>,
}

/// What a list of things by their names has in `papers`.
fn names(text: &str) -> BTreeSet<String> {
    let all: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
    let all = all.as_array().expect("a list").iter();
    all.map(|one| one["id"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_figure_of_the_papers_is_seen_at_any_width() {
    let report = Plan::new(&Paper::ALL, Pace::Glance).expect("all experiments are sound").carry_out(|| {});
    let file = &directory("report").join("index.html");
    fs::write(file, page(&report)).expect("below target can be written");
    std::thread::scope(|scope| {
        for width in WIDTHS {
            scope.spawn(move || look_at(file, width));
        }
    });
}

fn look_at(file: &Path, width: u32) {
    let look = |from| -> Found {
        let found = opened(file, width, from..from + PART, include_str!("report.js"));
        serde_json::from_str(&found).expect("it is what is looked for")
    };
    let found = look(0);
    assert_eq!(found.figures, names(include_str!("../../../papers/figures.json")));
    assert!(found.width <= width && found.unseen.is_empty() && found.empty.is_empty(), "{found:?}");
    assert!(found.charts > 80, "{found:?}");
    (PART..found.height).step_by(PART as usize).for_each(|from| drop(look(from)));
}
