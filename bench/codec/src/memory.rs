//! Units in memory, and time.

use rustix::time::{ClockId, clock_gettime};

/// The alignment of units.
const PAGE: usize = 4096;

/// Units of one length, one after the other, at page boundaries.
pub(crate) struct Units {
    bytes: Vec<u8>,
    skew: usize,
    unit: usize,
}

impl Units {
    /// New units with pseudo-random content. `unit` is a multiple of the page.
    pub(crate) fn new(count: usize, unit: usize) -> Units {
        assert!(unit.is_multiple_of(PAGE), "units are whole pages");
        let mut bytes = vec![0_u8; count * unit + PAGE];
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for word in bytes.as_chunks_mut::<8>().0 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            *word = state.to_le_bytes();
        }
        let skew = bytes.as_ptr().align_offset(PAGE);
        Units { bytes, skew, unit }
    }

    /// The first units as sources, the following ones as outputs.
    pub(crate) fn split(&mut self, sources: usize, outputs: usize) -> (Vec<&[u8]>, Vec<&mut [u8]>) {
        let (left, right) = self.bytes[self.skew..].split_at_mut(sources * self.unit);
        (left.chunks(self.unit).collect(), right.chunks_mut(self.unit).take(outputs).collect())
    }
}

/// The seconds that `work` takes on this thread's processor, without those in which other programs
/// have it.
pub(crate) fn seconds(work: impl FnOnce()) -> f64 {
    let start = now();
    work();
    now() - start
}

fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
