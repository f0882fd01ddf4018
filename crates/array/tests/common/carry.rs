//! Carries out the array's effects on its members.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use parlour_array::{
    Action, Array, Class, Completion, Effect, Fault, Geometry, Modify, Outcome, Part, Slice, Tag,
};
use parlour_codec::galois;
use parlour_units::{Duration, Member, Sector, Sectors, Slot};

use super::{Random, World};

impl World {
    /// The slot of a member that stands.
    pub fn slot_of(&self, member: Member) -> Option<Slot> {
        let status = self.array.status();
        let of = status.slots().find(|status| status.member == Some(member.get()))?;
        (of.state != "failed").then(|| Slot::new(of.slot))
    }

    /// Drains all outputs of the array.
    pub fn drain(&mut self) {
        loop {
            let mut any = false;
            while let Some(effect) = self.array.poll_effect() {
                self.handed_out += 1;
                any = true;
                if let Action::Flush { member } = effect.action {
                    let number = self.numbers[member.as_usize()];
                    if number != usize::MAX {
                        let d = &self.disks[number];
                        self.caps.insert(effect.id.get(), d.base + d.cache.len());
                    }
                }
                // Unshuffled computations are done in the order in which they are handed out.
                if effect.action.is_computation() && !self.shuffle {
                    self.compute(effect);
                } else {
                    self.pending.push(effect);
                }
            }
            while let Some(Completion { tag: Tag(tag), result }) = self.array.poll_completion() {
                let buffer = self.buffers.remove(&tag);
                let bytes = buffer
                    .and_then(|buffer| self.memory.get(&buffer.as_usize()).cloned())
                    .unwrap_or_default();
                assert!(self.done.insert(tag, (result, bytes)).is_none(), "a request is answered once");
                if let Some(buffer) = buffer {
                    self.array.release(buffer);
                }
            }
            while let Some(event) = self.array.poll_event() {
                self.events.push(event);
            }
            while let Some(buffer) = self.array.poll_release() {
                self.memory.remove(&buffer.as_usize());
            }
            if !any {
                return;
            }
        }
    }

    /// Answers one pending effect, chosen at random. Returns `false` if there is none.
    pub fn step(&mut self) -> bool {
        if self.pending.is_empty() {
            return false;
        }
        let index = self.random.below(self.pending.len() as u64) as usize;
        self.step_at(index);
        true
    }

    pub fn step_at(&mut self, index: usize) {
        let effect = self.pending.swap_remove(index);
        self.now = self.now + Duration::from_nanoseconds(1 + self.random.below(1_000_000));
        if effect.action.is_computation() {
            self.compute(effect);
        } else {
            self.access(effect);
        }
        self.drain();
    }

    /// Answers accesses to the member `out` as gone and carries out all others, except writes of
    /// superblocks, so that nothing is recorded of it; at most this many.
    pub fn step_unrecorded(&mut self, out: Member, most: usize) {
        let copies = Geometry::superblocks_at(Sectors::new(self.setup.member_length));
        let is_superblock =
            |action: Action| matches!(action, Action::Write { at, .. } if copies.contains(&at));
        for _ in 0..most {
            let next = self.pending.iter().position(|effect| !is_superblock(effect.action));
            let Some(next) = next else { return };
            if self.pending[next].action.member() == Some(out) {
                let effect = self.pending.swap_remove(next);
                self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
                self.drain();
            } else {
                self.step_at(next);
            }
        }
    }

    /// Cuts the power: nothing under way is done, and nothing stays that is not flushed.
    pub fn lose_what_is_not_flushed(&mut self) {
        self.pending.clear();
        self.disks.iter_mut().for_each(|disk| disk.power_loss(&mut Random(0), 0));
    }

    /// Runs until nothing is pending and no timeout is near.
    pub fn settle(&mut self) {
        self.settle_until(|_| false);
    }

    pub fn settle_until(&mut self, done: impl Fn(&World) -> bool) {
        for _ in 0..5_000_000u64 {
            if done(self) {
                return;
            }
            if !self.step() {
                let Some(due) = self.array.poll_timeout() else { return };
                self.now = self.now.max(due);
                self.array.handle_timeout(self.now);
                self.drain();
            }
        }
        panic!("the array does not come to rest: {:?}", self.array.status());
    }

