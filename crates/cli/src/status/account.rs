//! A server's status of its array, received through the control socket.

use std::path::{Path, PathBuf};

use parlour_engine::ServerStatus;
use parlour_units::Bytes;
use serde::Deserialize;
use serde_json::Value;

/// The part of a server's status that the text output uses.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Account {
    pub(crate) name: String,
    pub(crate) identity: String,
    pub(crate) mode: String,
    pub(crate) organization: String,
    pub(crate) consistency: String,
    pub(crate) capacity: Bytes,
    pub(crate) block: Bytes,
    pub(crate) stripe_unit: Bytes,
    pub(crate) spare_redundancy: u16,
    pub(crate) fault_tolerance: u16,
    pub(crate) lost: bool,
    pub(crate) members: Vec<MemberAccount>,
    #[serde(default)]
    pub(crate) journals: Vec<MemberAccount>,
    pub(crate) spares: Vec<u16>,
    pub(crate) rebuild: Option<Task>,
    pub(crate) resync: Option<Task>,
    pub(crate) unreadable: Bytes,
    pub(crate) unreadable_stripes: Vec<u64>,
    pub(crate) scrub: Option<Task>,
    pub(crate) last_scrub: Option<ScrubAccount>,
    pub(crate) regions: u32,
    #[serde(default)]
    pub(crate) doubtful_regions: u32,
    pub(crate) log: Option<LogAccount>,
    #[serde(default)]
    pub(crate) journal: Option<JournalAccount>,
    #[serde(default)]
    pub(crate) write_back: Option<WriteBackAccount>,
    pub(crate) counters: CounterAccount,
    #[serde(default)]
    pub(crate) rates: RatesAccount,
    pub(crate) paths: Vec<PathAccount>,
    /// The directory from which relative paths start.
    #[serde(default)]
    pub(crate) directory: PathBuf,
    pub(crate) notes: Vec<String>,
    pub(crate) events: Vec<String>,
    pub(crate) io: String,
    pub(crate) server_memory: (Bytes, Bytes),
}

/// A slot and the member in it.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct MemberAccount {
    pub(crate) slot: u16,
    pub(crate) member: Option<u16>,
    pub(crate) state: String,
    pub(crate) may_return: bool,
    /// (A server of an older version does not name it, nor the next.)
    #[serde(default)]
    pub(crate) moving: bool,
    #[serde(default)]
    pub(crate) in_spare_room: bool,
    pub(crate) errors: u32,
    pub(crate) failing: bool,
    pub(crate) traffic: Vec<Traffic>,
}

/// Accesses of one class.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Traffic {
    pub(crate) reads: u64,
    pub(crate) read_bytes: u64,
    pub(crate) writes: u64,
    pub(crate) write_bytes: u64,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) done: u64,
    pub(crate) total: u64,
    pub(crate) left_seconds: Option<f64>,
    pub(crate) stopped: bool,
}

/// The result of a scrub.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ScrubAccount {
    pub(crate) stripes: u64,
    pub(crate) skipped: u64,
    pub(crate) mismatches: u64,
    pub(crate) repaired: u64,
    pub(crate) unreadable: u64,
    /// (A server of an older version names none.)
    #[serde(default)]
    pub(crate) located: Vec<LocatedAccount>,
    pub(crate) listed: Vec<MismatchAccount>,
    pub(crate) complete: bool,
    #[serde(default)]
    pub(crate) cancelled: bool,
}

/// A mismatch between data and check units.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct MismatchAccount {
    pub(crate) stripe: u64,
    pub(crate) at: u64,
    #[serde(default)]
    pub(crate) located: Option<u16>,
    pub(crate) repaired: bool,
}

/// How many mismatches a unit on one member alone explains.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct LocatedAccount {
    pub(crate) slot: u16,
    pub(crate) mismatches: u64,
}

/// The parity logs.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct LogAccount {
    pub(crate) live_records: u64,
    pub(crate) buffers: u32,
    pub(crate) buffer_limit: u32,
    pub(crate) regions: u32,
    pub(crate) reintegrating: u32,
}

/// Writes that are acknowledged and not in their place yet.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct WriteBackAccount {
    pub(crate) staged: Bytes,
}

/// What the server did in the last second.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct RatesAccount {
    pub(crate) seconds: f64,
    pub(crate) destaged: Bytes,
}

/// The commit log.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct JournalAccount {
    pub(crate) on_devices: bool,
    pub(crate) streams: Vec<StreamAccount>,
}

/// A stream of the commit log.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct StreamAccount {
    pub(crate) of: String,
    pub(crate) used: Bytes,
    pub(crate) room: Bytes,
    pub(crate) entries: u64,
    pub(crate) oldest_seconds: Option<f64>,
    pub(crate) written: u64,
    pub(crate) content: u64,
}

/// Counts since the array was opened.
#[derive(Clone, Copy, Debug, Deserialize)]
pub(crate) struct CounterAccount {
    pub(crate) out_of_space: bool,
}

/// The path of a member.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct PathAccount {
    pub(crate) member: u16,
    pub(crate) path: PathBuf,
}

impl Account {
    /// Parses the answer from the control socket.
    ///
    /// # Errors
    /// The server has another version with a different answer.
    pub(crate) fn parse(value: &Value) -> Result<Account, serde_json::Error> {
        Account::deserialize(value)
    }

    /// The status of a server in this process.
    pub(crate) fn of_server(status: &ServerStatus) -> Option<Account> {
        Account::parse(&serde_json::to_value(status).ok()?).ok()
    }

    /// Members that are not active.
    pub(crate) fn absent(&self) -> impl Iterator<Item = &MemberAccount> {
        self.members.iter().filter(|member| member.state != "active")
    }

    /// Whether every member is active.
    pub(crate) fn is_whole(&self) -> bool {
        self.absent().next().is_none()
    }

    pub(crate) fn path(&self, member: u16) -> Option<&PathAccount> {
        self.paths.iter().find(|path| path.member == member)
    }

    /// The text for a path: as it was given to the server, or absolute if the command runs in
    /// another directory.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let here = std::env::current_dir().is_ok_and(|here| here == self.directory);
        let path = if here { path.to_owned() } else { self.directory.join(path) };
        path.display().to_string()
    }
}

impl Task {
    pub(crate) fn percent(&self) -> f64 {
        if self.total == 0 { 100.0 } else { 100.0 * self.done as f64 / self.total as f64 }
    }
}

impl MemberAccount {
    /// Accesses of all classes.
    pub(crate) fn all_traffic(&self) -> Traffic {
        self.traffic.iter().fold(Traffic::default(), |sum, class| Traffic {
            reads: sum.reads + class.reads,
            read_bytes: sum.read_bytes + class.read_bytes,
            writes: sum.writes + class.writes,
            write_bytes: sum.write_bytes + class.write_bytes,
        })
    }
}
