//! `[workload]`: what hosts ask for, and when. Several `[[workload]]` go on at the same time.

mod distributions;
mod patterns;

pub use distributions::{DelaySetting, DrawnDelay, DrawnSize, PlaceSetting, SizeSetting};
pub use patterns::{
    AccountsSettings, BackSettings, BonnieSettings, FilesSettings, PassSettings, SortSettings, TraceSettings,
};

use std::path::{Path, PathBuf};

use parlour_units::Duration;
use parlour_workload::accounts::BankError;
use parlour_workload::bonnie::BonnieError;
use parlour_workload::delay::Delay;
use parlour_workload::files::FilesError;
use parlour_workload::pass::PassError;
use parlour_workload::place::PlaceError;
use parlour_workload::random::Random;
use parlour_workload::size::SizeError;
use parlour_workload::source::{Load, Pattern, Source, SourceError};
use parlour_workload::space::{Space, SpaceError};
use parlour_workload::stream::StreamError;
use serde::{Deserialize, Serialize};

use crate::settings::Size;

/// `[workload]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct WorkloadSettings {
    /// What it is called in reports.
    pub name: Option<String>,
    /// Processes, each of which waits for its answer.
    pub processes: Option<u32>,
    /// How long each thinks before it asks again.
    pub think: Option<DelaySetting>,
    /// From one arrival to the next, whether or not others are answered.
    pub every: Option<DelaySetting>,
    /// The same as a Poisson process of so many requests a second.
    pub rate: Option<f64>,
    /// A trace at its own times, stretched by this.
    pub stretched: Option<f64>,
    /// Whether writes are answered only when they are durable.
    pub durable: Option<bool>,

    /// The part of requests that read.
    pub reads: Option<f64>,
    /// How much is asked for.
    pub size: Option<SizeSetting>,
    /// Several sorts of requests instead, each with its weight.
    pub sorts: Option<Vec<SortSettings>>,
    /// Sizes and places are multiples of this: of the size, where that is fixed, or else of the block.
    pub align: Option<Size>,
    /// No request is smaller.
    pub least: Option<Size>,
    /// None is larger.
    pub most: Option<Size>,
    /// Where requests go.
    pub place: Option<PlaceSetting>,
    /// What is read is written back.
    pub write_back: Option<BackSettings>,

    /// A bank's transactions.
    pub accounts: Option<AccountsSettings>,
    /// Files that are read whole.
    pub files: Option<FilesSettings>,
    /// A stretch from one end to the other.
    pub pass: Option<PassSettings>,
    /// A phase of Bonnie.
    pub bonnie: Option<BonnieSettings>,
    /// What was recorded elsewhere.
    pub trace: Option<TraceSettings>,
}

