//! Payload memory by buffer: page-aligned, recycled by size, lent to accesses.
//!
//! A buffer is taken and released under a number that the caller chooses: the array's buffer
//! number, small and dense. New memory is zero; recycled memory keeps its old content. While an
//! access reads or fills a part, no other code can use that part in a conflicting way. A plan that
//! tries to is stopped here by a panic, before it corrupts data.
//!
//! If accesses are given up, the memory that they work on is *quarantined*: the buffer continues in
//! other memory, and the old memory is reused only when the last of these accesses has returned.

use std::fmt;
use std::sync::OnceLock;

use parlour_units::Bytes;

use crate::uring::{Lease, PAGE, Pages};

/// The length of the shared zeroes. A longer run of zeroes repeats them.
const ZEROES: usize = 1 << 20;

/// The owner of leases of the shared zeroes.
const OWNER_ZEROES: u32 = u32::MAX;
/// Owners from this number on are scratch buffers.
const OWNER_SCRATCH: u32 = 1 << 31;

/// Identifies a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// Payload, with the array's number of the buffer.
    Payload(u32),
    /// The driver's own buffer, from [`Memory::take_scratch`], for metadata that is read or
    /// written.
    Scratch(u32),
    /// Zeroes, as many as the part is long. Never changed.
    Zeroes,
}

/// Some bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The buffer.
    pub buffer: Buffer,
    /// The first byte.
    pub start: usize,
    /// How many bytes.
    pub length: usize,
}

/// Amounts of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// In taken buffers, rounded up to their size classes.
    pub in_use: Bytes,
    /// Kept for reuse.
    pub retained: Bytes,
    /// The largest sum of `in_use` and `retained` so far.
    pub peak: Bytes,
}

/// The buffers of one array.
#[derive(Debug)]
pub struct Memory {
    payload: Vec<Option<Pages>>,
    scratch: Vec<Option<Pages>>,
    spare_scratch: Vec<u32>,
    /// Memory that belongs to no buffer any more while accesses still work on it.
    quarantine: Vec<Pages>,
    recycler: Recycler,
}

/// Released memory by size class: powers of two, from one page.
struct Recycler {
    classes: Vec<Vec<Pages>>,
    retain: usize,
    in_use: usize,
    retained: usize,
    peak: usize,
}

/// The shared zeroes.
pub(crate) fn zeroes() -> &'static [u8] {
    static BYTES: OnceLock<&'static [u8]> = OnceLock::new();
    BYTES.get_or_init(|| Pages::zeroed(ZEROES).leak())
}

impl Memory {
    /// No buffers. Up to `retain` bytes of released memory are kept for reuse.
    pub fn new(retain: Bytes) -> Memory {
        Memory {
            payload: Vec::new(),
            scratch: Vec::new(),
            spare_scratch: Vec::new(),
            quarantine: Vec::new(),
            recycler: Recycler::new(retain.as_usize()),
        }
    }

    /// Gives payload buffer `number` at least `length` bytes.
    ///
    /// # Panics
    /// If it is taken already, or `length` is zero.
    pub fn take(&mut self, number: u32, length: usize) {
        assert!(number < OWNER_SCRATCH, "buffer numbers are small and dense, not {number}");
        let index = number as usize;
        if index >= self.payload.len() {
            self.payload.resize_with(index + 1, || None);
        }
        assert!(self.payload[index].is_none(), "buffer {number} is taken already");
        self.payload[index] = Some(self.recycler.take(length));
    }

    /// A buffer of the driver's own.
    ///
    /// # Panics
    /// If `length` is zero.
    pub fn take_scratch(&mut self, length: usize) -> Buffer {
        let pages = self.recycler.take(length);
        let number = self.spare_scratch.pop().unwrap_or_else(|| {
            self.scratch.push(None);
            u32::try_from(self.scratch.len() - 1).expect("scratch buffers are few")
        });
        self.scratch[number as usize] = Some(pages);
        Buffer::Scratch(number)
    }

    /// Releases a buffer's memory.
    ///
    /// # Panics
    /// If the buffer is not taken, or a part of it is still lent.
    pub fn release(&mut self, buffer: Buffer) {
        let slot = match buffer {
            Buffer::Payload(number) => self.payload.get_mut(number as usize),
            Buffer::Scratch(number) => self.scratch.get_mut(number as usize),
            Buffer::Zeroes => panic!("the zeroes are never released"),
        };
        let pages = slot.and_then(Option::take).unwrap_or_else(|| panic!("{buffer:?} is not taken"));
        assert!(!pages.is_lent(), "{buffer:?} is released while an access works on it");
        if let Buffer::Scratch(number) = buffer {
            self.spare_scratch.push(number);
        }
        self.recycler.put(pages);
    }

