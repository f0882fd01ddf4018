//! The figures, whose bars and lines show table I's numbers.

use super::measured::{FIGURE_8, HOSTS, additional, time_of_host, time_with};
use super::printed::{SIZES, printed, sizes};
use crate::figures::Interval;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use crate::reproduce::study::Study;
use crate::reproduce::value::digits;

/// The volumes of a figure, by rows of table I: with narrow stripe units, and with wide ones. For a
/// volume without stripes, both are the same row.
struct Volumes {
    name: &'static str,
    narrow: usize,
    wide: usize,
}

const fn volumes(name: &'static str, narrow: usize, wide: usize) -> Volumes {
    Volumes { name, narrow, wide }
}

/// Figures 2 and 3.
const STRIPED: [Volumes; 3] =
    [volumes("4 disks", 13, 9), volumes("5 disks", 11, 5), volumes("6 disks", 8, 2)];
/// Figures 4 and 5.
const SIX: [Volumes; 3] = [volumes("RAID 0", 8, 2), volumes("two RAID 0", 7, 4), volumes("simple", 6, 6)];
/// Figures 6 and 7.
const REDUNDANT: [Volumes; 3] =
    [volumes("RAID 5", 14, 10), volumes("RAID 0+1", 3, 1), volumes("simple", 6, 6)];
/// The largest number of files in figure 8.
const MOST_FILES: u32 = 12;
/// The names of figure 8's rows.
const NAMES_8: [&str; 4] = ["RAID 5", "RAID 0", "RAID 0+1", "simple"];

/// Adds all figures to the study.
pub(super) fn drawn(study: Study) -> Study {
    let command = |name: &str| format!("parlour simulate experiments/{name}.toml");
    let files = command("hauser/files");
    let both = format!("{files}\n{}", command(HOSTS));
    study
        .figure("ha.fig1", &*files, |_| Ok(vec![Panel::titled("Sizes of the study's files", drawn_sizes())]))
        .figure("ha.fig2", &*files, |evidence| Ok(vec![Panel::only(retrieval(evidence, &STRIPED)?)]))
        .figure("ha.fig3", &*files, |evidence| Ok(vec![Panel::only(added(evidence, &STRIPED)?)]))
        .figure("ha.fig4", &*both, |evidence| {
            let hosts = Panel::titled("Hosts that ask otherwise, one process", hosts(evidence, "1")?);
            Ok(vec![Panel::titled("Average retrieval time", retrieval(evidence, &SIX)?), hosts])
        })
        .figure("ha.fig5", &*both, |evidence| {
            let hosts = Panel::titled("Hosts that ask otherwise, twelve processes", hosts(evidence, "12")?);
            Ok(vec![Panel::titled("Additional time", added(evidence, &SIX)?), hosts])
        })
        .figure("ha.fig6", &*files, |evidence| Ok(vec![Panel::only(retrieval(evidence, &REDUNDANT)?)]))
        .figure("ha.fig7", &*files, |evidence| Ok(vec![Panel::only(added(evidence, &REDUNDANT)?)]))
        .figure("ha.fig8", files, together)
}

fn point(x: f64, Interval { mean, interval }: Interval) -> Point {
    Point { x, y: mean, interval }
}

/// The ten sizes of the study, with equally many files of each. MIRS's own distribution is printed
/// only as a drawing.
fn drawn_sizes() -> Content {
    let share = 100.0 / f64::from(SIZES.2);
    let points = sizes().enumerate().map(|(place, _)| (place as f64, share));
    let x = Axis::names("size in KB", sizes().map(digits));
    let curves = vec![Curve::new("files of the study", Source::Model, points)];
    Content::Chart(Chart { x, y: Axis::linear("of all files", "%"), curves })
}

/// Average retrieval times.
fn retrieval(evidence: &Evidence, volumes: &[Volumes]) -> Result<Content, EvidenceError> {
    let printed = |row| Ok(printed(evidence, row)?.retrieval);
    bars(volumes, "average retrieval time", printed, |row| time_with(evidence, row, 1))
}

/// Additional times per file per process.
fn added(evidence: &Evidence, volumes: &[Volumes]) -> Result<Content, EvidenceError> {
    let printed = |row| Ok(printed(evidence, row)?.additional);
    bars(volumes, "additional time per file per process", printed, |row| additional(evidence, row))
}

