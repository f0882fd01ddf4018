//! The grid of §4: each run of `experiments/varki/units.toml` beside what the model says of it.

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

/// K: drives of the array (§3.1).
pub(super) const DISKS: u32 = 24;

/// How long the last of k siblings takes: what the model is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Maximum {
    /// p + σ√(2 ln k) + t, as printed.
    Printed,
    /// Normal positioning, and its exact maximum.
    Normal,
    /// The drive's own times, each sibling's for itself.
    Independent,
    /// The drive's own times of siblings that go to one place of each drive, as in an array.
    Together,
}

/// A request of a size, in so many units of so many sectors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Load {
    pub(super) size: String,
    pub(super) siblings: NonZeroU32,
    pub(super) sectors: u64,
}

/// How long drives take for a load.
pub(super) struct Times {
    /// The fork and join, by `Maximum::ALL`.
    phases: [Phase; Maximum::ALL.len()],
    /// A unit on a drive.
    pub(super) unit: Distribution,
}

/// A run, and the model beside it. Times are in ms.
#[derive(Clone, Debug)]
pub(super) struct Cell {
    pub(super) load: Load,
    pub(super) think: f64,
    pub(super) processes: u32,
    pub(super) requests: u64,
    /// Mean response of the simulated array.
    pub(super) simulated: Interval,
    /// And of the model, by `Maximum::ALL`.
    pub(super) model: [f64; Maximum::ALL.len()],
}

/// A run's values are none of the grid.
#[derive(Debug, thiserror::Error)]
#[error(
    "experiments/{UNITS}.toml: '{0}' is no run of the grid; a load is named '128KiB/4/64', a time to think 'none' or '30 ms'"
)]
struct Unnamed(String);

impl Maximum {
    pub(super) const ALL: [Maximum; 4] =
        [Maximum::Printed, Maximum::Normal, Maximum::Independent, Maximum::Together];

    /// What people call it.
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

    /// What models take of it. That takes some time, and numbers and figures ask for the same: it
    /// is worked out once.
    pub(super) fn times(&self) -> Result<Arc<Times>, EvidenceError> {
        static KNOWN: Mutex<BTreeMap<(NonZeroU32, u64), Arc<Times>>> = Mutex::new(BTreeMap::new());
        // What is in it is whole, whatever became of others who looked.
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
    /// Mean response by the model.
    pub(super) fn model(&self, maximum: Maximum) -> f64 {
        let at = Maximum::ALL.iter().position(|one| *one == maximum).expect("ALL has all of them");
        self.model[at]
    }

    /// How far the model is off, as a part of what was simulated.
    fn error(&self, maximum: Maximum) -> f64 {
        (self.model(maximum) / self.simulated.mean - 1.0).abs()
    }
}

/// What models say of a load, with so much thinking.
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

/// All runs.
pub(super) fn grid(evidence: &Evidence) -> Result<Vec<Cell>, EvidenceError> {
    let experiment = evidence.experiment(UNITS)?;
    // Runs of one load and time to think follow one another.
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

/// A run by its values: what is asked for, how long processes think in ms, and how many there are.
fn named(values: &[String]) -> Option<(Load, f64, u32)> {
    let [load, think, processes] = values else { return None };
    let think = match think.as_str() {
        "none" => 0.0,
        thinks => thinks.strip_suffix(" ms")?.parse().ok()?,
    };
    Some((Load::parse(load)?, think, processes.parse().ok()?))
}

/// Each value of something, in the order in which it first comes.
pub(super) fn each<'a, T: PartialEq>(cells: &'a [Cell], of: impl Fn(&'a Cell) -> T) -> Vec<T> {
    cells.iter().fold(Vec::new(), |mut found, cell| {
        let value = of(cell);
        if !found.contains(&value) {
            found.push(value);
        }
        found
    })
}

/// The mean error over some cells, in percent.
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
        // All runs draw from one seed, so nobody knows how they hang together: of a mean it is
        // never less sure than so.
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
