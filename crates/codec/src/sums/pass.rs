//! A pass over the sources, for up to four outputs.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::kernel::{Multiplication, Terms, Vector, blocks};
use super::portable;

/// The most outputs of a pass: the registers hold the sums of so many, for blocks that are worth
/// it.
pub(super) const OUTPUTS: usize = 4;

/// The content of the outputs before the sums are computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    /// The sums are added to it.
    Kept,
    /// It is ignored.
    Zero,
}

/// The sums of a pass.
pub(super) struct Pass<'a, 'o> {
    /// 1 to [`OUTPUTS`].
    pub(super) outputs: &'a mut [&'o mut [u8]],
    /// At least one.
    pub(super) sources: &'a [&'a [u8]],
    /// In rows, one for each output.
    pub(super) coefficients: &'a [u8],
    /// The bytes of outputs and sources that are meant.
    pub(super) span: Range<usize>,
    pub(super) start: Start,
    /// Whether they come from memory rather than from the caches.
    pub(super) is_large: bool,
}

/// The sources from memory that are added at the same time. The prefetchers of a processor cannot
/// follow many more: with 32 at a time, measured on Zen 4, they come at half the speed.
const GROUP: usize = 8;

/// The bytes of sums that are computed group by group before the next ones are begun. The
/// prefetchers begin anew with each group, so these are many pages; they stay in the second-level
/// cache, and fit on the stack.
const PARTIAL: usize = 128 << 10;

/// The bytes of each source of the next group that are asked for before this group is added.
const LEAD: usize = 128;

/// A cache line.
const LINE: usize = 64;

/// Sums that still lack groups of sources, aligned to lines.
#[repr(C, align(64))]
struct Partial([MaybeUninit<u8>; PARTIAL]);

impl Pass<'_, '_> {
    /// Computes them without SIMD.
    pub(super) fn run_portable(&mut self) {
        let Pass { outputs, sources, coefficients, span, start, .. } = self;
        if *start == Start::Zero {
            outputs.iter_mut().for_each(|output| output[span.clone()].fill(0));
        }
        portable::add(outputs, sources, coefficients, span.clone());
    }

    /// Whether the outputs are worth storing past the caches, and vectors of so many bytes can be.
    /// What is added to outputs has read them into the caches anyway.
    pub(super) fn is_streamed(&self, bytes: usize) -> bool {
        let is_aligned = |output: &&mut [u8]| output[self.span.start..].as_ptr().addr().is_multiple_of(bytes);
        self.is_large && self.start == Start::Zero && self.outputs.iter().all(is_aligned)
    }

    /// Computes them in blocks of `N` vectors.
    ///
    /// # Safety
    /// The processor has the features of `M`. All sources have the span.
    #[inline(always)]
    pub(super) unsafe fn run<M: Multiplication, const OUTPUTS: usize, const N: usize>(&mut self) {
        let is_large = self.is_large;
        let (terms, outputs) = self.terms();
        let from_zero = || Terms { initial: None, ..terms };
        // SAFETY: `terms` has cut the outputs to the span, and checked the rows; nothing is
        // streamed. The caller vouches for the features and the sources.
        let done = unsafe {
            // Each case has its own loop, without the question. With initial values from memory,
            // single vectors were measured to be faster than blocks.
            match terms.initial {
                None => blocks::<M, OUTPUTS, N, false>(&from_zero(), outputs, 0),
                Some(_) if is_large => 0,
                Some(_) => blocks::<M, OUTPUTS, N, false>(&terms, outputs, 0),
            }
        };
        // SAFETY: as above.
        let done = unsafe { blocks::<M, OUTPUTS, 1, false>(&terms, outputs, done) };
        self.finish(done);
    }

    /// Computes them in blocks of `N` vectors, and stores them past the caches.
    ///
    /// # Safety
    /// The processor has the features of `M`, and [`is_streamed`](Self::is_streamed) is true for
    /// its vectors. All sources have the span.
    #[inline(always)]
    pub(super) unsafe fn run_streamed<M: Multiplication, const OUTPUTS: usize, const N: usize>(&mut self) {
        let (mut terms, outputs) = self.terms();
        terms.length -= terms.length % M::Vector::BYTES;
        // SAFETY: `terms` has cut the outputs to the span, and checked the rows. The caller vouches
        // for the rest.
        unsafe { stream::<M, OUTPUTS, N>(&terms, outputs) };
        let done = terms.length;
        self.finish(done);
    }

