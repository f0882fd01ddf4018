//! Simulated results compared with the models: peak loads (figures 21, 24 and 25), response times
//! (figure 23), and the airline's mix (figure 27); and the four numbers that the paper takes from
//! simulations.

use parlour_model::utilization::load::AIRLINE;
use parlour_model::utilization::{Model, Organization};

use super::example::{DISKS, Make, SUBLOGS, example, striped};
use super::runs::{KNOWN, above, chart, preread, rate, too_short};
use crate::figures::Figures;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use crate::reproduce::study::{Finding, Study};

type Panels = Result<Vec<Panel>, EvidenceError>;
type Draw = fn(&Evidence) -> Panels;

const STRIPING: &str = "stodolsky/figure-21";
const PEAKS: &str = "stodolsky/figure-23";
const LOADS: &str = "stodolsky/figure-23-load";
const AIRLINE_PEAKS: &str = "stodolsky/figure-27";
const AIRLINE_LOADS: &str = "stodolsky/figure-27-load";

/// The log striping of the array that is compared with other organizations (§8.1).
const STRIPED: u32 = 6;
/// The degrees of log striping that are simulated.
const SIMULATED: [&str; 9] = ["1", "2", "3", "4", "5", "6", "8", "10", "13"];
/// Think times, from light load to heavy load.
const THINKS: [&str; 7] = ["5000 ms", "1200 ms", "600 ms", "300 ms", "150 ms", "75 ms", "30 ms"];
const AIRLINE_THINKS: [&str; 3] = ["300 ms", "100 ms", "40 ms"];
/// How closely model and simulation agree according to §8.2, in percent.
const AGREEMENT: f64 = 5.0;

/// The organizations that the paper compares, by their names in the experiments.
const ORGANIZATIONS: [(&str, Make); 5] = [
    ("nonredundant", || Organization::Nonredundant),
    ("mirrored", || Organization::Mirrored),
    ("RAID 5", || Organization::Raid5),
    ("floating", || Organization::Floating),
    (LOGGING, || striped(STRIPED)),
];
const LOGGING: &str = "parity logging, bitmap";

pub(super) fn numbers(study: Study) -> Study {
    let experiments = [STRIPING, PEAKS, LOADS, AIRLINE_PEAKS, AIRLINE_LOADS];
    experiments
        .into_iter()
        .fold(study, Study::experiment)
        .number("st.resp14", later_than_mirroring)
        .number("st.third", saved_without_prereads)
        .number("st.fig25.scaled", farthest_model)
}

