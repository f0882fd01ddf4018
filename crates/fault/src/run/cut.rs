//! What the exhaustive check does with a run: records every moment at which it may be cut off, and
//! continues it after a cut.

use std::collections::BTreeSet;

use parlour_units::{Instant, Stripe};

use super::Run;
use super::opening::{check_verdicts, open_array};
use super::time::READING;
use super::watch::{Seen, Watch};
use crate::disk::Disk;
use crate::found::alive;
use crate::limits::Limits;
use crate::oracle::Oracle;
use crate::request::{Ask, Range};
use crate::rig::Rig;
use crate::script::{Event, Script, What};
use crate::shelf::Shelf;
use crate::trace::Trace;
use crate::violation::Violation;

/// Blocks in different units.
const READ_ALONE: [u64; 2] = [0, 2];

/// Members as a cut has left them.
#[derive(Debug)]
pub(crate) struct Wreck {
    pub(crate) disks: Vec<Disk>,
    pub(crate) oracle: Oracle,
    /// The columns of stripes of which all data was being written.
    pub(crate) cut_off: BTreeSet<(Stripe, u64)>,
    pub(crate) sessions: u64,
    pub(crate) now: Instant,
}

impl<'a> Run<'a> {
    /// A run with the array opened again after a cut.
    pub(crate) fn after(
        script: &'a Script,
        limits: &'a Limits,
        wreck: Wreck,
        trace: Trace,
    ) -> Result<Run<'a>, Violation> {
        let Wreck { disks, mut oracle, cut_off, sessions, now } = wreck;
        let shelf = Shelf::new(disks, script.seed(), trace.clone()).after(sessions, now);
        let mut order = alive(shelf.disks());
        shelf.shuffle(&mut order);
        let assembly = shelf.assemble(&order).map_err(|error| Violation::opening(&error))?;
        check_verdicts(&shelf, &assembly, &order)?;
        let world = open_array(script, &mut oracle, shelf, (&assembly, &order), false)
            .map_err(|error| Violation::opening(&error))?;
        let mut rig = Rig::around(script, limits, world, oracle, trace);
        rig.defects.set_cut_off(cut_off);
        Ok(Run::around(rig))
    }

    /// Lets the array recover, be read, and come to rest; then plays `afterwards`. A few blocks are
    /// read separately first, because a read of all data is answered only when its last block has
    /// been read.
    pub(crate) fn recover(&mut self, afterwards: &[Event]) -> Result<(), Violation> {
        self.begin_watch();
        self.go_on()?;
        let length = self.rig.geometry.block().get();
        for number in READ_ALONE {
            self.host(READING, Ask::Read, Range { at: number * length, length })?;
        }
        self.read_all()?;
        self.settle()?;
        self.rig.defects.forget_cut_off();
        self.watch.recovered();
        self.play_events(afterwards)
    }

    /// Once observation begins, keeps the moments, or interrupts after a number of steps.
    pub(crate) fn expect_watch(&mut self, keeps: bool, interruption: Option<(u64, What)>) {
        self.watch = Watch::new(keeps, interruption);
    }

    /// Ends observation, and returns its results.
    pub(crate) fn seen(&mut self) -> Seen {
        self.watch.end(&self.rig.status().counters)
    }
}