/// Our values and the printed ones, for narrow and wide stripe units.
fn bars(
    volumes: &[Volumes],
    what: &str,
    printed: impl Fn(usize) -> Result<f64, EvidenceError>,
    found: impl Fn(usize) -> Result<Interval, EvidenceError>,
) -> Result<Content, EvidenceError> {
    type Row = fn(&Volumes) -> usize;
    let widths: [(&str, Row); 2] = [("16 KB", |volumes| volumes.narrow), ("160 KB", |volumes| volumes.wide)];
    let mut curves = Vec::new();
    for (width, row) in widths {
        let places = || volumes.iter().enumerate().map(|(place, volumes)| (place as f64, row(volumes)));
        let theirs = places().map(|(place, row)| Ok((place, printed(row)?)));
        curves.push(Curve::new(width, Source::Published, theirs.collect::<Result<Vec<_>, EvidenceError>>()?));
        let ours = places().map(|(place, row)| Ok(point(place, found(row)?)));
        curves.push(Curve::simulated(width, ours.collect::<Result<Vec<_>, EvidenceError>>()?));
    }
    let x = Axis::names("volumes", volumes.iter().map(|volumes| volumes.name));
    Ok(Content::Chart(Chart { x, y: Axis::linear(what, "s"), curves }))
}

/// The times of files with hosts other than the one of the main experiment: hosts that read more or
/// fewer blocks before a file, and that read it in parts of other sizes.
fn hosts(evidence: &Evidence, processes: &str) -> Result<Content, EvidenceError> {
    let mut hosts: Vec<&str> =
        evidence.experiment(HOSTS)?.runs.iter().map(|run| run.values[0].as_str()).collect();
    hosts.dedup();
    let curve = |volumes: &str| {
        let times = hosts.iter().enumerate();
        let times = times
            .map(|(place, host)| Ok(point(place as f64, time_of_host(evidence, host, volumes, processes)?)));
        Ok(Curve::simulated(volumes, times.collect::<Result<Vec<_>, EvidenceError>>()?))
    };
    let volumes = ["RAID 0, 16 KB", "RAID 0, 160 KB", "six simple"];
    let curves = volumes.into_iter().map(curve).collect::<Result<Vec<_>, EvidenceError>>()?;
    let y = Axis::linear("average retrieval time", "s");
    Ok(Content::Chart(Chart { x: Axis::names("host", hosts), y, curves }))
}

/// Total retrieval times of several files: from table I's indicators, and by simulation.
fn together(evidence: &Evidence) -> Result<Vec<Panel>, EvidenceError> {
    let (mut sequential, mut concurrent) = (Vec::new(), Vec::new());
    for (name, row) in NAMES_8.into_iter().zip(FIGURE_8) {
        let (indicators, single) = (printed(evidence, row)?, time_with(evidence, row, 1)?);
        let model = |time: &dyn Fn(u32) -> f64| {
            Curve::new(name, Source::Model, (1..=MOST_FILES).map(|files| (f64::from(files), time(files))))
        };
        sequential.push(model(&|files| indicators.sequential(files)));
        concurrent.push(model(&|files| indicators.concurrent(files)));
        let after_one_another = (1..=MOST_FILES).map(|files| {
            let Interval { mean, interval } = single;
            let files = f64::from(files);
            point(files, Interval { mean: mean * files, interval: interval.map(|half| half * files) })
        });
        sequential.push(Curve::simulated(name, after_one_another));
        let at_once =
            (1..=MOST_FILES).map(|files| Ok(point(f64::from(files), time_with(evidence, row, files)?)));
        concurrent.push(Curve::simulated(name, at_once.collect::<Result<Vec<_>, EvidenceError>>()?));
    }
    let chart = |curves| {
        Content::Chart(Chart {
            x: Axis::linear("files", ""),
            y: Axis::linear("total retrieval time", "s"),
            curves,
        })
    };
    Ok(vec![
        Panel::titled("One after the other (the model is table I's times)", chart(sequential)),
        Panel::titled("All at once (the model is table I's times)", chart(concurrent)),
    ])
}
