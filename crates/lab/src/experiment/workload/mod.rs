//! `[workload]`: the hosts' requests and their times. Several `[[workload]]` tables run at the same
//! time.

mod distributions;
mod error;
mod patterns;

pub use distributions::{DelaySetting, DrawnDelay, DrawnSize, PlaceSetting, SizeSetting};
pub use error::WorkloadError;
pub use patterns::{
    AccountsSettings, BackSettings, BonnieSettings, FilesSettings, PassSettings, SortSettings, TraceSettings,
};

use std::path::Path;

use parlour_units::{Duration, Sectors};
use parlour_workload::delay::Delay;
use parlour_workload::place::{Place, Places};
use parlour_workload::random::Random;
use parlour_workload::size::{self, Sizes};
use parlour_workload::source::{During, Load, Pattern, Source};
use parlour_workload::space::Space;
use parlour_workload::stream::{Back, Sort, Stream};
use serde::{Deserialize, Serialize};

use crate::settings::Size;

/// The default size of a request.
const SIZE: Sectors = Sectors::new(8);
/// The default limit of random sizes: 4 MiB.
const MOST: Sectors = Sectors::new(8_192);

/// `during`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DuringName {
    /// All of it.
    #[default]
    All,
    /// Only the warm-up.
    WarmUp,
    /// Only the measurement.
    Measurement,
}

/// `[workload]`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct WorkloadSettings {
    /// The name in reports.
    pub name: Option<String>,
    /// The number of processes, each of which waits for its answer.
    pub processes: Option<u32>,
    /// The think time of a process before its next request.
    pub think: Option<DelaySetting>,
    /// The time from one arrival to the next, independent of answers.
    pub every: Option<DelaySetting>,
    /// The rate of a Poisson process of arrivals, in requests per second.
    pub rate: Option<f64>,
    /// The factor by which the recorded times of a trace are stretched.
    pub stretched: Option<f64>,
    /// Whether writes are answered only when they are durable.
    pub durable: Option<bool>,
    /// The part of the run in which requests are sent.
    pub during: Option<DuringName>,

    /// The fraction of requests that read.
    pub reads: Option<f64>,
    /// The size of requests.
    pub size: Option<SizeSetting>,
    /// Several sorts of requests instead, each with its weight.
    pub sorts: Option<Vec<SortSettings>>,
    /// Sizes and positions are multiples of this. The default is the size, if it is fixed, or else
    /// the block.
    pub align: Option<Size>,
    /// The smallest size of a request.
    pub least: Option<Size>,
    /// The largest size of a request.
    pub most: Option<Size>,
    /// The positions of requests.
    pub place: Option<PlaceSetting>,
    /// Whether blocks that were read are written back.
    pub write_back: Option<BackSettings>,

    /// A bank's transactions.
    pub accounts: Option<AccountsSettings>,
    /// Files that are read whole.
    pub files: Option<FilesSettings>,
    /// A sequential pass over a part of the array.
    pub pass: Option<PassSettings>,
    /// A phase of Bonnie.
    pub bonnie: Option<BonnieSettings>,
    /// A recorded trace.
    pub trace: Option<TraceSettings>,
}

impl WorkloadSettings {
    /// Returns the source of requests to this space. Files are looked for in the directory of the
    /// experiment.
    ///
    /// # Errors
    /// The settings are invalid. The error names the key.
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
        source.during = match self.during.unwrap_or_default() {
            DuringName::All => During::All,
            DuringName::WarmUp => During::WarmUp,
            DuringName::Measurement => During::Measurement,
        };
        Ok(source)
    }

    /// Refuses a key that says when requests are issued: Bonnie defines that itself.
    fn refuse_loads(&self, other: &'static str) -> Result<(), WorkloadError> {
        match self.loads().next() {
            Some(key) => Err(WorkloadError::Both(key, other)),
            None => Ok(()),
        }
    }

    /// The keys that are set and that say when requests are issued.
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

    /// A key that is set and that belongs to a stream of single requests.
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

    /// Returns a stream of single random requests.
    fn stream(&self, space: &Space) -> Result<Stream, WorkloadError> {
        let align = self.align(space.block());
        let place = self.place.map_or(Place::Uniform, PlaceSetting::place);
        let places = Places::new(place, &aligned(space, align)?)?;
        let sorts = match &self.sorts {
            Some(_) if self.reads.is_some() => return Err(WorkloadError::Both("sorts", "reads")),
            Some(_) if self.size.is_some() => return Err(WorkloadError::Both("sorts", "size")),
            Some(sorts) => sorts
                .iter()
                .map(|sort| {
                    let sizes = self.sizes(Some(&sort.size), space, align)?;
                    Ok(Sort { weight: sort.weight, reads: sort.reads, sizes })
                })
                .collect::<Result<_, WorkloadError>>()?,
            None => {
                let sizes = self.sizes(self.size.as_ref(), space, align)?;
                vec![Sort { weight: 1.0, reads: self.reads.unwrap_or(1.0), sizes }]
            }
        };
        let stream = Stream::mixed(sorts, places)?;
        Ok(match self.write_back {
            Some(BackSettings { part, after }) => stream.written_back(Back { part, after: after.0 })?,
            None => stream,
        })
    }

    /// The alignment of requests: their size, if all are of one size.
    fn align(&self, block: Sectors) -> Sectors {
        let fixed = match self.size {
            Some(SizeSetting::Fixed(size)) => size.sectors(),
            _ => block,
        };
        self.align.map_or(fixed, Size::sectors).round_up(block).max(block)
    }

    fn sizes(
        &self,
        size: Option<&SizeSetting>,
        space: &Space,
        align: Sectors,
    ) -> Result<Sizes, WorkloadError> {
        let drawn = size.map_or(size::Size::Fixed(SIZE.get() as f64), SizeSetting::size);
        let most = self.most.map(Size::sectors).or(size.and_then(SizeSetting::most)).unwrap_or(MOST);
        let least = self.least.map_or(align, Size::sectors);
        Ok(Sizes::new(drawn, align, least, most.round_up(align).min(space.longest().round_down(align)))?)
    }
}

/// Returns the same space with larger blocks.
fn aligned(space: &Space, align: Sectors) -> Result<Space, WorkloadError> {
    let lengths: Vec<Sectors> = space.each().map(|(_, length)| length).collect();
    Ok(match lengths[..] {
        [only] => Space::new(only, align)?,
        _ => Space::volumes(&lengths, align)?,
    })
}
