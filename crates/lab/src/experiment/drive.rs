//! `[drive]`: the model of the drives, and the order in which they serve accesses.

use std::path::Path;

use parlour_drive::description::Description;
use parlour_drive::queue::Discipline;
use serde::{Deserialize, Serialize};

use crate::drives::{self, FindError};

/// `[drive]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct DriveSettings {
    /// The name of a drive of the catalogue, or a file.
    pub model: Option<String>,
    /// The factor by which its seeks are longer.
    pub seeks: Option<f64>,
    /// The order in which waiting accesses are served.
    pub queue: Option<QueueName>,
    /// R of V(R): the penalty for reversing the arm's direction, as a fraction of all cylinders.
    pub queue_turn: Option<f64>,
    /// The weight of waiting time against positioning time, for `sptf`.
    pub queue_ageing: Option<f64>,
    /// Whether all spindles rotate in phase.
    pub synchronized: Option<bool>,
    /// Whether accesses that no host waits for are served only when there are no others.
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
    /// Onward in one direction, then back.
    Look,
    /// Onward in one direction, then again from the lowest cylinder.
    CLook,
    /// V(R) of Geist and Daniel.
    Cvscan,
    /// The shortest positioning time first.
    Sptf,
}

/// Why the drive cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DriveError {
    /// No drive is named.
    #[error("drive.model: name a drive; 'parlour drives' lists those that there are")]
    Unnamed,
    /// It cannot be found.
    #[error("drive.model: {0}")]
    Find(#[from] FindError),
    /// A number is invalid.
    #[error("drive.{key}: {value} is not possible; use {possible}")]
    Number {
        /// The key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// The allowed values.
        possible: &'static str,
    },
}

/// The default R of V(R): Geist and Daniel's recommendation.
const TURN: f64 = 0.2;

impl DriveSettings {
    /// Returns the drive's description. A file is looked for in the directory of the experiment.
    ///
    /// # Errors
    /// There is no such drive, or its seeks are impossible.
    pub fn description(&self, experiment: &Path) -> Result<Description, DriveError> {
        let name = self.model.as_deref().ok_or(DriveError::Unnamed)?;
        let drive = drives::find(name, experiment.parent().unwrap_or(Path::new("")))?;
        match self.seeks {
            None => Ok(drive),
            Some(factor) if (0.01..=100.0).contains(&factor) => Ok(drive.with_seeks(factor)),
            Some(value) => Err(DriveError::Number { key: "seeks", value, possible: "0.01 to 100" }),
        }
    }

    /// Returns the order of service.
    ///
    /// # Errors
    /// A number of the queue is invalid.
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
