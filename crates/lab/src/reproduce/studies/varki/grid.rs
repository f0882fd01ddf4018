//! The grid of §4: each run of `experiments/varki/units.toml` with the model's prediction for it.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use parlour_model::fork_join::{Network, Phase};
use parlour_model::order::Distribution;
use parlour_model::service::{Access, Pattern, Service, Work, service};

use super::hardware::{UNITS, drive};
use crate::figures::{Figures, Interval};
use crate::reproduce::evidence::{Evidence, EvidenceError};
use crate::reproduce::study::{Finding, Study};

/// K: the number of drives of the array (§3.1).
pub(super) const DISKS: u32 = 24;

/// The model's assumption about the time of the last of k siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maximum {
    /// p + σ√(2 ln k) + t, as printed.
    Printed,
    /// Normally distributed positioning, and its exact maximum.
    Normal,
    /// The drive's own times, independent for each sibling.
    Independent,
    /// The drive's own times for siblings at the same position of each drive, as in an array.
    Together,
}

/// A request of a size: the number of its units, and the sectors of each.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) size: String,
    pub(super) siblings: NonZeroU32,
    pub(super) sectors: u64,
}

/// The drives' times for a load.
pub(super) struct Times {
    /// The fork and join, in the order of `Maximum::ALL`.
    phases: [Phase; Maximum::ALL.len()],
    /// The time of a unit on a drive.
    pub(super) unit: Distribution,
}

/// A run with the model's predictions. Times are in milliseconds.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) load: Load,
    pub(super) think: f64,
    pub(super) processes: u32,
    pub(super) requests: u64,
    /// The mean response time of the simulated array.
    pub(super) simulated: Interval,
    /// The mean response time of the model, in the order of `Maximum::ALL`.
    pub(super) model: [f64; Maximum::ALL.len()],
}

/// The error for a run whose values are not in the grid.
#[derive(Debug, thiserror::Error)]
#[error(
    "experiments/{UNITS}.toml: '{0}' is no run of the grid; a load is named '128KiB/4/64', a time to think 'none' or '30 ms'"
)]
struct Unnamed(String);

impl Maximum {
    pub(super) const ALL: [Maximum; 4] =
        [Maximum::Printed, Maximum::Normal, Maximum::Independent, Maximum::Together];

    /// Its name in the report.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Maximum::Printed => "σ√(2 ln k), as printed",
            Maximum::Normal => "exact, of normal times",
            Maximum::Independent => "exact, of the drive's own times",
            Maximum::Together => "the same, siblings at one place",
        }
    }

    /// The fork and join of a load.
    fn phase(self, service: &Service, siblings: NonZeroU32) -> Result<Phase, EvidenceError> {
        Ok(match self {
            Maximum::Printed => Phase::new(siblings, &service.printed().map_err(EvidenceError::model)?),
            Maximum::Normal => Phase::new(siblings, &service.normal().map_err(EvidenceError::model)?),
            Maximum::Independent => Phase::new(siblings, &service.distribution),
            Maximum::Together => service.phase(siblings, f64::from(siblings.get()) / f64::from(DISKS)),
        })
    }
}

impl Load {
    fn parse(name: &str) -> Option<Load> {
        let mut parts = name.split('/');
        let (size, siblings, sectors) = (parts.next()?, parts.next()?, parts.next()?);
        let load =
            Load { size: size.to_owned(), siblings: siblings.parse().ok()?, sectors: sectors.parse().ok()? };
        parts.next().is_none().then_some(load)
    }

    /// The drives' times for this load. They take long to compute and are needed for several
    /// numbers and figures, so they are computed once and kept.
    pub(super) fn times(&self) -> Result<Arc<Times>, EvidenceError> {
        static KNOWN: Mutex<BTreeMap<(NonZeroU32, u64), Arc<Times>>> = Mutex::new(BTreeMap::new());
        // Every entry of the map is complete, even if another thread has panicked.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (self.siblings, self.sectors);
        match known.get(&key) {
            Some(times) => Ok(Arc::clone(times)),
            None => {
                let times = Arc::new(Times::of(self)?);
                known.insert(key, Arc::clone(&times));
                Ok(times)
            }
        }
    }
}

impl Times {
    fn of(load: &Load) -> Result<Times, EvidenceError> {
        let (mechanics, electronics) = drive()?;
        let access = Access { work: Work::Read, blocks: load.sectors, pattern: Pattern::Uniform };
        let service = service(&mechanics, &electronics, access).map_err(EvidenceError::model)?;
        let [printed, normal, independent, together] =
            Maximum::ALL.map(|maximum| maximum.phase(&service, load.siblings));
        Ok(Times { phases: [printed?, normal?, independent?, together?], unit: service.distribution })
    }
}

impl Cell {
    /// The model's mean response time.
    pub(super) fn model(&self, maximum: Maximum) -> f64 {
        let at = Maximum::ALL.iter().position(|one| *one == maximum).expect("ALL has all of them");
        self.model[at]
    }

