//! One access to one member: its steps, how it continues when the kernel does only a part of it,
//! and how it ends.

use std::sync::Arc;
use std::time::Duration;

use parlour_units::{Bytes, Sector, Sectors};
use rustix::io::{Errno, ReadWriteFlags};

use crate::fault::{Failure, Fault};
use crate::member::{Member, Round, Zeroing};
use crate::memory::zeroes;
use crate::uring::Lease;
use crate::witness::Change;

/// The total time that an access waits for a resource that the system lacks for the moment, such as
/// memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// The first pause of such a wait. Each pause is twice as long as the one before, up to the
/// longest.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Fill the parts from the member.
    Read,
    /// Write the parts to the member.
    Write {
        /// The write completes only when its data is on stable storage, as with RWF_DSYNC.
        durable: bool,
    },
    /// Make the range read as zeroes, and free its space where the member can.
    Zero,
    /// Make all completed writes durable, as fdatasync does.
    Flush,
}

/// The order in which accesses are submitted when there are more than the kernel takes at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A request waits for this access.
    Foreground,
    /// No request waits for this access.
    Background,
}

/// One access to one member.
#[derive(Debug)]
pub struct Access {
    id: u64,
    member: Arc<Member>,
    priority: Priority,
    parts: Vec<Lease>,
    at: u64,
    length: u64,
    done: u64,
    step: Step,
    /// The length of the next pause, if the system lacks a resource.
    pause: Duration,
    /// How long the access may still wait for that resource.
    patience: Duration,
    /// The number that the witness gave to the step that the kernel is carrying out.
    told: Option<u64>,
}

/// A completed access. The caller gives its parts back to the memory.
#[derive(Debug)]
pub struct Done {
    /// The number given to [`Access::new`].
    pub id: u64,
    /// The memory that the access worked on. The vector can be reused.
    pub parts: Vec<Lease>,
    /// The access's result.
    pub result: Result<(), Failure>,
}

/// The next step of an access: what the kernel is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    Write { durable: bool },
    Zero(Zeroing),
    Sync,
}

/// How an access continues after the kernel has answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Do the next step.
    GoOn,
    /// Do the next step after a pause, because the system lacks a resource.
    Pause(Duration),
    /// The access is complete.
    Over(Result<(), Failure>),
}

impl Step {
    /// The flags that the kernel gets with a transfer.
    pub(crate) fn flags(self) -> ReadWriteFlags {
        match self {
            Step::Write { durable: true } => ReadWriteFlags::DSYNC,
            _ => ReadWriteFlags::empty(),
        }
    }
}

impl Access {
    /// An access with the number `id`. The parts of a read must be lent for writing. The parts of a
    /// read or a write are together as long as the range; a zeroing or a flush has no parts. A
    /// flush has no range.
    ///
    /// # Panics
    /// If the parts or the range do not meet these conditions, or the range is not whole blocks of
    /// the member.
    pub fn new(
        id: u64,
        member: Arc<Member>,
        priority: Priority,
        operation: Operation,
        (at, length): (Sector, Sectors),
        parts: Vec<Lease>,
    ) -> Access {
        let (at, length) = (at.bytes(), length.bytes().get());
        let block = member.block().get();
        assert!(at.is_multiple_of(block) && length.is_multiple_of(block), "accesses are of whole blocks");
        assert_eq!(length == 0, operation == Operation::Flush, "all but a flush have a range");
        let lent: u64 = parts.iter().map(|part| part.len() as u64).sum();
        let step = match operation {
            Operation::Read => {
                assert!(parts.iter().all(Lease::is_exclusive), "a read fills its parts");
                Step::Read
            }
            Operation::Write { durable } => Step::Write { durable },
            Operation::Zero => Step::Zero(member.zeroing()),
            Operation::Flush => Step::Sync,
        };
        let expected = if matches!(step, Step::Read | Step::Write { .. }) { length } else { 0 };
        assert_eq!(lent, expected, "an access moves as much as its parts hold");
        Access {
            id,
            member,
            priority,
            parts,
            at,
            length,
            done: 0,
            step,
            pause: FIRST_PAUSE,
            patience: PATIENCE,
            told: None,
        }
    }

    /// Limits the time that the access waits for a resource that the system lacks.
    pub(crate) fn with_patience(mut self, patience: Duration) -> Access {
        self.patience = patience.min(PATIENCE);
        self
    }

    /// The number that its [`Done`] has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Its member.
    pub fn member(&self) -> &Member {
        &self.member
    }

    /// What it does.
    pub fn operation(&self) -> Operation {
        match self.step {
            Step::Read => Operation::Read,
            Step::Write { durable } => Operation::Write { durable },
            Step::Zero(_) => Operation::Zero,
            Step::Sync => Operation::Flush,
        }
    }

    /// The length of its range, zero for a flush.
    pub fn length(&self) -> Bytes {
        Bytes::new(self.length)
    }

    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    pub(crate) fn step(&self) -> Step {
        self.step
    }

