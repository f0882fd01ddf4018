//! Commands and their answers.

use std::path::PathBuf;

use parlour_array::Repair;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command, one line of JSON such as `{"command":"fail","member":2}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// The array's state.
    Status,
    /// Exclude the member in a slot.
    Fail {
        /// The place.
        member: u16,
        /// Though something that it holds can be had from no other member.
        #[serde(default)]
        force: bool,
    },
    /// Forget the failed member in a slot.
    Remove {
        /// The place.
        member: u16,
    },
    /// Add a spare.
    Add {
        /// Its path, absolute.
        path: PathBuf,
        /// Overwrite what somebody keeps there.
        #[serde(default)]
        force: bool,
    },
    /// Put a new member into a place and rebuild it.
    Replace {
        /// The place.
        member: u16,
        /// The new member's path, absolute.
        path: PathBuf,
        /// Overwrite what somebody keeps there; and though something that the old member holds can
        /// be had from no other.
        #[serde(default)]
        force: bool,
    },
    /// Go on with a rebuild that has stopped, or rebuild onto a spare.
    Rebuild,
    /// Compare all redundancy.
    Scrub {
        /// What to do with a mismatch.
        #[serde(default)]
        repair: Repairing,
    },
    /// Break off the scrub that is under way.
    ScrubCancel,
    /// How far the scrub has come, and what the last one found.
    ScrubStatus,
    /// Stop the array and its server. The answer comes when it is stopped.
    Stop,
}

/// What a scrub does with a mismatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repairing {
    /// Count and list it.
    #[default]
    Nothing,
    /// Where three or more copies are kept, follow what most of them say.
    Majority,
    /// Believe the data, and compute parity from it.
    ParityFromData,
}

impl From<Repairing> for Repair {
    fn from(repair: Repairing) -> Repair {
        match repair {
            Repairing::Nothing => Repair::Nothing,
            Repairing::Majority => Repair::Majority,
            Repairing::ParityFromData => Repair::ParityFromData,
        }
    }
}

impl From<Repair> for Repairing {
    fn from(repair: Repair) -> Repairing {
        match repair {
            Repair::Nothing => Repairing::Nothing,
            Repair::Majority => Repairing::Majority,
            Repair::ParityFromData => Repairing::ParityFromData,
        }
    }
}

/// The answer to a command that was carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// What it says; `docs/control.md` tells which command is answered with what.
    pub ok: Value,
}

/// A line that the server sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// The command was carried out.
    Ok(Value),
    /// It was not, and this is why.
    Error(String),
}
