//! The paper's figures of layouts, of the simple model and of lifetimes. Figures of arrays under
//! load are in [`curves`](super::curves).

use parlour_array::LogCreation;
use parlour_model::raid::efficiency::efficiency;
use parlour_model::raid::lifetime::Lifetime;
use parlour_model::raid::{Direction, Level, Request};

use super::machine::{self, FULL, INDIVIDUAL, LEVELS, REDUNDANT, array};
use super::shown::{self, FIXED, LOAD};
use crate::figures::Figures;
use crate::reproduce::drawing::{self, Parity};
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::figure::{Axis, Chart, Content, Curve, Panel, Source};
use crate::reproduce::study::Study;
use crate::settings::{OrganizationSettings, RotationName};

/// The data disks of figure 1, and the number of rows drawn.
const DRAWN: (u16, usize) = (4, 5);
/// The stages of figure 3, and their sum.
const STAGES: [&str; 6] = ["request overhead", "I/O CPU", "disconnect", "synchronization", "connect", "all"];

pub(super) fn of(study: Study) -> Study {
    let layouts = LAYOUTS.map(|(_, options, _, members)| {
        format!(
            "parlour layout --organization {options} --members {members} --parity stripe --rows {}",
            DRAWN.1
        )
    });
    study
        .figure("ch.fig1", layouts.join("\n"), |_| three_layouts())
        .figure("ch.fig2", "parlour reproduce chen --report out", |evidence| {
            let mut curves = simple_model()?;
            // The only percentage of this figure that the text prints as a number.
            curves.push(Curve::new("RAID 5", Source::Published, [(0.0, evidence.published("ch.small25")?)]));
            Ok(vec![Panel::only(Content::Chart(relative_throughput(&FIXED, curves)))])
        })
        .figure("ch.fig3", simulate("figure-4"), lifetimes)
}

/// The command that shows the numbers of an experiment.
pub(super) fn simulate(experiment: &str) -> String {
    format!("parlour simulate experiments/chen/{experiment}.toml")
}

/// A chart of throughput in percent of RAID 0's, by request.
pub(super) fn relative_throughput(requests: &[&str], curves: Vec<Curve>) -> Chart {
    Chart {
        x: Axis::names("requests", requests.iter().copied()),
        y: Axis::linear("throughput per disk, relative to RAID 0", "%"),
        curves,
    }
}

/// Figure 1's arrays: title, options, rotation, members.
const LAYOUTS: [(&str, &str, Option<RotationName>, u16); 3] = [
    ("RAID level 0", "raid0", None, DRAWN.0),
    ("RAID level 1", "raid01", None, 2 * DRAWN.0),
    ("RAID level 5", "raid5 --rotation right-asymmetric", Some(RotationName::RightAsymmetric), DRAWN.0 + 1),
];

fn three_layouts() -> Result<Vec<Panel>, EvidenceError> {
    let panel = |(title, options, rotation, members): (&str, &str, Option<RotationName>, u16)| {
        let organization = options.split_whitespace().next().map(str::to_owned);
        let settings = OrganizationSettings { organization, rotation, ..Default::default() };
        let array = drawing::array(&settings, members, LogCreation::default())?;
        let drawn = drawing::units(&array, DRAWN.1, Parity::Stripe);
        Ok(Panel::titled(title, Content::Drawing(drawn)))
    };
    LAYOUTS.into_iter().map(panel).collect()
}

/// The requests that `FIXED` names.
pub(super) const REQUESTS: [(Direction, Request); 4] = [
    (Direction::Write, INDIVIDUAL),
    (Direction::Read, INDIVIDUAL),
    (Direction::Write, FULL),
    (Direction::Read, FULL),
];

/// The values as points of an axis of names.
pub(super) fn at_names<const N: usize>(values: [f64; N]) -> impl Iterator<Item = (f64, f64)> {
    values.into_iter().enumerate().map(|(place, value)| (place as f64, value))
}

/// Figure 2: efficiencies by counting accesses.
pub(super) fn simple_model() -> Result<Vec<Curve>, EvidenceError> {
    let curve = |(level, name): (Level, &str)| {
        let array = array(level)?;
        let part = |(direction, request)| 100.0 * efficiency(array, direction, request);
        Ok(Curve::new(name, Source::Model, at_names(REQUESTS.map(part))))
    };
    REDUNDANT.into_iter().map(curve).collect()
}