    /// Whether payload buffer `number` is taken.
    pub fn is_taken(&self, number: u32) -> bool {
        self.payload.get(number as usize).is_some_and(Option::is_some)
    }

    /// The bytes of a part; at most 1 MiB of [`Buffer::Zeroes`].
    ///
    /// # Panics
    /// If the buffer is not taken or too short, or an access is filling the part.
    pub fn read(&self, part: Part) -> &[u8] {
        match part.buffer {
            Buffer::Zeroes => &zeroes()[..part.length],
            buffer => self.pages(buffer).read(part.start..part.start + part.length),
        }
    }

    /// The bytes of a part, for writing.
    ///
    /// # Panics
    /// If the buffer is not taken, is too short, or is [`Buffer::Zeroes`], or if an access uses the
    /// part.
    pub fn write(&mut self, part: Part) -> &mut [u8] {
        self.pages_mut(part.buffer).write(part.start..part.start + part.length)
    }

    /// Lends a part for reading, as for a write to a member. A long run of zeroes takes several
    /// leases.
    ///
    /// # Panics
    /// As [`Memory::read`], except that zeroes may be of any length.
    pub fn lend(&mut self, part: Part, leases: &mut Vec<Lease>) {
        if part.buffer != Buffer::Zeroes {
            let range = part.start..part.start + part.length;
            leases.push(self.pages_mut(part.buffer).lend(range, false, owner(part.buffer)));
            return;
        }
        let mut left = part.length;
        while left > 0 {
            let length = left.min(ZEROES);
            leases.push(Lease::of_static(&zeroes()[..length], OWNER_ZEROES));
            left -= length;
        }
    }

    /// Lends a part for writing, as for a read from a member.
    ///
    /// # Panics
    /// As [`Memory::write`].
    pub fn lend_mut(&mut self, part: Part) -> Lease {
        let range = part.start..part.start + part.length;
        self.pages_mut(part.buffer).lend(range, true, owner(part.buffer))
    }

    /// Ends a loan. Bytes that were read into quarantined memory are copied to the buffer's new
    /// memory.
    ///
    /// # Panics
    /// If the lease is not of this memory.
    pub fn give_back(&mut self, lease: Lease) {
        if let Some((pages, start)) = self.quarantined(&lease)
            && lease.is_exclusive()
            && let Some(buffer) = buffer_of(&lease)
        {
            let part = Part { buffer, start, length: lease.len() };
            let pages = self.quarantine.swap_remove(pages);
            self.write(part).copy_from_slice(lease.bytes());
            self.quarantine.push(pages);
        }
        self.discard(lease);
    }

    /// Ends the loan of an access that was given up. The bytes that it read are discarded.
    ///
    /// # Panics
    /// If the lease is not of this memory.
    pub(crate) fn discard(&mut self, lease: Lease) {
        let Some(buffer) = buffer_of(&lease) else { return };
        let Some((index, _)) = self.quarantined(&lease) else {
            return self.pages_mut(buffer).give_back(lease);
        };
        self.quarantine[index].give_back(lease);
        if !self.quarantine[index].is_lent() {
            let pages = self.quarantine.swap_remove(index);
            self.recycler.put(pages);
        }
    }

    /// The quarantined memory that holds the bytes of `lease`, and their offset in it.
    fn quarantined(&self, lease: &Lease) -> Option<(usize, usize)> {
        let mut places = self.quarantine.iter().map(|pages| pages.place_of(lease)).enumerate();
        places.find_map(|(index, start)| Some((index, start?)))
    }

    /// If any part of payload buffer `number` is lent, moves the buffer to other memory with the
    /// same bytes. The old memory is not reused until all its leases are given back.
    pub(crate) fn quarantine(&mut self, number: u32) {
        let Some(slot) = self.payload.get_mut(number as usize) else { return };
        let Some(old) = slot.take_if(|pages| pages.is_lent()) else { return };
        let mut fresh = self.recycler.take(old.len());
        old.copy_settled_to(&mut fresh);
        *slot = Some(fresh);
        self.quarantine.push(old);
    }

    /// The amount of memory in quarantine.
    pub(crate) fn quarantined_bytes(&self) -> Bytes {
        Bytes::new(self.quarantine.iter().map(|pages| pages.len() as u64).sum())
    }