    /// Returns the next step, and reports it to the witness. The caller asks the kernel for it
    /// next.
    pub(crate) fn begin_step(&mut self) -> Step {
        if let Some(witness) = self.member.witness() {
            self.told = self.change().map(|change| witness.asked(self.member.path(), change));
        }
        self.step
    }

    /// What the next step changes on the member.
    fn change(&self) -> Option<Change> {
        let at = self.position();
        match self.step {
            Step::Read => None,
            Step::Write { .. } => {
                let mut bytes = Vec::with_capacity(self.length as usize);
                self.parts.iter().for_each(|part| bytes.extend_from_slice(part.bytes()));
                bytes.drain(..self.done as usize);
                let durable = self.step.flags().contains(ReadWriteFlags::DSYNC);
                Some(Change::Write { at, bytes, durable })
            }
            Step::Zero(Zeroing::Write) => Some(Change::Zero { at, length: self.next_zeroes().len() as u64 }),
            Step::Zero(_) => Some(Change::Zero { at, length: self.remaining() }),
            Step::Sync => Some(Change::Flush),
        }
    }

    /// Where the next step starts on the member.
    pub(crate) fn position(&self) -> u64 {
        self.at + self.done
    }

    /// How many bytes are still to be moved or zeroed.
    pub(crate) fn remaining(&self) -> u64 {
        self.length - self.done
    }

    /// The member, the parts that are still to be moved, and the bytes of the first of these parts
    /// that are done.
    pub(crate) fn rest(&mut self) -> (&Member, &mut [Lease], usize) {
        let mut skip = self.done;
        let whole = self.parts.iter().take_while(|part| {
            let passed = skip >= part.len() as u64;
            skip -= if passed { part.len() as u64 } else { 0 };
            passed
        });
        let first = whole.count();
        (&self.member, &mut self.parts[first..], skip as usize)
    }

