//! What the tester can find: a promise that was not kept.

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A read returned what may not stand there.
    #[error("sector {sector} read as {found}; it may hold: {allowed}")]
    WrongContent {
        /// Which sector of the array.
        sector: u64,
        /// What was read.
        found: String,
        /// What the promises allow.
        allowed: String,
    },
    /// A request failed that should not have.
    #[error("{request} was answered with an error: {error}")]
    Error {
        /// Which request.
        request: String,
        /// The error.
        error: String,
    },
    /// A request was not answered for too long.
    #[error("{0} has not been answered for ten minutes of virtual time")]
    Unanswered(String),
    /// Nothing is under way, and yet something is not done.
    #[error("nothing is under way, and {0}")]
    Stuck(String),
    /// A scrub found what should not be.
    #[error(
        "a scrub found {mismatches} mismatches, {unreadable} unreadable windows, and skipped {skipped} stripes"
    )]
    Scrub {
        /// Windows that do not fit.
        mismatches: u64,
        /// Windows that could not be read.
        unreadable: u64,
        /// Stripes that were not compared.
        skipped: u64,
    },
    /// Redundancy on the members does not fit the data.
    #[error("check units of stripe {stripe} do not fit its data, from column {column} on")]
    Redundancy {
        /// Which stripe.
        stripe: u64,
        /// The first sector in its units that does not fit.
        column: u64,
    },
    /// A scrub changed what it was not asked to change, or did not repair what it was asked to.
    #[error("{0}")]
    Repair(String),
    /// Something is still held when nothing is under way.
    #[error("nothing is under way, and the array holds {0}")]
    Leak(String),
    /// The seam's contract was broken.
    #[error("the seam: {0}")]
    Seam(String),
    /// The array could not be opened.
    #[error("the array does not open: {0}")]
    Opening(String),
    /// A member was believed that may not be.
    #[error("{0} was believed")]
    Believed(String),
    /// The array did not become whole again.
    #[error("the array does not become whole again: {0}")]
    NotWhole(String),
    /// Another server has opened the array, and this one does not leave it alone.
    #[error("a server {0} that has opened the array since")]
    Rival(&'static str),
    /// An assertion fired.
    #[error("an assertion fired: {0}")]
    Panic(String),
}

impl Violation {
    pub(crate) fn seam(what: impl Into<String>) -> Violation {
        Violation::Seam(what.into())
    }

    /// What sort of violation it is, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Violation::WrongContent { .. } => "wrong content",
            Violation::Error { .. } => "error",
            Violation::Unanswered(_) => "unanswered",
            Violation::Stuck(_) => "stuck",
            Violation::Scrub { .. } => "scrub",
            Violation::Redundancy { .. } => "redundancy",
            Violation::Repair(_) => "repair",
            Violation::Leak(_) => "leak",
            Violation::Seam(_) => "seam",
            Violation::Opening(_) => "opening",
            Violation::Believed(_) => "believed",
            Violation::NotWhole(_) => "not whole",
            Violation::Rival(_) => "rival",
            Violation::Panic(_) => "panic",
        }
    }
}
