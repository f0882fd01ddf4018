//! The memory behind buffers' names, and what is computed in it. Memory that is given back keeps its old bytes, so that who
//! reads a buffer before it was filled reads something wrong.

use parlour_array::{Action, Array, BufferId, Effect, Slice};
use parlour_codec::xor::{is_zero, xor_into};
use parlour_units::Sector;

use crate::disk::Disk;
use crate::violation::Violation;

/// What a fresh buffer holds.
const FRESH: u8 = 0xEE;

#[derive(Debug, Default)]
struct Memory {
    bytes: Vec<u8>,
    /// Effects under way that name it.
    pins: u32,
}

/// All payload of one array.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    buffers: Vec<Option<Memory>>,
    spare: Vec<Vec<u8>>,
    result: Vec<u8>,
}

impl Payload {
    /// The bytes of `buffer`, which is as long as the array says.
    pub(crate) fn buffer(&mut self, array: &Array, buffer: BufferId) -> &mut Vec<u8> {
        let index = buffer.as_usize();
        if index >= self.buffers.len() {
            self.buffers.resize_with(index + 1, || None);
        }
        let spare = &mut self.spare;
        let memory = self.buffers[index].get_or_insert_with(|| {
            let mut bytes = spare.pop().unwrap_or_default();
            bytes.resize(array.buffer_length(buffer).bytes().as_usize(), FRESH);
            Memory { bytes, pins: 0 }
        });
        &mut memory.bytes
    }

    /// The array gives `buffer` back, which a host has read into.
    pub(crate) fn take(&mut self, buffer: BufferId) -> Result<Vec<u8>, Violation> {
        self.free(buffer)?.ok_or_else(|| Violation::seam("a read is answered that has filled nothing"))
    }

    /// Bytes that were taken are no longer needed.
    pub(crate) fn reuse(&mut self, bytes: Vec<u8>) {
        self.spare.push(bytes);
    }

    /// The array gives `buffer` back.
    pub(crate) fn release(&mut self, buffer: BufferId) -> Result<(), Violation> {
        let bytes = self.free(buffer)?;
        self.spare.extend(bytes);
        Ok(())
    }

    fn free(&mut self, buffer: BufferId) -> Result<Option<Vec<u8>>, Violation> {
        let Some(memory) = self.buffers.get_mut(buffer.as_usize()).and_then(Option::take) else {
            return Ok(None);
        };
        if memory.pins > 0 {
            return Err(Violation::seam("a buffer is given back while an access uses it"));
        }
        Ok(Some(memory.bytes))
    }

    /// An access that names `slices` begins.
    pub(crate) fn pin(&mut self, array: &Array, slices: &[Slice]) -> Result<(), Violation> {
        for slice in named(slices) {
            let end = (slice.start + slice.length).bytes().as_usize();
            if end > self.buffer(array, slice.buffer).len() {
                return Err(Violation::seam("a slice reaches beyond its buffer"));
            }
            self.memory(slice.buffer).pins += 1;
        }
        Ok(())
    }

    /// It is over.
    pub(crate) fn unpin(&mut self, slices: &[Slice]) {
        for slice in named(slices) {
            self.memory(slice.buffer).pins -= 1;
        }
    }

    fn memory(&mut self, buffer: BufferId) -> &mut Memory {
        self.buffers[buffer.as_usize()].as_mut().expect("a buffer that an access names has memory")
    }

    /// The bytes that an effect's slices name, one after another.
    pub(crate) fn gather(&mut self, array: &Array, effect: Effect, bytes: &mut Vec<u8>) {
        bytes.clear();
        for slice in array.slices(effect.id) {
            let (start, length) = (slice.start.bytes().as_usize(), slice.length.bytes().as_usize());
            match slice.buffer {
                BufferId::ZEROES => bytes.resize(bytes.len() + length, 0),
                BufferId::METADATA => {
                    bytes.extend_from_slice(&array.metadata(effect.id)[start..start + length]);
                }
                buffer => bytes.extend_from_slice(&self.buffer(array, buffer)[start..start + length]),
            }
        }
    }

    /// Reads what an effect's slices name from `disk`; returns what of it is metadata.
    pub(crate) fn fill(&mut self, array: &Array, effect: Effect, at: Sector, disk: &Disk) -> Option<Vec<u8>> {
        let (mut at, mut metadata) = (at, None);
        for slice in array.slices(effect.id) {
            let (start, length) = (slice.start.bytes().as_usize(), slice.length.bytes().as_usize());
            if slice.buffer == BufferId::METADATA {
                let metadata: &mut Vec<u8> = metadata.get_or_insert_default();
                let before = metadata.len();
                metadata.resize(before + length, 0);
                disk.read(at, &mut metadata[before..]);
            } else {
                disk.read(at, &mut self.buffer(array, slice.buffer)[start..start + length]);
            }
            at = at + slice.length;
        }
        metadata
    }

    /// Writes what an effect's slices name to `disk`.
    pub(crate) fn write(
        &mut self,
        array: &Array,
        effect: Effect,
        disk: &mut Disk,
        (mut at, durable): (Sector, bool),
    ) {
        disk.begin_write();
        for slice in array.slices(effect.id) {
            let (start, length) = (slice.start.bytes().as_usize(), slice.length.bytes().as_usize());
            match slice.buffer {
                BufferId::ZEROES => disk.put_zeroes(at, slice.length, durable),
                BufferId::METADATA => {
                    disk.put_all(at, &array.metadata(effect.id)[start..start + length], durable);
                }
                buffer => disk.put_all(at, &self.buffer(array, buffer)[start..start + length], durable),
            }
            at = at + slice.length;
        }
    }

    /// Carries out a computation. Says whether a comparison found all alike.
    pub(crate) fn compute(&mut self, array: &Array, effect: Effect) -> bool {
        let slices = array.slices(effect.id);
        let (first, others) = slices.split_first().expect("a computation has a result");
        let length = first.length.bytes().as_usize();
        let start = first.start.bytes().as_usize();
        let mut result = std::mem::take(&mut self.result);
        result.clear();
        match effect.action {
            Action::Xor => result.resize(length, 0),
            _ => result.extend_from_slice(&self.buffer(array, first.buffer)[start..start + length]),
        }
        let mut alike = true;
        for slice in others {
            if slice.buffer == BufferId::ZEROES {
                alike &= effect.action != Action::Compare || is_zero(&result);
                continue;
            }
            let from = slice.start.bytes().as_usize();
            let source = &self.buffer(array, slice.buffer)[from..from + length];
            match effect.action {
                Action::Compare => alike &= result == source,
                _ => xor_into(&mut result, source),
            }
        }
        if effect.action != Action::Compare {
            self.buffer(array, first.buffer)[start..start + length].copy_from_slice(&result);
        }
        self.result = result;
        alike
    }
}

/// Sectors that slices name together.
pub(crate) fn named_length(slices: &[Slice]) -> u64 {
    slices.iter().map(|slice| slice.length.get()).sum()
}

fn named(slices: &[Slice]) -> impl Iterator<Item = &Slice> {
    slices.iter().filter(|slice| slice.buffer != BufferId::METADATA && slice.buffer != BufferId::ZEROES)
}
