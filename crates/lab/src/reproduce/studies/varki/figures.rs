//! The figures of the paper: layouts, and mean response times over siblings and processes.

use parlour_array::LogCreation;

use super::grid::{Cell, Maximum, each, grid, mean_error};
use super::hardware::UNITS;
use crate::reproduce::drawing::{self, Parity};
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Point, Source};
use crate::reproduce::study::Study;
use crate::settings::{OrganizationSettings, RotationName};

/// The multiprogramming levels of the curves over k.
const PROCESSES: [u32; 4] = [1, 4, 10, 20];
/// The numbers of disks of a request for the curves over the multiprogramming level.
const SIBLINGS: [u32; 5] = [1, 4, 7, 14, 21];
/// The upper bound of the paper's mean error, in percent (§4).
const PUBLISHED: &str = "the paper's mean, at the most";
const AT_MOST: f64 = 6.0;

/// Figure 1.
const MODEL: &str = "\
                    disk array: K disks

                    ┌─▶ ▯▯▯ disk 1 ─┐
                    │               │
            ┌──────▶├─▶ ▯▯▯ disk 2 ─┤──────┐
            │  fork │       ⋮       │ join │
            │  to k └─▶ ▯▯▯ disk K ─┘ of k │
            │                              │
            │      think time: Z           │
            └──────── ○ ○ ○ ○ ○ ◀──────────┘
                     m processes
";

const LAYOUT: &str =
    "parlour layout --organization raid5 --rotation left-symmetric --members 8 --parity stripe --rows 8";

/// Figure 2, as far as the text describes it.
const CONFIGURATION: &str = "\
main system
  ├── SCSI bus ── ▯ ▯ ▯ ▯ ▯ ▯ ▯ ▯   group 0: drives 0 to 7
  ├── SCSI bus ── ▯ ▯ ▯ ▯ ▯ ▯ ▯ ▯   group 1: drives 8 to 15
  └── SCSI bus ── ▯ ▯ ▯ ▯ ▯ ▯ ▯ ▯   group 2: drives 16 to 23
";
/// The number of drives of a group: seven data units and one parity unit in a row.
const GROUP: u16 = 8;

pub(super) fn figures(study: Study) -> Study {
    let command = format!("parlour simulate experiments/{UNITS}.toml\nparlour reproduce varki --report out");
    study
        .figure("va.fig1", "parlour reproduce varki --report out", |_| {
            Ok(vec![Panel::only(Content::Drawing(MODEL.to_owned()))])
        })
        .figure("va.fig2", LAYOUT, |_| {
            let settings = OrganizationSettings {
                organization: Some("raid5".to_owned()),
                rotation: Some(RotationName::LeftSymmetric),
                ..Default::default()
            };
            let group = drawing::array(&settings, GROUP, LogCreation::default())?;
            let rows = drawing::units(&group, GROUP.into(), Parity::Stripe);
            Ok(vec![
                Panel::titled(
                    "buses: a guess, the text does not say how many",
                    Content::Drawing(CONFIGURATION.to_owned()),
                ),
                Panel::titled("a group, left-symmetric", Content::Drawing(rows)),
            ])
        })
        .figure("va.fig3", command.clone(), |evidence| panels(evidence, |think| think == 0.0))
        .figure("va.fig4", command, |evidence| panels(evidence, |think| think > 0.0))
}

/// Response times by size, over k and over the processes; then the model's errors.
fn panels(evidence: &Evidence, thinks: fn(f64) -> bool) -> Result<Vec<Panel>, EvidenceError> {
    let cells: Vec<Cell> = grid(evidence)?.into_iter().filter(|cell| thinks(cell.think)).collect();
    let by_size: Vec<&[Cell]> = cells.chunk_by(|one, next| one.load.size == next.load.size).collect();
    let against = |chart: fn(&[Cell]) -> Chart, by: &'static str| {
        by_size.iter().map(move |cells| {
            let title = format!("Requests of {}, {by}", cells[0].load.size);
            Panel::titled(title, Content::Chart(chart(cells)))
        })
    };
    let responses = against(against_siblings, "by disks").chain(against(against_processes, "by processes"));
    let errors = [
        Panel::titled("Mean error of the model, by disks", Content::Chart(errors_by_siblings(&cells))),
        Panel::titled("Mean error of the model, by load", Content::Chart(errors_by_load(&cells))),
    ];
    Ok(responses.chain(errors).collect())
}

fn response() -> Axis {
    Axis::linear("mean response", "ms")
}

fn disks() -> Axis {
    Axis::linear("disks that a request spans, k", "")
}

fn against_siblings(cells: &[Cell]) -> Chart {
    let siblings = |cell: &Cell| f64::from(cell.load.siblings.get());
    let curves = PROCESSES.into_iter().flat_map(|processes| {
        let cells = cells.iter().filter(move |cell| cell.processes == processes);
        pair(&format!("m = {processes}"), cells, siblings)
    });
    Chart { x: disks(), y: response(), curves: curves.collect() }
}

fn against_processes(cells: &[Cell]) -> Chart {
    let curves = SIBLINGS.into_iter().flat_map(|siblings| {
        let cells = cells.iter().filter(move |cell| cell.load.siblings.get() == siblings);
        pair(&format!("k = {siblings}"), cells, |cell| f64::from(cell.processes))
    });
    Chart { x: Axis::linear("processes, m", ""), y: response(), curves: curves.collect() }
}

/// The curves of the paper's model and of the simulated array.
fn pair<'a>(of: &str, cells: impl Iterator<Item = &'a Cell> + Clone, x: fn(&Cell) -> f64) -> [Curve; 2] {
    let simulated = cells.clone().map(|cell| Point {
        x: x(cell),
        y: cell.simulated.mean,
        interval: cell.simulated.interval,
    });
    [
        Curve::new(of, Source::Model, cells.clone().map(|cell| (x(cell), cell.model(Maximum::Printed)))),
        Curve::simulated(of, simulated),
    ]
}

/// The position on the horizontal axis of some cells' mean, and the cells.
type Part<'a> = (f64, Vec<&'a Cell>);

fn errors_by_siblings(cells: &[Cell]) -> Chart {
    let parts = each(cells, |cell| cell.load.siblings).into_iter().map(|siblings| {
        let of = cells.iter().filter(|cell| cell.load.siblings == siblings);
        (f64::from(siblings.get()), of.collect())
    });
    errors(disks(), &parts.collect::<Vec<Part>>())
}

fn errors_by_load(cells: &[Cell]) -> Chart {
    let sizes = each(cells, |cell| cell.load.size.as_str());
    let parts = sizes
        .iter()
        .enumerate()
        .map(|(number, size)| (number as f64, cells.iter().filter(|cell| cell.load.size == *size).collect()));
    let parts: Vec<Part> = parts.collect();
    errors(Axis::names("size of requests", sizes), &parts)
}

/// The mean errors of the model by the distribution of the last sibling's time, and the paper's.
fn errors(x: Axis, parts: &[Part]) -> Chart {
    let ours = Maximum::ALL.map(|maximum| {
        let points = parts.iter().map(|(x, cells)| (*x, mean_error(cells.iter().copied(), maximum)));
        Curve::new(maximum.name(), Source::Model, points)
    });
    let published = Curve::new(PUBLISHED, Source::Published, parts.iter().map(|(x, _)| (*x, AT_MOST)));
    Chart { x, y: Axis::linear("mean error", "%"), curves: ours.into_iter().chain([published]).collect() }
}
