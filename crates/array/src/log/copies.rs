//! Copies of a region's log, as a set.

/// A set of copies of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::log) struct LogCopies(u8);

impl LogCopies {
    /// Whether `copy` is among these.
    pub(in crate::log) fn has(self, copy: u16) -> bool {
        self.0 & (1 << copy) != 0
    }

    /// The same without `copy`.
    #[must_use]
    pub(in crate::log) fn without(self, copy: u16) -> LogCopies {
        LogCopies(self.0 & !(1 << copy))
    }
}

impl FromIterator<u16> for LogCopies {
    fn from_iter<T: IntoIterator<Item = u16>>(copies: T) -> LogCopies {
        LogCopies(copies.into_iter().fold(0, |set, copy| set | 1 << copy))
    }
}