    /// The terms, and the outputs, cut to the span.
    #[inline(always)]
    fn terms<const OUTPUTS: usize>(&mut self) -> (Terms<'_, OUTPUTS>, [*mut u8; OUTPUTS]) {
        let Pass { outputs, sources, coefficients, span, start, .. } = self;
        debug_assert!(sources.iter().all(|source| source.len() >= span.end), "sources have the span");
        let outputs: [*mut u8; OUTPUTS] = std::array::from_fn(|o| outputs[o][span.clone()].as_mut_ptr());
        let rows = std::array::from_fn(|o| &coefficients[o * sources.len()..][..sources.len()]);
        let initial = (*start == Start::Kept).then(|| outputs.map(|output| output.cast_const()));
        (Terms { sources, offset: span.start, length: span.len(), rows, initial }, outputs)
    }

    /// Computes the bytes that fill no vector.
    fn finish(&mut self, done: usize) {
        self.span.start += done;
        if !self.span.is_empty() {
            self.run_portable();
        }
    }
}

/// Stores the sums past the caches. Many sources are added group by group, tile by tile.
///
/// # Safety
/// As for [`blocks`]. The outputs are aligned to vectors; the length is a multiple of vectors.
#[inline(always)]
unsafe fn stream<M: Multiplication, const OUTPUTS: usize, const N: usize>(
    terms: &Terms<'_, OUTPUTS>,
    outputs: [*mut u8; OUTPUTS],
) {
    let Terms { sources, offset, length, rows, .. } = *terms;
    let groups = sources.len().div_ceil(GROUP);
    let group = sources.len().div_ceil(groups);
    let room = PARTIAL / OUTPUTS.next_power_of_two();
    let tile = if groups == 1 { length } else { room };
    let mut partial = MaybeUninit::<Partial>::uninit();
    let partial: *mut u8 = partial.as_mut_ptr().cast();
    // SAFETY: each output has its room in it.
    let partial: [*mut u8; OUTPUTS] = std::array::from_fn(|o| unsafe { partial.add(o * room) });
    let mut at = 0;
    while at < length {
        let tile = tile.min(length - at);
        let mut initial = None;
        let mut first = 0;
        while first < sources.len() {
            let end = sources.len().min(first + group);
            let is_last = end == sources.len();
            if groups > 1 {
                let next = if is_last { 0 } else { end };
                let from = if is_last { at + tile } else { at };
                for source in &sources[next..sources.len().min(next + group)] {
                    for line in (0..LEAD).step_by(LINE) {
                        // SAFETY: any address may be asked for.
                        unsafe { M::Vector::prefetch(source.as_ptr().wrapping_add(offset + from + line)) };
                    }
                }
            }
            let rows = rows.map(|row| &row[first..end]);
            let terms =
                Terms { sources: &sources[first..end], offset: offset + at, length: tile, rows, initial };
            // SAFETY: the tile ends within the length, and `partial` has room for one. All but the
            // last group fill its vectors, before the next one reads them. The caller vouches for
            // the outputs, the features, and that vectors fill each tile.
            unsafe {
                if is_last {
                    let outputs = outputs.map(|output| output.add(at));
                    let done = blocks::<M, OUTPUTS, N, true>(&terms, outputs, 0);
                    blocks::<M, OUTPUTS, 1, true>(&terms, outputs, done);
                } else {
                    let done = blocks::<M, OUTPUTS, N, false>(&terms, partial, 0);
                    blocks::<M, OUTPUTS, 1, false>(&terms, partial, done);
                }
            }
            initial = Some(partial.map(|sums| sums.cast_const()));
            first = end;
        }
        at += tile;
    }
    // SAFETY: the caller vouches for the features.
    unsafe { M::Vector::fence() };
}
