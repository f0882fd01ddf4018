//! Names for payload memory. The array plans with names; the driver owns the bytes.
//!
//! The array chooses a buffer's name. The driver gives the memory when an effect first mentions the
//! name, and takes it back when the last reference is dropped ([`Buffers::poll_release`]). A budget
//! limits the sum of all lengths, so memory is limited whatever the hosts do.

use parlour_codec::sector::SECTOR_BYTES;
use parlour_units::Sectors;

/// A name for payload memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(u32);

impl BufferId {
    /// Not a buffer: the effect's own metadata bytes, at the slice's offset in them.
    pub(crate) const METADATA: BufferId = BufferId(u32::MAX);
    /// Not a buffer: as many zeroes as the slice is long. Never written to.
    pub(crate) const ZEROES: BufferId = BufferId(u32::MAX - 1);

    /// A small dense number, usable as an index of a table of buffers.
    pub fn as_usize(self) -> usize {
        assert!(self.0 < Self::ZEROES.0, "metadata and zeroes have no place in a table of buffers");
        self.0 as usize
    }
}

/// A part of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The buffer.
    pub buffer: BufferId,
    /// Where the part starts, in sectors from the buffer's start.
    pub start: Sectors,
    /// The length of the part.
    pub length: Sectors,
}

/// A part of what an effect reads, writes or computes with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// A part of a buffer.
    Buffer(Slice),
    /// Metadata of the array. A write writes these bytes. A read has room for as many: they are
    /// returned in [`Outcome::Metadata`](crate::Outcome::Metadata).
    Metadata(&'a [u8]),
    /// As many zeroes. Nothing is read into them.
    Zeroes(Sectors),
}

impl<'a> Part<'a> {
    /// The part that a slice of a plan names. `metadata` is that of the plan.
    pub(crate) fn of(slice: Slice, metadata: &'a [u8]) -> Part<'a> {
        match slice.buffer {
            BufferId::ZEROES => Part::Zeroes(slice.length),
            BufferId::METADATA => {
                let start = slice.start.bytes().as_usize();
                Part::Metadata(&metadata[start..start + slice.length.bytes().as_usize()])
            }
            _ => Part::Buffer(slice),
        }
    }

    /// Its length.
    pub fn length(&self) -> Sectors {
        match self {
            Part::Buffer(slice) => slice.length,
            Part::Metadata(bytes) => Sectors::new(bytes.len() as u64 / SECTOR_BYTES as u64),
            Part::Zeroes(length) => *length,
        }
    }

    /// The part of a buffer, if it is one.
    pub fn buffer(self) -> Option<Slice> {
        match self {
            Part::Buffer(slice) => Some(slice),
            Part::Metadata(_) | Part::Zeroes(_) => None,
        }
    }

    /// The metadata, if it is that.
    pub fn metadata(self) -> Option<&'a [u8]> {
        match self {
            Part::Metadata(bytes) => Some(bytes),
            Part::Buffer(_) | Part::Zeroes(_) => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Held {
    length: Sectors,
    references: u32,
}

/// The table of buffer names with their reference counts and the budget that bounds them.
#[derive(Debug)]
pub(crate) struct Buffers {
    table: Vec<Held>,
    free: Vec<u32>,
    released: Vec<BufferId>,
    in_use: Sectors,
    peak: Sectors,
}

impl Buffers {
    pub(crate) fn new() -> Buffers {
        Buffers {
            table: Vec::new(),
            free: Vec::new(),
            released: Vec::new(),
            in_use: Sectors::ZERO,
            peak: Sectors::ZERO,
        }
    }

    /// A new buffer with one reference.
    pub(crate) fn take(&mut self, length: Sectors) -> BufferId {
        assert!(!length.is_zero(), "a buffer holds something");
        self.in_use += length;
        self.peak = self.peak.max(self.in_use);
        let held = Held { length, references: 1 };
        match self.free.pop() {
            Some(index) => {
                self.table[index as usize] = held;
                BufferId(index)
            }
            None => {
                let index = u32::try_from(self.table.len()).expect("fewer than 2^32 buffers");
                self.table.push(held);
                BufferId(index)
            }
        }
    }

    /// Adds a reference to `buffer`.
    pub(crate) fn hold(&mut self, buffer: BufferId) {
        let held = &mut self.table[buffer.as_usize()];
        assert!(held.references > 0, "only a live buffer can be held");
        held.references += 1;
    }

    /// Drops a reference; dropping the last one frees the memory.
    pub(crate) fn release(&mut self, buffer: BufferId) {
        let held = &mut self.table[buffer.as_usize()];
        assert!(held.references > 0, "a buffer is released as often as it was held");
        held.references -= 1;
        if held.references == 0 {
            self.in_use = self.in_use - held.length;
            self.released.push(buffer);
        }
    }

    /// A buffer whose memory the driver may take back. Its name is used again only from here on.
    pub(crate) fn poll_release(&mut self) -> Option<BufferId> {
        let buffer = self.released.pop()?;
        self.free.push(buffer.0);
        Some(buffer)
    }

    pub(crate) fn length(&self, buffer: BufferId) -> Sectors {
        self.table[buffer.as_usize()].length
    }

    pub(crate) fn in_use(&self) -> Sectors {
        self.in_use
    }

    pub(crate) fn peak(&self) -> Sectors {
        self.peak
    }
}
