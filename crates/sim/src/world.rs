//! The driver: effects become accesses of drives, and time is what comes next.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use parlour_array::{Action, Array, BufferId, Completion, Effect, Operation, Outcome, Request, Tag};
use parlour_units::{Instant, Sector, Sectors};

use crate::member::{Begun, Member};

/// An array and its drives.
#[derive(Debug)]
pub struct World {
    array: Array,
    members: Vec<Member>,
    now: Instant,
    /// When which unit of which member is done; of equal times what was expected first comes first.
    due: BinaryHeap<Reverse<(u64, u64, u16, u16)>>,
    order: u64,
    /// By tag: the buffer of a request under way.
    buffers: Vec<Option<BufferId>>,
    /// What is answered, in order.
    answers: Vec<Completion>,
    /// As much as any effect asks for, of zeroes.
    zeroes: Vec<u8>,
    sums: Vec<u64>,
}

impl World {
    /// An array that was just opened, on drives in the order of places.
    pub fn new(array: Array, members: Vec<Member>) -> World {
        let mut world = World {
            array,
            members,
            now: Instant::ZERO,
            due: BinaryHeap::new(),
            order: 0,
            buffers: Vec::new(),
            answers: Vec::new(),
            zeroes: Vec::new(),
            sums: Vec::new(),
        };
        world.drain();
        world
    }

    /// The array.
    pub fn array(&self) -> &Array {
        &self.array
    }

    /// The drives, in the order of places.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// What time it is.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// A host asks. False if the array has no memory for its payload now.
    pub fn submit(&mut self, tag: Tag, operation: Operation, at: Sector, length: Sectors) -> bool {
        let index = tag.0 as usize;
        if index >= self.buffers.len() {
            self.buffers.resize(index + 1, None);
        }
        let buffer = match operation {
            Operation::Read | Operation::Write { .. } => match self.array.reserve(length) {
                Some(buffer) => Some(buffer),
                None => return false,
            },
            _ => None,
        };
        self.buffers[index] = buffer;
        self.array.submit(self.now, Request { tag, operation, at, length, buffer });
        self.drain();
        true
    }

    /// Takes what was answered since.
    pub fn answers(&mut self) -> std::vec::Drain<'_, Completion> {
        self.answers.drain(..)
    }

    /// When something happens next without a host.
    pub fn next_time(&self) -> Option<Instant> {
        let due = self.due.peek().map(|Reverse((at, ..))| Instant::from_nanoseconds(*at));
        let timeout = self.array.poll_timeout().map(|timeout| timeout.max(self.now));
        match (due, timeout) {
            (Some(due), Some(timeout)) => Some(due.min(timeout)),
            (one, other) => one.or(other),
        }
    }

    /// Nothing happens until `time`, which is not behind what happens next.
    pub fn advance(&mut self, time: Instant) {
        self.now = self.now.max(time);
    }

    /// Lets happen what happens next, or until `end` if nothing does before. Says whether it did.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(time) = self.next_time().filter(|time| *time <= end) else {
            self.now = end;
            return false;
        };
        self.now = time;
        match self.due.peek() {
            Some(Reverse((at, _, member, unit))) if *at <= time.nanoseconds() => {
                let (member, unit) = (*member, *unit);
                self.due.pop();
                self.finish(member, unit);
            }
            _ => self.array.handle_timeout(time),
        }
        self.drain();
        true
    }

    fn finish(&mut self, member: u16, unit: u16) {
        let (effect, next) = self.members[usize::from(member)].done(self.now, unit);
        if let Some(next) = next {
            self.expect(next, member);
        }
        let metadata = match effect.action {
            Action::Read { .. } => self
                .array
                .slices(effect.id)
                .iter()
                .filter(|slice| slice.buffer == BufferId::METADATA)
                .map(|slice| slice.length.bytes().as_usize())
                .sum(),
            _ => 0,
        };
        if metadata > self.zeroes.len() {
            self.zeroes.resize(metadata, 0);
        }
        let outcome = match metadata {
            0 => Outcome::Done,
            length => Outcome::Metadata(&self.zeroes[..length]),
        };
        self.array.complete(self.now, effect.id, outcome);
    }

    fn expect(&mut self, begun: Begun, member: u16) {
        self.order += 1;
        self.due.push(Reverse((begun.done.nanoseconds(), self.order, member, begun.unit)));
    }

    /// Takes from the array all that it has to say.
    fn drain(&mut self) {
        loop {
            let mut any = false;
            while let Some(effect) = self.array.poll_effect() {
                any = true;
                self.begin(effect);
            }
            while let Some(completion) = self.array.poll_completion() {
                any = true;
                if let Some(buffer) = self.buffers.get_mut(completion.tag.0 as usize).and_then(Option::take) {
                    self.array.release(buffer);
                }
                self.answers.push(completion);
            }
            while self.array.poll_event().is_some() {}
            while self.array.poll_release().is_some() {}
            if !any {
                return;
            }
        }
    }

    fn begin(&mut self, effect: Effect) {
        let member = match effect.action {
            Action::Xor | Action::XorInto | Action::Compare => {
                self.array.complete(self.now, effect.id, Outcome::Done);
                return;
            }
            Action::Checksum => {
                let sectors: u64 = self.array.slices(effect.id).iter().map(|slice| slice.length.get()).sum();
                self.sums.resize(sectors as usize, 0);
                self.array.complete(self.now, effect.id, Outcome::Checksums(&self.sums));
                return;
            }
            Action::Read { member, .. }
            | Action::Write { member, .. }
            | Action::Zero { member, .. }
            | Action::Flush { member } => member,
        };
        if let Some(begun) = self.members[member.as_usize()].take(self.now, effect) {
            self.expect(begun, member.get());
        }
    }
}
