//! What an experiment may say. `docs/experiments.md` tells each key with its unit and default.

use std::fmt;
use std::marker::PhantomData;

use parlour_array::{Simulated, Tuning};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::drive::DriveSettings;
use super::health::HealthSettings;
use super::path::PathSettings;
use super::workload::WorkloadSettings;
use crate::settings::{LogSettings, OrganizationSettings, Size, Time, TuningSettings};

/// All that an experiment may say but for what it is called and what is swept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct Setup {
    /// Members of an array.
    pub members: Option<u16>,
    /// Arrays alike, one behind the other before hosts.
    pub arrays: Option<u16>,
    /// How much of each drive the array uses.
    pub member_size: Option<Size>,
    /// What all that is drawn is drawn from.
    pub seed: Option<u64>,
    /// The organization, as for `parlour create`.
    pub array: OrganizationSettings,
    /// The parity logs, as for `parlour create`.
    pub log: LogSettings,
    /// Bounds and pace, as for `parlour serve`.
    pub tuning: TuningSettings,
    /// What papers settle this way or that.
    pub semantics: SemanticsSettings,
    /// The members' drives.
    pub drive: DriveSettings,
    /// What lies between hosts and drives.
    pub path: PathSettings,
    /// What happens to members.
    #[serde(deserialize_with = "one_or_several", serialize_with = "as_several")]
    pub health: Vec<HealthSettings>,
    /// What hosts ask for.
    #[serde(deserialize_with = "one_or_several", serialize_with = "as_several")]
    pub workload: Vec<WorkloadSettings>,
    /// How long to look.
    pub measure: MeasureSettings,
    /// What is found by running again and again.
    pub control: ControlSettings,
}

/// What papers settle this way or that (Stodolsky §8).
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct SemanticsSettings {
    /// Whether regions are marked dirty before they are written.
    #[serde(alias = "dirty-map")]
    pub bitmap: Option<bool>,
    /// Whether a read-modify-write is one access (footnote 4), parity's after the data's (footnote
    /// 9).
    pub combined: Option<bool>,
    /// Whether what is overwritten is always known, and never read before.
    pub old_data_known: Option<bool>,
    /// Whether a copy is written only when the one before it is (footnote 11).
    pub copies_in_turn: Option<bool>,
    /// Up to which length what lies between is read along, as parity in large reads (Chen §8.1.3).
    pub read_through: Option<Size>,
}

impl SemanticsSettings {
    /// With the other tuning, for the array.
    pub(super) fn tuning(&self, tuning: Tuning) -> Tuning {
        Tuning {
            bitmap: self.bitmap.unwrap_or(tuning.bitmap),
            copies_in_turn: self.copies_in_turn.unwrap_or(tuning.copies_in_turn),
            read_through: self.read_through.map_or(tuning.read_through, Size::sectors),
            ..tuning
        }
    }

    /// What is asked for apart.
    pub(super) fn simulated(&self) -> Simulated {
        let default = Simulated::default();
        Simulated {
            combined: self.combined.unwrap_or(default.combined),
            old_data_known: self.old_data_known.unwrap_or(default.old_data_known),
        }
    }
}

/// How long to look.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct MeasureSettings {
    /// Requests that are answered before anything is counted.
    pub warm_up: Option<u64>,
    /// Simulated time that goes by before.
    pub warm_up_time: Option<Time>,
    /// Reintegrations of each region that is written to, before.
    pub warm_up_reintegrations: Option<u64>,
    /// Requests after which the warm-up is given up.
    pub warm_up_at_most: Option<u64>,
    /// Requests that are counted at least.
    pub requests: Option<u64>,
    /// And at most.
    pub at_most: Option<u64>,
    /// The interval of the mean response time is to be this part of it.
    pub precision: Option<f64>,
    /// Requests at once beyond which an open load is called unstable.
    pub backlog: Option<usize>,
    /// Simulated time after which it is enough in any case.
    pub time: Option<Time>,
    /// Whether it goes on until all rebuilds are done.
    pub until_rebuilt: Option<bool>,
    /// Whether histories over time are told, too.
    pub history: Option<bool>,
}

/// What is found by running again and again.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct ControlSettings {
    /// Requests a second that are to be reached by thinking longer or shorter.
    pub throughput: Option<f64>,
    /// To within this part.
    pub tolerance: Option<f64>,
    /// Runs at the most.
    pub runs: Option<u32>,
    /// The part of requests that are to be answered within a limit, by as many processes as keep
    /// it.
    pub quantile: Option<f64>,
    /// The limit.
    pub limit: Option<Time>,
    /// The same as a multiple of what it is with one process.
    pub times_idle: Option<f64>,
    /// Processes at the most.
    pub processes: Option<u32>,
}

/// One table, or a list of them.
fn one_or_several<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    struct Tables<T>(PhantomData<T>);
    impl<'de, T: Deserialize<'de>> Visitor<'de> for Tables<T> {
        type Value = Vec<T>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table, or a list of tables")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
            Ok(vec![T::deserialize(MapAccessDeserializer::new(map))?])
        }

        fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Self::Value, A::Error> {
            Vec::deserialize(SeqAccessDeserializer::new(list))
        }
    }
    deserializer.deserialize_any(Tables(PhantomData))
}

/// A list even where there is none: it says which keys there are.
fn as_several<S: Serializer, T: Default + Serialize>(
    several: &[T],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match several {
        [] => [T::default()].serialize(serializer),
        several => several.serialize(serializer),
    }
}