    /// The amounts of memory.
    pub fn statistics(&self) -> Statistics {
        self.recycler.statistics()
    }

    fn pages(&self, buffer: Buffer) -> &Pages {
        let slot = match buffer {
            Buffer::Payload(number) => self.payload.get(number as usize),
            Buffer::Scratch(number) => self.scratch.get(number as usize),
            Buffer::Zeroes => None,
        };
        slot.and_then(Option::as_ref).unwrap_or_else(|| panic!("{buffer:?} has no memory"))
    }

    fn pages_mut(&mut self, buffer: Buffer) -> &mut Pages {
        let slot = match buffer {
            Buffer::Payload(number) => self.payload.get_mut(number as usize),
            Buffer::Scratch(number) => self.scratch.get_mut(number as usize),
            Buffer::Zeroes => None,
        };
        slot.and_then(Option::as_mut).unwrap_or_else(|| panic!("{buffer:?} has no memory to be changed"))
    }
}

/// The buffer of a lease; none for the shared zeroes.
fn buffer_of(lease: &Lease) -> Option<Buffer> {
    match lease.owner() {
        OWNER_ZEROES => None,
        owner if owner >= OWNER_SCRATCH => Some(Buffer::Scratch(owner - OWNER_SCRATCH)),
        owner => Some(Buffer::Payload(owner)),
    }
}

/// The owner that is stored in a lease, to find its buffer again.
fn owner(buffer: Buffer) -> u32 {
    match buffer {
        Buffer::Payload(number) => number,
        Buffer::Scratch(number) => OWNER_SCRATCH + number,
        Buffer::Zeroes => OWNER_ZEROES,
    }
}

impl Recycler {
    fn new(retain: usize) -> Recycler {
        Recycler { classes: Vec::new(), retain, in_use: 0, retained: 0, peak: 0 }
    }

    fn take(&mut self, length: usize) -> Pages {
        assert!(length > 0, "a buffer holds something");
        let size = length.next_power_of_two().max(PAGE);
        let pages = self.classes.get_mut(class(size)).and_then(Vec::pop);
        match pages {
            Some(_) => self.retained -= size,
            None => self.make_room(size),
        }
        self.in_use += size;
        self.peak = self.peak.max(self.in_use + self.retained);
        pages.unwrap_or_else(|| Pages::zeroed(size))
    }

    fn put(&mut self, pages: Pages) {
        self.in_use -= pages.len();
        if self.in_use + self.retained + pages.len() > self.retain {
            return;
        }
        self.retained += pages.len();
        let class = class(pages.len());
        if class >= self.classes.len() {
            self.classes.resize_with(class + 1, Vec::new);
        }
        self.classes[class].push(pages);
    }

    /// Frees released memory of other sizes, the largest first, until new memory of `size` stays
    /// within the limit.
    fn make_room(&mut self, size: usize) {
        while self.retained > 0 && self.in_use + self.retained + size > self.retain {
            let largest = self.classes.iter_mut().rev().find_map(Vec::pop);
            let Some(pages) = largest else { return };
            self.retained -= pages.len();
        }
    }

    fn statistics(&self) -> Statistics {
        let bytes = |count: usize| Bytes::new(count as u64);
        Statistics { in_use: bytes(self.in_use), retained: bytes(self.retained), peak: bytes(self.peak) }
    }
}

impl fmt::Debug for Recycler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.statistics().fmt(f)
    }
}