/// Figure 3, with a panel for each kind of request.
fn lifetimes(evidence: &Evidence) -> Result<Vec<Panel>, EvidenceError> {
    let panel = |(name, request): (&str, (Direction, Request))| {
        let mut curves = Vec::new();
        for (level, level_name) in LEVELS {
            let model = modelled(evidence, level, request)?;
            curves.push(Curve::new(level_name, Source::Model, at_names(stages(model))));
            let shown = shown::idle(evidence, LOAD, name, level_name)?;
            let shown = simulated(evidence, shown, request.1, accesses(level, request))?;
            curves.push(Curve::new(level_name, Source::Simulated, at_names(stages(shown))));
        }
        let (x, y) = (Axis::names("stage", STAGES), Axis::linear("time", "ms"));
        Ok(Panel::titled(name, Content::Chart(Chart { x, y, curves })))
    };
    FIXED.into_iter().zip(REQUESTS).map(panel).collect()
}

fn modelled(
    evidence: &Evidence,
    level: Level,
    (direction, request): (Direction, Request),
) -> Result<Lifetime, EvidenceError> {
    let overhead = if request.units == INDIVIDUAL.units { "ch.ovh.ind" } else { "ch.ovh.full" };
    let idle = machine::idle(evidence, overhead)?;
    idle.lifetime(array(level)?, direction, request.units).map_err(EvidenceError::model)
}

/// The largest difference, in percent, between the mean response time of an idle machine and the
/// sum of its stages, over all levels and requests, and where it occurs. Synchronization is
/// computed, the other stages are simulated (section 7.1).
pub(super) fn farthest_sum(evidence: &Evidence) -> Result<(f64, String), EvidenceError> {
    let mut farthest = (0.0, String::new());
    for (name, request) in FIXED.into_iter().zip(REQUESTS) {
        for (level, level_name) in LEVELS {
            let run = shown::idle(evidence, LOAD, name, level_name)?;
            let stages = Lifetime {
                synchronization: modelled(evidence, level, request)?.synchronization,
                ..simulated(evidence, run, request.1, accesses(level, request))?
            };
            let apart = 100.0 * (stages.total() / run.response_ms.mean - 1.0).abs();
            if apart > farthest.0 {
                let stages = stages.total();
                let which =
                    format!("{name} of {level_name}: {stages:.1} ms of {:.1} ms", run.response_ms.mean);
                farthest = (apart, which);
            }
        }
    }
    Ok(farthest)
}

/// The number of accesses to each disk that a request makes in sequence. A small write of RAID 5
/// reads first.
fn accesses(level: Level, (direction, request): (Direction, Request)) -> f64 {
    match (level, direction, request.units) {
        (Level::Raid5, Direction::Write, 1) => 2.0,
        _ => 1.0,
    }
}

/// The stages of the mean response time. A request's overhead is that of the system and the time
/// that its accesses wait for processors; the remainder of the time, its disks wait for each other.
fn simulated(
    evidence: &Evidence,
    shown: &Figures,
    request: Request,
    accesses: f64,
) -> Result<Lifetime, EvidenceError> {
    let overhead = if request.units == INDIVIDUAL.units { "ch.ovh.ind" } else { "ch.ovh.busy" };
    let time = &shown.access_ms;
    let stages = Lifetime {
        overhead: evidence.published(overhead)? + accesses * shown::waited_for_processors(shown),
        io_cpu: accesses * machine::IO_CPU_MS,
        disconnect: accesses * (time.seek + time.rotation),
        synchronization: 0.0,
        connect: accesses * time.transfer,
    };
    Ok(Lifetime { synchronization: shown.response_ms.mean - stages.total(), ..stages })
}

fn stages(lifetime: Lifetime) -> [f64; 6] {
    let Lifetime { overhead, io_cpu, disconnect, synchronization, connect } = lifetime;
    [overhead, io_cpu, disconnect, synchronization, connect, lifetime.total()]
}
