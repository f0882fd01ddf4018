//! Page-aligned memory whose parts can be lent. Loans are checked at run time by the rules of
//! Rust's borrows.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::ptr::NonNull;

/// The alignment and granularity of buffers: right for every O_DIRECT member and the kernel's
/// pages.
pub(crate) const PAGE: usize = 4096;

/// An allocation of whole pages. It never moves.
#[derive(Debug)]
pub(crate) struct Pages {
    address: NonNull<u8>,
    length: usize,
    /// The current loans. There are few at a time, so a list is fastest.
    loans: Vec<Loan>,
}

/// Which bytes are lent, and whether they may be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Loan {
    start: usize,
    end: usize,
    exclusive: bool,
}

/// The right to read, or to read and change, some bytes of a buffer. A lease has no lifetime, and
/// can move to other threads.
///
/// A lease is made by [`Memory`](crate::Memory) and must be given back to it. The bytes of a lease
/// that is lost stay lent forever: this is a leak, but never a dangling address.
#[derive(Debug)]
pub struct Lease {
    address: NonNull<u8>,
    length: usize,
    exclusive: bool,
    /// The memory's own number of the buffer, to find it when the lease is given back.
    owner: u32,
}

// SAFETY: an exclusive lease is the only way to its bytes, and `Pages` lets no code change the
// bytes of shared leases; so a lease may be used from any thread, as a `&mut [u8]` or `&[u8]`
// might.
unsafe impl Send for Lease {}

// SAFETY: the raw address is used only through `&self` and `&mut self` under the borrow checker's
// rules, and through leases under the rule above.
unsafe impl Send for Pages {}

impl Pages {
    /// `length` zero bytes. The length is a multiple of [`PAGE`] and not zero.
    pub(crate) fn zeroed(length: usize) -> Pages {
        let layout = Self::layout(length);
        // SAFETY: `layout` has a size that is not zero.
        let address = NonNull::new(unsafe { alloc_zeroed(layout) });
        let address = address.unwrap_or_else(|| handle_alloc_error(layout));
        Pages { address, length, loans: Vec::new() }
    }

    fn layout(length: usize) -> Layout {
        assert!(length > 0 && length.is_multiple_of(PAGE), "buffers are whole pages, not {length} bytes");
        Layout::from_size_align(length, PAGE).expect("a buffer fits the address space")
    }

    /// The bytes, which are never freed.
    pub(crate) fn leak(self) -> &'static [u8] {
        let pages = ManuallyDrop::new(self);
        assert!(pages.loans.is_empty(), "lent bytes cannot be given away");
        // SAFETY: initialised and never freed, as there is no drop. `self` is gone and there is no
        // lease, so the bytes never change.
        unsafe { std::slice::from_raw_parts(pages.address.as_ptr(), pages.length) }
    }

    /// The number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// Whether any part is lent.
    pub(crate) fn is_lent(&self) -> bool {
        !self.loans.is_empty()
    }

    /// The bytes in `range`.
    ///
    /// # Panics
    /// If the range is out of bounds or lent for writing.
    pub(crate) fn read(&self, range: Range<usize>) -> &[u8] {
        self.admit(&range, false);
        // SAFETY: in bounds and initialised (allocated zeroed). Until the returned borrow of `self`
        // ends, no `write` and no `lend_mut` can be called, and there is no exclusive lease that
        // overlaps.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr().add(range.start), range.len()) }
    }

    /// The bytes in `range`, for writing.
    ///
    /// # Panics
    /// If the range is out of bounds or lent.
    pub(crate) fn write(&mut self, range: Range<usize>) -> &mut [u8] {
        self.admit(&range, true);
        // SAFETY: in bounds and initialised (allocated zeroed). `self` is borrowed for as long, and
        // there is no lease that overlaps, so this is the only way to these bytes.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr().add(range.start), range.len()) }
    }

    /// Lends `range`; for writing if `exclusive`.
    ///
    /// # Panics
    /// If the range is out of bounds, or overlaps a loan that excludes this one.
    pub(crate) fn lend(&mut self, range: Range<usize>, exclusive: bool, owner: u32) -> Lease {
        self.admit(&range, exclusive);
        self.loans.push(Loan { start: range.start, end: range.end, exclusive });
        // SAFETY: `admit` found the start in bounds.
        let address = unsafe { self.address.add(range.start) };
        Lease { address, length: range.len(), exclusive, owner }
    }

    /// The offset of the bytes of `lease` in this buffer, if they are in this buffer.
    pub(crate) fn place_of(&self, lease: &Lease) -> Option<usize> {
        let start = lease.address.as_ptr().addr().wrapping_sub(self.address.as_ptr().addr());
        (start < self.length && lease.length <= self.length - start).then_some(start)
    }

    /// Copies all bytes to `other`, which has the same length, except those that are lent for
    /// writing: their content is not settled.
    ///
    /// # Panics
    /// If the other is shorter, or any part of it is lent.
    pub(crate) fn copy_settled_to(&self, other: &mut Pages) {
        let mut changing: Vec<&Loan> = self.loans.iter().filter(|loan| loan.exclusive).collect();
        changing.sort_unstable_by_key(|loan| loan.start);
        let ends = changing.iter().map(|loan| loan.start).chain([self.length]);
        let starts = [0].into_iter().chain(changing.iter().map(|loan| loan.end));
        for (start, end) in starts.zip(ends) {
            other.write(start..end).copy_from_slice(self.read(start..end));
        }
    }

    /// Ends a loan.
    ///
    /// # Panics
    /// If the lease is not of this buffer.
    pub(crate) fn give_back(&mut self, lease: Lease) {
        let start = lease.address.as_ptr().addr().wrapping_sub(self.address.as_ptr().addr());
        let loan = Loan { start, end: start.wrapping_add(lease.length), exclusive: lease.exclusive };
        let index =
            self.loans.iter().position(|known| *known == loan).expect("a lease goes back where it came from");
        self.loans.swap_remove(index);
    }

    /// Checks a borrow at run time, because leases have no lifetimes.
    fn admit(&self, range: &Range<usize>, exclusive: bool) {
        assert!(
            range.start <= range.end && range.end <= self.length,
            "bytes {range:?} are not in a buffer of {}",
            self.length
        );
        let collision = self
            .loans
            .iter()
            .find(|loan| (exclusive || loan.exclusive) && loan.start < range.end && range.start < loan.end);
        assert!(collision.is_none(), "bytes {range:?} of a buffer are in use by an access: {collision:?}");
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        if self.is_lent() {
            // An access, perhaps in the kernel, may still use these bytes: leaking them is safe.
            return;
        }
        // SAFETY: allocated in `zeroed` with this layout; there is no lease and `self` is not
        // borrowed.
        unsafe { dealloc(self.address.as_ptr(), Self::layout(self.length)) }
    }
}

