//! The keys of an experiment file. `docs/experiments.md` documents each with its unit and default.

use parlour_array::{Compression, Simulated, Tuning};
use serde::{Deserialize, Serialize};

use super::drive::DriveSettings;
use super::health::HealthSettings;
use super::path::PathSettings;
use super::reliability::ReliabilitySettings;
use super::rival::RivalSettings;
use super::tables::{as_several, one_or_several};
use super::workload::WorkloadSettings;
use crate::settings::{LogSettings, OrganizationSettings, Size, Time, TuningSettings};

/// All keys of an experiment except for its title, its description and its axes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Setup {
    /// The number of members of each array.
    pub members: Option<u16>,
    /// The number of equal arrays; hosts see them as one address space, one array after the other.
    pub arrays: Option<u16>,
    /// The size of the part of each drive that the array uses.
    pub member_size: Option<Size>,
    /// The seed of the random numbers.
    pub seed: Option<u64>,
    /// The organization, as for `parlour create`.
    pub array: OrganizationSettings,
    /// The parity logs, as for `parlour create`.
    pub log: LogSettings,
    /// Limits and pace, as for `parlour serve`.
    pub tuning: TuningSettings,
    /// Details on which papers differ.
    pub semantics: SemanticsSettings,
    /// The members' drives.
    pub drive: DriveSettings,
    /// Journal devices.
    pub journal: JournalSettings,
    /// Organizations of others, which are simulated only.
    pub rival: RivalSettings,
    /// The path between hosts and drives.
    pub path: PathSettings,
    /// Events: drives that die, replacements, spares, scrubs.
    #[serde(deserialize_with = "one_or_several", serialize_with = "as_several")]
    pub health: Vec<HealthSettings>,
    /// The hosts' requests.
    #[serde(deserialize_with = "one_or_several", serialize_with = "as_several")]
    pub workload: Vec<WorkloadSettings>,
    /// How long a run is, and what counts.
    pub measure: MeasureSettings,
    /// A search over several runs.
    pub control: ControlSettings,
    /// What is assumed of failures, for `parlour reliability`.
    pub reliability: ReliabilitySettings,
}

/// Devices that take the entries of the commit log.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct JournalSettings {
    /// The number of devices of each array.
    pub devices: Option<u16>,
    /// Their drives; by default the same as the members'.
    pub drive: DriveSettings,
    /// Whether entries on members go to the free sectors that pass first, of a track that each
    /// cylinder has for this beside its others (*write-twice*).
    pub near_heads: Option<bool>,
}

/// Details on which papers differ (Stodolsky §8).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SemanticsSettings {
    /// Whether regions are marked dirty before they are written.
    #[serde(alias = "dirty-map")]
    pub bitmap: Option<bool>,
    /// Whether a read-modify-write is one access (footnote 4), with the parity's access after the
    /// data's (footnote 9).
    pub combined: Option<bool>,
    /// Whether the old content of overwritten data is always known, and so never read.
    pub old_data_known: Option<bool>,
    /// The length of update records in the log, as a fraction of what they change (section 11).
    pub compressed_to: Option<f64>,
    /// Whether each copy is written only after the write of the copy before it has finished
    /// (footnote 11).
    pub copies_in_turn: Option<bool>,
    /// The longest gap between two reads of a disk that is read along, such as parity in large
    /// reads (Chen §8.1.3).
    pub read_through: Option<Size>,
}

/// Details with which nothing can be simulated.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum SemanticsError {
    /// A record cannot be so long.
    #[error("semantics.compressed-to: {0} is not possible; use 0.001 to 1")]
    Compression(f64),
}

impl SemanticsSettings {
    /// Returns the tuning with these details.
    pub(super) fn tuning(&self, tuning: Tuning) -> Tuning {
        Tuning {
            bitmap: self.bitmap.unwrap_or(tuning.bitmap),
            copies_in_turn: self.copies_in_turn.unwrap_or(tuning.copies_in_turn),
            read_through: self.read_through.map_or(tuning.read_through, Size::sectors),
            ..tuning
        }
    }

    /// Returns the details that exist only in the simulator.
    ///
    /// # Errors
    /// A record cannot be so long.
    pub(super) fn simulated(&self) -> Result<Simulated, SemanticsError> {
        let default = Simulated::default();
        Ok(Simulated {
            combined: self.combined.unwrap_or(default.combined),
            old_data_known: self.old_data_known.unwrap_or(default.old_data_known),
            compression: match self.compressed_to {
                Some(part) => compression(part)?,
                None => default.compression,
            },
        })
    }
}

/// Records of this fraction of what they change, to the thousandth.
fn compression(part: f64) -> Result<Compression, SemanticsError> {
    // (What is no number, or out of range, becomes a number that is no part.)
    let thousandths = (part * 1e3).round() as u16;
    Compression::of(thousandths).filter(|_| part <= 1.0).ok_or(SemanticsError::Compression(part))
}

/// How long a run is, and what counts.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MeasureSettings {
    /// The number of requests answered in the warm-up, which are not counted.
    pub warm_up: Option<u64>,
    /// The least simulated time of the warm-up.
    pub warm_up_time: Option<Time>,
    /// The least number of reintegrations, in the warm-up, of each region that is written to.
    pub warm_up_reintegrations: Option<u64>,
    /// The number of requests after which the warm-up ends in any case.
    pub warm_up_at_most: Option<u64>,
    /// The least number of counted requests.
    pub requests: Option<u64>,
    /// The largest number of counted requests.
    pub at_most: Option<u64>,
    /// The wanted half width of the mean response time's interval, as a fraction of the mean.
    pub precision: Option<f64>,
    /// With more requests under way than this, an open load is unstable.
    pub backlog: Option<usize>,
    /// The simulated time after which the run ends in any case.
    pub time: Option<Time>,
    /// Whether the run continues until all rebuilds are done.
    pub until_rebuilt: Option<bool>,
    /// Whether the report includes histories over time.
    pub history: Option<bool>,
}

/// A search over several runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ControlSettings {
    /// The wanted throughput in requests per second; the search changes the think time.
    pub throughput: Option<f64>,
    /// The accepted deviation, as a fraction of the throughput.
    pub tolerance: Option<f64>,
    /// The largest number of runs.
    pub runs: Option<u32>,
    /// The fraction of requests to be answered within the limit; the search changes the number of
    /// processes.
    pub quantile: Option<f64>,
    /// The limit of the response time.
    pub limit: Option<Time>,
    /// The limit as a multiple of the quantile with one process.
    pub times_idle: Option<f64>,
    /// The largest number of processes.
    pub processes: Option<u32>,
}
