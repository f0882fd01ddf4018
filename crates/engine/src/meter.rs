//! Measures the requests served, and their response times.

use hdrhistogram::Histogram;
use parlour_units::{Bytes, Duration, Instant, Sectors};
use serde::Serialize;

use crate::requests::{Answered, Direction};

/// Longer response times, in nanoseconds, are counted as this value.
const LONGEST: u64 = 600_000_000_000;

/// The requests served in a span of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Rates {
    /// The length of the span.
    pub seconds: f64,
    /// Answered reads.
    pub reads: u64,
    /// Bytes that they moved.
    pub read: Bytes,
    /// Answered writes.
    pub writes: u64,
    /// Bytes that they moved.
    pub written: Bytes,
    /// Other answered requests.
    pub others: u64,
    /// Requests answered with an error.
    pub errors: u64,
    /// Bytes of acknowledged writes that were written to their places (write-back).
    pub destaged: Bytes,
    /// Response times; none if no request was answered.
    pub response: Option<ResponseTimes>,
}

/// Response times in nanoseconds, from the submission by the frontend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ResponseTimes {
    /// The median.
    pub median: u64,
    /// The 95th percentile.
    pub p95: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The longest.
    pub longest: u64,
}

/// Counts since the last call of [`Meter::take`].
#[derive(Debug)]
pub(crate) struct Meter {
    since: Instant,
    counts: Rates,
    times: Histogram<u64>,
    /// Sectors that were destaged until then.
    destaged: Sectors,
}

impl Meter {
    pub(crate) fn new() -> Meter {
        let times = Histogram::new_with_bounds(1, LONGEST, 2).expect("the bounds are possible");
        Meter { since: Instant::ZERO, counts: Rates::default(), times, destaged: Sectors::ZERO }
    }

    pub(crate) fn count(&mut self, answered: &Answered, now: Instant) {
        let counts = &mut self.counts;
        let sum = |a: Bytes| Bytes::new(a.get() + answered.moved.get());
        match answered.direction {
            _ if answered.result.is_err() => counts.errors += 1,
            Direction::Read => (counts.reads, counts.read) = (counts.reads + 1, sum(counts.read)),
            Direction::Write => (counts.writes, counts.written) = (counts.writes + 1, sum(counts.written)),
            Direction::Neither => counts.others += 1,
        }
        self.times.saturating_record(now.since(answered.began).nanoseconds().max(1));
    }

    /// The requests served since the last call. `destaged` are all sectors that were destaged.
    pub(crate) fn take(&mut self, now: Instant, destaged: Sectors) -> Rates {
        let span: Duration = now.since(self.since);
        let response = (!self.times.is_empty()).then(|| ResponseTimes {
            median: self.times.value_at_quantile(0.5),
            p95: self.times.value_at_quantile(0.95),
            p99: self.times.value_at_quantile(0.99),
            longest: self.times.max(),
        });
        let since = (destaged - self.destaged).bytes();
        let rates = Rates { seconds: span.as_secs_f64(), response, destaged: since, ..self.counts };
        self.destaged = destaged;
        self.since = now;
        self.counts = Rates::default();
        if response.is_some() {
            self.times.reset();
        }
        rates
    }
}