impl Lease {
    /// A lease of bytes that are never changed or freed.
    pub(crate) fn of_static(bytes: &'static [u8], owner: u32) -> Lease {
        Lease { address: NonNull::from(bytes).cast(), length: bytes.len(), exclusive: false, owner }
    }

    /// The number of bytes.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Whether the bytes may be changed.
    pub fn is_exclusive(&self) -> bool {
        self.exclusive
    }

    pub(crate) fn owner(&self) -> u32 {
        self.owner
    }

    /// The address of the first byte, for the kernel.
    pub(super) fn address(&self) -> *mut u8 {
        self.address.as_ptr()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes stay allocated until the lease is given back, which consumes it. Until
        // then, the bytes of a shared lease cannot change; those of an exclusive lease can change
        // only through this lease, which is borrowed.
        unsafe { std::slice::from_raw_parts(self.address.as_ptr(), self.length) }
    }

    /// # Panics
    /// If the lease is shared.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        assert!(self.exclusive, "a shared lease does not let its bytes be changed");
        // SAFETY: as in `bytes`; exclusive and borrowed mutably, so this is the only way to the
        // bytes.
        unsafe { std::slice::from_raw_parts_mut(self.address.as_ptr(), self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_that_do_not_overlap_are_lent_at_the_same_time() {
        let mut pages = Pages::zeroed(2 * PAGE);
        let mut first = pages.lend(0..PAGE, true, 0);
        let second = pages.lend(PAGE..2 * PAGE, false, 0);
        first.bytes_mut().fill(7);
        assert!(second.bytes().iter().all(|byte| *byte == 0));
        assert_eq!(pages.read(PAGE..PAGE + 4), [0; 4]);
        pages.give_back(first);
        pages.give_back(second);
        assert_eq!(pages.read(0..4), [7; 4]);
        assert!(!pages.is_lent());
    }

    #[test]
    #[should_panic(expected = "in use by an access")]
    fn bytes_that_are_being_read_into_cannot_be_looked_at() {
        let mut pages = Pages::zeroed(PAGE);
        let _lease = pages.lend(0..512, true, 0);
        pages.read(511..600);
    }

    #[test]
    #[should_panic(expected = "in use by an access")]
    fn bytes_that_are_being_written_out_cannot_be_changed() {
        let mut pages = Pages::zeroed(PAGE);
        let _lease = pages.lend(0..512, false, 0);
        pages.write(0..1);
    }

    #[test]
    #[should_panic(expected = "where it came from")]
    fn a_lease_goes_back_to_its_own_buffer_only() {
        let (mut one, mut other) = (Pages::zeroed(PAGE), Pages::zeroed(PAGE));
        let lease = one.lend(0..512, false, 0);
        other.give_back(lease);
    }

    #[test]
    fn bytes_that_are_being_read_into_are_not_copied() {
        let mut pages = Pages::zeroed(PAGE);
        pages.write(0..PAGE).fill(5);
        let leases = [pages.lend(512..1024, true, 0), pages.lend(0..512, false, 0)];
        let mut other = Pages::zeroed(PAGE);
        pages.copy_settled_to(&mut other);
        let copied = [(0..512, 5), (512..1024, 0), (1024..PAGE, 5)];
        for (range, byte) in copied {
            assert!(other.read(range).iter().all(|copied| *copied == byte));
        }
        leases.into_iter().for_each(|lease| pages.give_back(lease));
    }

    #[test]
    fn a_lease_outlives_the_buffer_it_came_from() {
        let mut pages = Pages::zeroed(PAGE);
        let mut lease = pages.lend(0..512, true, 0);
        drop(pages);
        lease.bytes_mut().fill(1);
        assert_eq!(lease.bytes()[511], 1);
    }
}
