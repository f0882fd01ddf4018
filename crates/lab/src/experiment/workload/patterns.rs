//! What is asked for: requests one by one, transactions, files, passes, traces.

use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};

use parlour_units::{Duration, Sector, Sectors};
use parlour_workload::accounts::{Accounts, Bank};
use parlour_workload::bonnie::{Bonnie, Phase};
use parlour_workload::files::{FileSet, Files};
use parlour_workload::pass::Pass;
use parlour_workload::random::Random;
use parlour_workload::replay::{Again, Beyond, Devices, Replay};
use parlour_workload::source::{Load, Pattern};
use parlour_workload::space::Space;
use parlour_workload::task::{Kind, Stretch, Way};
use parlour_workload::trace::Format;
use serde::{Deserialize, Serialize};

use super::distributions::SizeSetting;
use super::error::WorkloadError;
use crate::settings::{Size, Time};

/// One of several sorts of requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct SortSettings {
    /// How many of all, beside other sorts'.
    pub weight: f64,
    /// The part of them that read.
    #[serde(default = "all")]
    pub reads: f64,
    /// How much they ask for.
    pub size: SizeSetting,
}

fn all() -> f64 {
    1.0
}

/// `write-back`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BackSettings {
    /// The part of reads after which that is done.
    #[serde(default = "all")]
    pub part: f64,
    /// From the answer to the write.
    #[serde(default = "at_once")]
    pub after: Time,
}

fn at_once() -> Time {
    Time(Duration::ZERO)
}

/// `[workload.accounts]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct AccountsSettings {
    /// How many branches the bank has.
    pub branches: u64,
    /// What is read and written at once.
    pub page: Size,
    /// From the last read to the first write.
    #[serde(default = "at_once")]
    pub thinks: Time,
    /// Whether tellers and branches are in the host's memory.
    #[serde(default = "yes")]
    pub cached: bool,
    /// History records that are written together; 0: there is no history.
    #[serde(default)]
    pub grouped: u64,
}

fn yes() -> bool {
    true
}

/// `[workload.files]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct FilesSettings {
    /// Sizes of files, as many of one as of another.
    pub sizes: Vec<Size>,
    /// The part of the array that they fill.
    #[serde(default = "most_of_it")]
    pub filled: f64,
    /// Lists that they are dealt to: process 1 reads the first, and so on. As many as processes,
    /// unless told otherwise.
    #[serde(default)]
    pub lists: Option<u32>,
    /// Whether a list is read again after its end.
    #[serde(default = "yes")]
    pub again: bool,
    /// What opening a file takes of the host.
    #[serde(default = "at_once")]
    pub opening: Time,
    /// Blocks that are read when a file is opened.
    #[serde(default)]
    pub looks: usize,
    /// What is asked for at once.
    pub read: Size,
    /// How many of these are read ahead.
    #[serde(default)]
    pub ahead: u16,
}

fn most_of_it() -> f64 {
    0.9
}

/// `[workload.pass]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PassSettings {
    /// What is done.
    pub way: WayName,
    /// From where.
    #[serde(default)]
    pub from: Option<Size>,
    /// How far; to the end, unless told otherwise.
    #[serde(default)]
    pub length: Option<Size>,
    /// What is asked for at once.
    pub part: Size,
    /// How many of these are under way at once.
    #[serde(default = "one")]
    pub at_once: NonZeroU16,
    /// How often; again and again, unless told otherwise.
    #[serde(default)]
    pub passes: Option<u64>,
}

fn one() -> NonZeroU16 {
    NonZeroU16::MIN
}

/// What is done with each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WayName {
    /// It is read.
    Read,
    /// It is written.
    Write,
    /// It is read, and written back.
    Rewrite,
}

/// `[workload.bonnie]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BonnieSettings {
    /// Which one.
    pub phase: PhaseName,
    /// How long the file is.
    pub file: Size,
    /// What is read and written at once.
    pub block: Size,
    /// Accesses under way at once.
    #[serde(default = "one")]
    pub at_once: NonZeroU16,
    /// What the program does between a block's answer and what it asks for next.
    #[serde(default = "at_once")]
    pub thinks: Time,
    /// Of seeks: processes.
    #[serde(default = "three")]
    pub processes: u32,
    /// Of seeks: the part that is written back.
    #[serde(default = "a_tenth")]
    pub written: f64,
}

fn three() -> u32 {
    3
}

fn a_tenth() -> f64 {
    0.1
}

/// Bonnie's phases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PhaseName {
    /// The file is written.
    Write,
    /// Each block is read, and written back.
    Rewrite,
    /// The file is read.
    Read,
    /// Blocks are read at random.
    Seeks,
}

