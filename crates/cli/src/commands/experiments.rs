//! The experiment files of `parlour simulate`, `parlour model` and `parlour reliability`, and the
//! common parts of their answers.

use std::path::{Path, PathBuf};

use clap::Args;
use parlour_lab::experiment::build::BuildError;
use parlour_lab::experiment::prepared::Prepared;
use parlour_lab::experiment::{Experiment, ExperimentError, Point};
use parlour_lab::reliability::{self, ReliabilityError};
use serde::Serialize;

/// Which experiments, and what is otherwise in them.
#[derive(Args, Debug)]
pub(super) struct Files {
    /// Files of experiments
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Set a key of all files otherwise, as workload.processes=8; an axis of this key is then not
    /// swept
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// Why experiments have no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FilesError {
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error("{path}{labels}: {source}", path = .path.display())]
    Build { path: PathBuf, labels: String, source: BuildError },
    #[error("{0} of {1} gave no figures")]
    NoFigures(usize, String),
    #[error("of {0} of {1} closed forms say nothing")]
    NoModel(usize, String),
    #[error("{path}{labels}: {source}", path = .path.display())]
    Reliability { path: PathBuf, labels: String, source: Box<ReliabilityError> },
    #[error("no reliability of {0} of {1}")]
    NotAssessed(usize, String),
}

/// An experiment. For each run: the values of its axes, and everything that the run needs.
pub(super) struct Ready {
    points: Points,
    pub(super) prepared: Vec<Prepared>,
}

/// An experiment. For each run: the values of its axes, and the resulting settings.
pub(super) struct Points {
    experiment: Experiment,
    pub(super) points: Vec<Point>,
}

/// An experiment and the results of its runs.
#[derive(Serialize)]
pub(super) struct Shown<T> {
    pub(super) file: String,
    title: String,
    about: Option<String>,
    pub(super) axes: Vec<String>,
    pub(super) runs: Vec<Run<T>>,
}

/// The result of one run.
#[derive(Serialize)]
pub(super) struct Run<T> {
    /// The value of each axis.
    pub(super) values: Vec<String>,
    #[serde(flatten)]
    pub(super) shown: T,
}

impl Files {
    /// Reads all files. Errors in any file are reported before the first run starts. `besides` sets
    /// one more key in all of them.
    pub(super) fn prepare(&self, besides: Option<String>) -> Result<Vec<Ready>, FilesError> {
        let set: Vec<String> = self.set.iter().cloned().chain(besides).collect();
        self.files.iter().map(|file| Points::of(file, &set)?.prepare()).collect()
    }

    /// Reads all files, for their arrays' reliability. Errors in any file are reported first.
    pub(super) fn arrays(&self) -> Result<Vec<Points>, FilesError> {
        self.files.iter().map(|file| Points::of(file, &self.set)?.checked()).collect()
    }
}

impl Points {
    fn of(file: &Path, set: &[String]) -> Result<Points, FilesError> {
        let experiment = Experiment::load(file, set)?;
        let points = experiment.points()?;
        Ok(Points { experiment, points })
    }

    fn prepare(self) -> Result<Ready, FilesError> {
        let prepared = self.points.iter().map(|point| {
            point.setup.prepare(self.path()).map_err(|source| FilesError::Build {
                path: self.path().to_owned(),
                labels: with(&self.experiment.named(&point.labels)),
                source,
            })
        });
        Ok(Ready { prepared: prepared.collect::<Result<_, _>>()?, points: self })
    }

    fn checked(self) -> Result<Points, FilesError> {
        for point in &self.points {
            reliability::check(&point.setup, self.path()).map_err(|source| FilesError::Reliability {
                path: self.path().to_owned(),
                labels: with(&self.experiment.named(&point.labels)),
                source: Box::new(source),
            })?;
        }
        Ok(self)
    }

    pub(super) fn path(&self) -> &Path {
        &self.experiment.path
    }

    /// Combines the experiment with the results of its runs.
    pub(super) fn shown<T>(&self, shown: impl IntoIterator<Item = T>) -> Shown<T> {
        let runs = self.points.iter().zip(shown);
        Shown {
            file: self.experiment.path.display().to_string(),
            title: self.experiment.title.clone(),
            about: self.experiment.about.clone(),
            axes: self.experiment.axes.iter().map(|axis| axis.title.clone()).collect(),
            runs: runs.map(|(point, shown)| Run { values: point.labels.clone(), shown }).collect(),
        }
    }
}

impl Ready {
    /// Combines the experiment with the results of its runs.
    pub(super) fn shown<T>(&self, shown: impl IntoIterator<Item = T>) -> Shown<T> {
        self.points.shown(shown)
    }
}

fn with(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!(", with {labels}") }
}

impl<T> Shown<T> {
    /// The heading above its tables.
    pub(super) fn heading(&self) -> String {
        let about = self.about.iter().map(|about| format!("{}\n", about.trim()));
        format!("{}\n{}\n", self.title, about.collect::<String>())
    }
}

/// Formats a number with enough digits for comparisons: two after the point, fewer for large
/// numbers.
pub(super) fn digits(value: f64) -> String {
    match value.abs() {
        large if large >= 1_000.0 => format!("{value:.0}"),
        middle if middle >= 100.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}
