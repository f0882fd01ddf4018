//! Records every moment at which a run may be cut off, and continues a run after a cut.

use std::hash::{DefaultHasher, Hash, Hasher};

use parlour_codec::sector::SectorKey;
use parlour_units::{Duration, Instant};

use super::reopen::{alive, check_verdicts, gone, newest_bitmap, open_array, shuffle};
use super::{READING, Run};
use crate::disk::Disk;
use crate::oracle::{Oracle, Range};
use crate::run::Limits;
use crate::script::{Ask, Event, Script, What};
use crate::trace::Trace;
use crate::violation::Violation;
use crate::world::{Loose, Shelf, assemble};

/// Events that are not in the script have numbers from here on.
const UNWRITTEN: u64 = u64::MAX >> 3;
/// Blocks in different units.
const READ_ALONE: [u64; 2] = [0, 2];

/// A moment at which power may be cut.
#[derive(Debug)]
pub(crate) struct Moment {
    /// The durable content.
    pub(crate) disks: Vec<Disk>,
    /// Writes that may be found in addition, in this order.
    pub(crate) loose: Vec<Loose>,
    pub(crate) oracle: Oracle,
    /// Disks of which the array promises to survive the loss of any one.
    pub(crate) expendable: Vec<usize>,
    /// All check units fit, as far as the array knows.
    pub(crate) synced: bool,
    /// In addition, all members are present, and all of this is recorded.
    pub(crate) whole: bool,
    pub(crate) sessions: u64,
    pub(crate) now: Instant,
    /// The length of the trace so far.
    pub(crate) lines: usize,
    digest: u64,
}

/// Members as a cut has left them.
#[derive(Debug)]
pub(crate) struct Wreck {
    pub(crate) disks: Vec<Disk>,
    pub(crate) oracle: Oracle,
    pub(crate) sessions: u64,
    pub(crate) now: Instant,
}

/// The observations of a run.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The moments that differ from the ones just before them.
    pub(crate) moments: Vec<Moment>,
    /// The number of steps; and the number of those that were part of the recovery, if there was
    /// one.
    pub(crate) steps: u64,
    pub(crate) recovery: Option<u64>,
    /// The interruption has happened.
    pub(crate) interrupted: bool,
    /// The regions that the last session has reintegrated, and redone.
    pub(crate) reintegrations: u64,
    pub(crate) redone: u64,
}

/// The observer of a run, from some event on.
#[derive(Debug, Default)]
pub(super) struct Watch {
    looks: bool,
    keeps: bool,
    /// The interruption, and the number of steps before it.
    interruption: Option<(u64, What)>,
    seen: Seen,
}

