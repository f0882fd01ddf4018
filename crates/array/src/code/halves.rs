//! A code for tests: two check units, each the exclusive or of one half of the data units.

/// The coefficients, by check unit.
pub(super) fn coefficients(data: u16) -> Vec<Vec<u8>> {
    let half = |first: bool| (0..data).map(|unit| u8::from((unit < data / 2) == first)).collect();
    vec![half(true), half(false)]
}
