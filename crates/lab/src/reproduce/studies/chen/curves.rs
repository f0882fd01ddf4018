//! Figures 4 to 9: arrays under load.

use parlour_model::raid::efficiency::{Alignment, mixed};
use parlour_model::raid::{Direction, Level};

use super::figures::{REQUESTS, at_names, relative_throughput, simple_model, simulate};
use super::machine::{self, LEVELS, REDUNDANT, array};
use super::shown::{self, DISTRIBUTED, EQUAL, FIXED, LOAD, MIXED, SCALING, SIZES_EQUAL};
use crate::figures::Interval;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use crate::reproduce::study::Study;
use crate::reproduce::value::Says;

const THROUGHPUT: (&str, &str) = ("throughput per disk", "MB/s");
const RESPONSE: (&str, &str) = ("90th percentile of response times", "ms");
/// The number of steps of a model's curve over the fraction of reads.
const STEPS: u32 = 20;

pub(super) fn of(study: Study) -> Study {
    study
        .figure("ch.fig4", simulate("figure-4"), |evidence| panels(|request| throughput(evidence, request)))
        .figure("ch.fig5", format!("{}\n{}", simulate("figure-4"), simulate("scaling")), |evidence| {
            let maximum = relative_throughput(&FIXED, maximum(evidence)?);
            Ok(vec![
                Panel::titled("maximum throughput", Content::Chart(maximum)),
                Panel::titled(
                    "individual requests as disks scale, with two processors (section 5)",
                    Content::Chart(scaling(evidence)?),
                ),
            ])
        })
        .figure("ch.fig6", simulate("figure-4"), |evidence| panels(|request| parts(evidence, request)))
        .figure("ch.fig7", format!("{}\n{}", simulate("figure-4"), simulate("figure-7")), |evidence| {
            let curves =
                before_and_after(evidence, "at the maximum", "at equal response times", |request| {
                    (Before::Most(FIXED[request]), (EQUAL, FIXED[request]))
                })?;
            Ok(vec![Panel::only(Content::Chart(relative_throughput(&FIXED, curves)))])
        })
        .figure("ch.fig8", format!("{}\n{}", simulate("figure-7"), simulate("figure-8")), |evidence| {
            let mut curves = before_and_after(evidence, "fixed sizes", "distributed sizes", |request| {
                (Before::Equal(FIXED[request]), (SIZES_EQUAL, DISTRIBUTED[request]))
            })?;
            curves.extend(distributed_model(evidence)?);
            curves.extend(distributed_published(evidence)?);
            Ok(vec![Panel::only(Content::Chart(relative_throughput(&DISTRIBUTED, curves)))])
        })
        .figure("ch.fig9", simulate("figure-9"), |evidence| {
            let large = mixture(evidence, "large", |level, direction| {
                machine::large_throughput(evidence, level, direction, Alignment::Unaligned)
            })?;
            let small = mixture(evidence, "small", |level, direction| {
                machine::small_throughput(evidence, level, direction)
            })?;
            Ok(vec![
                Panel::titled("(a) large requests; model: of saturated disks", Content::Chart(large)),
                Panel::titled("(b) small requests; model: of saturated disks", Content::Chart(small)),
            ])
        })
}

/// A panel for each of the four kinds of requests.
fn panels(chart: impl Fn(&str) -> Result<Chart, EvidenceError>) -> Result<Vec<Panel>, EvidenceError> {
    let letters = ["(a)", "(b)", "(c)", "(d)"];
    let panel = |(letter, request): (&str, &str)| {
        Ok(Panel::titled(format!("{letter} {request}"), Content::Chart(chart(request)?)))
    };
    letters.into_iter().zip(FIXED).map(panel).collect()
}

/// Figure 4.
fn throughput(evidence: &Evidence, request: &str) -> Result<Chart, EvidenceError> {
    let curve = |(_, level): (Level, &str)| loaded(evidence, request, level, |shown| shown);
    Ok(Chart {
        x: Axis::logarithmic(RESPONSE.0, RESPONSE.1),
        y: Axis::linear(THROUGHPUT.0, THROUGHPUT.1),
        curves: LEVELS.into_iter().map(curve).collect::<Result<_, _>>()?,
    })
}

