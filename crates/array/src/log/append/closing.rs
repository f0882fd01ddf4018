//! Taking all log buffers out of memory before a stop: the results, and when to give up.

/// The state of taking all log buffers out of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// None is left.
    Done,
    /// Some buffers are being written, or wait for other work.
    UnderWay,
    /// Some buffers can go neither to the log nor to the parity, and no running work will change
    /// that.
    Stuck,
}

/// How it goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::log) struct ClosingProgress {
    /// The least number of buffers that were left so far.
    pub(in crate::log) least: Option<usize>,
    /// The number of calls since that number last fell.
    pub(in crate::log) calls: u32,
}

impl ClosingProgress {
    /// The number of calls without progress after which it gives up. One region needs several
    /// calls: it is loaded, reintegrated, or given up.
    pub(in crate::log) const PATIENCE: u32 = 16;

    /// Notes that this many buffers are left. Returns whether to go on.
    pub(in crate::log) fn goes_on(&mut self, left: usize) -> bool {
        if self.least.is_none_or(|least| left < least) {
            *self = ClosingProgress { least: Some(left), calls: 0 };
        }
        self.calls += 1;
        self.calls <= Self::PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stop_goes_on_while_buffers_become_fewer_and_gives_up_when_they_do_not() {
        let mut progress = ClosingProgress::default();
        let least = 5;
        for left in (least..least + 3 * ClosingProgress::PATIENCE as usize).rev() {
            assert!(progress.goes_on(left), "{left} are fewer than before");
        }
        // More buffers are no progress.
        for call in 1..ClosingProgress::PATIENCE as usize {
            assert!(progress.goes_on(least + call % 2));
        }
        assert!(!progress.goes_on(least + 1) && !progress.goes_on(least));
        assert!(progress.goes_on(least - 1));
    }
}
