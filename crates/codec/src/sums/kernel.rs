//! The loop over whole vectors, once for all instruction sets: each one says what a vector is and
//! how it is multiplied.

/// A vector of bytes in a register of the processor.
///
/// # Safety
/// Each function needs the processor's features that the implementation names. Pointers are valid
/// for [`BYTES`](Self::BYTES) bytes.
pub(super) trait Vector: Copy {
    /// The bytes of a vector.
    const BYTES: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    /// Stores past the caches, to an address that is a multiple of [`BYTES`](Self::BYTES).
    /// [`fence`](Self::fence) has to follow.
    unsafe fn stream(self, to: *mut u8);
    /// Orders the streamed stores before all later ones.
    unsafe fn fence();
    unsafe fn xor(self, other: Self) -> Self;
    /// Asks for a cache line. The address may be invalid.
    unsafe fn prefetch(from: *const u8);
}

/// How vectors are multiplied by coefficients.
///
/// # Safety
/// As of [`Vector`].
pub(super) trait Multiplication {
    type Vector: Vector;
    /// A vector, prepared for any number of multiplications.
    type Factor: Copy;
    /// A coefficient, prepared for any number of vectors.
    type Coefficient: Copy;

    unsafe fn factor(vector: Self::Vector) -> Self::Factor;
    unsafe fn coefficient(value: u8) -> Self::Coefficient;
    unsafe fn product(factor: Self::Factor, coefficient: Self::Coefficient) -> Self::Vector;
}

/// What the sums are computed from, for `OUTPUTS` outputs.
pub(super) struct Terms<'a, const OUTPUTS: usize> {
    pub(super) sources: &'a [&'a [u8]],
    /// The part of the sources: their first byte, and the number of bytes.
    pub(super) offset: usize,
    pub(super) length: usize,
    /// By output, then by source.
    pub(super) rows: [&'a [u8]; OUTPUTS],
    /// Added to the sums: `length` bytes at each pointer.
    pub(super) initial: Option<[*const u8; OUTPUTS]>,
}

/// Stores the sums of whole blocks, each of `N` vectors, from `done` on, and returns where they
/// end. The sums of a block stay in registers while all sources are added.
///
/// # Safety
/// The processor has the features of `M`. The outputs and `initial` are valid for `length` bytes.
/// Each source has `length` bytes from `offset` on, and each row has a coefficient for it. If
/// `STREAMED`, the outputs are aligned as [`Vector::stream`] wants it.
#[allow(clippy::needless_range_loop, reason = "the loops have to be unrolled into registers")]
#[inline(always)]
pub(super) unsafe fn blocks<M: Multiplication, const OUTPUTS: usize, const N: usize, const STREAMED: bool>(
    terms: &Terms<'_, OUTPUTS>,
    outputs: [*mut u8; OUTPUTS],
    mut done: usize,
) -> usize {
    let Terms { sources, offset, length, rows, initial } = *terms;
    let bytes = M::Vector::BYTES;
    while length - done >= N * bytes {
        // SAFETY: this block ends within `length`, so all pointers are valid; the caller vouches
        // for the features, the coefficients and the alignment.
        unsafe {
            let mut sums = [[M::Vector::zero(); N]; OUTPUTS];
            if let Some(initial) = initial {
                for o in 0..OUTPUTS {
                    for n in 0..N {
                        sums[o][n] = M::Vector::load(initial[o].add(done + n * bytes));
                    }
                }
            }
            for (s, source) in sources.iter().enumerate() {
                let from = source.as_ptr().add(offset + done);
                let mut vectors = [M::Vector::zero(); N];
                for n in 0..N {
                    vectors[n] = M::Vector::load(from.add(n * bytes));
                }
                for o in 0..OUTPUTS {
                    match *rows[o].get_unchecked(s) {
                        0 => {}
                        1 => {
                            for n in 0..N {
                                sums[o][n] = sums[o][n].xor(vectors[n]);
                            }
                        }
                        value => {
                            let coefficient = M::coefficient(value);
                            for n in 0..N {
                                let product = M::product(M::factor(vectors[n]), coefficient);
                                sums[o][n] = sums[o][n].xor(product);
                            }
                        }
                    }
                }
            }
            for o in 0..OUTPUTS {
                for n in 0..N {
                    let to = outputs[o].add(done + n * bytes);
                    if STREAMED { sums[o][n].stream(to) } else { sums[o][n].store(to) }
                }
            }
        }
        done += N * bytes;
    }
    done
}
