//! The commands of the control socket, and their answers.

use std::path::PathBuf;

use parlour_array::Repair;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A command, one line of JSON such as `{"command":"fail","member":2}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Request {
    /// Report the array's state.
    Status,
    /// List data that cannot be read.
    Lost {
        /// The stripe from which to look on: 0, then the one that the last answer names.
        #[serde(default)]
        from: u64,
    },
    /// Exclude the member in a slot.
    Fail {
        /// The slot.
        member: u16,
        /// Fail the member even if no other member has some of its data.
        #[serde(default)]
        force: bool,
    },
    /// Forget the failed member in a slot.
    Remove {
        /// The slot.
        member: u16,
    },
    /// Add a spare, or a journal device.
    Add {
        /// The new member's absolute path.
        path: PathBuf,
        /// Overwrite foreign data on the new member.
        #[serde(default)]
        force: bool,
        /// Whether it becomes a journal device.
        #[serde(default)]
        journal: bool,
    },
    /// Put a new member into a slot and rebuild it.
    Replace {
        /// The slot.
        member: u16,
        /// The new member's absolute path.
        path: PathBuf,
        /// Overwrite foreign data on the new member, and replace the old member even if no other
        /// member has some of its data.
        #[serde(default)]
        force: bool,
    },
    /// Continue a rebuild that has stopped, or rebuild onto a spare.
    Rebuild,
    /// Compare all redundancy.
    Scrub {
        /// What to do with a mismatch.
        #[serde(default)]
        repair: Repairing,
    },
    /// Cancel the running scrub.
    ScrubCancel,
    /// Report the progress of the scrub, and the result of the last one.
    ScrubStatus,
    /// Stop the array and its server. The answer is sent when the array has stopped.
    Stop,
}

/// What a scrub does with a mismatch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repairing {
    /// Count and list it.
    #[default]
    Nothing,
    /// Where three or more copies are kept, write the content of the majority.
    Majority,
    /// Trust the data, and compute parity from it.
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
    /// The content of the answer. `docs/control.md` describes it for each command.
    pub ok: Value,
}

/// A line that the server sends.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    /// The command was carried out.
    Ok(Value),
    /// The command was not carried out, for this reason.
    Error(String),
}
