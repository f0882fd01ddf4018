//! Members that come back by themselves: who was absent when the array was opened, or went away
//! while it was served.
//!
//! As long as the array awaits somebody, it is looked every few seconds, in threads of their own,
//! at the paths and directories that were named. Whom people have failed is not taken back, nor who
//! was there at the opening and was left out. Who goes away again and again is waited for longer
//! each time.

use std::path::{Path, PathBuf};

use parlour_array::FailureCause;
use parlour_units::{Duration, Instant};

/// Each time that a member goes away it is taken back after so many times as long.
const PATIENCE_GROWS: u64 = 4;

/// Where is looked for whom.
#[derive(Debug)]
pub(super) struct Returns {
    /// Paths of members, and directories of them.
    watched: Vec<PathBuf>,
    /// Paths whose members are taken back by people alone.
    settled: Vec<PathBuf>,
    /// Those of `watched` that somebody is looking at.
    looking: Vec<PathBuf>,
    /// Members that have gone away, from when on each may come back, and how long it is out the
    /// next time.
    gone: Vec<(PathBuf, Instant, Duration)>,
    interval: Duration,
    due: Instant,
}

impl Returns {
    pub(super) fn new(watched: Vec<PathBuf>, present: Vec<PathBuf>, interval: Duration) -> Returns {
        let gone = Vec::new();
        Returns { watched, settled: present, looking: Vec::new(), gone, interval, due: Instant::ZERO }
    }

    /// When it is looked next.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// A member at `path` was excluded.
    pub(super) fn excluded(&mut self, path: &Path, cause: FailureCause, now: Instant) {
        self.settled.retain(|settled| settled != path);
        if cause != FailureCause::Gone {
            self.settled.push(path.into());
            return;
        }
        if !self.watched.iter().any(|watched| path.starts_with(watched)) {
            self.watched.push(path.into());
        }
        match self.gone.iter_mut().find(|(gone, ..)| gone == path) {
            Some((_, from, out)) => {
                *out = *out * PATIENCE_GROWS;
                *from = now + *out;
            }
            None => self.gone.push((path.into(), now + self.interval, self.interval)),
        }
    }

    /// Whether it is to be looked now; the next time is then settled.
    pub(super) fn begin(&mut self, now: Instant) -> bool {
        let is_due = self.due <= now;
        if is_due {
            self.due = now + self.interval;
        }
        is_due
    }

    /// Paths at which somebody may be back: none of `known` is among them.
    pub(super) fn unknown(&self, known: &[PathBuf]) -> Vec<PathBuf> {
        self.watched.iter().filter(|path| !known.contains(path)).cloned().collect()
    }

    pub(super) fn is_looked_at(&self, path: &Path) -> bool {
        self.looking.iter().any(|looking| looking == path)
    }

    /// Somebody looks at `path` from now on.
    pub(super) fn looks_at(&mut self, path: PathBuf) {
        self.looking.push(path);
    }

    /// Somebody has looked at `path`.
    pub(super) fn has_looked_at(&mut self, path: &Path) {
        self.looking.retain(|looking| looking != path);
    }

    /// Paths at which nobody is looked for now.
    pub(super) fn known(&self, now: Instant) -> impl Iterator<Item = PathBuf> + '_ {
        let early = self.gone.iter().filter(move |(_, from, _)| *from > now).map(|(path, ..)| path);
        self.settled.iter().chain(early).cloned()
    }
}
