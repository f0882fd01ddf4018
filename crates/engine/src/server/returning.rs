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

use super::admin::Waiting;
use super::{Server, Stage};
use crate::frontend::Frontend;
use crate::joining::{JoiningError, JoiningMember, Scouting};

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

    /// Paths at which nobody is looked for now.
    fn known(&self, now: Instant) -> impl Iterator<Item = PathBuf> + '_ {
        let early = self.gone.iter().filter(move |(_, from, _)| *from > now).map(|(path, ..)| path);
        self.settled.iter().chain(early).cloned()
    }
}

impl<F: Frontend> Server<F> {
    /// Has somebody look for members that are back, where one is awaited.
    pub(super) fn look_for_returns(&mut self) {
        let now = self.machine.now();
        if now < self.returns.due {
            return;
        }
        self.returns.due = now + self.returns.interval;
        let array = self.machine.array.get();
        let Some(identity) = array.awaits_return().filter(|_| self.stage == Stage::Serving) else { return };
        let geometry = array.geometry().clone();
        let open = self.machine.roster.paths().filter(|(_, _, open)| *open);
        let known: Vec<PathBuf> =
            open.map(|(_, path, _)| path.to_owned()).chain(self.returns.known(now)).collect();
        let idle: Vec<PathBuf> =
            self.returns.watched.iter().filter(|path| !known.contains(path)).cloned().collect();
        for path in idle {
            if self.returns.looking.contains(&path) {
                continue;
            }
            let scouting = Scouting {
                path: path.clone(),
                known: known.clone(),
                array: identity,
                geometry: geometry.clone(),
            };
            // Where no thread can be had, it is tried again next time.
            if self.reception.scout(Waiting::Return(path.clone()), scouting).is_ok() {
                self.returns.looking.push(path);
            }
        }
    }

    /// Somebody has looked at `path`, and perhaps found a member that is back.
    pub(super) fn receive_returned(&mut self, path: &Path, result: Result<JoiningMember, JoiningError>) {
        self.returns.looking.retain(|looking| looking != path);
        // Who may not return, or not now, is asked again the next time. The array says who is back.
        if let Ok(joining) = result {
            let _ = self.take_in(joining, None, false);
        }
    }
}
