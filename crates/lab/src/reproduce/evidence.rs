//! What is known before anything is judged: what the papers print, and what the simulations have
//! shown.

use std::error::Error;

use super::library::Library;
use crate::figures::Figures;

/// All that models and figures may look at.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// What the papers print.
    pub library: Library,
    /// What was simulated, each experiment once.
    pub experiments: Vec<Experimented>,
}

/// An experiment that was run.
#[derive(Clone, Debug)]
pub struct Experimented {
    /// Its place below `experiments/`.
    pub name: String,
    /// What was swept.
    pub axes: Vec<String>,
    /// Its runs, in the order of the axes.
    pub runs: Vec<Run>,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Run {
    /// By axis: its value.
    pub values: Vec<String>,
    /// What it has shown, or why it shows nothing.
    pub figures: Result<Figures, String>,
}

/// Why something was not found.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// Nothing of the kind is printed.
    #[error("papers/published.json has no number '{0}'")]
    NoNumber(String),
    /// It was not simulated.
    #[error("experiments/{0}.toml was not run: name it among the experiments of the paper")]
    NoExperiment(String),
    /// There was no such run.
    #[error("experiments/{experiment}.toml has no run with {values}")]
    NoRun {
        /// Of which experiment.
        experiment: String,
        /// With which values.
        values: String,
    },
    /// The run gave no figures.
    #[error("experiments/{experiment}.toml, with {values}: {why}")]
    Failed {
        /// Of which experiment.
        experiment: String,
        /// With which values.
        values: String,
        /// What it says.
        why: String,
    },
    /// A model refuses what it was asked.
    #[error(transparent)]
    Model(Box<dyn Error + Send + Sync>),
}

impl EvidenceError {
    /// A model's refusal: `model(…).map_err(EvidenceError::model)`.
    pub fn model(error: impl Error + Send + Sync + 'static) -> EvidenceError {
        EvidenceError::Model(Box::new(error))
    }
}

impl Evidence {
    /// The number that is printed under this name.
    ///
    /// # Errors
    /// There is none, or it is no single number.
    pub fn published(&self, id: &str) -> Result<f64, EvidenceError> {
        let number = self.library.number(id).and_then(|published| published.value.number());
        number.ok_or_else(|| EvidenceError::NoNumber(id.to_owned()))
    }

    /// What was shown by the experiment of this name.
    ///
    /// # Errors
    /// It was not run.
    pub fn experiment(&self, name: &str) -> Result<&Experimented, EvidenceError> {
        let experiment = self.experiments.iter().find(|experiment| experiment.name == name);
        experiment.ok_or_else(|| EvidenceError::NoExperiment(name.to_owned()))
    }

    /// What was shown by its run with these values of its axes, in their order.
    ///
    /// # Errors
    /// There was no such run, or it gave no figures.
    pub fn run(&self, experiment: &str, values: &[&str]) -> Result<&Figures, EvidenceError> {
        self.experiment(experiment)?.run(values)
    }
}

impl Experimented {
    /// What was shown by the run with these values.
    ///
    /// # Errors
    /// There was no such run, or it gave no figures.
    pub fn run(&self, values: &[&str]) -> Result<&Figures, EvidenceError> {
        let run = self.runs.iter().find(|run| run.values == values);
        let run = run.ok_or_else(|| EvidenceError::NoRun {
            experiment: self.name.clone(),
            values: values.join(", "),
        })?;
        self.figures(run)
    }

    /// What was shown by one of its runs.
    ///
    /// # Errors
    /// It gave no figures.
    pub fn figures<'a>(&self, run: &'a Run) -> Result<&'a Figures, EvidenceError> {
        run.figures.as_ref().map_err(|why| EvidenceError::Failed {
            experiment: self.name.clone(),
            values: run.values.join(", "),
            why: why.clone(),
        })
    }
}
