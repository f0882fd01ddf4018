//! The state that a running server reports to its owner.

use std::path::PathBuf;

use parlour_array::{Mode, Status};
use parlour_units::Bytes;
use serde::Serialize;

use crate::backend::IoBackend;
use crate::machine::Machine;
use crate::meter::Rates;

/// Passed to the observer once a second, and after each event.
#[derive(Debug)]
pub struct Pulse<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) notes: &'a [String],
    pub(crate) history: &'a [String],
    /// The requests served in the last whole second.
    pub rates: Rates,
    /// The events since the last pulse, one line each.
    pub events: &'a [String],
}

/// The array's state, with the parts that only its server knows.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStatus {
    /// The array's own status.
    #[serde(flatten)]
    pub array: Status,
    /// The paths of members and spares, by their numbers in the status.
    pub paths: Vec<MemberPath>,
    /// The directory in which the server was started. Relative paths start from it.
    pub directory: PathBuf,
    /// The notes from the opening of the array, one line each.
    pub notes: Vec<String>,
    /// The last hundred events since then.
    pub events: Vec<String>,
    /// The name of the backend: "io_uring" or "threads".
    pub io: &'static str,
    /// Hosts' requests that are not answered.
    pub requests_in_flight: usize,
    /// Accesses to members that are under way.
    pub accesses_in_flight: usize,
    /// Accesses that were given up, because their member did not answer or was excluded, and that
    /// the kernel has not answered yet.
    pub accesses_given_up: usize,
    /// The memory of these accesses. It is not used for anything else until they are answered.
    pub quarantined: Bytes,
    /// The payload memory that the server has allocated: now, and the maximum so far.
    pub server_memory: (Bytes, Bytes),
    /// The requests served in the last whole second.
    pub rates: Rates,
}

/// The path and state of a member.
#[derive(Clone, Debug, Serialize)]
pub struct MemberPath {
    /// The driver's number of the member.
    pub member: u16,
    /// Its path.
    pub path: PathBuf,
    /// Whether it is open. A member that was failed or removed is not.
    pub open: bool,
    /// Whether its accesses take much longer than those of the other members.
    pub slow: bool,
}

impl Pulse<'_> {
    /// The array's state now.
    pub fn status(&self) -> ServerStatus {
        status(self.machine, self.notes, self.history, self.rates)
    }

    /// The mode in which the array serves.
    pub fn mode(&self) -> Mode {
        self.machine.array.get().mode()
    }
}

pub(crate) fn status(machine: &Machine, notes: &[String], history: &[String], rates: Rates) -> ServerStatus {
    let paths = machine.roster.paths();
    let memory = machine.memory().statistics();
    ServerStatus {
        array: machine.array.get().status(),
        paths: paths
            .map(|(member, path, open)| {
                let slow = open && machine.pace.is_slow(member);
                MemberPath { member, path: path.into(), open, slow }
            })
            .collect(),
        // If the directory was removed, relative paths have no meaning.
        directory: std::env::current_dir().unwrap_or_default(),
        notes: notes.to_vec(),
        events: history.to_vec(),
        io: machine.io().name(),
        requests_in_flight: machine.requests_in_flight(),
        accesses_in_flight: machine.in_flight(),
        accesses_given_up: machine.accesses_given_up(),
        quarantined: machine.memory().quarantined_bytes(),
        server_memory: (Bytes::new(memory.in_use.get() + memory.retained.get()), memory.peak),
        rates,
    }
}