    fn access(&mut self, effect: Effect) {
        let member = effect.action.member().expect("it is no computation");
        let number = self.numbers[member.as_usize()];
        assert_ne!(number, usize::MAX, "an effect for {member}, which is not there");
        if self.disks[number].dead {
            return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
        }
        let of_data = effect.class != Class::Metadata && self.is_of_data(effect.action);
        if self.disks[number].starved && of_data {
            return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
        }
        let of_metadata = effect.class == Class::Metadata && matches!(effect.action, Action::Write { .. });
        if self.disks[number].cramped && of_metadata {
            return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
        }
        match effect.action {
            Action::Read { at, length, .. } => {
                if !self.disks[number].try_read(at, length) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Unreadable));
                }
                match self.fill(effect, number, at, length) {
                    Some(bytes) => self.array.complete(self.now, effect.id, Outcome::Metadata(&bytes)),
                    None => self.array.complete(self.now, effect.id, Outcome::Done),
                }
            }
            Action::Write { at, length, durable, .. } => {
                // (Space for metadata is reserved when an array is created.)
                if self.disks[number].full && effect.class != Class::Metadata {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
                }
                if let Some(fault) = self.disks[number].durable_writes_fail.filter(|_| durable) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(fault));
                }
                let bytes = self.gathered(effect);
                assert_eq!(bytes.len(), length.bytes().as_usize(), "parts are as long as the access");
                self.put(number, at, &bytes, durable);
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            Action::ReadModifyWrite { at, length, modify, durable, .. } => {
                if !self.disks[number].can_read(at, length) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Unreadable));
                }
                let from = at.bytes() as usize;
                let read = self.disks[number].bytes[from..from + length.bytes().as_usize()].to_vec();
                let written = self.modified(effect, modify, &read);
                self.put(number, at, &written, durable);
                self.first_of(effect).copy_from_slice(&read);
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            Action::Float { at, length, modify, durable, .. } => {
                if self.disks[number].full {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::NoSpace));
                }
                if !self.disks[number].can_read(at, length) {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Unreadable));
                }
                let from = at.bytes() as usize;
                let read = self.disks[number].bytes[from..from + length.bytes().as_usize()].to_vec();
                let written = self.modified(effect, modify, &read);
                self.first_of(effect).copy_from_slice(&read);
                let free: Vec<Sector> = self.array.free_positions(effect.id).collect();
                let position = free[self.random.below(free.len() as u64) as usize];
                self.put(number, position, &written, durable);
                self.array.complete(self.now, effect.id, Outcome::Placed(position));
            }
            Action::Zero { at, length, .. } => {
                self.put(number, at, &vec![0; length.bytes().as_usize()], false);
                self.array.complete(self.now, effect.id, Outcome::Done);
            }
            _ => {
                if self.disks[number].flush_fails {
                    return self.array.complete(self.now, effect.id, Outcome::Failed(Fault::Gone));
                }
                let cap = self.caps.remove(&effect.id.get()).unwrap_or(0);
                self.disks[number].flush(cap);
                self.array.complete(self.now, effect.id, Outcome::Done)
            }
        }
    }

    /// The data that a read-modify-write writes after it has read `read`.
    pub(super) fn modified(&mut self, effect: Effect, modify: Modify, read: &[u8]) -> Vec<u8> {
        let mut contents = self.contents(effect);
        assert_eq!(contents.len(), 2, "one for what is read, one for what is to be written");
        let mut written = contents.remove(1);
        if modify == Modify::Xor {
            written.iter_mut().zip(read).for_each(|(new, old)| *new ^= old);
        }
        written
    }

    fn put(&mut self, number: usize, at: Sector, bytes: &[u8], durable: bool) {
        let disk = &mut self.disks[number];
        if disk.drops {
            return;
        }
        if disk.stable.is_some() {
            disk.note_write(at.get(), bytes, durable);
            disk.compact();
        }
        disk.writes += 1;
        for sector in 0..bytes.len() as u64 / 512 {
            disk.unreadable.remove(&(at.get() + sector));
            disk.stutters.remove(&(at.get() + sector));
        }
        let at = at.bytes() as usize;
        disk.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Distributes what is read from a disk to an effect's parts. Returns the metadata among them.
    fn fill(&mut self, effect: Effect, number: usize, at: Sector, length: Sectors) -> Option<Vec<u8>> {
        let World { array, disks, memory: buffers, .. } = self;
        let from = at.bytes() as usize;
        let mut bytes = &disks[number].bytes[from..from + length.bytes().as_usize()];
        let mut metadata = None;
        for part in array.parts(effect.id) {
            let (read, rest) = bytes.split_at(part.length().bytes().as_usize());
            match part {
                Part::Zeroes(_) => panic!("zeroes are not read into"),
                Part::Metadata(_) => metadata.get_or_insert_with(Vec::new).extend_from_slice(read),
                Part::Buffer(slice) => memory(array, buffers, slice).copy_from_slice(read),
            }
            bytes = rest;
        }
        metadata
    }

    /// The content of each part of an effect, where it is.
    fn borrowed(&mut self, effect: Effect) -> Vec<Cow<'_, [u8]>> {
        let World { array, memory: buffers, .. } = self;
        for slice in array.parts(effect.id).filter_map(Part::buffer) {
            memory(array, buffers, slice);
        }
        let content = |part| match part {
            Part::Zeroes(length) => Cow::Owned(vec![0; length.bytes().as_usize()]),
            Part::Metadata(bytes) => Cow::Borrowed(bytes),
            Part::Buffer(slice) => Cow::Borrowed(&buffers[&slice.buffer.as_usize()][range(slice)]),
        };
        array.parts(effect.id).map(content).collect()
    }

    /// A copy of the content of each part of an effect.
    fn contents(&mut self, effect: Effect) -> Vec<Vec<u8>> {
        self.borrowed(effect).into_iter().map(Cow::into_owned).collect()
    }

    /// The contents of all parts of an effect, one after the other.
    pub(super) fn gathered(&mut self, effect: Effect) -> Vec<u8> {
        self.borrowed(effect).concat()
    }

    /// The memory of an effect's first part, which is in a buffer.
    fn first_of(&mut self, effect: Effect) -> &mut [u8] {
        self.part_of(effect, 0)
    }

    /// The memory of a part of an effect that is in a buffer.
    fn part_of(&mut self, effect: Effect, number: usize) -> &mut [u8] {
        let part = self.array.parts(effect.id).nth(number).and_then(Part::buffer);
        memory(&self.array, &mut self.memory, part.expect("a buffer for the result"))
    }

    fn compute(&mut self, effect: Effect) {
        if effect.action == Action::Checksum {
            let bytes = self.gathered(effect);
            let sums: Vec<u64> = self.array.sector_key().checksums(&bytes).collect();
            return self.array.complete(self.now, effect.id, Outcome::Checksums(&sums));
        }
        let outcome = match effect.action {
            Action::Compare if self.are_equal(effect) => Outcome::Done,
            Action::Compare => Outcome::Differs,
            Action::Sum { outputs, adds } => self.sum(effect, outputs.into(), adds),
            action => unreachable!("{action:?} is no computation"),
        };
        self.array.complete(self.now, effect.id, outcome);
    }

    /// Whether all parts of an effect have the same content.
    fn are_equal(&mut self, effect: Effect) -> bool {
        let contents = self.borrowed(effect);
        let (first, others) = contents.split_first().expect("a computation names its result first");
        others.iter().all(|other| other == first)
    }

    /// Computes sums in an effect's first parts, of what all parts held before.
    fn sum(&mut self, effect: Effect, outputs: usize, adds: bool) -> Outcome<'static> {
        let coefficients = self.array.coefficients(effect.id).to_vec();
        let contents = self.borrowed(effect);
        let (outputs, sources) = contents.split_at(outputs);
        let sum = |(number, output): (usize, &Cow<'_, [u8]>)| {
            let mut sum = if adds { output.to_vec() } else { vec![0; output.len()] };
            let factors = &coefficients[number * sources.len()..];
            for (source, factor) in sources.iter().zip(factors) {
                galois::multiply_into(&mut sum, source, *factor);
            }
            sum
        };
        let sums: Vec<Vec<u8>> = outputs.iter().enumerate().map(sum).collect();
        for (number, sum) in sums.iter().enumerate() {
            self.part_of(effect, number).copy_from_slice(sum);
        }
        Outcome::Done
    }

    /// Whether it reads or writes the data area.
    fn is_of_data(&self, action: Action) -> bool {
        action.range().is_some_and(|(at, _)| at >= self.array.geometry().data_start())
    }
}

/// The memory of a slice. A buffer gets it when it is first used.
fn memory<'a>(array: &Array, memory: &'a mut BTreeMap<usize, Vec<u8>>, slice: Slice) -> &'a mut [u8] {
    let length = array.buffer_length(slice.buffer).bytes().as_usize();
    let memory = memory.entry(slice.buffer.as_usize()).or_default();
    assert!(memory.len() <= length);
    memory.resize(length, 0xEE);
    &mut memory[range(slice)]
}

/// The bytes of a buffer that a slice names.
fn range(slice: Slice) -> Range<usize> {
    let start = slice.start.bytes().as_usize();
    start..start + slice.length.bytes().as_usize()
}
