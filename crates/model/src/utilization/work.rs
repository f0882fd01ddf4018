//! The cost of a write, term by term.

/// The milliseconds of disks' arms that a user's access takes; amortized for deferred work (figure
/// 13). A read is all `data`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// The data itself, with the preread of its old content.
    pub data: f64,
    /// Copies, and check units that are updated in place.
    pub check: f64,
    /// Parity logging: the share of a log write.
    pub log_write: f64,
    /// The share of reading a region's log.
    pub log_read: f64,
    /// The share of reading a region's parity.
    pub parity_read: f64,
    /// The share of writing a region's parity.
    pub parity_write: f64,
}

impl Work {
    /// The sum.
    pub fn total(&self) -> f64 {
        self.data + self.overhead()
    }

    /// The mean of several costs with weights, which are not negative. None if all weights are
    /// zero.
    pub fn mean(of: impl IntoIterator<Item = (f64, Work)>) -> Option<Work> {
        let (mut sum, mut weights) = (Work::default(), 0.0);
        for (weight, work) in of {
            sum = sum.combine(work, |sum, part| sum + weight * part);
            weights += weight;
        }
        let mean = sum.combine(sum, |part, _| part / weights);
        (weights > 0.0).then_some(mean)
    }

    /// The cost of redundancy without the data: the extra accesses of figure 13.
    pub fn overhead(&self) -> f64 {
        self.check + self.log_write + self.log_read + self.parity_read + self.parity_write
    }

    fn combine(self, other: Work, with: impl Fn(f64, f64) -> f64) -> Work {
        Work {
            data: with(self.data, other.data),
            check: with(self.check, other.check),
            log_write: with(self.log_write, other.log_write),
            log_read: with(self.log_read, other.log_read),
            parity_read: with(self.parity_read, other.parity_read),
            parity_write: with(self.parity_write, other.parity_write),
        }
    }
}