pub(super) fn figures(study: Study) -> Study {
    let all: [(&'static str, &[&str], Draw); 5] = [
        ("st.fig21", &[STRIPING], striping),
        ("st.fig23", &[LOADS, PEAKS], responses),
        ("st.fig24", &[PEAKS], utilizations),
        ("st.fig25", &[PEAKS], errors),
        ("st.fig27", &[AIRLINE_LOADS, AIRLINE_PEAKS], airline),
    ];
    all.into_iter().fold(study, |study, (id, experiments, draw)| {
        let commands = experiments.iter().map(|name| format!("parlour simulate experiments/{name}.toml"));
        study.figure(id, commands.collect::<Vec<_>>().join("\n"), draw)
    })
}

/// The additional response time of parity logging over mirroring in a lightly loaded array (§8.1).
fn later_than_mirroring(evidence: &Evidence) -> Result<Finding, EvidenceError> {
    let responses = |organization| {
        let figures = evidence.run(LOADS, &[KNOWN[0].0, THINKS[0], organization])?;
        Ok::<_, EvidenceError>(figures.response_ms)
    };
    let (logging, mirrored) = (responses(LOGGING)?, responses("mirrored")?);
    let idle = |organization| Ok::<_, EvidenceError>(example(organization, true)?.unloaded_response());
    let model = idle(striped(STRIPED))? - idle(Organization::Mirrored)?;
    let interval = logging.interval.zip(mirrored.interval).map(|(one, other)| f64::hypot(one, other));
    let simulated = Finding { interval, ..Finding::simulated(logging.mean - mirrored.mean) };
    let medians = logging.median - mirrored.median;
    Ok(simulated.with_model(model).because(format!(
        "in the mean there are writes that waited behind a reintegration's long accesses, which even a light load has; medians are \
         {medians:.1} ms apart"
    )))
}

/// The fraction of disk time that a write of parity logging saves if its old data is known (§8.1).
fn saved_without_prereads(evidence: &Evidence) -> Result<Finding, EvidenceError> {
    let saved = |blind: f64, known: f64| 1.0 - known / blind;
    let simulated = |known| {
        let figures = evidence.run(PEAKS, &[known, LOGGING])?;
        Ok::<_, EvidenceError>(figures.utilization / figures.throughput_per_member)
    };
    let modelled =
        |preread| Ok::<_, EvidenceError>(example(striped(STRIPED), preread)?.small_write().total());
    let [(blind, _), (known, _)] = KNOWN;
    let finding = Finding::simulated(saved(simulated(blind)?, simulated(known)?));
    let finding = finding.with_model(saved(modelled(true)?, modelled(false)?));
    Ok(match too_short(&example(striped(STRIPED), false)?, evidence.run(PEAKS, &[known, LOGGING])?) {
        Some(why) => finding.because(why),
        None => finding,
    })
}

fn rate_axis() -> Axis {
    Axis::linear("requests a disk", "1/s")
}

fn response_axis() -> Axis {
    Axis::linear("mean response time", "ms")
}

fn deviation_axis() -> Axis {
    Axis::linear("deviation of response times", "ms")
}

/// Figure 21.
fn striping(evidence: &Evidence) -> Panels {
    let (mut rates, mut responses, mut deviations) = (Vec::new(), Vec::new(), Vec::new());
    for (known, name) in KNOWN {
        let (mut rated, mut scaled, mut response, mut deviation) = (vec![], vec![], vec![], vec![]);
        for (sublogs, label) in SUBLOGS.map(|sublogs| (sublogs, sublogs.to_string())) {
            if !SIMULATED.contains(&label.as_str()) {
                continue;
            }
            let figures = evidence.run(STRIPING, &[known, &label])?;
            let x = f64::from(sublogs);
            let times = &figures.response_ms;
            let model = example(striped(sublogs), preread(known))?;
            rated.push(rate(x, figures));
            scaled.push((x, model.throughput_per_disk(figures.utilization)));
            response.push(Point { x, y: times.mean, interval: times.interval });
            deviation.push(Point { x, y: times.deviation, interval: None });
        }
        rates.push(Curve::simulated(name, rated));
        rates.push(Curve::new(format!("{name}, scaled by utilization"), Source::Model, scaled));
        responses.push(Curve::simulated(name, response));
        deviations.push(Curve::simulated(name, deviation));
    }
    let axis = || Axis::linear("sublogs of a region (L)", "");
    Ok(vec![
        chart("(a) throughput at peak load", axis(), Axis::linear("small writes a disk", "1/s"), rates),
        chart("(b) response time", axis(), response_axis(), responses),
        chart("(c) deviation", axis(), deviation_axis(), deviations),
    ])
}

/// The runs of an organization, from light load to the peak.
fn loaded<'a>(evidence: &'a Evidence, known: &str, name: &str) -> Result<Vec<&'a Figures>, EvidenceError> {
    let light = THINKS.into_iter().map(|think| evidence.run(LOADS, &[known, think, name]));
    light.chain([evidence.run(PEAKS, &[known, name])]).collect()
}

/// Figure 23. The models give only its bounds: the response time of an idle array, and the rate at
/// which disks are always busy.
fn responses(evidence: &Evidence) -> Panels {
    let mut panels = Vec::new();
    for (known, title) in KNOWN {
        let (mut means, mut deviations) = (Vec::new(), Vec::new());
        for (name, organization) in ORGANIZATIONS {
            let runs = loaded(evidence, known, name)?;
            let point =
                |figures: &&Figures, y, interval| Point { x: figures.throughput_per_member, y, interval };
            let mean = |run: &&Figures| point(run, run.response_ms.mean, run.response_ms.interval);
            means.push(Curve::simulated(name, runs.iter().map(mean)));
            let deviation = |run: &&Figures| point(run, run.response_ms.deviation, None);
            deviations.push(Curve::simulated(name, runs.iter().map(deviation)));
            let highest = runs.iter().map(|run| run.response_ms.mean).fold(0.0, f64::max);
            let model = example(organization(), preread(known))?;
            means.push(Curve::new(name, Source::Model, bounds(&model, highest)));
        }
        panels.push(chart(&format!("response times {title}"), rate_axis(), response_axis(), means));
        panels.push(chart(&format!("deviation {title}"), rate_axis(), deviation_axis(), deviations));
    }
    Ok(panels)
}

fn bounds(model: &Model, highest: f64) -> [(f64, f64); 3] {
    let (idle, most) = (model.unloaded_response(), model.throughput_per_disk(1.0));
    [(0.0, idle), (most, idle), (most, highest.max(idle))]
}

fn names() -> Axis {
    Axis::names("organization", ORGANIZATIONS.map(|(name, _)| name))
}

/// Figure 24.
fn utilizations(evidence: &Evidence) -> Panels {
    let mut curves = Vec::new();
    for (known, title) in KNOWN {
        let mut points = Vec::new();
        for (x, (name, _)) in (0..).map(f64::from).zip(ORGANIZATIONS) {
            let y = 100.0 * evidence.run(PEAKS, &[known, name])?.utilization;
            points.push(Point { x, y, interval: None });
        }
        curves.push(Curve::simulated(title, points));
    }
    let chart = Chart { x: names(), y: Axis::linear("disks busy at peak load", "%"), curves };
    Ok(vec![Panel::only(Content::Chart(chart))])
}