/// Why there is no such workload.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// Nobody asks.
    #[error(
        "workload: say who asks: processes (each waits for its answer), every or rate (of arrivals), or of a trace stretched"
    )]
    Nobody,
    /// Closed and open at once.
    #[error(
        "workload: {0} and {1} exclude each other; give one of them, and the other in a [[workload]] of its own"
    )]
    Both(&'static str, &'static str),
    /// A key without what it belongs to.
    #[error("workload.{key} is for {of}")]
    Useless {
        /// Which key.
        key: &'static str,
        /// What it is for.
        of: &'static str,
    },
    /// No number.
    #[error("workload.{key}: {value} is not possible; use {possible}")]
    Number {
        /// Which key.
        key: &'static str,
        /// Its value.
        value: f64,
        /// What is.
        possible: &'static str,
    },
    /// The size is none.
    #[error("workload.size: {0}")]
    Size(#[from] SizeError),
    /// The space is none.
    #[error("workload.align: {0}")]
    Space(#[from] SpaceError),
    /// The place is none.
    #[error("workload.place: {0}")]
    Place(#[from] PlaceError),
    /// The stream is none.
    #[error("workload: {0}")]
    Stream(#[from] StreamError),
    /// The bank is none.
    #[error("workload.accounts: {0}")]
    Bank(#[from] BankError),
    /// The files are none.
    #[error("workload.files: {0}")]
    Files(#[from] FilesError),
    /// The pass is none.
    #[error("workload.pass: {0}")]
    Pass(#[from] PassError),
    /// The same of Bonnie's.
    #[error("workload.bonnie: {0}")]
    Bonnie(BonnieError),
    /// There is no such trace.
    #[error("workload.trace.file: {path}: cannot be read: {source}", path = .path.display())]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Nobody can ask so.
    #[error("workload: {0}")]
    Source(#[from] SourceError),
}

impl WorkloadSettings {
    /// A source of requests to this space. What is in files is looked for beside the experiment.
    ///
    /// # Errors
    /// There is none, by the key that is wrong.
    pub fn source(
        &self,
        number: usize,
        space: &Space,
        experiment: &Path,
        random: &mut Random,
    ) -> Result<Source, WorkloadError> {
        let (load, pattern) = match &self.bonnie {
            Some(bonnie) => {
                self.refuse_loads("bonnie")?;
                bonnie.phase(space)?
            }
            None => (self.load()?, self.pattern(space, experiment, random)?),
        };
        let name = self.name.clone().unwrap_or_else(|| format!("workload {}", number + 1));
        let mut source = Source::new(&name, load, pattern)?;
        source.durable = self.durable.unwrap_or(false);
        Ok(source)
    }

    /// Bonnie says itself who asks.
    fn refuse_loads(&self, other: &'static str) -> Result<(), WorkloadError> {
        match self.loads().next() {
            Some(key) => Err(WorkloadError::Both(key, other)),
            None => Ok(()),
        }
    }

    /// The keys that say who asks.
    fn loads(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            (self.processes.is_some(), "processes"),
            (self.every.is_some(), "every"),
            (self.rate.is_some(), "rate"),
            (self.stretched.is_some(), "stretched"),
        ];
        set.into_iter().filter(|(is_set, _)| *is_set).map(|(_, key)| key)
    }

    fn load(&self) -> Result<Load, WorkloadError> {
        let mut loads = self.loads();
        let first = loads.next().ok_or(WorkloadError::Nobody)?;
        if let Some(second) = loads.next() {
            return Err(WorkloadError::Both(first, second));
        }
        if self.think.is_some() && self.processes.is_none() {
            return Err(WorkloadError::Useless {
                key: "think",
                of: "processes, which wait for their answers",
            });
        }
        Ok(match (self.processes, self.every, self.rate, self.stretched) {
            (Some(processes), ..) => {
                let think = self.think.map_or(Delay::Fixed(Duration::ZERO), DelaySetting::delay);
                Load::Closed { processes, think }
            }
            (_, Some(gap), ..) => Load::Open { gap: gap.delay() },
            (_, _, Some(rate), _) if rate > 0.0 && rate <= 1e9 => Load::Open {
                gap: Delay::Exponential(Duration::from_nanoseconds((1e9 / rate).round() as u64)),
            },
            (_, _, Some(rate), _) => {
                let possible = "more than 0 requests a second";
                return Err(WorkloadError::Number { key: "rate", value: rate, possible });
            }
            (.., stretched) => Load::Recorded { stretched: stretched.unwrap_or(1.0) },
        })
    }

    fn pattern(
        &self,
        space: &Space,
        experiment: &Path,
        random: &mut Random,
    ) -> Result<Pattern, WorkloadError> {
        let patterns = [
            (self.accounts.is_some(), "accounts"),
            (self.files.is_some(), "files"),
            (self.pass.is_some(), "pass"),
            (self.trace.is_some(), "trace"),
        ];
        let mut set = patterns.into_iter().filter(|(is_set, _)| *is_set).map(|(_, key)| key);
        let first = set.next();
        if let (Some(first), Some(second)) = (first, set.next().or(self.of_streams())) {
            return Err(WorkloadError::Both(first, second));
        }
        match self {
            WorkloadSettings { accounts: Some(accounts), .. } => accounts.pattern(space),
            WorkloadSettings { files: Some(files), .. } => files.pattern(space, self.processes, random),
            WorkloadSettings { pass: Some(pass), .. } => pass.pattern(space, self.processes),
            WorkloadSettings { trace: Some(trace), .. } => trace.pattern(space, experiment),
            _ => Ok(Pattern::Stream(self.stream(space)?)),
        }
    }

    /// A key that is of requests that are drawn one by one.
    fn of_streams(&self) -> Option<&'static str> {
        let set = [
            (self.reads.is_some(), "reads"),
            (self.size.is_some(), "size"),
            (self.sorts.is_some(), "sorts"),
            (self.align.is_some(), "align"),
            (self.least.is_some(), "least"),
            (self.most.is_some(), "most"),
            (self.place.is_some(), "place"),
            (self.write_back.is_some(), "write-back"),
        ];
        set.into_iter().find(|(is_set, _)| *is_set).map(|(_, key)| key)
    }
}
