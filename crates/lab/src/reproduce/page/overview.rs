//! The overview at the top of the page: our value divided by the published one, for all numbers, by
//! verdict.

use crate::reproduce::figure::{Axis, Chart, Curve, Scale, Source};
use crate::reproduce::report::{Number, Report};
use crate::reproduce::verdict::Verdict;

use super::chart;

/// The fraction of a paper's range on the axis that its numbers take.
const ROOM: f64 = 0.86;

/// Returns the chart, with the number of numbers that it shows.
pub(super) fn drawn(report: &Report) -> String {
    let chart = all(report);
    let shown: usize = chart.curves.iter().map(|curve| curve.points.len()).sum();
    let numbers: usize = report.papers.iter().map(|chapter| chapter.numbers.len()).sum();
    format!(
        "<section id=\"overview\">\n<h2>Ours over published</h2>\n<p>{shown} of {numbers} numbers, each paper's from left to right in \
         its order; 1 is what is printed. The others are formulas and sentences, or nothing of ours can be divided by them.</p>\n\
         <div class=\"panel\">\n{}</div>\n</section>\n",
        chart::drawn("overview-0", &chart)
    )
}

fn all(report: &Report) -> Chart {
    let curves = Verdict::ALL.into_iter().map(|verdict| {
        let mut curve = Curve::new(verdict.name(), Source::Ratio, []);
        for (paper, chapter) in report.papers.iter().enumerate() {
            let step = ROOM / chapter.numbers.len().max(1) as f64;
            for (at, number) in chapter.numbers.iter().enumerate() {
                let Some(ratio) = ratio(number).filter(|_| number.verdict == verdict) else { continue };
                let x = paper as f64 - ROOM / 2.0 + (at as f64 + 0.5) * step;
                curve.points.extend(Curve::new("", Source::Ratio, [(x, ratio)]).points);
                curve.labels.push(format!("{}: {}", number.id, number.quantity));
            }
        }
        curve
    });
    let names = report.papers.iter().map(|chapter| chapter.paper.name());
    Chart {
        x: Axis::names("paper", names),
        y: Axis { scale: Scale::Logarithmic, ..Axis::linear("ours over published", "") },
        curves: curves.filter(|curve| !curve.points.is_empty()).collect(),
    }
}

/// Our value divided by the published one. For a range or a bound it is 1 within the range or
/// bound; outside it is relative to the nearest end.
fn ratio(number: &Number) -> Option<f64> {
    number.difference.map(|difference| 1.0 + difference).filter(|ratio| *ratio > 0.0)
}
