//! `[rival]`: the keys of organizations that are simulated only.

use serde::{Deserialize, Serialize};

use crate::settings::{RivalName, Size};

/// `[rival]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
pub struct RivalSettings {
    /// The memory: of `lraid-x4` for sorting and merging updates, of `log-structured` for written
    /// data, of `doubly-distorted-mirrors` for masters that are not in their places.
    pub memory: Option<Size>,
    /// The part of a segment on each member (`log-structured`).
    pub segment: Option<Size>,
    /// Hosts' data as a part of what segments hold (`log-structured`).
    pub utilization: Option<f64>,
    /// Whether memory is lost with the power, so that writes are answered when they are on members
    /// (`log-structured`).
    pub volatile: Option<bool>,
    /// Tracks of each cylinder for masters (distorted mirrors).
    pub master_tracks: Option<u16>,
}

impl RivalSettings {
    /// The keys that are set, each with the rivals that have it.
    pub(super) fn set(&self) -> impl Iterator<Item = (&'static str, &'static [RivalName])> {
        use RivalName::{DistortedMirrors, DoublyDistortedMirrors, LogStructured, LraidX4};
        let keys: [(bool, &'static str, &'static [RivalName]); 5] = [
            (self.memory.is_some(), "rival.memory", &[LraidX4, LogStructured, DoublyDistortedMirrors]),
            (self.segment.is_some(), "rival.segment", &[LogStructured]),
            (self.utilization.is_some(), "rival.utilization", &[LogStructured]),
            (self.volatile.is_some(), "rival.volatile", &[LogStructured]),
            (
                self.master_tracks.is_some(),
                "rival.master-tracks",
                &[DistortedMirrors, DoublyDistortedMirrors],
            ),
        ];
        keys.into_iter().filter(|(is_set, ..)| *is_set).map(|(_, key, of)| (key, of))
    }

    /// A key that is set, for an array that is no rival.
    pub(super) fn first_set(&self) -> Option<&'static str> {
        self.set().next().map(|(key, _)| key)
    }
}
