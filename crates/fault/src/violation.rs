//! The violations that the tester can find.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Violation {
    /// A read returned content that the sector may not hold.
    #[error("sector {sector} read as {found}; it may hold: {allowed}")]
    WrongContent {
        /// The sector of the array.
        sector: u64,
        /// The content that was read.
        found: String,
        /// The content that the promises allow.
        allowed: String,
    },
    /// A request failed although the promises do not allow it.
    #[error("{request} was answered with an error: {error}")]
    Error {
        /// The request.
        request: String,
        /// The error.
        error: String,
    },
    /// A request was not answered in time.
    #[error("{0} has not been answered for ten minutes of virtual time")]
    Unanswered(String),
    /// Nothing is under way, but something is not done.
    #[error("nothing is under way, and {0}")]
    Stuck(String),
    /// A scrub found something that the promises do not allow.
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
    /// Check units on the members do not fit the data.
    #[error("check units of stripe {stripe} do not fit its data, from column {column} on")]
    Redundancy {
        /// The stripe.
        stripe: u64,
        /// The first column that does not fit, in sectors.
        column: u64,
    },
    /// A scrub changed something that it should not, or did not repair something that it should.
    #[error("{0}")]
    Repair(String),
    /// The array holds a resource while nothing is under way.
    #[error("nothing is under way, and the array holds {0}")]
    Leak(String),
    /// The contract between array and driver was broken.
    #[error("the seam: {0}")]
    Seam(String),
    /// The array could not be opened.
    #[error("the array does not open: {0}")]
    Opening(String),
    /// A member was accepted that must not be.
    #[error("{0} was believed")]
    Believed(String),
    /// The array did not restore full redundancy.
    #[error("the array does not become whole again: {0}")]
    NotWhole(String),
    /// Another server has opened the array, and this one still uses it.
    #[error("a server {0} that has opened the array since")]
    Rival(&'static str),
    /// An assertion failed.
    #[error("an assertion fired: {0}")]
    Panic(String),
}

impl Violation {
    /// The contract between array and driver was broken.
    pub(crate) fn seam(what: impl Into<String>) -> Violation {
        Violation::Seam(what.into())
    }

    /// The array could not be opened.
    pub(crate) fn opening(error: &dyn std::fmt::Display) -> Violation {
        Violation::Opening(error.to_string())
    }

    /// What `act` returns. A failed assertion in it is a violation too.
    pub(crate) fn catch<T>(act: impl FnOnce() -> Result<T, Violation>) -> Result<T, Violation> {
        catch_unwind(AssertUnwindSafe(act)).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Violation::Panic(text.unwrap_or("no message").to_owned()))
        })
    }

    /// The kind of the violation, in a few words.
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
