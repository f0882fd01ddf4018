//! Figure 30: the rate of small writes of arrays that survive several failures. The paper has the
//! models; beside them stands what is simulated.

use parlour_model::utilization::{Array, Model, Organization};

use super::example::{blind, model, striped};
use super::logging::surviving;
use super::runs::{KNOWN, above, chart, preread, rate, too_short};
use crate::figures::Figures;
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Content, Curve, Panel, Point, Source};
use crate::reproduce::study::Study;

const EXPERIMENT: &str = "stodolsky/figure-30";

/// Makes an organization whose array survives so many failures.
type Make = fn(u32) -> Organization;

/// The organizations, by their names in the experiment. All copies of a log are on six disks.
const ORGANIZATIONS: [(&str, Make); 4] = [
    ("mirrored", |_| Organization::Mirrored),
    ("RAID 5", |_| Organization::Raid5),
    ("floating", |_| Organization::Floating),
    ("parity logging", |failures| striped(6 / failures)),
];
/// The numbers of failures that are survived.
const FAILURES: [u32; 3] = [1, 2, 3];

pub(super) fn figures(study: Study) -> Study {
    let command = format!("parlour simulate experiments/{EXPERIMENT}.toml");
    study.experiment(EXPERIMENT).figure("st.fig30", command, draw)
}

fn draw(evidence: &Evidence) -> Result<Vec<Panel>, EvidenceError> {
    let mut panels = Vec::new();
    for known in KNOWN {
        panels.push(rates(evidence, known)?);
    }
    for known in KNOWN {
        panels.push(errors(evidence, known)?);
    }
    let short = too_short_runs(evidence)?;
    if !short.is_empty() {
        panels.push(Panel::titled("parity logging", Content::Drawing(short)));
    }
    Ok(panels)
}

/// Which runs of parity logging do not measure the cost of reintegrations.
fn too_short_runs(evidence: &Evidence) -> Result<String, EvidenceError> {
    let mut lines = String::new();
    let (name, organization) = ORGANIZATIONS[ORGANIZATIONS.len() - 1];
    for (known, title) in KNOWN {
        for failures in FAILURES {
            let figures = run(evidence, known, name, failures)?;
            let model = survivor(organization(failures), failures, preread(known), figures)?;
            if let Some(why) = too_short(&model, figures) {
                lines += &format!("{failures} survived, {title}: {why}\n");
            }
        }
    }
    Ok(lines)
}

/// The runs of an organization: the nonredundant array, and those that survive so many failures.
fn run<'a>(
    evidence: &'a Evidence,
    known: &str,
    organization: &str,
    failures: u32,
) -> Result<&'a Figures, EvidenceError> {
    match failures {
        0 => evidence.run(EXPERIMENT, &[known, "nonredundant"]),
        some => evidence.run(EXPERIMENT, &[known, &format!("{organization}, {some}")]),
    }
}

fn failures_axis() -> Axis {
    Axis::linear("failures survived", "")
}

/// The rates of models at full utilization, as in the paper, and the simulated ones.
fn rates(evidence: &Evidence, (known, title): (&str, &str)) -> Result<Panel, EvidenceError> {
    let none = blind(Organization::Nonredundant)?.throughput_per_disk(1.0);
    let mut curves = Vec::new();
    for (name, organization) in ORGANIZATIONS {
        let mut modelled = vec![(0.0, none)];
        for failures in FAILURES {
            modelled.push((failures.into(), surviving(organization(failures), failures, preread(known))?));
        }
        curves.push(Curve::new(name, Source::Model, modelled));
        let mut simulated = Vec::new();
        for failures in 0..=3 {
            simulated.push(rate(failures.into(), run(evidence, known, name, failures)?));
        }
        curves.push(Curve::simulated(name, simulated));
    }
    Ok(chart(title, failures_axis(), Axis::linear("small writes a disk", "1/s"), curves))
}

/// By how much models are above what is simulated, at the utilization that was achieved.
fn errors(evidence: &Evidence, (known, title): (&str, &str)) -> Result<Panel, EvidenceError> {
    let mut curves = Vec::new();
    for (name, organization) in ORGANIZATIONS {
        let mut points = Vec::new();
        for failures in FAILURES {
            let figures = run(evidence, known, name, failures)?;
            let model = survivor(organization(failures), failures, preread(known), figures)?;
            points.push(Point { x: failures.into(), ..above(&model, figures, figures.utilization) });
        }
        curves.push(Curve::simulated(name, points));
    }
    let title = format!("{title}: scaled by the utilization that was achieved");
    Ok(chart(&title, failures_axis(), Axis::linear("model above simulation", "%"), curves))
}

/// The model of the array that was simulated.
fn survivor(
    organization: Organization,
    failures: u32,
    preread: bool,
    figures: &Figures,
) -> Result<Model, EvidenceError> {
    let disks = (figures.throughput.mean / figures.throughput_per_member).round() as u32;
    model(Array { failures, preread, disks, ..Array::example(organization) })
}
