//! `[workload]`: what hosts ask for, and when. Several `[[workload]]` go on at the same time.

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
use parlour_workload::source::{Load, Pattern, Source};
use parlour_workload::space::Space;
use parlour_workload::stream::{Back, Sort, Stream};
use serde::{Deserialize, Serialize};

use crate::settings::Size;

/// A request, unless told otherwise.
const SIZE: Sectors = Sectors::new(8);
/// The largest that is drawn, unless told otherwise: 4 MiB.
const MOST: Sectors = Sectors::new(8_192);

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
    /// Sizes and places are multiples of this: of the size, where that is fixed, or else of the
    /// block.
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

    /// Requests that are drawn one by one.
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

    /// What requests are aligned to: if they are all of one size, to that.
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

/// The same space, in larger blocks.
fn aligned(space: &Space, align: Sectors) -> Result<Space, WorkloadError> {
    let lengths: Vec<Sectors> = space.each().map(|(_, length)| length).collect();
    Ok(match lengths[..] {
        [only] => Space::new(only, align)?,
        _ => Space::volumes(&lengths, align)?,
    })
}