impl<'a> Run<'a> {
    /// A run with the array opened again after a cut.
    pub(crate) fn after(
        script: &'a Script,
        limits: &'a Limits,
        wreck: Wreck,
        trace: Trace,
    ) -> Result<Run<'a>, Violation> {
        let Wreck { disks, mut oracle, sessions, now } = wreck;
        let mut shelf = Shelf::new(disks, script.seed, trace.clone());
        (shelf.now, shelf.sessions) = (now, sessions);
        let refused = |error: &dyn std::fmt::Display| Violation::Opening(error.to_string());
        let mut order = alive(&shelf.disks);
        shuffle(&shelf, &mut order);
        let assembly = shelf.assemble(&order).map_err(|error| refused(&error))?;
        check_verdicts(&shelf, &assembly, &order)?;
        let world = open_array(script, &mut oracle, shelf, (&assembly, &order), false)
            .map_err(|error| refused(&error))?;
        Ok(Run::around(script, limits, world, oracle, trace))
    }

    /// Lets the array recover, be read, and come to rest; then plays `afterwards`. A few blocks are
    /// read separately first, because a read of all data is answered only when its last block has
    /// been read.
    pub(crate) fn recover(&mut self, afterwards: &[Event]) -> Result<(), Violation> {
        self.begin_watch();
        self.world.drain()?;
        self.collect()?;
        let length = self.geometry.block().get();
        for number in READ_ALONE {
            self.host(READING, Ask::Read, Range { at: number * length, length })?;
        }
        self.read_all()?;
        self.settle()?;
        self.watch.seen.recovery = Some(self.watch.seen.steps);
        self.play_events(afterwards)
    }

    /// Once observation begins, keeps the moments, or interrupts after a number of steps.
    pub(crate) fn expect_watch(&mut self, keeps: bool, interruption: Option<(u64, What)>) {
        self.watch = Watch { keeps, interruption, ..Watch::default() };
    }

    /// Begins observation.
    pub(super) fn begin_watch(&mut self) {
        self.watch.looks = true;
        self.look();
    }

    /// Ends observation, and returns its results.
    pub(crate) fn seen(&mut self) -> Seen {
        let counters = self.world.array.status().counters;
        let seen = std::mem::take(&mut self.watch).seen;
        Seen { reintegrations: counters.reintegrations, redone: counters.redone, ..seen }
    }

    /// Counts a step, and interrupts if it is time.
    pub(super) fn count_step(&mut self) -> Result<(), Violation> {
        let watch = &mut self.watch;
        watch.seen.steps += u64::from(watch.looks);
        let steps = watch.seen.steps;
        let Some((_, what)) = watch.interruption.take_if(|(after, _)| *after == steps) else {
            return Ok(());
        };
        let event = Event { number: UNWRITTEN, at: Duration::ZERO, what };
        self.trace.note(self.world.now(), || format!("{event}"));
        let before = self.coverage.total();
        let result = self.happen(&event);
        self.watch.seen.interrupted = self.coverage.total() > before;
        if !self.watch.seen.interrupted {
            return Err(Violation::Stuck("what was to happen is more than is survived now".into()));
        }
        result
    }

    /// Keeps this moment, if it differs from the last one.
    pub(super) fn look(&mut self) {
        if !self.watch.looks || !self.watch.keeps {
            return;
        }
        let moment = self.moment();
        let moments = &mut self.watch.seen.moments;
        if moments.last().is_none_or(|last| last.digest != moment.digest) {
            moments.push(moment);
        }
    }

    fn moment(&mut self) -> Moment {
        let loose = self.world.loose();
        let disks: Vec<Disk> = self.world.shelf.disks.iter().map(Disk::stable).collect();
        let mut expendable = self.expendable();
        expendable.retain(|disk| self.is_recorded_without(&disks, *disk));
        let synced = !self.is_unsynced();
        let mut hash = DefaultHasher::new();
        (self.oracle.digest(), &expendable, synced).hash(&mut hash);
        let key = SectorKey::new([0; 16]);
        for disk in &disks {
            (disk.digest(&key), disk.dead).hash(&mut hash);
        }
        for Loose { disk, content, cached } in &loose {
            (disk, content, cached).hash(&mut hash);
        }
        Moment {
            disks,
            loose,
            oracle: self.oracle.clone(),
            synced,
            whole: synced && expendable.len() == usize::from(self.geometry.members()),
            expendable,
            sessions: self.world.shelf.sessions,
            now: self.world.now(),
            lines: self.trace.length(),
            digest: hash.finish(),
        }
    }

    /// Whether the other members record that all members except `lost` are whole. The array's state
    /// counts only when it is recorded.
    fn is_recorded_without(&self, disks: &[Disk], lost: usize) -> bool {
        let order: Vec<usize> = alive(disks).into_iter().filter(|disk| *disk != lost).collect();
        let Ok(assembly) = assemble(disks, &order) else { return false };
        let map = newest_bitmap(disks, &assembly, &order);
        let synced = map.is_some_and(|map| map.resync.is_empty());
        gone(&assembly).len() == 1 && (synced || !self.promises.opens_unclean_and_degraded)
    }
}
