//! Two servers open the array. The first server stops running for a while, as its host does;
//! another server opens the array from the same members and writes; then the first one continues.
//! It must find the other's session before it writes anything, and must then write nothing.
//!
//! Not covered: accesses that the first server issued before, and hosts' requests that it gets
//! until its next check of the superblocks, are still written. A disk that accepts writes from any
//! server leaves this window. Here the first server is at rest when the other opens the array.

use parlour_array::{Mode, Operation, RequestError};
use parlour_units::Duration;

use super::Run;
use super::reopen::{alive, check_verdicts};
use crate::content::Value;
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::oracle::Range;
use crate::script::Ask;
use crate::trace::Trace;
use crate::violation::Violation;
use crate::world::{Shelf, World};

/// The steps within which the first server must have found the other one.
const STEPS: u32 = 10_000;
/// A request's tag that no other request has.
const LATE: u64 = u64::MAX >> 1;

impl Run<'_> {
    /// Another server opens the array, and then the first one continues.
    pub(super) fn rival(&mut self, event: u64, at: u64) -> Result<(), Violation> {
        let Some(fence) = self.script.options.tuning.fence else { return Ok(()) };
        self.settle()?;
        if !self.may_have_a_rival() {
            return Ok(());
        }
        self.meet(Fault::Rival);
        self.world.shelf.now = self.world.shelf.now + fence + Duration::from_millis(1);
        let uncopied = self.is_not_copied();
        self.oracle.crash(false, uncopied);
        let shelf = std::mem::replace(&mut self.world.shelf, Shelf::new(Vec::new(), 0, Trace::default()));
        let second = self.second(shelf)?;
        let first = std::mem::replace(&mut self.world, second);
        self.opening = true;
        self.world.drain()?;
        self.collect()?;
        self.until("a second opening is not recorded", |run| !run.opening)?;
        let block = self.geometry.block().get();
        let blocks = self.geometry.capacity().get() / block;
        self.host(event, Ask::Write { durable: true }, Range { at: at % blocks * block, length: block })?;
        self.settle()?;
        self.first_goes_on(first)
    }

    fn may_have_a_rival(&mut self) -> bool {
        let ails = self.world.shelf.disks.iter().any(Disk::ails) || self.is_full();
        let wrong = !self.scars.is_empty() || !self.polluted.is_empty() || !self.rotting_at_rest.is_empty();
        let serves = self.world.array.mode() == Mode::Serving && !self.opening && self.stopping.is_none();
        // A write that was given up may be carried out at any time.
        let flies = (0..self.world.shelf.disks.len()).any(|disk| self.world.is_in_use(disk));
        let rests = !flies && !self.lost && !self.limits.beyond;
        serves && rests && !ails && !wrong && self.returning.is_none() && self.is_whole()
    }

    /// Opens the array a second time.
    fn second(&self, shelf: Shelf) -> Result<World, Violation> {
        let order = alive(&shelf.disks);
        let refused = |error: &dyn std::fmt::Display| Violation::Opening(error.to_string());
        let assembly = shelf.assemble(&order).map_err(|error| refused(&error))?;
        check_verdicts(&shelf, &assembly, &order)?;
        World::open(shelf, &assembly, &order, self.script.options.tuning, false)
            .map_err(|refusal| refused(&refusal.error))
    }

    /// Checks that the first server finds the other one, and then does not write.
    fn first_goes_on(&mut self, mut first: World) -> Result<(), Violation> {
        std::mem::swap(&mut first.shelf, &mut self.world.shelf);
        let written = |world: &World| world.shelf.disks.iter().map(Disk::written).sum::<u64>();
        let before = written(&first);
        let mut steps = 0;
        while !first.array.mode().is_abandoned() && steps < STEPS && first.next_time().is_some() {
            first.step()?;
            steps += 1;
        }
        let superseded = first.array.mode() == Mode::Superseded;
        let write = Operation::Write { durable: false };
        let range = Range { at: 0, length: self.geometry.block().get() };
        if superseded && first.reserve(LATE, write, range.length) {
            first.submit(LATE, write, range, Value::written(LATE >> 1))?;
            while first.next_time().is_some() && steps < STEPS {
                first.step()?;
                steps += 1;
            }
        }
        let refused = first.answers.iter().all(|answer| answer.result == Err(RequestError::Superseded));
        let wrote = written(&first) != before;
        std::mem::swap(&mut first.shelf, &mut self.world.shelf);
        match (superseded, refused, wrote) {
            (true, true, false) => Ok(()),
            (false, ..) => Err(Violation::Rival("goes on beside another")),
            (_, _, true) => Err(Violation::Rival("writes beside another")),
            _ => Err(Violation::Rival("answers hosts beside another")),
        }
    }
}
