//! The page of what was reproduced, in a browser: every chart is drawn, on a desk and on a phone, answers to fingers, and no script
//! complains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use parlour_lab::reproduce::evidence::Evidence;
use parlour_lab::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use parlour_lab::reproduce::library::Library;
use parlour_lab::reproduce::page::page;
use parlour_lab::reproduce::paper::Paper;
use parlour_lab::reproduce::plan::Pace;
use parlour_lab::reproduce::report::Report;
use parlour_lab::reproduce::study::{Finding, Study};
use parlour_lab::reproduce::value::Value;

/// Charts of the study below.
const CHARTS: usize = 5;

/// A paper with one of each: verdicts, axes, curves, a figure of several parts, a drawing, one that cannot be drawn.
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

/// Where what a browser shows is kept: below `target`, beside this test's program.
fn directory() -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("page");
    fs::create_dir_all(&directory).expect("below target can be written");
    directory
}

/// Opens the page as wide as that, keeps a picture of it, and answers with what `page.js` found, and what scripts complained of.
fn opened(page: &Path, width: u32) -> (String, String) {
    // A window has a least width, a frame has none.
    let frame = page.with_file_name(format!("{width}.html"));
    let text = format!(
        "<!DOCTYPE html><body style=\"margin:0\"><iframe src=\"{}\" style=\"border:0;width:{width}px;height:{HEIGHT}px\"></iframe>\
         <script>{}</script>",
        page.file_name().expect("it has a name").to_string_lossy(),
        include_str!("page.js"),
    );
    fs::write(&frame, text).expect("below target can be written");
    let picture = format!("--screenshot={}", page.with_file_name(format!("{width}.png")).display());
    let size = format!("--window-size={},{HEIGHT}", width.max(500));
    let (_, complaints) = browse(&frame, &[&picture, &size]);
    let (contents, _) = browse(&frame, &["--dump-dom", &size]);
    let found = contents.split("data-found=\"").nth(1).and_then(|rest| rest.split('"').next());
    (found.unwrap_or_else(|| panic!("nothing was found: {contents}")).to_owned(), complaints)
}

/// Enough for all of the page.
const HEIGHT: u32 = 9_000;

/// Runs a browser: what it prints, and what scripts said on its console.
fn browse(file: &Path, arguments: &[&str]) -> (String, String) {
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--virtual-time-budget=5000",
        ])
        .args(["--allow-file-access-from-files", "--enable-logging=stderr"])
        .arg(format!("--user-data-dir={}", directory().join("browser").display()))
        .args(arguments)
        .arg(format!("file://{}", file.display()))
        .output()
        .expect("chromium can be started: cargo xtask test installs it");
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.lines().filter(|line| line.contains("CONSOLE")).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), said)
}

#[test]
fn every_chart_is_drawn_and_answers_at_any_width() {
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let report = Report::of(&[study()], &evidence, Pace::Quick);
    let file = directory().join("index.html");
    fs::write(&file, page(&report)).expect("below target can be written");
    for width in [1_400, 400] {
        let (found, complaints) = opened(&file, width);
        assert_eq!(complaints, "", "at {width} pixels");
        let hover = "simple, model|organization and requests: RAID 1, large reads|relative throughput: 100 %";
        assert_eq!(
            found,
            format!(
                "{CHARTS} charts, {width} pixels, {hover}, 3 then 2 curves, zoomed and whole, 40 then 1 rows"
            )
        );
        let picture = fs::metadata(file.with_file_name(format!("{width}.png")));
        assert!(picture.is_ok_and(|picture| picture.len() > 10_000), "at {width} pixels");
    }
}

#[test]
fn a_page_asks_the_network_for_nothing_and_is_small() {
    let evidence = Evidence { library: Library::carried(), experiments: Vec::new() };
    let page = page(&Report::of(&[study()], &evidence, Pace::Quick));
    let addresses: Vec<&str> = page
        .match_indices("http")
        .map(|(at, _)| page[at..].split(['"', '<']).next().unwrap_or_default())
        .collect();
    // What SVG is called is no address that anybody asks.
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