/// The largest deviation of a model from the simulated peak, at the utilization that was achieved,
/// in percent.
fn farthest_model(evidence: &Evidence) -> Result<Finding, EvidenceError> {
    let mut farthest = (0.0, None, String::new());
    for (known, title) in KNOWN {
        for (name, organization) in ORGANIZATIONS {
            let figures = evidence.run(PEAKS, &[known, name])?;
            let model = example(organization(), preread(known))?;
            let Point { y, interval, .. } = above(&model, figures, figures.utilization);
            if y.abs() > farthest.0 {
                farthest = (y.abs(), interval, format!("the farthest is {name}, {title}"));
            }
        }
    }
    let (y, interval, which) = farthest;
    let found = Finding { interval, ..Finding::simulated(y) };
    Ok(found.noted(which.clone()).because(which))
}

/// Figure 25, scaled as in the paper and unscaled.
fn errors(evidence: &Evidence) -> Panels {
    let (mut scaled, mut unscaled, mut beyond) = (Vec::new(), Vec::new(), Vec::new());
    for (known, title) in KNOWN {
        let (mut of_scaled, mut of_unscaled) = (Vec::new(), Vec::new());
        for (x, (name, organization)) in (0..).map(f64::from).zip(ORGANIZATIONS) {
            let figures = evidence.run(PEAKS, &[known, name])?;
            let model = example(organization(), preread(known))?;
            let error = above(&model, figures, figures.utilization);
            of_scaled.push(Point { x, ..error });
            of_unscaled.push(Point { x, ..above(&model, figures, 1.0) });
            if error.y.abs() > AGREEMENT {
                let why = explained(&model, figures);
                beyond.push(format!("{name}, {title}: {:+.1}%:\n  {why}\n", error.y));
            }
        }
        scaled.push(Curve::simulated(title, of_scaled));
        unscaled.push(Curve::simulated(title, of_unscaled));
    }
    let axis = || Axis::linear("model above simulation", "%");
    let mut panels = vec![
        chart("scaled by the utilization that was achieved, as in the paper", names(), axis(), scaled),
        chart("unscaled: the model at full utilization", names(), axis(), unscaled),
    ];
    if !beyond.is_empty() {
        let title = format!("beyond the paper's {AGREEMENT:.0}%");
        panels.push(Panel::titled(title, Content::Drawing(beyond.concat())));
    }
    Ok(panels)
}

/// Why the model of an organization deviates, if the reason is known.
fn explained(model: &Model, figures: &Figures) -> String {
    too_short(model, figures).unwrap_or_else(|| "not explained".to_owned())
}

/// The organizations of figure 27 by their names in the experiments, and whether old data is known.
const AIRLINE_ORGANIZATIONS: [(&str, Make, bool); 6] = [
    ("nonredundant", || Organization::Nonredundant, false),
    ("mirrored", || Organization::Mirrored, false),
    ("RAID 5", || Organization::Raid5, false),
    ("RAID 5, known", || Organization::Raid5, true),
    ("parity logging", || striped(STRIPED), false),
    ("parity logging, known", || striped(STRIPED), true),
];

/// Figure 27. The models cover only first come, first served.
fn airline(evidence: &Evidence) -> Panels {
    let queues = [("fcfs", "FIFO"), ("cvscan", "CVSCAN")];
    let mut panels = Vec::new();
    for (queue, title) in queues {
        let mut curves = Vec::new();
        for (name, organization, known) in AIRLINE_ORGANIZATIONS {
            let light = AIRLINE_THINKS.map(|think| evidence.run(AIRLINE_LOADS, &[queue, think, name]));
            let peak = evidence.run(AIRLINE_PEAKS, &[queue, name]);
            let runs = light.into_iter().chain([peak]).collect::<Result<Vec<_>, _>>()?;
            let point = |run: &Figures| {
                let times = &run.response_ms;
                Point { x: run.throughput_per_member, y: times.mean, interval: times.interval }
            };
            curves.push(Curve::simulated(name, runs.iter().map(|run| point(run))));
            if let (true, Some(peak)) = (queue == "fcfs", runs.last()) {
                let model = example(organization(), !known)?;
                let whole = model.mix_throughput(&AIRLINE, peak.utilization);
                let rate = whole.map_err(EvidenceError::model)? / f64::from(DISKS);
                curves.push(Curve::new(name, Source::Model, [(rate, peak.response_ms.mean)]));
            }
        }
        panels.push(chart(title, rate_axis(), response_axis(), curves));
    }
    Ok(panels)
}
