//! The evidence for verdicts: the papers' printed numbers, and the results of the simulations.

use std::error::Error;

use super::library::Library;
use crate::figures::Figures;

/// All the data that models and figures can use.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The papers' printed numbers.
    pub library: Library,
    /// The results of the simulations, each experiment once.
    pub experiments: Vec<Experimented>,
}

/// An experiment with its results.
#[derive(Clone, Debug)]
pub struct Experimented {
    /// Its path below `experiments/`, without `.toml`.
    pub name: String,
    /// The titles of its axes.
    pub axes: Vec<String>,
    /// Its runs, in the order of the axes.
    pub runs: Vec<Run>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    /// The value of each axis.
    pub values: Vec<String>,
    /// The figures, or the reason why there are none.
    pub figures: Result<Figures, String>,
}

/// Why a piece of evidence was not found.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The papers' data have no such number.
    #[error("papers/published.json has no number '{0}'")]
    NoNumber(String),
    /// The experiment was not run.
    #[error("experiments/{0}.toml was not run: name it among the experiments of the paper")]
    NoExperiment(String),
    /// The experiment has no such run.
    #[error("experiments/{experiment}.toml has no run with {values}")]
    NoRun {
        /// The experiment.
        experiment: String,
        /// The values of its axes.
        values: String,
    },
    /// The run gave no figures.
    #[error("experiments/{experiment}.toml, with {values}: {why}")]
    Failed {
        /// The experiment.
        experiment: String,
        /// The values of its axes.
        values: String,
        /// The reason.
        why: String,
    },
    /// A model refuses its input.
    #[error(transparent)]
    Model(Box<dyn Error + Send + Sync>),
}

impl EvidenceError {
    /// Wraps the error of a model: `model(…).map_err(EvidenceError::model)`.
    pub fn model(error: impl Error + Send + Sync + 'static) -> EvidenceError {
        EvidenceError::Model(Box::new(error))
    }
}

impl Evidence {
    /// Returns the printed number with this id.
    ///
    /// # Errors
    /// There is no such number, or it is a range or a bound.
    pub fn published(&self, id: &str) -> Result<f64, EvidenceError> {
        let number = self.library.number(id).and_then(|published| published.value.number());
        number.ok_or_else(|| EvidenceError::NoNumber(id.to_owned()))
    }

    /// Returns the results of the experiment with this name.
    ///
    /// # Errors
    /// The experiment was not run.
    pub fn experiment(&self, name: &str) -> Result<&Experimented, EvidenceError> {
        let experiment = self.experiments.iter().find(|experiment| experiment.name == name);
        experiment.ok_or_else(|| EvidenceError::NoExperiment(name.to_owned()))
    }

    /// Returns the results of an experiment's run with these values of its axes, in their order.
    ///
    /// # Errors
    /// There is no such run, or it gave no figures.
    pub fn run(&self, experiment: &str, values: &[&str]) -> Result<&Figures, EvidenceError> {
        self.experiment(experiment)?.run(values)
    }
}

impl Experimented {
    /// Returns the results of the run with these values.
    ///
    /// # Errors
    /// There is no such run, or it gave no figures.
    pub fn run(&self, values: &[&str]) -> Result<&Figures, EvidenceError> {
        let run = self.runs.iter().find(|run| run.values == values);
        let run = run.ok_or_else(|| EvidenceError::NoRun {
            experiment: self.name.clone(),
            values: values.join(", "),
        })?;
        self.figures(run)
    }

    /// Returns the results of a run of this experiment.
    ///
    /// # Errors
    /// The run gave no figures.
    pub fn figures<'a>(&self, run: &'a Run) -> Result<&'a Figures, EvidenceError> {
        run.figures.as_ref().map_err(|why| EvidenceError::Failed {
            experiment: self.name.clone(),
            values: run.values.join(", "),
            why: why.clone(),
        })
    }
}
