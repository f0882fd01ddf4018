//! What is made of simulated runs, whichever figure they are for.

use parlour_model::utilization::{Logging, Model};

use crate::figures::Figures;
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point};

/// Whether old data is known: the value in the experiments, and the text for figures.
pub(super) const KNOWN: [(&str, &str); 2] = [("false", "with prereads"), ("true", "without prereads")];

pub(super) fn preread(known: &str) -> bool {
    known == KNOWN[0].0
}

/// The requests per second of each drive, with the interval scaled from that of the whole array.
pub(super) fn rate(x: f64, figures: &Figures) -> Point {
    let part = figures.throughput_per_member / figures.throughput.mean;
    let interval = figures.throughput.interval.map(|interval| interval * part);
    Point { x, y: figures.throughput_per_member, interval }
}

pub(super) fn chart(title: &str, x: Axis, y: Axis, curves: Vec<Curve>) -> Panel {
    Panel::titled(title, Content::Chart(Chart { x, y, curves }))
}

/// By how many percent a model's rate, at this utilization of the disks, exceeds the simulated peak
/// rate.
pub(super) fn above(model: &Model, figures: &Figures, utilization: f64) -> Point {
    let y = 100.0 * (model.throughput_per_disk(utilization) / figures.throughput_per_member - 1.0);
    let interval = figures.throughput.interval.map(|interval| 100.0 * interval / figures.throughput.mean);
    Point { x: 0.0, y, interval }
}

/// The least number of fillings of all logs for a reliable measurement. All logs begin empty and
/// fill at the same rate; with fewer fillings, the result depends on the point at which the
/// measurement ends.
const FILLINGS: f64 = 5.0;

/// If the array has logs and a run saw too few fillings of them to measure the cost of
/// reintegrations, returns an explanation.
pub(super) fn too_short(model: &Model, figures: &Figures) -> Option<String> {
    let logs = model.logging()?;
    let fillings = figures.requests as f64 / (logs.cycle() * f64::from(Logging::default().regions));
    (fillings < FILLINGS).then(|| {
        format!("measured over {fillings:.1} fillings of all logs, which fill in step: what reintegrations cost is not counted evenly")
    })
}
