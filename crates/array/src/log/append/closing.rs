//! Taking all log buffers out of memory before a stop: the results, and when to give up.

/// What has come of taking all log buffers out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// None is left.
    Done,
    /// Some are being written, or wait for what is.
    UnderWay,
    /// Some can go neither to the log nor to the parity, and nothing is under way that would change
    /// that.
    Stuck,
}

/// How it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::log) struct ClosingProgress {
    /// The fewest buffers that were left.
    pub(in crate::log) least: Option<usize>,
    /// Calls since there were more.
    pub(in crate::log) calls: u32,
}

impl ClosingProgress {
    /// A region takes a few: it is loaded, folded into the parity, given up.
    pub(in crate::log) const PATIENCE: u32 = 16;

    /// So many buffers are left. Says whether that may become fewer.
    pub(in crate::log) fn goes_on(&mut self, left: usize) -> bool {
        if self.least.is_none_or(|least| left < least) {
            *self = ClosingProgress { least: Some(left), calls: 0 };
        }
        self.calls += 1;
        self.calls <= Self::PATIENCE
    }
}
