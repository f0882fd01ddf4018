//! A session: hosts' requests and the array's answers, until the array is closed; and its opening
//! again, after crashes and stops, and with members that were changed meanwhile.
//!
//! What the array answers may end the session, and what is done when it is opened again is answered
//! too: so these are one file.

use parlour_array::{Assembly, AssemblyError, Mode};

use super::Run;
use super::opening::{check_verdicts, open_array, restore, spoil};
use crate::coverage::Fault;
use crate::disk::Disk;
use crate::found::alive;
use crate::hosts::Waiting;
use crate::request::{Ask, Range};
use crate::script::{Extra, Return};
use crate::shelf::Shelf;
use crate::violation::Violation;

/// Hosts.
impl Run<'_> {
    /// A host makes a request. Returns its tag.
    pub(super) fn host(&mut self, event: u64, ask: Ask, range: Range) -> Result<u64, Violation> {
        let (tag, request) = self.rig.hosts.request(event, ask, range);
        if self.rig.script.has(Extra::Rows) && event.is_multiple_of(2) {
            self.rig.world.expect_write(range.at + range.length);
        }
        self.offer(tag, request)?;
        Ok(tag)
    }

    /// Submits a request, or queues it until there is memory.
    fn offer(&mut self, tag: u64, request: Waiting) -> Result<(), Violation> {
        match self.rig.hosts.offer(&mut self.rig.world, tag, request)? {
            true => self.collect(),
            false => Ok(()),
        }
    }

    /// Lets the array begin the requests and commands that it was given, and processes its answers.
    pub(super) fn go_on(&mut self) -> Result<(), Violation> {
        self.rig.world.drain()?;
        self.collect()
    }

    /// Processes the array's answers and events.
    pub(super) fn collect(&mut self) -> Result<(), Violation> {
        if self.lost {
            return Ok(());
        }
        self.rig.look_whether_recorded();
        if let Some(disk) = self.returning.take_if(|_| !self.rig.is_opening()) {
            self.rig.world.disk_mut(disk).miss_a_session();
        }
        (0..self.rig.world.take_landed_late()).for_each(|_| self.rig.count_fault(Fault::LateWrite));
        self.rig.note_transient_errors();
        self.rig.note_silenced();
        let answers = self.rig.world.take_answers();
        let any = !answers.is_empty();
        for answer in answers {
            let one_copy = self.rig.is_not_copied();
            let failed = self.rig.hosts.answered(&mut self.rig.world, answer, one_copy)?;
            let Some(failed) = failed else { continue };
            if !self.rig.may_fail(&failed) {
                return Err(failed.violation());
            }
            self.rig.note_broken_off(&failed);
        }
        for told in self.rig.world.take_events() {
            self.rig.hear(&told)?;
        }
        if any {
            for request in self.rig.hosts.take_waiting() {
                let tag = self.rig.hosts.tag();
                self.offer(tag, request)?;
            }
        }
        // One of these answers or events may have ended the array.
        if self.lost {
            return Ok(());
        }
        match self.rig.mode() {
            Mode::Stopped => self.stopped()?,
            Mode::Halted if !self.rig.world.is_busy() => self.halted()?,
            _ => {}
        }
        self.look();
        Ok(())
    }

    /// Begins observation.
    pub(super) fn begin_watch(&mut self) {
        self.watch.begin();
        self.look();
    }

    fn look(&mut self) {
        self.watch.look(&mut self.rig);
    }
}