/// `[workload.trace]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TraceSettings {
    /// Where it is.
    pub file: PathBuf,
    /// How it is written.
    pub format: FormatName,
    /// Only this device.
    #[serde(default)]
    pub device: Option<u32>,
    /// These devices one after the other, each with its length.
    #[serde(default)]
    pub join: Option<Vec<(u32, Size)>>,
    /// What becomes of a request beyond the array.
    #[serde(default)]
    pub beyond: BeyondName,
}

/// How a trace is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormatName {
    /// DiskSim's ASCII.
    Disksim,
    /// SPC's, as UMass publishes them.
    Spc,
    /// MSR Cambridge's.
    Msr,
    /// What blkparse prints.
    Blkparse,
    /// fio's iolog.
    Fio,
}

/// What becomes of a request beyond the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondName {
    /// The run ends.
    #[default]
    Refused,
    /// It goes to its place modulo the array.
    Wrapped,
}

impl AccountsSettings {
    pub(super) fn pattern(&self, space: &Space) -> Result<Pattern, WorkloadError> {
        let bank = Bank {
            branches: self.branches,
            page: self.page.sectors(),
            thinks: self.thinks.0,
            cached: self.cached,
            grouped: self.grouped,
        };
        Ok(Pattern::Accounts(Accounts::new(bank, space)?))
    }
}

impl FilesSettings {
    pub(super) fn pattern(
        &self,
        space: &Space,
        processes: Option<u32>,
        random: &mut Random,
    ) -> Result<Pattern, WorkloadError> {
        let set = FileSet {
            sizes: self.sizes.iter().map(|size| size.sectors()).collect(),
            filled: self.filled,
            lists: self.lists.or(processes).unwrap_or(1),
            again: self.again,
            opening: self.opening.0,
            looks: self.looks,
            read: self.read.sectors(),
            ahead: self.ahead,
        };
        Ok(Pattern::Files(Files::new(set, space, random)?))
    }
}

impl PassSettings {
    pub(super) fn pattern(&self, space: &Space, processes: Option<u32>) -> Result<Pattern, WorkloadError> {
        let at = Sector::ZERO + self.from.map_or(Sectors::ZERO, Size::sectors);
        let rest = space.each().find(|(start, length)| *start <= at && at < *start + *length);
        let rest = rest.map_or(Sectors::ZERO, |(start, length)| start + length - at);
        let stretch = Stretch {
            at,
            length: self.length.map_or(rest, Size::sectors),
            part: self.part.sectors(),
            at_once: self.at_once,
            way: match self.way {
                WayName::Read => Way::Once(Kind::Read),
                WayName::Write => Way::Once(Kind::Write),
                WayName::Rewrite => Way::Back { after: Duration::ZERO, part: 1.0 },
            },
        };
        Ok(Pattern::Pass(Pass::new(stretch, processes.unwrap_or(1), self.passes, space)?))
    }
}

impl BonnieSettings {
    pub(super) fn phase(&self, space: &Space) -> Result<(Load, Pattern), WorkloadError> {
        let bonnie = Bonnie {
            file: self.file.sectors(),
            block: self.block.sectors(),
            at_once: self.at_once,
            thinks: self.thinks.0,
        };
        let phase = match self.phase {
            PhaseName::Write => Phase::Write,
            PhaseName::Rewrite => Phase::Rewrite,
            PhaseName::Read => Phase::Read,
            PhaseName::Seeks => Phase::Seeks { processes: self.processes, written: self.written },
        };
        bonnie.phase(phase, space).map_err(WorkloadError::Bonnie)
    }
}

impl TraceSettings {
    pub(super) fn pattern(&self, space: &Space, experiment: &Path) -> Result<Pattern, WorkloadError> {
        if self.device.is_some() && self.join.is_some() {
            return Err(WorkloadError::Both("trace.device", "trace.join"));
        }
        let path = experiment.parent().unwrap_or(Path::new("")).join(&self.file);
        let file = File::open(&path).map_err(|source| WorkloadError::Trace { path, source })?;
        let devices = match (self.device, &self.join) {
            (Some(device), _) => Devices::One(device),
            (None, Some(join)) => {
                Devices::Joined(join.iter().map(|(device, length)| (*device, length.sectors())).collect())
            }
            (None, None) => Devices::Each,
        };
        let beyond = match self.beyond {
            BeyondName::Refused => Beyond::Refused,
            BeyondName::Wrapped => Beyond::Wrapped,
        };
        let format = match self.format {
            FormatName::Disksim => Format::Disksim,
            FormatName::Spc => Format::Spc,
            FormatName::Msr => Format::Msr,
            FormatName::Blkparse => Format::Blkparse,
            FormatName::Fio => Format::Fio,
        };
        let reader = Box::new(BufReader::new(file));
        Ok(Pattern::Replay(Replay::new(reader, format, Again { devices, beyond }, space)))
    }
}
