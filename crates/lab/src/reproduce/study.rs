//! A study: the experiments for a paper, and how each of its numbers and figures is computed.
//!
//! A study computes nothing by itself. [`Plan`](super::plan::Plan) runs the experiments of all
//! papers, each once, and then calls the functions of the study with the results.

use super::evidence::{Evidence, EvidenceError};
use super::figure::Panel;
use super::paper::Paper;
use super::value::Value;
use crate::figures::Interval;

/// Our values for a published number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// The value from a closed form, or from counting.
    pub model: Option<Value>,
    /// The value from simulation.
    pub simulated: Option<Value>,
    /// Half the width of its 95% confidence interval.
    pub interval: Option<f64>,
    /// The value under the printed reading, if that reading is mistaken.
    pub as_printed: Option<Value>,
    /// The explanations to print if our value differs, a sentence each.
    pub because: Vec<String>,
    /// The note to print if our value agrees.
    pub note: Option<String>,
}

impl Finding {
    /// A finding from a closed form, or from counting.
    pub fn model(value: impl Into<Value>) -> Finding {
        Finding { model: Some(value.into()), ..Finding::default() }
    }

    /// A finding from simulation.
    pub fn simulated(value: impl Into<Value>) -> Finding {
        Finding { simulated: Some(value.into()), ..Finding::default() }
    }

    /// A finding from simulation, with its interval.
    pub fn estimated(Interval { mean, interval }: Interval) -> Finding {
        Finding { interval, ..Finding::simulated(mean) }
    }

    /// Adds a value from a closed form.
    pub fn with_model(self, value: impl Into<Value>) -> Finding {
        Finding { model: Some(value.into()), ..self }
    }

    /// Adds the value under the mistaken printed reading.
    pub fn printed_reading(self, value: impl Into<Value>) -> Finding {
        Finding { as_printed: Some(value.into()), ..self }
    }

    /// Adds the note to print if our value agrees: for a mean, its components.
    pub fn noted(self, note: impl Into<String>) -> Finding {
        Finding { note: Some(note.into()), ..self }
    }

    /// Adds an explanation to print if our value differs. Earlier explanations stay.
    pub fn because(mut self, why: impl Into<String>) -> Finding {
        self.because.push(why.into());
        self
    }
}

/// The function that computes our values for a number.
pub type Find = Box<dyn Fn(&Evidence) -> Result<Finding, EvidenceError> + Send + Sync>;
/// The function that draws a figure.
pub type Draw = Box<dyn Fn(&Evidence) -> Result<Vec<Panel>, EvidenceError> + Send + Sync>;

/// How a number is computed.
pub enum How {
    /// From models and simulations.
    Found(Find),
    /// It cannot be computed, for this reason.
    NotDerivable(&'static str),
}

/// How a figure is drawn, and the command that shows its numbers.
pub struct Drawn {
    /// The command: one or several lines for a shell.
    pub command: String,
    /// The function that draws it.
    pub draw: Draw,
}

/// How a paper is reproduced.
pub struct Study {
    /// The paper.
    pub paper: Paper,
    /// The experiments that it needs, by their paths below `experiments/`.
    pub experiments: Vec<&'static str>,
    /// Its numbers, by their ids.
    pub numbers: Vec<(String, How)>,
    /// Its figures, by their ids.
    pub figures: Vec<(String, Drawn)>,
}

impl Study {
    /// A study of a paper, without numbers and figures.
    pub fn of(paper: Paper) -> Study {
        Study { paper, experiments: Vec::new(), numbers: Vec::new(), figures: Vec::new() }
    }

    /// Adds an experiment.
    pub fn experiment(mut self, name: &'static str) -> Study {
        self.experiments.push(name);
        self
    }

    /// Adds a number with the function that computes it.
    pub fn number(
        mut self,
        id: impl Into<String>,
        find: impl Fn(&Evidence) -> Result<Finding, EvidenceError> + Send + Sync + 'static,
    ) -> Study {
        self.numbers.push((id.into(), How::Found(Box::new(find))));
        self
    }

    /// Adds a number that cannot be derived from the paper's text.
    pub fn not_derivable(mut self, id: impl Into<String>, why: &'static str) -> Study {
        self.numbers.push((id.into(), How::NotDerivable(why)));
        self
    }

    /// Adds a figure.
    pub fn figure(
        mut self,
        id: impl Into<String>,
        command: impl Into<String>,
        draw: impl Fn(&Evidence) -> Result<Vec<Panel>, EvidenceError> + Send + Sync + 'static,
    ) -> Study {
        self.figures.push((id.into(), Drawn { command: command.into(), draw: Box::new(draw) }));
        self
    }

    /// How the number with this id is computed.
    pub(super) fn how(&self, id: &str) -> Option<&How> {
        self.numbers.iter().find(|(name, _)| name == id).map(|(_, how)| how)
    }

    /// How the figure with this id is drawn.
    pub(super) fn drawn(&self, id: &str) -> Option<&Drawn> {
        self.figures.iter().find(|(name, _)| name == id).map(|(_, drawn)| drawn)
    }
}