/// Figure 6. The text prints two of its points, at the target of 200 ms.
fn parts(evidence: &Evidence, request: &str) -> Result<Chart, EvidenceError> {
    let curve = |(_, level): (Level, &str)| {
        // All points are relative to the same maximum; its interval does not widen theirs.
        let most = Interval { interval: Some(0.0), ..shown::most(evidence, LOAD, &[request, level])? };
        loaded(evidence, request, level, |shown| shown::percent(shown, most))
    };
    let mut curves = LEVELS.into_iter().map(curve).collect::<Result<Vec<_>, _>>()?;
    if request == FIXED[0] {
        let target = evidence.published("ch.tgt.individual")?;
        for (level, id) in [("RAID 0", "ch.max.r0"), ("RAID 5", "ch.max.r5")] {
            curves.push(Curve::new(level, Source::Published, [(target, evidence.published(id)?)]));
        }
    }
    Ok(Chart {
        x: Axis::logarithmic(RESPONSE.0, RESPONSE.1),
        y: Axis::linear("part of the maximum throughput", "%"),
        curves,
    })
}

/// The throughput over response times, with a growing number of requests under way.
fn loaded(
    evidence: &Evidence,
    request: &str,
    level: &str,
    shown_as: impl Fn(Interval) -> Interval,
) -> Result<Curve, EvidenceError> {
    let runs = shown::runs(evidence, LOAD, &[request, level])?;
    let points =
        runs.iter().map(|(_, run)| shown::point(run.response_ms.p90, shown_as(shown::per_disk(run))));
    Ok(Curve::simulated(level, points))
}

/// Figure 5: the simple model, the adjusted model, and the measured maximum.
fn maximum(evidence: &Evidence) -> Result<Vec<Curve>, EvidenceError> {
    let times = machine::disk_times(evidence)?;
    let mut curves = Vec::new();
    for (mut simple, (level, name)) in simple_model()?.into_iter().zip(REDUNDANT) {
        simple.of = format!("{name}, by accesses");
        curves.push(simple);
        let array = array(level)?;
        let part = |(direction, request)| 100.0 * times.relative_throughput(array, direction, request);
        curves.push(Curve::new(format!("{name}, by disk-time"), Source::Model, at_names(REQUESTS.map(part))));
        curves.push(relative(
            name,
            |request, level| shown::most(evidence, LOAD, &[FIXED[request], level]),
            name,
        )?);
    }
    curves.push(Curve::new("RAID 5", Source::Published, [(0.0, evidence.published("ch.28")?)]));
    curves.push(read_published(evidence)?);
    Ok(curves)
}

/// "Ranging from 112% - 115%", of RAID 1's reads (section 7.2).
fn read_published(evidence: &Evidence) -> Result<Curve, EvidenceError> {
    let id = "ch.raid1.read";
    let says = evidence.library.number(id).map(|number| number.value.says());
    let Some(Says::Range(least, most)) = says else { return Err(EvidenceError::NoNumber(id.to_owned())) };
    let (middle, half) = ((most.value + least.value) / 2.0, (most.value - least.value) / 2.0);
    let reads = [1.0, 3.0].map(|x| Point { x, y: middle, interval: Some(half) });
    Ok(Curve { points: reads.to_vec(), ..Curve::new("RAID 1", Source::Published, []) })
}

/// The throughput of a level for each of four kinds of requests, relative to RAID 0.
fn relative(
    level: &str,
    throughput: impl Fn(usize, &str) -> Result<Interval, EvidenceError>,
    name: impl Into<String>,
) -> Result<Curve, EvidenceError> {
    let point = |request| {
        let part = shown::percent(throughput(request, level)?, throughput(request, LEVELS[0].1)?);
        Ok(shown::point(request as f64, part))
    };
    let points = (0..FIXED.len()).map(point).collect::<Result<Vec<_>, EvidenceError>>()?;
    Ok(Curve::simulated(name, points))
}

