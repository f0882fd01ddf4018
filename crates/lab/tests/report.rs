//! Tests the report on all five papers in a browser. Its numbers come from very short simulations,
//! but the page is the same as the real one.

mod browser;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use browser::{WIDTHS, directory, opened};
use parlour_lab::reproduce::pace::Pace;
use parlour_lab::reproduce::page::page;
use parlour_lab::reproduce::paper::Paper;
use parlour_lab::reproduce::plan::Plan;
use serde::Deserialize;

/// The height of one screenshot; a browser needs very long for a higher one.
const PART: u32 = 20_000;

/// The results of `report.js`.
#[derive(Debug, Deserialize)]
struct Found {
    width: u32,
    height: u32,
    figures: BTreeSet<String>,
    unseen: Vec<String>,
    charts: u32,
    empty: Vec<String>,
    clipped: Vec<String>,
}

/// The ids in a file of `papers`.
fn names(text: &str) -> BTreeSet<String> {
    let all: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
    let all = all.as_array().expect("a list").iter();
    all.map(|one| one["id"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_figure_of_the_papers_is_seen_at_any_width_and_no_column_is_cut_off() {
    let report = Plan::new(&Paper::ALL, Pace::Glance).expect("all experiments are sound").carry_out(|| {});
    let file = &directory("report").join("index.html");
    fs::write(file, page(&report)).expect("below target can be written");
    // One browser after the other: several at once slow each other down.
    WIDTHS.into_iter().for_each(|width| look_at(file, width, u32::MAX));
    // For the widths in between, a screenshot of the first part is enough.
    BETWEEN.into_iter().for_each(|width| look_at(file, width, PART));
}

/// Widths from the narrowest phone upwards, on both sides of the width at which tables turn into
/// lists.
const BETWEEN: [u32; 7] = [360, 600, 704, 768, 1_088, 1_100, 1_280];

/// Opens the report at this width, and saves screenshots down to `depth`.
fn look_at(file: &Path, width: u32, depth: u32) {
    let look = |from| -> Found {
        let found = opened(file, width, from..from + PART, include_str!("report.js"));
        serde_json::from_str(&found).expect("it is what is looked for")
    };
    let found = look(0);
    assert_eq!(found.figures, names(include_str!("../../../papers/figures.json")));
    assert!(found.width <= width && found.unseen.is_empty() && found.empty.is_empty(), "{found:?}");
    assert!(found.charts > 80, "{found:?}");
    assert!(found.clipped.is_empty(), "at {width} pixels something is cut off: {:?}", found.clipped);
    (PART..found.height.min(depth)).step_by(PART as usize).for_each(|from| drop(look(from)));
}
