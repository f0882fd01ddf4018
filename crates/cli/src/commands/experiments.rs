//! The experiment files of `parlour simulate` and `parlour model`, and the common parts of their
//! answers.

use std::path::{Path, PathBuf};

use clap::Args;
use parlour_lab::experiment::build::BuildError;
use parlour_lab::experiment::prepared::Prepared;
use parlour_lab::experiment::{Experiment, ExperimentError};
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
}

/// An experiment. For each run: the values of its axes, and everything that the run needs.
pub(super) struct Ready {
    experiment: Experiment,
    labels: Vec<Vec<String>>,
    pub(super) prepared: Vec<Prepared>,
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
        self.files.iter().map(|file| Ready::of(file, &set)).collect()
    }
}

impl Ready {
    fn of(file: &Path, set: &[String]) -> Result<Ready, FilesError> {
        let experiment = Experiment::load(file, set)?;
        let (mut labels, mut prepared) = (Vec::new(), Vec::new());
        for point in experiment.points()? {
            let ready = point.setup.prepare(file).map_err(|source| FilesError::Build {
                path: file.to_owned(),
                labels: with(&experiment.named(&point.labels)),
                source,
            })?;
            labels.push(point.labels);
            prepared.push(ready);
        }
        Ok(Ready { experiment, labels, prepared })
    }

    /// Combines the experiment with the results of its runs.
    pub(super) fn shown<T>(&self, shown: impl IntoIterator<Item = T>) -> Shown<T> {
        let runs = self.labels.iter().zip(shown);
        Shown {
            file: self.experiment.path.display().to_string(),
            title: self.experiment.title.clone(),
            about: self.experiment.about.clone(),
            axes: self.experiment.axes.iter().map(|axis| axis.title.clone()).collect(),
            runs: runs.map(|(values, shown)| Run { values: values.clone(), shown }).collect(),
        }
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
