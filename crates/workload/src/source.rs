//! A source of requests: what is requested, and when.

use parlour_units::Duration;

use crate::accounts::Accounts;
use crate::delay::{Delay, DelayError};
use crate::files::Files;
use crate::pass::Pass;
use crate::random::Random;
use crate::replay::{Replay, ReplayError};
use crate::stream::Stream;
use crate::task::Task;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// A number of processes. Each process thinks, does a task, and begins again.
    Closed {
        /// The number of processes.
        processes: u32,
        /// The think time.
        think: Delay,
    },
    /// Tasks begin independently of whether others are done.
    Open {
        /// The time between the beginnings of two tasks.
        gap: Delay,
    },
    /// The times of a trace, independently of whether earlier requests are answered.
    Recorded {
        /// The factor for the times: below 1 the replay is faster than the recording.
        stretched: f64,
    },
}

/// What is requested.
#[derive(Debug)]
pub enum Pattern {
    /// Single random requests.
    Stream(Stream),
    /// A bank's transactions.
    Accounts(Accounts),
    /// Whole-file reads.
    Files(Files),
    /// A sequential pass through a range.
    Pass(Pass),
    /// A recorded trace.
    Replay(Replay),
}

/// The part of a run in which a source sends requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum During {
    /// All of it.
    #[default]
    All,
    /// Only until the measurement begins.
    WarmUp,
    /// Only from the beginning of the measurement on.
    Measurement,
}

/// A source of requests.
#[derive(Debug)]
pub struct Source {
    /// Its name in reports.
    pub name: String,
    load: Load,
    pattern: Pattern,
    /// Whether a write is answered only when it is durable.
    pub durable: bool,
    /// When it sends requests.
    pub during: During,
}

/// Why a source is invalid.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SourceError {
    /// A closed load has no process.
    #[error("a closed load has at least one process")]
    NoProcess,
    /// A delay is invalid.
    #[error(transparent)]
    Delay(#[from] DelayError),
    /// Only traces have recorded times.
    #[error("only a trace says when its requests come; choose a closed load, or an open one with a gap")]
    NotRecorded,
    /// The factor is not positive.
    #[error("{0} is no factor to stretch times by: it is above 0")]
    NoFactor(f64),
}

impl Pattern {
    /// The next task of this process, if there is one. All tasks of an open load belong to process
    /// 0.
    ///
    /// # Errors
    /// The trace cannot be read further.
    pub fn begin(&mut self, process: u32, random: &mut Random) -> Result<Option<Task>, ReplayError> {
        match self {
            Pattern::Stream(stream) => Ok(Some(stream.begin(random))),
            Pattern::Accounts(accounts) => Ok(Some(accounts.begin(random))),
            Pattern::Files(files) => Ok(files.begin(process, random)),
            Pattern::Pass(pass) => Ok(pass.begin(process)),
            Pattern::Replay(replay) => Ok(replay.next()?.map(|(_, task)| task)),
        }
    }

    /// Whether users wait for whole tasks, such as transactions or files, and not for single
    /// requests.
    pub fn is_of_tasks(&self) -> bool {
        match self {
            Pattern::Stream(stream) => stream.writes_back(),
            Pattern::Accounts(_) | Pattern::Files(_) => true,
            Pattern::Pass(_) | Pattern::Replay(_) => false,
        }
    }
}

impl Source {
    /// A source with this load and pattern.
    pub fn new(name: &str, load: Load, pattern: Pattern) -> Result<Source, SourceError> {
        match load {
            Load::Closed { processes: 0, .. } => return Err(SourceError::NoProcess),
            Load::Closed { think, .. } => think.check()?,
            Load::Open { gap } => gap.check_gap()?,
            Load::Recorded { .. } if !matches!(pattern, Pattern::Replay(_)) => {
                return Err(SourceError::NotRecorded);
            }
            Load::Recorded { stretched } if !(stretched > 0.0 && stretched.is_finite()) => {
                return Err(SourceError::NoFactor(stretched));
            }
            Load::Recorded { .. } => {}
        }
        Ok(Source { name: name.to_owned(), load, pattern, durable: false, during: During::All })
    }

    /// When it sends requests.
    pub fn load(&self) -> Load {
        self.load
    }

    /// What it requests.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether requests are sent independently of answers.
    pub fn is_open(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// The next task of this process, if there is one.
    ///
    /// # Errors
    /// The trace cannot be read further.
    pub fn begin(&mut self, process: u32, random: &mut Random) -> Result<Option<Task>, ReplayError> {
        self.pattern.begin(process, random)
    }

    /// The next recorded task, and its time since the beginning of the trace.
    ///
    /// # Errors
    /// The trace cannot be read further, or has no times.
    pub fn next_recorded(&mut self) -> Result<Option<(Duration, Task)>, ReplayError> {
        match (&mut self.pattern, self.load) {
            (Pattern::Replay(replay), Load::Recorded { stretched }) => {
                let stretched = |time: Duration| {
                    Duration::from_nanoseconds((time.nanoseconds() as f64 * stretched).round() as u64)
                };
                Ok(replay.next_timed()?.map(|(at, task)| (stretched(at), task)))
            }
            _ => Ok(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use parlour_units::Sectors;

    use super::*;
    use crate::place::{Place, Places};
    use crate::size::{Size, Sizes};
    use crate::space::Space;

    fn pattern() -> Pattern {
        let block = Sectors::new(8);
        let space = Space::new(Sectors::new(800), block).unwrap();
        let sizes = Sizes::new(Size::Fixed(8.0), block, block, block).unwrap();
        Pattern::Stream(Stream::new(1.0, sizes, Places::new(Place::Uniform, &space).unwrap()).unwrap())
    }

    #[test]
    fn impossible_sources_are_refused() {
        let error = |load| Source::new("it", load, pattern()).unwrap_err();
        let nothing = Delay::Fixed(Duration::ZERO);
        assert_eq!(error(Load::Closed { processes: 0, think: nothing }), SourceError::NoProcess);
        assert_eq!(error(Load::Open { gap: nothing }), SourceError::Delay(DelayError::NoGap));
        assert_eq!(error(Load::Recorded { stretched: 1.0 }), SourceError::NotRecorded);
        assert!(Source::new("it", Load::Closed { processes: 1, think: nothing }, pattern()).is_ok());
    }
}
