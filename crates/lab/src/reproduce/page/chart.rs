//! A chart in the page: its data for the script, and the same data as a table.

use super::colour::Coloured;
use crate::reproduce::figure::{Axis, Chart, Curve, Point, Scale, Source};
use crate::reproduce::value::{digits, half_width};

use super::text::{data, escape};

/// Returns the element that the script draws, and the table. `id` is unique in the page.
pub(super) fn drawn(id: &str, chart: &Chart) -> String {
    let chart = &zeroed(chart);
    let by_places = chart.curves.len() <= ABREAST && has_common_places(chart);
    format!(
        "<div class=\"plot\" id=\"{}\"><script type=\"application/json\">{}</script></div>\n<details><summary>Data</summary>\n\
         <table class=\"data\">\n{}</table></details>\n",
        escape(id),
        data(&Coloured::of(chart)),
        if by_places { table_of_places(chart) } else { table_of_points(chart) }
    )
}

/// With up to this number of curves, the table has a column for each, even on a narrow page. With
/// more, each point has a row.
const ABREAST: usize = 2;
/// Values below this fraction of a chart's largest value are rounding errors, and stand for zero.
const NOTHING: f64 = 1e-9;

/// Returns the chart with rounding errors set to zero.
fn zeroed(chart: &Chart) -> Chart {
    let mut chart = chart.clone();
    let largest =
        chart.curves.iter().flat_map(|curve| &curve.points).map(|point| point.y.abs()).fold(0.0, f64::max);
    for point in chart.curves.iter_mut().flat_map(|curve| &mut curve.points) {
        if point.y.abs() < NOTHING * largest {
            point.y = 0.0;
        }
        // An exact value has no interval.
        point.interval = point.interval.filter(|half| *half > 0.0);
    }
    chart
}

/// All positions on the axis at which a curve has a point.
fn places(chart: &Chart) -> Vec<f64> {
    let mut places: Vec<f64> =
        chart.curves.iter().flat_map(|curve| &curve.points).map(|point| point.x).collect();
    places.sort_by(f64::total_cmp);
    places.dedup();
    places
}

/// Whether one curve has points at all positions at which any curve has one.
fn has_common_places(chart: &Chart) -> bool {
    let most = chart.curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0);
    places(chart).len() == most
}

/// The table with a row for each position, and a column for each curve.
fn table_of_places(chart: &Chart) -> String {
    let curves = chart.curves.iter().map(|curve| heading(&name(curve)));
    let mut table = format!(
        "<thead><tr><th>{}</th>{}</tr></thead>\n<tbody>\n",
        escape(&titled(&chart.x)),
        curves.collect::<String>()
    );
    for place in places(chart) {
        let cells = chart.curves.iter().map(|curve| {
            let point = curve.points.iter().find(|point| point.x == place);
            format!("<td class=\"number\">{}</td>", point.map_or(String::new(), valued))
        });
        table += &format!("<tr><td>{}</td>{}</tr>\n", placed(&chart.x, place), cells.collect::<String>());
    }
    table + "</tbody>\n"
}

/// The table with a row for each point.
fn table_of_points(chart: &Chart) -> String {
    let mut table = format!(
        "<thead><tr><th>curve</th>{}{}</tr></thead>\n<tbody>\n",
        heading(&titled(&chart.x)),
        heading(&titled(&chart.y))
    );
    for curve in &chart.curves {
        for (at, point) in curve.points.iter().enumerate() {
            let label = curve.labels.get(at).map_or(String::new(), |label| format!(", {label}"));
            table += &format!(
                "<tr><td>{}{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td></tr>\n",
                escape(&name(curve)),
                escape(&label),
                placed(&chart.x, point.x),
                valued(point)
            );
        }
    }
    table + "</tbody>\n"
}

fn heading(text: &str) -> String {
    format!("<th class=\"number\">{}</th>", escape(text))
}

