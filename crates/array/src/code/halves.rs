//! A code for tests: two check units, each the exclusive or of one half of the data units.

use super::scheme::{Scheme, any};

/// Two check units over two halves.
pub(super) const HALVES: Scheme =
    Scheme { is_parity: true, checks: 2..=2, tolerance: |_| 1, data: any, coefficients };

fn coefficients(data: u16, _checks: u16) -> Vec<Vec<u8>> {
    let half = |first: bool| (0..data).map(|unit| u8::from((unit < data / 2) == first)).collect();
    vec![half(true), half(false)]
}
