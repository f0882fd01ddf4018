//! Starts the searches for members that return by themselves.

use std::path::PathBuf;

use super::waiting::Waiting;
use super::{Server, Stage};
use crate::frontend::Frontend;
use crate::joining::Scouting;

impl<F: Frontend> Server<F> {
    /// Starts a search at each path where a member may have returned, if it is time.
    pub(super) fn look_for_returns(&mut self) {
        let now = self.machine.now();
        if !self.returns.begin(now) {
            return;
        }
        let array = self.machine.array.get();
        let Some(identity) = array.awaits_return().filter(|_| self.stage == Stage::Serving) else { return };
        let geometry = array.geometry().clone();
        let open = self.machine.roster.paths().filter(|(_, _, open)| *open);
        let open: Vec<PathBuf> = open.map(|(_, path, _)| path.to_owned()).collect();
        let unwelcome = self.returns.unwelcome(now);
        for path in self.returns.places(&open) {
            let scouting = Scouting {
                path: path.clone(),
                open: open.clone(),
                unwelcome: unwelcome.clone(),
                array: identity,
                geometry: geometry.clone(),
            };
            // If no thread can be started, the next search tries again.
            if self.reception.scout(Waiting::Return(path.clone()), scouting).is_ok() {
                self.returns.looks_at(path);
            }
        }
    }
}
