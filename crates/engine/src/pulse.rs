//! What a server tells its owner while it runs.

use std::path::PathBuf;

use parlour_array::{Mode, Status};
use parlour_units::Bytes;
use serde::Serialize;

use crate::backend::IoBackend;
use crate::machine::Machine;
use crate::meter::Rates;

/// Given to the observer once a second, and when something has happened.
#[derive(Debug)]
pub struct Pulse<'a> {
    pub(crate) machine: &'a Machine,
    pub(crate) notes: &'a [String],
    pub(crate) history: &'a [String],
    /// What was served in the last whole second.
    pub rates: Rates,
    /// What has happened since the last pulse, a line each.
    pub events: &'a [String],
}

/// The array's state with what only its server knows.
#[derive(Clone, Debug, Serialize)]
pub struct ServerStatus {
    /// The array's own account.
    #[serde(flatten)]
    pub array: Status,
    /// Paths of members and spares, by the numbers that the account names them by.
    pub paths: Vec<MemberPath>,
    /// The directory that relative paths start from: the one that the server was started in.
    pub directory: PathBuf,
    /// What was remarkable when the array was opened, a line each.
    pub notes: Vec<String>,
    /// What has happened since, the last hundred lines.
    pub events: Vec<String>,
    /// How accesses are carried out: "io_uring" or "threads".
    pub io: &'static str,
    /// Requests of hosts that are not answered.
    pub requests_in_flight: usize,
    /// Accesses of members that are under way.
    pub accesses_in_flight: usize,
    /// Accesses of members that were excluded for not answering, or while they were accessed, which
    /// the system still has.
    pub accesses_given_up: usize,
    /// Memory that these may still work on, and that is used for nothing else meanwhile.
    pub quarantined: Bytes,
    /// Payload memory that the server has from the system: now, and at the most.
    pub server_memory: (Bytes, Bytes),
    /// What was served in the last whole second.
    pub rates: Rates,
}

/// Where a member is.
#[derive(Clone, Debug, Serialize)]
pub struct MemberPath {
    /// The driver's number of it.
    pub member: u16,
    /// Its path.
    pub path: PathBuf,
    /// Whether it is open; one that was failed or removed is not.
    pub open: bool,
    /// Whether its accesses take much longer than its siblings'.
    pub slow: bool,
}

impl Pulse<'_> {
    /// The array's state now.
    pub fn status(&self) -> ServerStatus {
        status(self.machine, self.notes, self.history, self.rates)
    }

    /// Whether and how the array serves.
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
        // Without one (it was removed) relative paths lead nowhere.
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
