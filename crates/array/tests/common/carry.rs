//! Carries out the array's effects on its members.

use parlour_array::{Action, BufferId, Class, Completion, Effect, Fault, Modify, Outcome, Slice, Tag};
use parlour_units::{Duration, Member, Sector, Slot};

use super::World;

impl World {
    /// The slot of a member that stands.
    pub fn slot_of(&self, member: Member) -> Option<Slot> {
        let members = self.array.status().members;
        let of = members.iter().find(|status| status.member == Some(member.get()))?;
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
        let slices = self.array.slices(effect.id).to_vec();
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
                let at = at.bytes() as usize;
                let bytes = self.disks[number].bytes[at..at + length.bytes().as_usize()].to_vec();
                let metadata = self.fill(&slices, &bytes);
                match metadata {
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
                let bytes: Vec<u8> = slices.iter().flat_map(|slice| self.bytes_of(effect, *slice)).collect();
                assert_eq!(bytes.len(), length.bytes().as_usize(), "slices are as long as the access");
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
                assert_eq!(self.fill(&slices[..1], &read), None, "what is read is payload");
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
                assert_eq!(self.fill(&slices[..1], &read), None, "what is read is payload");
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
        let slices = self.array.slices(effect.id).to_vec();
        assert_eq!(slices.len(), 2, "one for what is read, one for what is to be written");
        let mut written = self.bytes_of(effect, slices[1]);
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
            disk.cache.push((at.get(), bytes.to_vec(), durable));
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

    /// Distributes data that was read to slices; returns the part that is metadata.
    fn fill(&mut self, slices: &[Slice], bytes: &[u8]) -> Option<Vec<u8>> {
        let mut at = 0;
        let mut metadata = None;
        for slice in slices {
            let length = slice.length.bytes().as_usize();
            let part = &bytes[at..at + length];
            if slice.buffer == BufferId::METADATA {
                metadata.get_or_insert_with(Vec::new).extend_from_slice(part);
            } else {
                let start = slice.start.bytes().as_usize();
                self.buffer(slice.buffer)[start..start + length].copy_from_slice(part);
            }
            at += length;
        }
        metadata
    }

    fn buffer(&mut self, buffer: BufferId) -> &mut Vec<u8> {
        let length = self.array.buffer_length(buffer).bytes().as_usize();
        let memory = self.memory.entry(buffer.as_usize()).or_insert_with(|| vec![0xEE; length]);
        assert!(memory.len() <= length);
        memory.resize(length, 0xEE);
        memory
    }

    pub(super) fn bytes_of(&mut self, effect: Effect, slice: Slice) -> Vec<u8> {
        let (start, length) = (slice.start.bytes().as_usize(), slice.length.bytes().as_usize());
        match slice.buffer {
            BufferId::ZEROES => vec![0; length],
            BufferId::METADATA => self.array.metadata(effect.id)[start..start + length].to_vec(),
            buffer => self.buffer(buffer)[start..start + length].to_vec(),
        }
    }

    fn compute(&mut self, effect: Effect) {
        let slices = self.array.slices(effect.id).to_vec();
        if effect.action == Action::Checksum {
            let bytes: Vec<u8> = slices.iter().flat_map(|slice| self.bytes_of(effect, *slice)).collect();
            let sums: Vec<u64> = self.array.sector_key().checksums(&bytes).collect();
            return self.array.complete(self.now, effect.id, Outcome::Checksums(&sums));
        }
        let sources: Vec<Vec<u8>> = slices[1..].iter().map(|slice| self.bytes_of(effect, *slice)).collect();
        let length = slices[0].length.bytes().as_usize();
        let mut result = match effect.action {
            Action::Xor => vec![0; length],
            _ => self.bytes_of(effect, slices[0]),
        };
        if effect.action == Action::Compare {
            let same = sources.iter().all(|source| *source == result);
            let outcome = if same { Outcome::Done } else { Outcome::Differs };
            return self.array.complete(self.now, effect.id, outcome);
        }
        for source in &sources {
            result.iter_mut().zip(source).for_each(|(a, b)| *a ^= b);
        }
        let start = slices[0].start.bytes().as_usize();
        self.buffer(slices[0].buffer)[start..start + length].copy_from_slice(&result);
        self.array.complete(self.now, effect.id, Outcome::Done);
    }

    /// Whether it reads or writes the data area.
    fn is_of_data(&self, action: Action) -> bool {
        action.range().is_some_and(|(at, _)| at >= self.array.geometry().data_start())
    }
}
