//! The patterns of requests: sorts, write-backs, transactions, files, passes, Bonnie, traces.

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
    /// The weight of this sort, relative to the other sorts' weights.
    pub weight: f64,
    /// The fraction of these requests that read.
    #[serde(default = "all")]
    pub reads: f64,
    /// The size of these requests.
    pub size: SizeSetting,
}

fn all() -> f64 {
    1.0
}

/// `write-back`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BackSettings {
    /// The fraction of reads that are followed by a write-back.
    #[serde(default = "all")]
    pub part: f64,
    /// The time from the read's answer to the write.
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
    /// The size of each read and write.
    pub page: Size,
    /// The time from the last read to the first write.
    #[serde(default = "at_once")]
    pub thinks: Time,
    /// Whether the records of tellers and branches are in the host's memory.
    #[serde(default = "yes")]
    pub cached: bool,
    /// The number of history records that are written together; 0 for no history.
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
    /// The sizes of files; there are equally many of each size.
    pub sizes: Vec<Size>,
    /// The fraction of the array that the files fill.
    #[serde(default = "most_of_it")]
    pub filled: f64,
    /// The number of lists among which the files are divided: process 1 reads the first list, and
    /// so on. The default is the number of processes.
    #[serde(default)]
    pub lists: Option<u32>,
    /// Whether a list is read again after its end.
    #[serde(default = "yes")]
    pub again: bool,
    /// The host's time to open a file.
    #[serde(default = "at_once")]
    pub opening: Time,
    /// The number of blocks that are read when a file is opened.
    #[serde(default)]
    pub looks: usize,
    /// The size of each read.
    pub read: Size,
    /// The number of reads ahead.
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
    /// The operation.
    pub way: WayName,
    /// The beginning.
    #[serde(default)]
    pub from: Option<Size>,
    /// The length. The default is the rest of the array.
    #[serde(default)]
    pub length: Option<Size>,
    /// The size of each request.
    pub part: Size,
    /// The number of requests under way at once.
    #[serde(default = "one")]
    pub at_once: NonZeroU16,
    /// The number of passes. The default is no limit.
    #[serde(default)]
    pub passes: Option<u64>,
}

fn one() -> NonZeroU16 {
    NonZeroU16::MIN
}

/// The operation on each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WayName {
    /// Read it.
    Read,
    /// Write it.
    Write,
    /// Read it, then write it back.
    Rewrite,
}

/// `[workload.bonnie]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct BonnieSettings {
    /// The phase.
    pub phase: PhaseName,
    /// The length of the file.
    pub file: Size,
    /// The size of each read and write.
    pub block: Size,
    /// The number of accesses under way at once.
    #[serde(default = "one")]
    pub at_once: NonZeroU16,
    /// The program's time between the answer for a block and the next request.
    #[serde(default = "at_once")]
    pub thinks: Time,
    /// The number of processes, for seeks.
    #[serde(default = "three")]
    pub processes: u32,
    /// The fraction of blocks that are written back, for seeks.
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
    /// The path of the trace.
    pub file: PathBuf,
    /// The format of the trace.
    pub format: FormatName,
    /// Use only the requests of this device.
    #[serde(default)]
    pub device: Option<u32>,
    /// Concatenate these devices, each with its length.
    #[serde(default)]
    pub join: Option<Vec<(u32, Size)>>,
    /// How requests beyond the end of the array are handled.
    #[serde(default)]
    pub beyond: BeyondName,
}

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FormatName {
    /// DiskSim's ASCII.
    Disksim,
    /// SPC's, as published by UMass.
    Spc,
    /// MSR Cambridge's.
    Msr,
    /// The output of blkparse.
    Blkparse,
    /// fio's iolog.
    Fio,
}

/// How requests beyond the end of the array are handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BeyondName {
    /// The run fails.
    #[default]
    Refused,
    /// The position is taken modulo the array's size.
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
