//! An experiment: a file that says what is simulated, and which of its keys take several values.
//!
//! Read [`setup`] (the keys of a file), [`sweep`] (its axes), [`build`] (from the file's settings
//! to a run), [`prepared`] (a run).

pub mod build;
pub mod control;
pub mod drive;
pub mod health;
pub mod path;
pub mod predict;
pub mod prepared;
pub mod reliability;
pub mod rival;
pub mod rival_plan;
pub mod setup;
pub mod sweep;
mod tables;
pub mod workload;

use std::path::{Path, PathBuf};

use parlour_units::words::bad_value;
use serde::{Deserialize, Serialize};

use crate::file::{self, FileError};
use setup::Setup;
use sweep::{Axis, SweepError};

/// An experiment file.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The file's path.
    pub path: PathBuf,
    /// Its title.
    pub title: String,
    /// A description of what it shows, in a few sentences.
    pub about: Option<String>,
    /// The axes: keys that take several values.
    pub axes: Vec<Axis>,
    table: toml::Table,
}

/// One run of an experiment: a value of each axis, and the resulting settings.
#[derive(Clone, Debug)]
pub struct Point {
    /// The value of each axis, as a label.
    pub labels: Vec<String>,
    /// The settings of the run.
    pub setup: Setup,
}

/// Why a file is not a valid experiment.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// The file is not a valid file of settings.
    #[error(transparent)]
    File(#[from] FileError),
    /// An axis is invalid.
    #[error("{path}: {source}", path = .path.display())]
    Sweep {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: SweepError,
    },
    /// A value of an axis is invalid for its key.
    #[error("{path}{}: {message}", with(.labels), path = .path.display())]
    Value {
        /// The file.
        path: PathBuf,
        /// The values of the axes.
        labels: String,
        /// What is wrong.
        message: String,
    },
}

fn with(labels: &str) -> String {
    if labels.is_empty() { String::new() } else { format!(", with {labels}") }
}

/// Returns what is wrong with a value, after its key. The TOML library names the key only at the
/// end of its message.
fn bad_setting(error: &toml::de::Error) -> String {
    let message = error.message().lines().collect::<Vec<_>>().join(", ");
    let Some(told) = bad_value(&message) else { return message };
    let whole = error.to_string();
    let key = whole.lines().find_map(|line| line.strip_prefix("in `")?.strip_suffix('`'));
    key.map_or(told.clone(), |key| format!("{key}: {told}"))
}

/// The keys of the file that are not part of [`Setup`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Head {
    title: Option<String>,
    about: Option<String>,
    sweep: Option<toml::Table>,
}

impl Experiment {
    /// Reads the file at `path`. `set` overrides keys: each is `key=value`, with the value written
    /// as in the file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a valid experiment.
    pub fn load(path: &Path, set: &[String]) -> Result<Experiment, ExperimentError> {
        Experiment::parse(path, &file::read(path)?, set)
    }

    /// Parses `text`, the content of the file at `path`.
    ///
    /// # Errors
    /// The text is not a valid experiment.
    pub fn parse(path: &Path, text: &str, set: &[String]) -> Result<Experiment, ExperimentError> {
        let wrong = |source| ExperimentError::Sweep { path: path.to_owned(), source };
        let mut table: toml::Table =
            toml::from_str(text).map_err(|error| file::syntax(path, text, &error))?;
        // The whole file is parsed once before `set` and the axes: so errors have a line number.
        let mut body = table.clone();
        ["title", "about", "sweep"].iter().for_each(|key| {
            body.remove(*key);
        });
        file::check_keys::<Setup>(path, &body)?;
        toml::from_str::<Setup>(text).map_err(|error| file::syntax(path, text, &error))?;
        let head: Head = toml::from_str(text).map_err(|error| file::syntax(path, text, &error))?;
        ["title", "about", "sweep"].iter().for_each(|key| {
            table.remove(*key);
        });
        set.iter().try_for_each(|setting| sweep::set_text(&mut table, setting)).map_err(wrong)?;
        let mut axes = sweep::axes(&head.sweep.unwrap_or_default()).map_err(wrong)?;
        // A key that `set` overrides is not swept.
        axes.retain(|axis| {
            !set.iter().any(|setting| setting.split('=').next().map(str::trim) == Some(&axis.title))
        });
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let experiment = Experiment {
            path: path.to_owned(),
            title: head.title.unwrap_or(name),
            about: head.about,
            axes,
            table,
        };
        Ok(experiment)
    }

    /// Returns all runs. The last axis varies fastest.
    ///
    /// # Errors
    /// A value of an axis is invalid for its key.
    pub fn points(&self) -> Result<Vec<Point>, ExperimentError> {
        let count = self.axes.iter().map(|axis| axis.values.len()).product();
        (0..count).map(|number| self.point(number)).collect()
    }

    fn point(&self, number: usize) -> Result<Point, ExperimentError> {
        let (mut table, mut labels, mut left) = (self.table.clone(), Vec::new(), number);
        for axis in self.axes.iter().rev() {
            let value = &axis.values[left % axis.values.len()];
            left /= axis.values.len();
            labels.insert(0, value.label.clone());
            for (key, value) in &value.set {
                sweep::set(&mut table, key, value.clone())
                    .map_err(|source| ExperimentError::Sweep { path: self.path.clone(), source })?;
            }
        }
        file::check_keys::<Setup>(&self.path, &table)?;
        let setup = table.try_into().map_err(|error: toml::de::Error| ExperimentError::Value {
            path: self.path.clone(),
            labels: self.named(&labels),
            message: bad_setting(&error),
        })?;
        Ok(Point { labels, setup })
    }

    /// Returns the values with the names of their axes, as text.
    pub fn named(&self, labels: &[String]) -> String {
        let pairs = self.axes.iter().zip(labels).map(|(axis, label)| format!("{} = {label}", axis.title));
        pairs.collect::<Vec<_>>().join(", ")
    }
}
