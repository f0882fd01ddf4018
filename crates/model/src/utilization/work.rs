//! What a write costs, term by term.

/// Milliseconds of disks' arms that a user's access takes up; amortized, where work is put off
/// (figure 13). Of a read it is all `data`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// The data itself, with the preread of what it replaces.
    pub data: f64,
    /// Copies, and check units that are updated in place.
    pub check: f64,
    /// Parity logging: its part of a log write.
    pub log_write: f64,
    /// Its part of reading a region's log.
    pub log_read: f64,
    /// Its part of reading a region's parity.
    pub parity_read: f64,
    /// Its part of writing it.
    pub parity_write: f64,
}

impl Work {
    /// All of it.
    pub fn total(&self) -> f64 {
        self.data + self.overhead()
    }

    /// The mean of what several things cost, each with its weight, which is not negative. None:
    /// nothing has any weight.
    pub fn mean(of: impl IntoIterator<Item = (f64, Work)>) -> Option<Work> {
        let (mut sum, mut weights) = (Work::default(), 0.0);
        for (weight, work) in of {
            sum = sum.combine(work, |sum, part| sum + weight * part);
            weights += weight;
        }
        let mean = sum.combine(sum, |part, _| part / weights);
        (weights > 0.0).then_some(mean)
    }

    /// What redundancy costs beside the data: the extra accesses of figure 13.
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