fn name(curve: &Curve) -> String {
    match curve.source {
        Source::Ratio => curve.of.clone(),
        source => format!("{}, {}", curve.of, source.name()),
    }
}

fn titled(axis: &Axis) -> String {
    if axis.unit.is_empty() { axis.label.clone() } else { format!("{} ({})", axis.label, axis.unit) }
}

fn placed(axis: &Axis, place: f64) -> String {
    match &axis.scale {
        Scale::Names(names) => {
            let name = names.iter().enumerate().find(|(number, _)| *number as f64 == place.round());
            escape(name.map_or("", |(_, name)| name))
        }
        Scale::Linear | Scale::Logarithmic => digits(place),
    }
}

fn valued(point: &Point) -> String {
    let interval = point.interval.map_or(String::new(), |half| format!(" ± {}", half_width(half)));
    digits(point.y) + &interval
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(x: Axis, curves: Vec<Curve>) -> Chart {
        Chart { x, y: Axis::linear("response", "ms"), curves }
    }

    #[test]
    fn curves_over_the_same_places_share_rows() {
        let model = Curve::new("RAID 5", Source::Model, [(1.0, 10.0), (2.0, 20.0)]);
        let simulated = Curve::simulated("RAID 5", [Point { x: 2.0, y: 21.5, interval: Some(0.25) }]);
        let drawn = drawn("f-0", &chart(Axis::linear("processes", ""), vec![model, simulated]));
        assert!(drawn.contains("<th>processes</th><th class=\"number\">RAID 5, model</th>"), "{drawn}");
        let row = "<tr><td>2</td><td class=\"number\">20</td><td class=\"number\">21.50 ± 0.25</td></tr>";
        assert!(drawn.contains(row), "{drawn}");
    }

    #[test]
    fn curves_over_places_of_their_own_have_a_row_a_point() {
        let one = Curve::new("a", Source::Model, [(1.0, 10.0)]);
        let other = Curve::new("b", Source::Model, [(1.5, 10.0)]);
        let drawn = drawn("f-0", &chart(Axis::linear("rate", "1/s"), vec![one, other]));
        assert!(drawn.contains("<th>curve</th><th class=\"number\">rate (1/s)</th>"), "{drawn}");
        assert!(drawn.contains("<tr><td>b, model</td><td class=\"number\">1.500</td>"), "{drawn}");
    }

    /// Regression test: stages that cancel had a sum of -3.55e-15 ms.
    #[test]
    fn what_binary_fractions_leave_is_zero() {
        let points = [(1.0, -3.55e-15), (2.0, 40.0), (3.0, 1e-7)];
        let drawn = drawn("f-0", &chart(Axis::linear("n", ""), vec![Curve::new("a", Source::Model, points)]));
        assert!(drawn.contains("<tr><td>1</td><td class=\"number\">0</td></tr>"), "{drawn}");
        assert!(drawn.contains("1.00e-7") && !drawn.contains("e-15"), "{drawn}");
    }

    #[test]
    fn no_table_has_more_columns_than_a_phone_shows() {
        let curve = |of: &str| Curve::new(of, Source::Model, [(1.0, 10.0), (2.0, 20.0)]);
        let drawn = drawn("f-0", &chart(Axis::linear("n", ""), ["a", "b", "c", "d"].map(curve).into()));
        let header = drawn.split("</thead>").next().expect("it has a head");
        assert_eq!(header.matches("<th").count() - header.matches("<thead").count(), 3, "{header}");
    }

    #[test]
    fn named_places_are_called_by_their_names() {
        let bars = Curve::new("simple model", Source::Model, [(0.0, 50.0), (1.0, 25.0)]);
        let drawn = drawn("f-0", &chart(Axis::names("", ["RAID 1", "RAID 5 <small>"]), vec![bars]));
        assert!(
            drawn.contains("<tr><td>RAID 5 &lt;small&gt;</td><td class=\"number\">25</td></tr>"),
            "{drawn}"
        );
    }
}
