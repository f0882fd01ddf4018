//! Tables of all 256 coefficients, made by the compiler from [`product`].

use crate::field::product;

/// The products of one coefficient with the halves of a byte: a byte is the sum of its halves, and
/// so are the products.
#[repr(C, align(32))]
pub(super) struct Halves {
    /// By the low half.
    pub(super) low: [u8; 16],
    /// By the high half.
    pub(super) high: [u8; 16],
}

/// By coefficient.
pub(super) static HALVES: [Halves; 256] = halves();

/// By coefficient: the multiplication as a matrix of bits, as `gf2p8affineqb` takes it. (GFNI's own
/// multiplication is in another field, modulo 0x11b.)
#[cfg(target_arch = "x86_64")]
pub(super) static MATRICES: [u64; 256] = matrices();

const fn halves() -> [Halves; 256] {
    let mut tables = [const { Halves { low: [0; 16], high: [0; 16] } }; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        let mut half = 0;
        while half < 16 {
            tables[coefficient].low[half] = product(half as u8, coefficient as u8);
            tables[coefficient].high[half] = product((half as u8) << 4, coefficient as u8);
            half += 1;
        }
        coefficient += 1;
    }
    tables
}

#[cfg(target_arch = "x86_64")]
const fn matrices() -> [u64; 256] {
    let mut tables = [0; 256];
    let mut coefficient = 0;
    while coefficient < 256 {
        // Each bit of a factor contributes a product; the row of a bit of the result says which.
        // The row of the lowest bit is in the highest byte.
        let mut from = 0;
        while from < 8 {
            let product = product(1 << from, coefficient as u8);
            let mut to = 0;
            while to < 8 {
                let bit = (product >> to & 1) as u64;
                tables[coefficient] |= bit << ((7 - to) * 8 + from);
                to += 1;
            }
            from += 1;
        }
        coefficient += 1;
    }
    tables
}