/// The index of a size among the powers of two from one page.
fn class(size: usize) -> usize {
    (size.trailing_zeros() - PAGE.trailing_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(number: u32, start: usize, length: usize) -> Part {
        Part { buffer: Buffer::Payload(number), start, length }
    }

    #[test]
    fn released_memory_is_used_again_for_its_size() {
        let mut memory = Memory::new(Bytes::mib(1));
        memory.take(3, 5000);
        let address = memory.read(payload(3, 0, 1)).as_ptr();
        memory.release(Buffer::Payload(3));
        memory.take(0, 8192);
        assert_eq!(memory.read(payload(0, 0, 1)).as_ptr(), address);
        assert_eq!(memory.statistics().in_use, Bytes::kib(8));
        assert_eq!(memory.statistics().peak, Bytes::kib(8));
    }

    #[test]
    fn memory_of_other_sizes_is_let_go_when_the_bound_is_reached() {
        let mut memory = Memory::new(Bytes::kib(64));
        for round in 0..20 {
            memory.take(0, 4096 << (round % 5));
            memory.release(Buffer::Payload(0));
        }
        let statistics = memory.statistics();
        assert!(statistics.retained <= Bytes::kib(64), "{statistics:?}");
        assert!(statistics.peak <= Bytes::kib(64), "{statistics:?}");
    }

    #[test]
    fn more_than_the_bound_can_be_in_use_but_is_not_kept() {
        let mut memory = Memory::new(Bytes::kib(4));
        memory.take(0, 4096);
        memory.take(1, 4096);
        memory.release(Buffer::Payload(0));
        memory.release(Buffer::Payload(1));
        assert_eq!(memory.statistics().retained, Bytes::kib(4));
        assert_eq!(memory.statistics().peak, Bytes::kib(8));
    }

    #[test]
    fn buffers_are_aligned_and_new_ones_are_zero() {
        let mut memory = Memory::new(Bytes::ZERO);
        memory.take(1, 20_000);
        let bytes = memory.read(payload(1, 0, 20_000));
        assert!(bytes.as_ptr().addr().is_multiple_of(4096));
        assert!(bytes.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn zeroes_of_any_length_are_lent() {
        let mut memory = Memory::new(Bytes::ZERO);
        let mut leases = Vec::new();
        memory.lend(Part { buffer: Buffer::Zeroes, start: 0, length: 5 << 19 }, &mut leases);
        assert_eq!(leases.iter().map(Lease::len).collect::<Vec<_>>(), [1 << 20, 1 << 20, 1 << 19]);
        leases.drain(..).for_each(|lease| memory.give_back(lease));
    }

    #[test]
    fn leases_find_their_way_back_to_payload_and_scratch() {
        let mut memory = Memory::new(Bytes::ZERO);
        memory.take(0, 4096);
        let scratch = memory.take_scratch(512);
        let one = memory.lend_mut(payload(0, 0, 512));
        let other = memory.lend_mut(Part { buffer: scratch, start: 0, length: 512 });
        memory.give_back(one);
        memory.give_back(other);
        memory.release(scratch);
        memory.release(Buffer::Payload(0));
        assert!(!memory.is_taken(0));
        assert_eq!(memory.take_scratch(1), scratch);
    }

    #[test]
    fn a_buffer_goes_on_in_other_memory_while_its_own_is_in_quarantine() {
        let mut memory = Memory::new(Bytes::mib(1));
        memory.take(0, 8192);
        memory.write(payload(0, 0, 8192)).fill(3);
        let mut writes = Vec::new();
        memory.lend(payload(0, 0, 512), &mut writes);
        let mut read = memory.lend_mut(payload(0, 4096, 512));
        let address = memory.read(payload(0, 0, 1)).as_ptr();
        memory.quarantine(0);
        assert_ne!(memory.read(payload(0, 0, 1)).as_ptr(), address);
        assert!(memory.read(payload(0, 0, 4096)).iter().all(|byte| *byte == 3));
        memory.write(payload(0, 0, 512)).fill(9);
        assert!(writes[0].bytes().iter().all(|byte| *byte == 3), "what is being written does not change");
        read.bytes_mut().fill(7);
        memory.give_back(read);
        assert!(memory.read(payload(0, 4096, 512)).iter().all(|byte| *byte == 7), "what was read arrives");
        memory.release(Buffer::Payload(0));
        memory.take(1, 8192);
        assert_ne!(memory.read(payload(1, 0, 1)).as_ptr(), address, "it is not used again");
        assert_eq!(memory.quarantined_bytes(), Bytes::new(8192));
        writes.drain(..).for_each(|lease| memory.discard(lease));
        assert_eq!(memory.quarantined_bytes(), Bytes::ZERO);
        memory.take(2, 8192);
        assert_eq!(memory.read(payload(2, 0, 1)).as_ptr(), address);
    }

    #[test]
    fn what_a_given_up_read_fills_reaches_no_buffer() {
        let mut memory = Memory::new(Bytes::ZERO);
        memory.take(0, 4096);
        let mut read = memory.lend_mut(payload(0, 0, 4096));
        memory.quarantine(0);
        memory.write(payload(0, 0, 4096)).fill(1);
        read.bytes_mut().fill(2);
        memory.discard(read);
        assert!(memory.read(payload(0, 0, 4096)).iter().all(|byte| *byte == 1));
    }

    #[test]
    #[should_panic(expected = "while an access works on it")]
    fn a_buffer_is_not_released_under_an_access() {
        let mut memory = Memory::new(Bytes::ZERO);
        memory.take(0, 4096);
        let _lease = memory.lend_mut(payload(0, 0, 512));
        memory.release(Buffer::Payload(0));
    }
}
