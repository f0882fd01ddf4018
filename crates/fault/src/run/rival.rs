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
use super::opening::check_verdicts;
use crate::content::Value;
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::found::alive;
use crate::request::{Ask, Range};
use crate::shelf::Shelf;
use crate::violation::Violation;
use crate::world::World;

/// The steps within which the first server must have found the other one.
const STEPS: u32 = 10_000;
/// A request's tag that no other request has.
const LATE: u64 = u64::MAX >> 1;

impl Run<'_> {
    /// Another server opens the array, and then the first one continues.
    pub(super) fn rival(&mut self, event: u64, at: u64) -> Result<(), Violation> {
        let Some(fence) = self.rig.script.options().tuning.fence else { return Ok(()) };
        self.settle()?;
        if !self.may_have_a_rival() {
            return Ok(());
        }
        self.rig.count_fault(Fault::Rival);
        self.rig.world.wait(fence + Duration::from_millis(1));
        let uncopied = self.rig.is_not_copied();
        self.rig.hosts.oracle_mut().crash(false, uncopied);
        let shelf = self.rig.world.take_shelf();
        let second = self.second(shelf)?;
        let first = self.rig.open(second);
        self.go_on()?;
        self.wait_until_recorded()?;
        let block = self.rig.geometry.block().get();
        let blocks = self.rig.geometry.capacity().get() / block;
        self.host(event, Ask::Write { durable: true }, Range { at: at % blocks * block, length: block })?;
        self.settle()?;
        self.first_goes_on(first)
    }

    fn may_have_a_rival(&self) -> bool {
        let (rig, defects) = (&self.rig, &self.rig.defects);
        let ails = rig.world.disks().iter().any(Disk::ails) || rig.is_full();
        let wrong = defects.has_read_errors() || defects.has_wrong_parity() || defects.pending_damage() > 0;
        let serves = rig.is_serving() && !rig.is_opening() && self.stopping.is_none();
        // A write that was given up may be carried out at any time.
        let flies = (0..rig.world.disks().len()).any(|disk| rig.world.is_in_use(disk));
        let rests = !flies && !self.lost && !rig.limits.beyond;
        serves && rests && !ails && !wrong && self.returning.is_none() && rig.is_whole()
    }

    /// Opens the array a second time.
    fn second(&self, shelf: Shelf) -> Result<World, Violation> {
        let order = alive(shelf.disks());
        let assembly = shelf.assemble(&order).map_err(|error| Violation::opening(&error))?;
        check_verdicts(&shelf, &assembly, &order)?;
        let tuning = self.rig.script.options().tuning;
        World::open(shelf, &assembly, &order, tuning, false)
            .map_err(|refusal| Violation::opening(&refusal.error))
    }

    /// Checks that the first server finds the other one, and then does not write.
    fn first_goes_on(&mut self, mut first: World) -> Result<(), Violation> {
        first.put_shelf(self.rig.world.take_shelf());
        let written = |world: &World| world.disks().iter().map(Disk::written).sum::<u64>();
        let before = written(&first);
        let mut steps = 0;
        while !first.array().mode().is_abandoned() && steps < STEPS && first.next_time().is_some() {
            first.step()?;
            steps += 1;
        }
        let superseded = first.mode() == Mode::Superseded;
        let write = Operation::Write { durable: false };
        let range = Range { at: 0, length: self.rig.geometry.block().get() };
        if superseded && first.reserve(LATE, write, range.length) {
            first.submit(LATE, write, range, Value::written(LATE >> 1))?;
            while first.next_time().is_some() && steps < STEPS {
                first.step()?;
                steps += 1;
            }
        }
        let refused =
            first.take_answers().iter().all(|answer| answer.result == Err(RequestError::Superseded));
        let wrote = written(&first) != before;
        self.rig.world.put_shelf(first.take_shelf());
        match (superseded, refused, wrote) {
            (true, true, false) => Ok(()),
            (false, ..) => Err(Violation::Rival("goes on beside another")),
            (_, _, true) => Err(Violation::Rival("writes beside another")),
            _ => Err(Violation::Rival("answers hosts beside another")),
        }
    }
}
