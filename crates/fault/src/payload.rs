//! The memory of buffers, and the computations in it. Released memory keeps its old bytes, so that
//! a read of a buffer before it is filled returns wrong content.

use parlour_array::{Action, Array, BufferId, Effect, Slice};
use parlour_codec::xor::is_zero;
use parlour_units::Sector;

use crate::content::SectorBytes;
use crate::disk::Disk;
use crate::violation::Violation;

/// The byte in new buffers.
const FRESH: u8 = 0xEE;

#[derive(Debug)]
struct Memory {
    sectors: Vec<SectorBytes>,
    /// The number of effects under way that use it.
    pins: u32,
}

/// All payload of one array.
#[derive(Debug)]
pub(crate) struct Payload {
    buffers: Vec<Option<Memory>>,
    spare: Vec<Vec<SectorBytes>>,
    fresh: SectorBytes,
    zeroes: SectorBytes,
}

impl Payload {
    pub(crate) fn new() -> Payload {
        let (fresh, zeroes) = (SectorBytes::filled(FRESH), SectorBytes::filled(0));
        Payload { buffers: Vec::new(), spare: Vec::new(), fresh, zeroes }
    }

    /// The sectors of `buffer`. The array determines its length.
    pub(crate) fn buffer(&mut self, array: &Array, buffer: BufferId) -> &mut Vec<SectorBytes> {
        let index = buffer.as_usize();
        if index >= self.buffers.len() {
            self.buffers.resize_with(index + 1, || None);
        }
        let (spare, fresh) = (&mut self.spare, &self.fresh);
        let memory = self.buffers[index].get_or_insert_with(|| {
            let mut sectors = spare.pop().unwrap_or_default();
            sectors.resize_with(array.buffer_length(buffer).get() as usize, || fresh.clone());
            Memory { sectors, pins: 0 }
        });
        &mut memory.sectors
    }

    /// The array releases `buffer`, which a host's read has filled. Returns its sectors.
    pub(crate) fn take(&mut self, buffer: BufferId) -> Result<Vec<SectorBytes>, Violation> {
        self.free(buffer)?.ok_or_else(|| Violation::seam("a read is answered that has filled nothing"))
    }

    /// Keeps the memory of sectors that are no longer needed.
    pub(crate) fn reuse(&mut self, sectors: Vec<SectorBytes>) {
        self.spare.push(sectors);
    }

    /// The array releases `buffer`.
    pub(crate) fn release(&mut self, buffer: BufferId) -> Result<(), Violation> {
        let sectors = self.free(buffer)?;
        self.spare.extend(sectors);
        Ok(())
    }

    fn free(&mut self, buffer: BufferId) -> Result<Option<Vec<SectorBytes>>, Violation> {
        let Some(memory) = self.buffers.get_mut(buffer.as_usize()).and_then(Option::take) else {
            return Ok(None);
        };
        if memory.pins > 0 {
            return Err(Violation::seam("a buffer is given back while an access uses it"));
        }
        Ok(Some(memory.sectors))
    }

    /// An access that uses `slices` begins.
    pub(crate) fn pin(&mut self, array: &Array, slices: &[Slice]) -> Result<(), Violation> {
        for slice in named(slices) {
            let end = (slice.start + slice.length).get() as usize;
            if end > self.buffer(array, slice.buffer).len() {
                return Err(Violation::seam("a slice reaches beyond its buffer"));
            }
            self.memory(slice.buffer).pins += 1;
        }
        Ok(())
    }

    /// The access has ended.
    pub(crate) fn unpin(&mut self, slices: &[Slice]) {
        for slice in named(slices) {
            self.memory(slice.buffer).pins -= 1;
        }
    }

    fn memory(&mut self, buffer: BufferId) -> &mut Memory {
        self.buffers[buffer.as_usize()].as_mut().expect("a buffer that an access names has memory")
    }

    /// Collects the sectors of an effect's slices, one after another.
    pub(crate) fn gather(&mut self, array: &Array, effect: Effect, sectors: &mut Vec<SectorBytes>) {
        sectors.clear();
        for slice in array.slices(effect.id) {
            match slice.buffer {
                BufferId::ZEROES => {
                    sectors.extend(std::iter::repeat_n(&self.zeroes, in_sectors(slice).len()).cloned());
                }
                BufferId::METADATA => sectors.extend(SectorBytes::of(metadata(array, effect, slice))),
                buffer => sectors.extend_from_slice(&self.buffer(array, buffer)[in_sectors(slice)]),
            }
        }
    }