    /// The model's error, as a fraction of the simulated response time.
    fn error(&self, maximum: Maximum) -> f64 {
        (self.model(maximum) / self.simulated.mean - 1.0).abs()
    }
}

/// The model's networks for a load and a think time.
struct Modelled {
    load: Load,
    think: f64,
    networks: [Network; Maximum::ALL.len()],
}

impl Modelled {
    fn of(load: Load, think: f64) -> Result<Modelled, EvidenceError> {
        let network = |phase| Network::new(DISKS, phase, think).map_err(EvidenceError::model);
        let [printed, normal, independent, together] = load.times()?.phases.map(network);
        let networks = [printed?, normal?, independent?, together?];
        Ok(Modelled { load, think, networks })
    }

    fn cell(&self, processes: u32, figures: &Figures) -> Result<Cell, EvidenceError> {
        let mut model = [0.0; Maximum::ALL.len()];
        for (response, network) in model.iter_mut().zip(&self.networks) {
            *response = network.with(processes).map_err(EvidenceError::model)?.response;
        }
        let simulated = Interval { mean: figures.response_ms.mean, interval: figures.response_ms.interval };
        let (load, think) = (self.load.clone(), self.think);
        Ok(Cell { load, think, processes, requests: figures.requests, simulated, model })
    }
}

/// Returns all runs.
pub(super) fn grid(evidence: &Evidence) -> Result<Vec<Cell>, EvidenceError> {
    let experiment = evidence.experiment(UNITS)?;
    // The runs of one load and think time are consecutive.
    let mut modelled: Option<Modelled> = None;
    let cells = experiment.runs.iter().map(|run| {
        let unnamed = || EvidenceError::model(Unnamed(run.values.join(", ")));
        let (load, think, processes) = named(&run.values).ok_or_else(unnamed)?;
        let known = modelled.take().filter(|known| known.load == load && known.think == think);
        let known = modelled.insert(match known {
            Some(known) => known,
            None => Modelled::of(load, think)?,
        });
        known.cell(processes, experiment.figures(run)?)
    });
    cells.collect()
}

/// Parses the values of a run: the load, the think time in milliseconds, and the number of
/// processes.
fn named(values: &[String]) -> Option<(Load, f64, u32)> {
    let [load, think, processes] = values else { return None };
    let think = match think.as_str() {
        "none" => 0.0,
        thinks => thinks.strip_suffix(" ms")?.parse().ok()?,
    };
    Some((Load::parse(load)?, think, processes.parse().ok()?))
}

/// The distinct values of the cells, in the order of their first occurrence.
pub(super) fn each<'a, T: PartialEq>(cells: &'a [Cell], of: impl Fn(&'a Cell) -> T) -> Vec<T> {
    cells.iter().fold(Vec::new(), |mut found, cell| {
        let value = of(cell);
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}

/// The mean error of these cells, in percent.
pub(super) fn mean_error<'a>(cells: impl IntoIterator<Item = &'a Cell>, maximum: Maximum) -> f64 {
    mean(cells.into_iter().map(|cell| cell.error(maximum) * 100.0))
}

/// The mean of some values.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

pub(super) fn numbers(study: Study) -> Study {
    study.experiment(UNITS).number("va.6pct", |evidence| {
        let cells = grid(evidence)?;
        let error = mean_error(&cells, Maximum::Printed);
        // All runs use one seed, so their correlation is unknown. The mean of the half widths is an
        // upper bound of the half width of the mean.
        let halves: Option<Vec<f64>> =
            cells.iter().map(|cell| Some(cell.simulated.interval? / cell.simulated.mean * 100.0)).collect();
        let interval = halves.map(mean);
        let found = Finding::estimated(Interval { mean: error, interval });
        Ok(found.noted(format!("{}; {}; {}", by_load(&cells), by_siblings(&cells), by_maximum(&cells))))
    })
}

fn by_load(cells: &[Cell]) -> String {
    let errors = each(cells, |cell| cell.load.size.as_str()).into_iter().map(|size| {
        let error = mean_error(cells.iter().filter(|cell| cell.load.size == size), Maximum::Printed);
        format!("{error:.1}% of {size}")
    });
    format!("by load {}", errors.collect::<Vec<_>>().join(", "))
}

fn by_siblings(cells: &[Cell]) -> String {
    let errors = each(cells, |cell| cell.load.siblings).into_iter().map(|siblings| {
        let error = mean_error(cells.iter().filter(|cell| cell.load.siblings == siblings), Maximum::Printed);
        format!("{siblings}: {error:.1}")
    });
    format!("by k in % {}", errors.collect::<Vec<_>>().join(", "))
}

fn by_maximum(cells: &[Cell]) -> String {
    let errors = Maximum::ALL.map(|maximum| format!("{:.2}% {}", mean_error(cells, maximum), maximum.name()));
    let farthest = cells.iter().map(|cell| cell.error(Maximum::Printed) * 100.0).fold(0.0, f64::max);
    format!("by the last sibling's time {}; single points up to {farthest:.0}%", errors.join(", "))
}
