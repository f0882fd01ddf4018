//! Tests the page of a report in a browser: every chart is drawn, at the width of a desktop and of
//! a phone, the page reacts to touch, and no script reports an error.

mod browser;

use std::fs;

use browser::{WIDTHS, directory, opened};
use parlour_lab::reproduce::evidence::Evidence;
use parlour_lab::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use parlour_lab::reproduce::library::Library;
use parlour_lab::reproduce::pace::Pace;
use parlour_lab::reproduce::page::page;
use parlour_lab::reproduce::paper::Paper;
use parlour_lab::reproduce::report::Report;
use parlour_lab::reproduce::study::{Finding, Study};
use parlour_lab::reproduce::value::Value;

/// Enough pixels for the whole page.
const HEIGHT: u32 = 9_000;

/// The number of charts of the study below, with the overview.
const CHARTS: usize = 6;

/// A paper with one of each: verdicts, axes, curves, a figure of several parts, a drawing, a figure
/// that cannot be drawn.
fn study() -> Study {
    Study::of(Paper::Chen)
        .number("ch.28", |_| Ok(Finding::simulated(27.1).with_model(27.9)))
        .number("ch.110", |_| Ok(Finding::model(125.0).because("arms <are> far & wide")))
        .number("ch.906", |_| Ok(Finding { interval: Some(0.012), ..Finding::simulated(0.88) }))
        .number("ch.saving", |_| Ok(Finding::model(Value::Range(2.9, 4.1))))
        .number("ch.sync10", |_| Ok(Finding::model(Value::Holds(true))))
        .not_derivable("ch.iocpu", "the processor is not described")
        .figure("ch.fig1", "parlour layout --members 4 --organization raid5", |_| {
            Ok(vec![Panel::only(Content::Drawing("D0  D1  D2  P\nD3  D4  P   D5".to_owned()))])
        })
        .figure("ch.fig2", "parlour model it.toml", |_| Ok(vec![Panel::only(Content::Chart(bars()))]))
        .figure("ch.fig4", "parlour simulate experiments/chen/figure-4.toml", |_| {
            let panel = |title, y| Panel::titled(title, Content::Chart(curves(y)));
            Ok(vec![
                panel("individual writes", Axis::linear("throughput", "MB/s/disk")),
                panel("full-stripe writes", Axis::logarithmic("throughput", "MB/s/disk")),
            ])
        })
        .figure("ch.fig5", "parlour model it.toml", |_| {
            let empty = Chart { curves: Vec::new(), ..curves(Axis::linear("throughput", "MB/s")) };
            let single = Curve::new("one < two", Source::Model, [(3.0, f64::NAN), (4.0, 7.0)]);
            let single = Chart { curves: vec![single], ..empty.clone() };
            Ok([empty, single].map(|chart| Panel::only(Content::Chart(chart))).into())
        })
        .figure("ch.fig3", "parlour simulate it.toml", |evidence| {
            evidence.experiment("chen/none").map(|_| Vec::new())
        })
}

fn bars() -> Chart {
    let organizations =
        ["RAID 1, large reads", "RAID 1, small writes", "RAID 5, large writes", "RAID 5, small writes"];
    let heights = |heights: [f64; 4]| heights.into_iter().enumerate().map(|(at, height)| (at as f64, height));
    let points = heights([112.0, 50.3, 90.1, 27.4]).map(|(x, y)| Point { x, y, interval: Some(3.0) });
    Chart {
        x: Axis::names("organization and requests", organizations),
        y: Axis::linear("relative throughput", "%"),
        curves: vec![
            Curve::new("simple", Source::Model, heights([100.0, 50.0, 90.9, 25.0])),
            Curve::simulated("ours", points),
            Curve::new("measured", Source::Published, heights([113.0, 50.0, 90.0, 28.0])),
        ],
    }
}

