//! Lines of a text.

/// The number, from 1, of the line that contains the byte at `offset`.
pub(crate) fn line_at(text: &str, offset: usize) -> usize {
    1 + text[..offset].matches('\n').count()
}
