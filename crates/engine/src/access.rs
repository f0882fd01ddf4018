//! One access to one member, and how it goes on when the kernel does only a part of it.

use std::sync::Arc;

use parlour_units::{Sector, Sectors};
use rustix::io::{Errno, ReadWriteFlags};

use crate::fault::Failure;
use crate::member::{Member, Round, Zeroing};
use crate::memory::zeroes;
use crate::uring::Lease;
use crate::witness::Change;

/// How often an access is repeated for a reason that should pass (no kernel memory, say).
const PATIENCE: u8 = 100;

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Fill the parts from the member.
    Read,
    /// Write the parts to the member.
    Write {
        /// Done only when it is on stable storage, as with RWF_DSYNC.
        durable: bool,
    },
    /// Make the range read as zeroes, giving its space back where the member can.
    Zero,
    /// Make all writes that are done durable, as fdatasync does.
    Flush,
}

/// Whose accesses go first when there are more than the kernel is given at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// Somebody waits for it.
    Foreground,
    /// Nobody waits for it.
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
    repeats: u8,
    /// The witness's number of the step that the kernel is at.
    told: Option<u64>,
}

/// An access that is done. Its parts are to be given back to the memory.
#[derive(Debug)]
pub struct Done {
    /// The name it was given.
    pub id: u64,
    /// What it worked on; the vector may be used again.
    pub parts: Vec<Lease>,
    /// How it ended.
    pub result: Result<(), Failure>,
}

/// What the kernel is asked for next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Read,
    Write { durable: bool },
    Zero(Zeroing),
    Sync,
}

impl Step {
    /// With what the kernel is asked for a transfer.
    pub(crate) fn flags(self) -> ReadWriteFlags {
        match self {
            Step::Write { durable: true } if !drops_sync_flag() => ReadWriteFlags::DSYNC,
            _ => ReadWriteFlags::empty(),
        }
    }
}

/// A known bug for tests of the tests: no write is asked to be durable.
fn drops_sync_flag() -> bool {
    #[cfg(feature = "planted-bugs")]
    return parlour_array::is_planted(parlour_array::Bug::SyncFlagDropped);
    #[cfg(not(feature = "planted-bugs"))]
    false
}

impl Access {
    /// An access named `id`. The parts of a read must be lent to be changed; those of a read or write are as
    /// long as the range together, and a zeroing or flush has none. A flush has no range.
    ///
    /// # Panics
    /// If the parts or the range are not so, or the range is not of the member's whole blocks.
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
        Access { id, member, priority, parts, at, length, done: 0, step, repeats: 0, told: None }
    }

    pub(crate) fn member(&self) -> &Member {
        &self.member
    }

    pub(crate) fn priority(&self) -> Priority {
        self.priority
    }

    pub(crate) fn step(&self) -> Step {
        self.step
    }

    /// The next step, for which the kernel is about to be asked.
    pub(crate) fn begin_step(&mut self) -> Step {
        if let Some(witness) = self.member.witness() {
            self.told = self.change().map(|change| witness.asked(self.member.path(), change));
        }
        self.step
    }

    /// What the next step changes.
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

    /// The member, the parts that are still to be moved, and how much of the first of them is done.
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

    /// The zeroes that are written next, where there is no better way to have them.
    pub(crate) fn next_zeroes(&self) -> &'static [u8] {
        let zeroes = zeroes();
        &zeroes[..zeroes.len().min(usize::try_from(self.remaining()).unwrap_or(usize::MAX))]
    }

    /// Refuses what must not be begun: a write to a file that was truncated would make it long again, and the
    /// hole would read as if somebody had written zeroes.
    pub(crate) fn admit(&self, round: Round) -> Result<(), Failure> {
        match self.step {
            Step::Read | Step::Sync => Ok(()),
            _ => self.member.check_length_in(round),
        }
    }

    /// Takes the kernel's answer to the last step: how the access ended, or `None` if it goes on.
    pub(crate) fn settle(&mut self, answer: Result<usize, Errno>) -> Option<Result<(), Failure>> {
        if let (Some(number), Some(witness)) = (self.told.take(), self.member.witness()) {
            let at_once = matches!(self.step, Step::Zero(way) if way != Zeroing::Write);
            let length = |moved: usize| if at_once { self.remaining() } else { moved as u64 };
            witness.answered(number, answer.ok().map(length));
        }
        match answer {
            Ok(moved) => self.advance(moved),
            Err(Errno::INTR | Errno::AGAIN | Errno::NOMEM) if self.repeats < PATIENCE => {
                self.repeats += 1;
                None
            }
            Err(errno) => self.refused(errno),
        }
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
        // An O_DIRECT transfer can go on at a whole block only.
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
            _ => Some(Err(Failure::of_write(errno))),
        }
    }
}
