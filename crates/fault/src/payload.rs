//! The memory of buffers, and the computations in it. Released memory keeps its old bytes, so that
//! a read of a buffer before it is filled returns wrong content.

use parlour_array::{Action, Array, BufferId, Effect, Part, Slice};
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

    /// An access begins.
    pub(crate) fn pin(&mut self, array: &Array, effect: Effect) -> Result<(), Violation> {
        for slice in buffers(array, effect) {
            let end = (slice.start + slice.length).get() as usize;
            if end > self.buffer(array, slice.buffer).len() {
                return Err(Violation::seam("a slice reaches beyond its buffer"));
            }
            self.memory(slice.buffer).pins += 1;
        }
        Ok(())
    }

    /// The access has ended.
    pub(crate) fn unpin(&mut self, array: &Array, effect: Effect) {
        for slice in buffers(array, effect) {
            self.memory(slice.buffer).pins -= 1;
        }
    }

    fn memory(&mut self, buffer: BufferId) -> &mut Memory {
        self.buffers[buffer.as_usize()].as_mut().expect("a buffer that an access names has memory")
    }

    /// Collects the sectors of an effect's parts, one after another.
    pub(crate) fn gather(&mut self, array: &Array, effect: Effect, sectors: &mut Vec<SectorBytes>) {
        sectors.clear();
        for part in array.parts(effect.id) {
            match part {
                Part::Zeroes(length) => {
                    sectors.extend(std::iter::repeat_n(&self.zeroes, length.get() as usize).cloned());
                }
                Part::Metadata(bytes) => sectors.extend(SectorBytes::of(bytes)),
                Part::Buffer(slice) => {
                    sectors.extend_from_slice(&self.buffer(array, slice.buffer)[in_sectors(slice)]);
                }
            }
        }
    }

    /// Reads the sectors of an effect's parts from `disk`. Returns the bytes that are metadata.
    pub(crate) fn fill(&mut self, array: &Array, effect: Effect, at: Sector, disk: &Disk) -> Option<Vec<u8>> {
        let (mut at, mut metadata) = (at, None);
        for part in array.parts(effect.id) {
            match part {
                Part::Zeroes(_) => unreachable!("nothing is read into zeroes"),
                Part::Metadata(room) => {
                    let metadata: &mut Vec<u8> = metadata.get_or_insert_default();
                    let before = metadata.len();
                    metadata.resize(before + room.len(), 0);
                    disk.read(at, &mut metadata[before..]);
                }
                Part::Buffer(slice) => {
                    let memory = &mut self.buffer(array, slice.buffer)[in_sectors(slice)];
                    for (sector, memory) in (at.get()..).zip(memory) {
                        memory.clone_from(disk.sector(sector));
                    }
                }
            }
            at = at + part.length();
        }
        metadata
    }

    /// Writes the sectors of an effect's parts to `disk`.
    pub(crate) fn write(
        &mut self,
        array: &Array,
        effect: Effect,
        disk: &mut Disk,
        (mut at, durable): (Sector, bool),
    ) {
        disk.begin_write();
        for part in array.parts(effect.id) {
            match part {
                Part::Zeroes(length) => disk.put_zeroes(at, length, durable),
                Part::Metadata(bytes) => disk.put_all(at, SectorBytes::of(bytes), durable),
                Part::Buffer(slice) => {
                    let sectors = &self.buffer(array, slice.buffer)[in_sectors(slice)];
                    disk.put_all(at, sectors.iter().cloned(), durable);
                }
            }
            at = at + part.length();
        }
    }

    /// Carries out a computation. Returns whether a comparison found equal content.
    pub(crate) fn compute(&mut self, array: &Array, effect: Effect) -> bool {
        // Every buffer has memory from here on.
        buffers(array, effect).for_each(|slice| {
            self.buffer(array, slice.buffer);
        });
        if let Action::Sum { outputs, adds } = effect.action {
            self.sum(array, effect, (outputs.into(), adds));
            return true;
        }
        let mut others = array.parts(effect.id);
        let result = others.next().and_then(Part::buffer).expect("a comparison names what it compares first");
        let alike = |index: usize| {
            let mut others = others.clone().map(|part| part.buffer());
            let first = self.sector(result, index);
            others.all(|other| match other {
                None => is_zero(first.bytes()),
                Some(other) => first == self.sector(other, index),
            })
        };
        (0..in_sectors(result).len()).all(alike)
    }

    /// Computes sums in the first `outputs` parts of an effect.
    fn sum(&mut self, array: &Array, effect: Effect, (outputs, adds): (usize, bool)) {
        let parts: Vec<Option<Slice>> = array.parts(effect.id).map(|part| part.buffer()).collect();
        let coefficients = array.coefficients(effect.id);
        let (outputs, sources) = parts.split_at(outputs);
        for (number, output) in outputs.iter().enumerate() {
            // (Without sources there are no coefficients, and outputs become zeroes.)
            let factors = &coefficients[number * sources.len()..][..sources.len()];
            let output = output.expect("a sum is computed in a buffer");
            let terms =
                || sources.iter().zip(factors).filter_map(|(source, factor)| Some(((*source)?, *factor)));
            let held = adds.then_some(output);
            for index in 0..in_sectors(output).len() {
                let ones = terms().filter(|(_, factor)| *factor == 1).map(|(source, _)| source);
                self.add(output, held.into_iter().chain(ones), index);
                for (source, factor) in terms().filter(|(_, factor)| *factor > 1) {
                    self.multiply(output, std::iter::once(source), index, factor);
                }
            }
        }
    }

    /// Sets a sector of `result` to the XOR of the same sector of all `sources`.
    fn add(&mut self, result: Slice, mut sources: impl Iterator<Item = Slice>, index: usize) {
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
    fn multiply(
        &mut self,
        result: Slice,
        sources: impl Iterator<Item = Slice>,
        index: usize,
        coefficient: u8,
    ) {
        let others = sources.map(|source| self.sector(source, index));
        let sum = self.sector(result, index).plus(others, coefficient);
        let at = in_sectors(result).start + index;
        self.memory(result.buffer).sectors[at] = sum;
    }

    /// A sector of a slice, in a buffer that has memory.
    fn sector(&self, slice: Slice, index: usize) -> &SectorBytes {
        let memory = self.buffers[slice.buffer.as_usize()].as_ref();
        &memory.expect("a buffer that is computed with has memory").sectors[in_sectors(slice).start + index]
    }
}

/// The sectors of a slice in its buffer.
fn in_sectors(slice: Slice) -> std::ops::Range<usize> {
    slice.start.get() as usize..(slice.start + slice.length).get() as usize
}

/// The parts of an effect that are in buffers.
fn buffers(array: &Array, effect: Effect) -> impl Iterator<Item = Slice> {
    array.parts(effect.id).filter_map(Part::buffer)
}