    /// The zeroes that the next step writes, where the member has no faster way to zero a range.
    pub(crate) fn next_zeroes(&self) -> &'static [u8] {
        let zeroes = zeroes();
        &zeroes[..zeroes.len().min(usize::try_from(self.remaining()).unwrap_or(usize::MAX))]
    }

    /// Checks that a step may begin. A file that was truncated is not written: a write would extend
    /// the file again, and the hole would read as zeroes that no host wrote.
    pub(crate) fn admit(&self, round: Round) -> Result<(), Failure> {
        if self.member.is_given_up() {
            return Err(Failure::Unanswered);
        }
        match self.step {
            Step::Read | Step::Sync => Ok(()),
            _ => self.member.check_length_in(round),
        }
    }

    /// Takes the kernel's answer to the last step, and returns how the access continues.
    pub(crate) fn settle(&mut self, answer: Result<usize, Errno>) -> Next {
        if let (Some(number), Some(witness)) = (self.told.take(), self.member.witness()) {
            let at_once = matches!(self.step, Step::Zero(way) if way != Zeroing::Write);
            let length = |moved: usize| if at_once { self.remaining() } else { moved as u64 };
            witness.answered(number, answer.ok().map(length));
        }
        let over = match answer {
            Ok(moved) => self.advance(moved),
            Err(Errno::INTR) => None,
            Err(errno @ (Errno::AGAIN | Errno::NOMEM | Errno::NOBUFS)) if self.may_be_repeated() => {
                return self.await_means(errno);
            }
            Err(errno) => self.refused(errno),
        };
        match over {
            // The access was given up: its remaining steps are not done.
            None if self.member.is_given_up() => Next::Over(Err(Failure::Unanswered)),
            None => Next::GoOn,
            Some(result) => Next::Over(result),
        }
    }

    /// Whether the step may be done again after it failed. A flush may not: the kernel reports a
    /// failed write-back only once, to the next flush. A repeated flush would succeed although
    /// earlier writes are lost. The same holds for a durable write through the page cache, because
    /// it flushes.
    fn may_be_repeated(&self) -> bool {
        match self.step {
            Step::Sync => false,
            Step::Write { durable: true } => self.member.is_direct(),
            Step::Read | Step::Write { durable: false } | Step::Zero(_) => true,
        }
    }

    /// Pauses the access: the system lacks a resource. The member is not at fault.
    fn await_means(&mut self, errno: Errno) -> Next {
        let pause = self.pause;
        if pause > self.patience {
            return Next::Over(Err(Failure::Refused { fault: Fault::Starved, errno }));
        }
        self.patience -= pause;
        self.pause = (pause * 2).min(LONGEST_PAUSE);
        Next::Pause(pause)
    }

    pub(crate) fn finish(self, result: Result<(), Failure>) -> Done {
        Done { id: self.id, parts: self.parts, result }
    }

    fn advance(&mut self, moved: usize) -> Option<Result<(), Failure>> {
        match self.step {
            Step::Read | Step::Write { .. } | Step::Zero(Zeroing::Write) => self.moved(moved as u64),
            Step::Zero(_) | Step::Sync => Some(Ok(())),
        }
    }

    fn moved(&mut self, moved: u64) -> Option<Result<(), Failure>> {
        // An O_DIRECT transfer can continue only at a whole block.
        let moved = moved - moved % self.member.block().get();
        if moved == 0 {
            return Some(Err(Failure::Truncated));
        }
        self.done += moved;
        assert!(self.done <= self.length, "the kernel moves no more than it was asked to");
        (self.done == self.length).then_some(Ok(()))
    }

    fn refused(&mut self, errno: Errno) -> Option<Result<(), Failure>> {
        match self.step {
            Step::Zero(way) if way.is_unsupported(errno) => {
                self.step = Step::Zero(self.member.give_up_zeroing(way));
                None
            }
            Step::Read => Some(Err(Failure::of_read(errno))),
            Step::Write { durable: true } if !self.member.is_direct() => {
                Some(Err(Failure::of_cached_durable_write(errno)))
            }
            _ => Some(Err(Failure::of_write(errno))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An access of one whole block, and the directory of its member.
    fn access(operation: Operation, cached: bool) -> (Access, tempfile::TempDir) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("member");
        let mut member = Member::create_file(path, parlour_units::Bytes::mib(1)).expect("a member");
        member.pretend_direct(!cached);
        let mut memory = crate::memory::Memory::new(parlour_units::Bytes::ZERO);
        let block = member.block().get() as usize;
        memory.take(0, block);
        let part = crate::memory::Part { buffer: crate::memory::Buffer::Payload(0), start: 0, length: block };
        let mut parts = Vec::new();
        match operation {
            Operation::Read => parts.push(memory.lend_mut(part)),
            Operation::Write { .. } => memory.lend(part, &mut parts),
            Operation::Zero | Operation::Flush => {}
        }
        let length =
            if operation == Operation::Flush { Sectors::ZERO } else { Sectors::new(block as u64 / 512) };
        let range = (Sector::ZERO, length);
        let access = Access::new(1, Arc::new(member), Priority::Foreground, operation, range, parts);
        (access, directory)
    }

    fn fault_of(next: Next) -> Fault {
        let Next::Over(Err(failure)) = next else { panic!("it fails, and does not go on: {next:?}") };
        failure.fault()
    }

    const WRITE: Operation = Operation::Write { durable: false };
    const DURABLE: Operation = Operation::Write { durable: true };

    #[test]
    fn a_failed_flush_is_not_done_again() {
        for errno in [Errno::NOMEM, Errno::IO, Errno::AGAIN, Errno::NOBUFS] {
            for cached in [false, true] {
                let (mut flush, _directory) = access(Operation::Flush, cached);
                assert_eq!(fault_of(flush.settle(Err(errno))), Fault::Gone, "{errno}");
            }
            let (mut write, _directory) = access(DURABLE, true);
            assert_eq!(fault_of(write.settle(Err(errno))), Fault::Gone, "{errno}");
        }
        let (mut flush, _directory) = access(Operation::Flush, true);
        assert_eq!(flush.settle(Err(Errno::INTR)), Next::GoOn, "it was not even begun");
    }

    #[test]
    fn what_the_system_lacks_is_waited_for_in_longer_and_longer_pauses_and_not_for_ever() {
        for (operation, cached) in [(Operation::Read, true), (WRITE, true), (DURABLE, false)] {
            for errno in [Errno::NOMEM, Errno::AGAIN, Errno::NOBUFS] {
                let (mut access, _directory) = access(operation, cached);
                let mut pauses = Vec::new();
                let end = loop {
                    match access.settle(Err(errno)) {
                        Next::Pause(pause) => pauses.push(pause),
                        other => break other,
                    }
                };
                assert_eq!(fault_of(end), Fault::Starved, "{operation:?} {errno}: no fault of the member's");
                assert!(pauses.is_sorted() && pauses[0] == FIRST_PAUSE, "{pauses:?}");
                let sum: Duration = pauses.iter().sum();
                assert!(sum <= PATIENCE && sum > PATIENCE / 2, "{sum:?}");
            }
        }
        let (hasty, _directory) = access(Operation::Read, false);
        let mut hasty = hasty.with_patience(Duration::ZERO);
        assert_eq!(fault_of(hasty.settle(Err(Errno::NOMEM))), Fault::Starved);
    }

    #[test]
    fn a_durable_write_behind_the_page_cache_that_finds_no_space_is_a_failed_flush() {
        let (mut cached, _directory) = access(DURABLE, true);
        assert_eq!(fault_of(cached.settle(Err(Errno::NOSPC))), Fault::Undurable);
        for (operation, is_cached) in [(DURABLE, false), (WRITE, true), (WRITE, false)] {
            let (mut access, _directory) = access(operation, is_cached);
            assert_eq!(fault_of(access.settle(Err(Errno::NOSPC))), Fault::NoSpace);
        }
    }

    #[test]
    fn nobody_goes_on_with_an_access_that_was_given_up() {
        let (mut write, _directory) = access(WRITE, false);
        write.member().give_up();
        assert_eq!(write.settle(Err(Errno::INTR)), Next::Over(Err(Failure::Unanswered)));
        assert_eq!(write.admit(Round::begin()), Err(Failure::Unanswered));
    }
}
