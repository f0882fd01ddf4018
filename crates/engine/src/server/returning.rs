//! Members that return by themselves: those that were absent when the array was opened, and those
//! that disappeared while it was served.
//!
//! While the array has such members, threads look every few seconds at the paths and directories
//! that were named. A member that was failed by an administrator or for its faults is not taken
//! back, nor one that was present at the opening and was left out. A member that disappears
//! repeatedly must stay longer each time before it is taken back.
//!
//! Members are told apart by the identity in their superblock: one device has many paths.

use std::path::{Path, PathBuf};

use parlour_array::{FailureCause, Identity};
use parlour_units::{Duration, Instant};

/// The waiting time of a member that disappears is multiplied by this each time.
const PATIENCE_GROWS: u64 = 4;

/// Which members may return, and where to look for them.
#[derive(Debug)]
pub(super) struct Returns {
    /// Paths of members, and directories of members.
    watched: Vec<PathBuf>,
    /// Members that only an administrator takes back.
    settled: Vec<Identity>,
    /// Those of `watched` at which a thread is looking.
    looking: Vec<PathBuf>,
    gone: Vec<Gone>,
    interval: Duration,
    due: Instant,
}

/// A member that has disappeared.
#[derive(Debug)]
struct Gone {
    member: Identity,
    /// The time from which it may return.
    from: Instant,
    /// How long it had to wait this time.
    waited: Duration,
}

impl Returns {
    /// `present` are the members that were found at the opening, used or not.
    pub(super) fn new(watched: Vec<PathBuf>, present: Vec<Identity>, interval: Duration) -> Returns {
        let gone = Vec::new();
        Returns { watched, settled: present, looking: Vec::new(), gone, interval, due: Instant::ZERO }
    }

    /// When to look next.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Records that `member` at `path` was excluded.
    pub(super) fn excluded(&mut self, member: Identity, path: &Path, cause: FailureCause, now: Instant) {
        self.settled.retain(|settled| *settled != member);
        if cause != FailureCause::Gone {
            self.settled.push(member);
            return;
        }
        if !self.watched.iter().any(|watched| path.starts_with(watched)) {
            self.watched.push(path.into());
        }
        let known = self.gone.iter_mut().find(|gone| gone.member == member);
        match known {
            Some(gone) => {
                gone.waited = gone.waited * PATIENCE_GROWS;
                gone.from = now + gone.waited;
            }
            None => self.gone.push(Gone { member, from: now + self.interval, waited: self.interval }),
        }
    }

    /// Whether a search is due. If so, sets the time of the next one.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        let is_due = self.due <= now;
        if is_due {
            self.due = now + self.interval;
        }
        is_due
    }

    /// The paths to search: not those of `open` members, and not those that a thread is searching.
    pub(super) fn places(&self, open: &[PathBuf]) -> Vec<PathBuf> {
        let free = |path: &&PathBuf| !open.contains(path) && !self.looking.contains(path);
        self.watched.iter().filter(free).cloned().collect()
    }

    /// Records that a thread searches `path`.
    pub(super) fn looks_at(&mut self, path: PathBuf) {
        self.looking.push(path);
    }

    /// Records that the search of `path` has ended.
    pub(super) fn has_looked_at(&mut self, path: &Path) {
        self.looking.retain(|looking| looking != path);
    }

    /// Members that are not taken back now.
    pub(super) fn unwelcome(&self, now: Instant) -> Vec<Identity> {
        let early = self.gone.iter().filter(|gone| gone.from > now).map(|gone| gone.member);
        self.settled.iter().copied().chain(early).collect()
    }
}