    /// Reads the sectors of an effect's slices from `disk`. Returns the bytes that are metadata.
    pub(crate) fn fill(&mut self, array: &Array, effect: Effect, at: Sector, disk: &Disk) -> Option<Vec<u8>> {
        let (mut at, mut metadata) = (at, None);
        for slice in array.slices(effect.id) {
            if slice.buffer == BufferId::METADATA {
                let metadata: &mut Vec<u8> = metadata.get_or_insert_default();
                let before = metadata.len();
                metadata.resize(before + slice.length.bytes().as_usize(), 0);
                disk.read(at, &mut metadata[before..]);
            } else {
                let memory = &mut self.buffer(array, slice.buffer)[in_sectors(slice)];
                for (sector, memory) in (at.get()..).zip(memory) {
                    memory.clone_from(disk.sector(sector));
                }
            }
            at = at + slice.length;
        }
        metadata
    }

    /// Writes the sectors of an effect's slices to `disk`.
    pub(crate) fn write(
        &mut self,
        array: &Array,
        effect: Effect,
        disk: &mut Disk,
        (mut at, durable): (Sector, bool),
    ) {
        disk.begin_write();
        for slice in array.slices(effect.id) {
            match slice.buffer {
                BufferId::ZEROES => disk.put_zeroes(at, slice.length, durable),
                BufferId::METADATA => {
                    disk.put_all(at, SectorBytes::of(metadata(array, effect, slice)), durable);
                }
                buffer => {
                    let sectors = &self.buffer(array, buffer)[in_sectors(slice)];
                    disk.put_all(at, sectors.iter().cloned(), durable);
                }
            }
            at = at + slice.length;
        }
    }

    /// Carries out a computation. Returns whether a comparison found equal content.
    pub(crate) fn compute(&mut self, array: &Array, effect: Effect) -> bool {
        let slices = array.slices(effect.id);
        let (result, others) = slices.split_first().expect("a computation has a result");
        slices.iter().filter(|slice| slice.buffer != BufferId::ZEROES).for_each(|slice| {
            self.buffer(array, slice.buffer);
        });
        let mut alike = true;
        for index in 0..in_sectors(result).len() {
            match effect.action {
                Action::Compare => {
                    let first = self.sector(result, index);
                    alike &= others.iter().all(|other| match other.buffer {
                        BufferId::ZEROES => is_zero(first.bytes()),
                        _ => first == self.sector(other, index),
                    });
                }
                Action::Xor => self.add(result, others, index),
                Action::Accumulate { coefficient: 1 } => self.add(result, slices, index),
                Action::Accumulate { coefficient } => self.multiply(result, others, index, coefficient),
                action => unreachable!("{action:?} is no computation"),
            }
        }
        alike
    }

    /// Sets a sector of `result` to the XOR of the same sector of all `sources`.
    fn add(&mut self, result: &Slice, sources: &[Slice], index: usize) {
        let mut sources = sources.iter().filter(|source| source.buffer != BufferId::ZEROES);
        let first = sources.next().map_or(&self.zeroes, |source| self.sector(source, index));
        let mut others = sources.map(|source| self.sector(source, index));
        // A single source is shared, without a copy.
        let sum = match others.next() {
            Some(second) => SectorBytes::sum(first, second, others),
            None => first.clone(),
        };
        let at = in_sectors(result).start + index;
        self.memory(result.buffer).sectors[at] = sum;
    }

    /// Adds the same sector of each of `sources`, times `coefficient`, to a sector of `result`.
    fn multiply(&mut self, result: &Slice, sources: &[Slice], index: usize, coefficient: u8) {
        let sources = sources.iter().filter(|source| source.buffer != BufferId::ZEROES);
        let others = sources.map(|source| self.sector(source, index));
        let sum = self.sector(result, index).plus(others, coefficient);
        let at = in_sectors(result).start + index;
        self.memory(result.buffer).sectors[at] = sum;
    }

    /// A sector of a slice, in a buffer that has memory.
    fn sector(&self, slice: &Slice, index: usize) -> &SectorBytes {
        let memory = self.buffers[slice.buffer.as_usize()].as_ref();
        &memory.expect("a buffer that is computed with has memory").sectors[in_sectors(slice).start + index]
    }
}

/// The sectors of a slice in its buffer.
fn in_sectors(slice: &Slice) -> std::ops::Range<usize> {
    slice.start.get() as usize..(slice.start + slice.length).get() as usize
}

/// The metadata of a slice.
fn metadata<'a>(array: &'a Array, effect: Effect, slice: &Slice) -> &'a [u8] {
    let (start, length) = (slice.start.bytes().as_usize(), slice.length.bytes().as_usize());
    &array.metadata(effect.id)[start..start + length]
}

/// The total length of slices, in sectors.
pub(crate) fn named_length(slices: &[Slice]) -> u64 {
    slices.iter().map(|slice| slice.length.get()).sum()
}

fn named(slices: &[Slice]) -> impl Iterator<Item = &Slice> {
    slices.iter().filter(|slice| slice.buffer != BufferId::METADATA && slice.buffer != BufferId::ZEROES)
}
