//! Why a run has no figures.

use parlour_array::RequestError;
use parlour_workload::replay::ReplayError;

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// More requests arrive than are served.
    #[error(
        "the load '{source_name}' is unstable: {backlog} of its requests are under way after {seconds:.1} s, and more come than are \
         answered; let them come further apart"
    )]
    Unstable {
        /// The source's name.
        source_name: String,
        /// Requests under way.
        backlog: usize,
        /// Simulated seconds.
        seconds: f64,
    },
    /// Nothing happens any more.
    #[error("nothing happens any more, and {0} requests are not answered")]
    Stuck(usize),
    /// There is no source of requests.
    #[error(
        "there is nobody who asks: a run has at least one source of requests, and one that goes on after the warm-up"
    )]
    NoSource,
    /// All sources ended during the warm-up.
    #[error(
        "all sources ended after {0} requests, before the warm-up did; make it shorter, or the sources longer"
    )]
    TooShort(u64),
    /// The watcher ended the run during the warm-up.
    #[error("interrupted after {0} requests of the warm-up, before any was counted")]
    Interrupted(u64),
    /// The array did not become warm.
    #[error("the array is not warm after {0} requests; wait for less, or longer")]
    NotWarm(u64),
    /// The array has no log to reintegrate.
    #[error("the warm-up waits for reintegrations, and this array has no parity log; leave that out")]
    NoLog,
    /// The array refused a request.
    #[error("'{source_name}': {length} sectors at {at}: {error}")]
    Refused {
        /// The source's name.
        source_name: String,
        /// The request's first sector.
        at: u64,
        /// The request's length.
        length: u64,
        /// The reason.
        error: RequestError,
    },
    /// A source cannot continue.
    #[error("'{source_name}': {error}")]
    Source {
        /// The source's name.
        source_name: String,
        /// The reason.
        error: ReplayError,
    },
}
