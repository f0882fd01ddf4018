//! How a paper is reproduced: its experiments, and for each of its numbers and figures how ours is
//! got.
//!
//! Nothing is computed here. [`Plan`](super::plan::Plan) runs the experiments of all papers, each
//! once, and the functions of a study then look at what was shown.

use super::evidence::{Evidence, EvidenceError};
use super::figure::Panel;
use super::paper::Paper;
use super::value::Value;
use crate::figures::Interval;

/// What we find for a number.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Finding {
    /// By a closed form, or by counting.
    pub model: Option<Value>,
    /// By simulation.
    pub simulated: Option<Value>,
    /// Half the width of its 95% confidence interval.
    pub interval: Option<f64>,
    /// What the reading that is printed, though mistaken, gives.
    pub as_printed: Option<Value>,
    /// Why ours differs, should it differ: a sentence each.
    pub because: Vec<String>,
    /// What is to be said of it where it agrees.
    pub note: Option<String>,
}

impl Finding {
    /// By a closed form, or by counting.
    pub fn model(value: impl Into<Value>) -> Finding {
        Finding { model: Some(value.into()), ..Finding::default() }
    }

    /// By simulation.
    pub fn simulated(value: impl Into<Value>) -> Finding {
        Finding { simulated: Some(value.into()), ..Finding::default() }
    }

    /// By simulation, with the interval that it gives.
    pub fn estimated(Interval { mean, interval }: Interval) -> Finding {
        Finding { interval, ..Finding::simulated(mean) }
    }

    /// The same, and by a closed form as well.
    pub fn with_model(self, value: impl Into<Value>) -> Finding {
        Finding { model: Some(value.into()), ..self }
    }

    /// The same, and what the mistaken reading gives that is printed.
    pub fn printed_reading(self, value: impl Into<Value>) -> Finding {
        Finding { as_printed: Some(value.into()), ..self }
    }

    /// The same, and what is to be said of it, should it agree: of a mean, what it is made of.
    pub fn noted(self, note: impl Into<String>) -> Finding {
        Finding { note: Some(note.into()), ..self }
    }

    /// The same, and why it differs, should it differ; what was said before stands.
    pub fn because(mut self, why: impl Into<String>) -> Finding {
        self.because.push(why.into());
        self
    }
}

/// What a number is found by.
pub type Find = Box<dyn Fn(&Evidence) -> Result<Finding, EvidenceError> + Send + Sync>;
/// What a figure is drawn by.
pub type Draw = Box<dyn Fn(&Evidence) -> Result<Vec<Panel>, EvidenceError> + Send + Sync>;

/// How a number is got.
pub enum How {
    /// From models and what was simulated.
    Found(Find),
    /// Not at all, and why.
    NotDerivable(&'static str),
}

/// How a figure is drawn, and by which command people see its numbers again.
pub struct Drawn {
    /// A line for a shell, or several.
    pub command: String,
    /// What it is drawn by.
    pub draw: Draw,
}

/// How a paper is reproduced.
pub struct Study {
    /// Which.
    pub paper: Paper,
    /// The experiments that are simulated for it, by their places below `experiments/`.
    pub experiments: Vec<&'static str>,
    /// Its numbers, by their names.
    pub numbers: Vec<(String, How)>,
    /// Its figures, by their names.
    pub figures: Vec<(String, Drawn)>,
}

impl Study {
    /// A paper of which nothing is reproduced yet.
    pub fn of(paper: Paper) -> Study {
        Study { paper, experiments: Vec::new(), numbers: Vec::new(), figures: Vec::new() }
    }

    /// The same, for which an experiment is simulated, too.
    pub fn experiment(mut self, name: &'static str) -> Study {
        self.experiments.push(name);
        self
    }

    /// The same with a number that is found.
    pub fn number(
        mut self,
        id: impl Into<String>,
        find: impl Fn(&Evidence) -> Result<Finding, EvidenceError> + Send + Sync + 'static,
    ) -> Study {
        self.numbers.push((id.into(), How::Found(Box::new(find))));
        self
    }

    /// The same with a number that the text does not let one derive.
    pub fn not_derivable(mut self, id: impl Into<String>, why: &'static str) -> Study {
        self.numbers.push((id.into(), How::NotDerivable(why)));
        self
    }

    /// The same with a figure.
    pub fn figure(
        mut self,
        id: impl Into<String>,
        command: impl Into<String>,
        draw: impl Fn(&Evidence) -> Result<Vec<Panel>, EvidenceError> + Send + Sync + 'static,
    ) -> Study {
        self.figures.push((id.into(), Drawn { command: command.into(), draw: Box::new(draw) }));
        self
    }

    /// How the number of this name is got.
    pub(super) fn how(&self, id: &str) -> Option<&How> {
        self.numbers.iter().find(|(name, _)| name == id).map(|(_, how)| how)
    }

    /// How the figure of this name is drawn.
    pub(super) fn drawn(&self, id: &str) -> Option<&Drawn> {
        self.figures.iter().find(|(name, _)| name == id).map(|(_, drawn)| drawn)
    }
}
