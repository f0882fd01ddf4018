//! `[drive]`: which drives, and how they serve.

use std::path::Path;

use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use serde::{Deserialize, Serialize};

use crate::drives::{self, FindError};

/// `[drive]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct DriveSettings {
    /// A name of the catalogue, or a file.
    pub model: Option<String>,
    /// In which order waiting accesses are served.
    pub queue: Option<QueueName>,
    /// V(R): what turning back counts, as a part of all cylinders.
    pub queue_turn: Option<f64>,
    /// How much waiting counts against positioning.
    pub queue_ageing: Option<f64>,
    /// Whether all spindles turn alike.
    pub synchronized: Option<bool>,
    /// Whether what no host waits for waits until nothing else does.
    pub people_first: Option<bool>,
}

/// `queue`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueName {
    /// First come, first served.
    #[default]
    Fcfs,
    /// The nearest cylinder first.
    Sstf,
    /// On in one direction, then back.
    Look,
    /// On in one direction, then from the lowest cylinder.
    CLook,
    /// V(R) of Geist and Daniel.
    Cvscan,
    /// The shortest positioning time first.
    Sptf,
}

/// Why there is no such drive.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// None is named.
    #[error("drive.model: name a drive; 'parlour drives' lists those that there are")]
    Unnamed,
    /// It cannot be found.
    #[error("drive.model: {0}")]
    Find(#[from] FindError),
    /// A number of a queue is none.
    #[error("drive.{key}: {value} is not possible; use {possible}")]
    Number {
        /// Which key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What is.
        possible: &'static str,
    },
}

/// R of V(R), unless told otherwise: Geist and Daniel's recommendation.
const TURN: f64 = 0.2;

impl DriveSettings {
    /// What describes the drive. A file is looked for beside the experiment.
    ///
    /// # Errors
    /// There is no such drive.
    pub fn description(&self, experiment: &Path) -> Result<Description, DriveError> {
        let name = self.model.as_deref().ok_or(DriveError::Unnamed)?;
        Ok(drives::find(name, experiment.parent().unwrap_or(Path::new("")))?)
    }

    /// The order of service.
    ///
    /// # Errors
    /// A number that belongs to it is none.
    pub fn discipline(&self) -> Result<Discipline, DriveError> {
        let (turn, ageing) = (self.queue_turn.unwrap_or(TURN), self.queue_ageing.unwrap_or(0.0));
        if !(0.0..=1.0).contains(&turn) {
            return Err(DriveError::Number { key: "queue-turn", value: turn, possible: "0 to 1" });
        }
        if !(0.0..=1e6).contains(&ageing) {
            return Err(DriveError::Number { key: "queue-ageing", value: ageing, possible: "0 or more" });
        }
        Ok(match self.queue.unwrap_or_default() {
            QueueName::Fcfs => Discipline::Fcfs,
            QueueName::Sstf => Discipline::Sstf,
            QueueName::Look => Discipline::Look,
            QueueName::CLook => Discipline::Clook,
            QueueName::Cvscan => Discipline::Vscan(turn),
            QueueName::Sptf => Discipline::Sptf { ageing },
        })
    }
}