/// Closing.
impl Run<'_> {
    /// The array is stopped, and opened again in this way.
    pub(super) fn begin_stop(&mut self, power: bool, back: Return) -> Result<(), Violation> {
        self.stopping = Some((power, back));
        self.rig.world.stop();
        self.go_on()
    }

    /// The array crashes, with a power cut or without, and is opened again.
    pub(super) fn crash(&mut self, power: bool) -> Result<(), Violation> {
        let gone = self.rig.gone().next().is_some();
        let uncopied = self.rig.is_not_copied() || self.rig.may_be_uncopied();
        self.rig.hosts.oracle_mut().crash(power, uncopied);
        let (standing, rebuilding) = (self.rig.standing(), self.rig.rebuilding());
        let cut_off = self.rig.cut_off_now();
        self.rig.defects.set_cut_off(cut_off);
        self.rig.memory_is_bounded()?;
        let shelf = self.close(power, power);
        self.rig.defects.doubt(self.rig.defects.has_read_errors());
        self.forget_hosts();
        self.rig.defects.set_behind(gone);
        // A disk that was left out of an opening that was never recorded has missed nothing.
        self.returning = None;
        // If only excluded members are left, they cannot know that they were excluded; nor does one
        // that came back, or a new member, whose first superblock since then the power cut took.
        let tells_nothing = |disk: &usize| {
            let (index, disk) = (disk, &shelf.disks()[*disk]);
            let knows_nothing = rebuilding.contains(index) && disk.calls_itself_active();
            disk.is_dead() || disk.superblock().is_err() || knows_nothing
        };
        self.lost |= self.rig.limits.beyond && standing.iter().all(tells_nothing);
        self.reopen(shelf, Return::All, uncopied)
    }

    /// The array has halted because there was no space for its metadata. Its server closes it, and
    /// opens it again when there is space.
    fn halted(&mut self) -> Result<(), Violation> {
        if let Some(open) = self.rig.hosts.first_open() {
            return Err(Violation::seam(format!("the array has halted, and {open} is not answered")));
        }
        self.rig.world.disks_mut().iter_mut().for_each(Disk::make_room);
        self.crash(self.rig.forgets_failed_flush())
    }

    /// The array has stopped. Opens it again.
    fn stopped(&mut self) -> Result<(), Violation> {
        let Some((power, back)) = self.stopping else {
            return Err(Violation::seam("the array has stopped unasked"));
        };
        if self.rig.world.is_busy() || self.rig.hosts.are_busy() {
            return Err(Violation::seam("the array calls itself stopped with something under way"));
        }
        let back = match back {
            Return::But(fault, slot) if self.rig.dares_absence(fault, slot) => back,
            _ => Return::All,
        };
        let returning = match back {
            Return::But(_, slot) => self.rig.disk_at(slot),
            Return::All => None,
        };
        // A disk that stands in no slot now has missed a session by the next opening.
        let standing = self.rig.standing();
        let disks = self.rig.world.disks_mut().iter_mut().enumerate();
        disks.filter(|(index, _)| !standing.contains(index)).for_each(|(_, disk)| disk.miss_a_session());
        let uncopied = self.rig.is_not_copied();
        let clone = self.clones.dared(&self.rig, back);
        let returns_too = matches!(back, Return::But(..)) || clone.is_some();
        let mut shelf = self.close(power, power && !returns_too);
        let put = clone.and_then(|slot| self.clones.put(&mut self.rig, &mut shelf, slot));
        if power {
            self.rig.hosts.oracle_mut().crash(true, uncopied);
        }
        self.forget_hosts();
        self.rig.defects.set_behind(false);
        self.returning = returning;
        self.reopen(shelf, back, uncopied)?;
        match put.filter(|_| !self.lost) {
            Some(put) => self.clones.check(&self.rig, put),
            None => Ok(()),
        }
    }

    /// Takes the members from under the array, and finds out which flushes have lied, if `finds`.
    fn close(&mut self, power: bool, finds: bool) -> Shelf {
        self.rig.find_out_lies(finds);
        let mut shelf = self.rig.world.crash(power);
        self.rig.rot_at_rest(&mut shelf);
        if self.rig.script.has(Extra::Returns) {
            self.stock.keep_images(&shelf);
        }
        shelf
    }

    fn forget_hosts(&mut self) {
        self.rig.hosts.forget();
        self.stopping = None;
    }
}

/// Opening.
impl Run<'_> {
    /// Opens the array from all members that are present, in random order; perhaps while other
    /// copies are `uncopied` from the first one.
    fn reopen(&mut self, mut shelf: Shelf, back: Return, uncopied: bool) -> Result<(), Violation> {
        let (script, returning) = (self.rig.script, self.returning);
        let mut order = alive(shelf.disks());
        if let (Return::But(fault, slot), Some(disk)) = (back, returning) {
            spoil(script, &mut shelf, &mut order, fault, (disk, slot));
        }
        shelf.shuffle(&mut order);
        let assembly = match shelf.assemble(&order) {
            Ok(assembly) => assembly,
            Err(error) => return self.refused(&error),
        };
        check_verdicts(&shelf, &assembly, &order)?;
        if let Return::But(fault, _) = back {
            restore(&mut shelf, fault, returning);
            self.returning = self.returning.filter(|disk| !shelf.disks()[*disk].is_dead());
        }
        self.open(shelf, (&assembly, &order), uncopied)
    }

    fn open(&mut self, shelf: Shelf, found: (&Assembly, &[usize]), uncopied: bool) -> Result<(), Violation> {
        match open_array(self.rig.script, self.rig.hosts.oracle_mut(), shelf, found, uncopied) {
            Ok(world) => drop(self.rig.open(world)),
            Err(error) => return self.refused(&error),
        }
        self.go_on()
    }

    fn refused(&mut self, error: &AssemblyError) -> Result<(), Violation> {
        if self.rig.limits.beyond {
            self.lost = true;
            return Ok(());
        }
        Err(Violation::opening(error))
    }
}
