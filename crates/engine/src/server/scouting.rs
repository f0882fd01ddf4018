//! Has members looked for that come back by themselves.

use std::path::PathBuf;

use super::waiting::Waiting;
use super::{Server, Stage};
use crate::frontend::Frontend;
use crate::joining::Scouting;

impl<F: Frontend> Server<F> {
    /// Has somebody look for members that are back, where one is awaited.
    pub(super) fn look_for_returns(&mut self) {
        let now = self.machine.now();
        if !self.returns.begin(now) {
            return;
        }
        let array = self.machine.array.get();
        let Some(identity) = array.awaits_return().filter(|_| self.stage == Stage::Serving) else { return };
        let geometry = array.geometry().clone();
        let open = self.machine.roster.paths().filter(|(_, _, open)| *open);
        let known: Vec<PathBuf> =
            open.map(|(_, path, _)| path.to_owned()).chain(self.returns.known(now)).collect();
        for path in self.returns.unknown(&known) {
            if self.returns.is_looked_at(&path) {
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
                self.returns.looks_at(path);
            }
        }
    }
}