/// The throughput per disk over the number of disks, for individual requests.
fn scaling(evidence: &Evidence) -> Result<Chart, EvidenceError> {
    let mut curves = Vec::new();
    for (reads, way) in [("0.0", "writes"), ("1.0", "reads")] {
        let runs = shown::runs(evidence, SCALING, &[reads])?;
        for (_, level) in LEVELS {
            let of_level = runs.iter().filter(|(machine, _)| machine.starts_with(level));
            let points =
                of_level.map(|(_, run)| shown::point(run.members.len() as f64, shown::per_disk(run)));
            curves.push(Curve::simulated(format!("{level}, {way}"), points));
        }
    }
    let (x, y) = (Axis::linear("disks", ""), Axis::linear(THROUGHPUT.0, THROUGHPUT.1));
    Ok(Chart { x, y, curves })
}

/// The first setting of figures 7 and 8.
enum Before {
    /// The maximum throughput of these requests.
    Most(&'static str),
    /// The throughput of these requests at equal response times.
    Equal(&'static str),
}

/// Figures 7 and 8: throughput relative to RAID 0 in two settings.
fn before_and_after(
    evidence: &Evidence,
    before: &str,
    after: &str,
    settings: impl Fn(usize) -> (Before, (&'static str, &'static str)),
) -> Result<Vec<Curve>, EvidenceError> {
    let mut curves = Vec::new();
    for (_, level) in REDUNDANT {
        let first = |request, level: &str| match settings(request).0 {
            Before::Most(of) => shown::most(evidence, LOAD, &[of, level]),
            Before::Equal(of) => shown::of(evidence, EQUAL, &[of, level]),
        };
        curves.push(relative(level, first, format!("{level}, {before}"))?);
        let second = |request, level: &str| {
            let (_, (experiment, of)) = settings(request);
            shown::of(evidence, experiment, &[of, level])
        };
        curves.push(relative(level, second, format!("{level}, {after}"))?);
    }
    Ok(curves)
}

/// Figure 8, computed from disk times.
fn distributed_model(evidence: &Evidence) -> Result<Vec<Curve>, EvidenceError> {
    let throughput = |level, request: usize| match request {
        0 => machine::small_throughput(evidence, level, Direction::Write),
        1 => machine::small_throughput(evidence, level, Direction::Read),
        2 => machine::large_throughput(evidence, level, Direction::Write, Alignment::Aligned),
        _ => machine::large_throughput(evidence, level, Direction::Read, Alignment::Aligned),
    };
    let curve = |(level, name): (Level, &str)| {
        let mut points = Vec::new();
        for request in 0..DISTRIBUTED.len() {
            let part = throughput(level, request)? / throughput(Level::Raid0, request)?;
            points.push((request as f64, 100.0 * part));
        }
        Ok(Curve::new(format!("{name}, distributed sizes"), Source::Model, points))
    };
    REDUNDANT.into_iter().map(curve).collect()
}

/// The statements of section 8.1 on large requests to RAID 5.
fn distributed_published(evidence: &Evidence) -> Result<Vec<Curve>, EvidenceError> {
    let (writes, reads) = (2.0, 3.0);
    let read = 100.0 - evidence.published("ch.5pct")?;
    let written = evidence.published("ch.80")?;
    Ok(vec![
        Curve::new("RAID 5, fixed sizes", Source::Published, [(writes, evidence.published("ch.90")?)]),
        Curve::new("RAID 5, distributed sizes", Source::Published, [(writes, written), (reads, read)]),
    ])
}

/// Figure 9: throughput over the fraction of reads.
fn mixture(
    evidence: &Evidence,
    request: &str,
    throughput: impl Fn(Level, Direction) -> Result<f64, EvidenceError>,
) -> Result<Chart, EvidenceError> {
    let mut curves = Vec::new();
    for (level, name) in LEVELS {
        let (read, write) = (throughput(level, Direction::Read)?, throughput(level, Direction::Write)?);
        let parts = (0..=STEPS).map(|step| f64::from(step) / f64::from(STEPS));
        let model = parts.map(|reads| (100.0 * reads, mixed(read, write, reads)));
        curves.push(Curve::new(name, Source::Model, model));
        let runs = shown::runs(evidence, MIXED, &[request, name])?;
        let points = runs
            .iter()
            .map(|(reads, run)| shown::point(shown::percent_of_reads(reads), shown::per_disk(run)));
        curves.push(Curve::simulated(name, points));
    }
    Ok(Chart { x: Axis::linear("reads", "%"), y: Axis::linear(THROUGHPUT.0, THROUGHPUT.1), curves })
}
