//! The memory of the array's effects.
//!
//! A buffer gets memory when an effect or a host first uses it. The array reuses a buffer's number
//! as soon as its last reference is gone, so released memory is taken back before the next effect
//! is examined.

use parlour_array::record::Recorded;
use parlour_array::{BufferId, EffectId, Outcome, Part as Named};
use parlour_codec::sector::SectorKey;
use parlour_units::{Bytes, Sectors};

use crate::compute;
use crate::memory::{Buffer, Memory, Part};
use crate::uring::Lease;

/// The memory of buffers, and the parts of it that one effect is about.
#[derive(Debug)]
pub(super) struct Payload {
    memory: Memory,
    /// The parts that [`Payload::locate`] has found.
    parts: Vec<Part>,
    key: SectorKey,
    // Vectors that are kept for their capacity.
    spare_leases: Vec<Vec<Lease>>,
    sums: Vec<u64>,
}

impl Payload {
    pub(super) fn new(retain: Bytes, key: SectorKey) -> Payload {
        let memory = Memory::new(retain);
        Payload { memory, parts: Vec::new(), key, spare_leases: Vec::new(), sums: Vec::new() }
    }

    pub(super) fn memory(&self) -> &Memory {
        &self.memory
    }

    // Buffers.

    /// Gives a host's new buffer its memory.
    pub(super) fn take(&mut self, buffer: BufferId, length: Sectors) {
        self.memory.take(number(buffer), length.bytes().as_usize());
    }

    /// Takes back the memory of buffers that the array has released.
    pub(super) fn collect_released(&mut self, array: &mut Recorded) {
        while let Some(buffer) = array.poll_release() {
            let number = number(buffer);
            // A buffer that was never used has no memory.
            if self.memory.is_taken(number) {
                self.memory.release(Buffer::Payload(number));
            }
        }
    }

    pub(super) fn bytes(&self, buffer: BufferId, length: Sectors) -> &[u8] {
        self.memory.read(whole(buffer, length))
    }

    pub(super) fn bytes_mut(&mut self, buffer: BufferId, length: Sectors) -> &mut [u8] {
        self.memory.write(whole(buffer, length))
    }

    // One effect.

    /// Lists the parts of memory that are an effect's parts. `metadata` is the buffer of the
    /// effect's own bytes.
    pub(super) fn locate(&mut self, array: &Recorded, effect: EffectId, metadata: Option<Buffer>) {
        self.parts.clear();
        let mut own = 0;
        for named in array.parts(effect) {
            let length = named.length().bytes().as_usize();
            let part = match named {
                Named::Zeroes(_) => Part { buffer: Buffer::Zeroes, start: 0, length },
                Named::Metadata(_) => {
                    let buffer = metadata.expect("an effect that moves metadata has memory for it");
                    own += length;
                    Part { buffer, start: own - length, length }
                }
                Named::Buffer(slice) => {
                    let number = number(slice.buffer);
                    if !self.memory.is_taken(number) {
                        self.memory.take(number, array.buffer_length(slice.buffer).bytes().as_usize());
                    }
                    Part { buffer: Buffer::Payload(number), start: slice.start.bytes().as_usize(), length }
                }
            };
            self.parts.push(part);
        }
    }

    /// Memory for the effect's own bytes, one slice after the other. If they are to be written,
    /// they are copied into it.
    pub(super) fn metadata_room(&mut self, array: &Recorded, effect: EffectId, fill: bool) -> Option<Part> {
        let own = array.parts(effect).filter_map(Named::metadata);
        let length: usize = own.clone().map(<[u8]>::len).sum();
        if length == 0 {
            return None;
        }
        let buffer = self.memory.take_scratch(length);
        let room = Part { buffer, start: 0, length };
        if fill {
            let mut rest = self.memory.write(room);
            for bytes in own {
                let (piece, behind) = rest.split_at_mut(bytes.len());
                piece.copy_from_slice(bytes);
                rest = behind;
            }
        }
        Some(room)
    }

    /// Lends the located parts to an access: to be written to if it `reads`.
    pub(super) fn lend(&mut self, reads: bool) -> Vec<Lease> {
        let mut leases = self.spare_leases.pop().unwrap_or_default();
        for part in &self.parts {
            if reads {
                leases.push(self.memory.lend_mut(*part));
            } else {
                self.memory.lend(*part, &mut leases);
            }
        }
        leases
    }

    /// Takes back what was lent.
    pub(super) fn give_back(&mut self, mut leases: Vec<Lease>) {
        leases.drain(..).for_each(|lease| self.memory.give_back(lease));
        self.spare_leases.push(leases);
    }

    /// Takes back what was lent to an access that was given up.
    pub(super) fn discard(&mut self, mut leases: Vec<Lease>) {
        leases.drain(..).for_each(|lease| self.memory.discard(lease));
        self.spare_leases.push(leases);
    }

    /// The effect's own bytes.
    pub(super) fn metadata(&self, room: Part) -> &[u8] {
        self.memory.read(room)
    }

    /// Takes back the memory for an effect's own bytes.
    pub(super) fn release(&mut self, room: Option<Part>) {
        if let Some(room) = room {
            self.memory.release(room.buffer);
        }
    }

    /// Puts the memory of an access that is given up in quarantine. `room` is that of its own
    /// bytes.
    pub(super) fn quarantine(&mut self, array: &Recorded, effect: EffectId, room: Option<Part>) {
        self.locate(array, effect, room.map(|part| part.buffer));
        for part in &self.parts {
            // The effect's own bytes stay with the flight, so only payload needs quarantine.
            if let Buffer::Payload(number) = part.buffer {
                self.memory.quarantine(number);
            }
        }
    }

    // Computations with the located parts.

    /// Computes sums in the first `outputs` parts.
    pub(super) fn sum(&mut self, outputs: usize, adds: bool, coefficients: &[u8]) {
        compute::sums(&mut self.memory, self.parts.split_at(outputs), adds, coefficients);
    }

    pub(super) fn compare(&mut self) -> Outcome<'_> {
        if compute::differs(&self.memory, &self.parts) { Outcome::Differs } else { Outcome::Done }
    }

    pub(super) fn checksum(&mut self) -> Outcome<'_> {
        self.sums.clear();
        compute::checksums(&self.memory, &self.parts, &self.key, &mut self.sums);
        Outcome::Checksums(&self.sums)
    }
}

fn whole(buffer: BufferId, length: Sectors) -> Part {
    Part { buffer: Buffer::Payload(number(buffer)), start: 0, length: length.bytes().as_usize() }
}

/// The number of a buffer in [`Memory`].
fn number(buffer: BufferId) -> u32 {
    u32::try_from(buffer.as_usize()).expect("buffers are numbered with 32 bits")
}