fn curves(y: Axis) -> Chart {
    let steps = || (1..=12).map(f64::from);
    let rises = |most: f64| move |x: f64| (x * 60.0, most * x / (x + 2.0));
    let curve = |of: &str, most: f64| Curve::new(of, Source::Model, steps().map(rises(most)));
    let simulated = |of: &str, most: f64| {
        let points = steps().map(rises(most * 0.97));
        Curve::simulated(of, points.map(|(x, y)| Point { x, y, interval: Some(0.03) }))
    };
    Chart {
        x: Axis::linear("90th percentile of response times", "ms"),
        y,
        curves: vec![
            curve("RAID 0", 0.95),
            simulated("RAID 0", 0.95),
            curve("RAID 1", 0.47),
            simulated("RAID 1", 0.47),
            curve("RAID 5", 0.28),
            simulated("RAID 5", 0.28),
            Curve::new("RAID 0", Source::Published, [(200.0, 0.73), (720.0, 0.906)]),
        ],
    }
}

#[test]
fn every_chart_is_drawn_and_answers_at_any_width() {
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let report = Report::of(&[study()], &evidence, Pace::Quick);
    let file = directory("page").join("index.html");
    fs::write(&file, page(&report)).expect("below target can be written");
    for width in WIDTHS {
        let found = opened(&file, width, 0..HEIGHT, include_str!("page.js"));
        let hover = "simple, model|organization and requests: RAID 1, large reads|relative throughput: 100 %";
        assert_eq!(
            found,
            format!(
                "{CHARTS} charts, {width} pixels, {hover}, 3 then 2 curves, zoomed and whole, 42 then 1 rows"
            )
        );
    }
}

/// Regression test: one paragraph on Hauser's files stood beside fourteen numbers.
#[test]
fn what_is_said_of_several_numbers_stands_once() {
    let alike =
        |value: f64| move |_: &Evidence| Ok(Finding::simulated(value).because("the host is <not> described"));
    let study = Study::of(Paper::Hauser)
        .number("ha.art.01", alike(0.5))
        .number("ha.art.02", alike(0.6))
        .number("ha.art.03", |_| Ok(Finding::simulated(0.7).because("nobody knows")));
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let page = page(&Report::of(&[study], &evidence, Pace::Full));
    assert_eq!(page.matches("the host is &lt;not&gt; described").count(), 1);
    // The first note concerns all the numbers that this study does not compute.
    assert!(page.contains("<li id=\"hauser-note-2\">the host is &lt;not&gt; described</li>"));
    assert_eq!(page.matches("<a href=\"#hauser-note-2\">note 2</a>").count(), 2);
    assert_eq!(page.matches("<div class=\"why\">nobody knows</div>").count(), 1);
}

#[test]
fn a_report_opens_with_all_numbers_and_says_which_version_made_it() {
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let page = page(&Report::of(&[study()], &evidence, Pace::Full));
    let first = page.find("class=\"plot\"").expect("there are charts");
    assert!(page[first..].starts_with("class=\"plot\" id=\"overview-0\""));
    assert!(page.contains(&format!("Made by parlour {}.", env!("CARGO_PKG_VERSION"))));
    assert!(page.contains("\"labels\":[\"ch.110: adjusted RAID 1 read 40/(40-4)\"]"));
}

#[test]
fn a_page_asks_the_network_for_nothing_and_is_small() {
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let page = page(&Report::of(&[study()], &evidence, Pace::Quick));
    let addresses: Vec<&str> = page
        .match_indices("http")
        .map(|(at, _)| page[at..].split(['"', '<']).next().unwrap_or_default())
        .collect();
    // The SVG namespace is not an address that a browser loads.
    assert_eq!(addresses, ["http://www.w3.org/2000/svg"]);
    assert!(!page.contains(" src=") && !page.contains("@import") && !page.contains("url(//"));
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn what_people_wrote_is_text() {
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let page = page(&Report::of(&[study()], &evidence, Pace::Full));
    assert!(page.contains("arms &lt;are&gt; far &amp; wide"));
    assert!(page.contains("\"of\":\"one \\u003c two\""));
    assert!(page.contains("was not run: name it among the experiments"));
}
