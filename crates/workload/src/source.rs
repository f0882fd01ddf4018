//! A source of requests: what is asked for, and when.

use parlour_units::Duration;

use crate::accounts::Accounts;
use crate::delay::{Delay, DelayError};
use crate::files::Files;
use crate::pass::Pass;
use crate::random::Random;
use crate::replay::{Replay, ReplayError};
use crate::stream::Stream;
use crate::task::Task;

/// When something is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// So many processes: each thinks, does a task, and begins again.
    Closed {
        /// How many.
        processes: u32,
        /// How long each thinks.
        think: Delay,
    },
    /// Tasks begin whether or not others are done.
    Open {
        /// From one to the next.
        gap: Delay,
    },
    /// As a trace has it, whether or not what was asked before is answered.
    Recorded {
        /// Times are stretched by this: below 1 the trace is faster than it was.
        stretched: f64,
    },
}

/// What is asked for.
#[derive(Debug)]
pub enum Pattern {
    /// Requests that are drawn one by one.
    Stream(Stream),
    /// A bank's transactions.
    Accounts(Accounts),
    /// Files that are read whole.
    Files(Files),
    /// A stretch from one end to the other.
    Pass(Pass),
    /// A recorded trace.
    Replay(Replay),
}

/// A source of requests.
#[derive(Debug)]
pub struct Source {
    /// What it is called in reports.
    pub name: String,
    load: Load,
    pattern: Pattern,
    /// Whether a write is only answered when it is durable.
    pub durable: bool,
}

/// Why there is no such source.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SourceError {
    /// Nobody asks.
    #[error("a closed load has at least one process")]
    NoProcess,
    /// Times that cannot be.
    #[error(transparent)]
    Delay(#[from] DelayError),
    /// Only traces have recorded times.
    #[error("only a trace says when its requests come; choose a closed load, or an open one with a gap")]
    NotRecorded,
    /// Not a factor.
    #[error("{0} is no factor to stretch times by: it is above 0")]
    NoFactor(f64),
}

impl Pattern {
    /// What this process does next, if it does anything more. Tasks of an open load are all of
    /// process 0.
    ///
    /// # Errors
    /// A trace cannot be read further.
    pub fn begin(&mut self, process: u32, random: &mut Random) -> Result<Option<Task>, ReplayError> {
        match self {
            Pattern::Stream(stream) => Ok(Some(stream.begin(random))),
            Pattern::Accounts(accounts) => Ok(Some(accounts.begin(random))),
            Pattern::Files(files) => Ok(files.begin(process, random)),
            Pattern::Pass(pass) => Ok(pass.begin(process)),
            Pattern::Replay(replay) => Ok(replay.next()?.map(|(_, task)| task)),
        }
    }

    /// Whether tasks are what somebody waits for, rather than single requests: transactions and
    /// files.
    pub fn is_of_tasks(&self) -> bool {
        match self {
            Pattern::Stream(stream) => stream.writes_back(),
            Pattern::Accounts(_) | Pattern::Files(_) => true,
            Pattern::Pass(_) | Pattern::Replay(_) => false,
        }
    }
}

impl Source {
    /// Something that is asked for, and when.
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
        Ok(Source { name: name.to_owned(), load, pattern, durable: false })
    }

    /// When it asks.
    pub fn load(&self) -> Load {
        self.load
    }

    /// What it asks for.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Whether requests come whether or not others are answered.
    pub fn is_open(&self) -> bool {
        !matches!(self.load, Load::Closed { .. })
    }

    /// What this process does next, if it does anything more.
    ///
    /// # Errors
    /// A trace cannot be read further.
    pub fn begin(&mut self, process: u32, random: &mut Random) -> Result<Option<Task>, ReplayError> {
        self.pattern.begin(process, random)
    }

    /// What comes next as recorded, and how long after the trace's own beginning.
    ///
    /// # Errors
    /// A trace cannot be read further, or does not say when.
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
