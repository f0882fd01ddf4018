//! The report on all five papers, in a browser: what stands in it is from a glance at the simulations, but it is the same page.

mod browser;

use std::collections::BTreeSet;
use std::fs;

use browser::{WIDTHS, directory, opened};
use parlour_lab::reproduce::page::page;
use parlour_lab::reproduce::paper::Paper;
use parlour_lab::reproduce::plan::{Pace, Plan};
use serde_json::Value;

/// A picture of all would have more pixels than a browser draws.
const HEIGHT: u32 = 8_000;

/// The figures that the papers have.
fn figures() -> BTreeSet<String> {
    let figures: Value =
        serde_json::from_str(include_str!("../../../papers/figures.json")).expect("it is JSON");
    let figures = figures.as_array().expect("a list of figures");
    figures.iter().map(|figure| figure["id"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn every_figure_of_the_papers_is_seen_at_any_width() {
    let report = Plan::new(&Paper::ALL, Pace::Glance).expect("all experiments are sound").carry_out(|| {});
    let file = directory("report").join("index.html");
    fs::write(&file, page(&report)).expect("below target can be written");
    for width in WIDTHS {
        let found = opened(&file, width, HEIGHT, include_str!("report.js"));
        println!("{found}");
    }
    println!("{:?}", figures().len());
}
