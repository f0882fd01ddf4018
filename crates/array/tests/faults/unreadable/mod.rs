//! The bad-block log: reads of blocks that cannot be recovered are errors, other data is not
//! affected, and a new write to such a block ends the error.
#![expect(clippy::unwrap_used, reason = "a test may give up where it likes")]

mod cuts;
#[cfg(feature = "planted-bugs")]
mod planted;
#[cfg(not(feature = "planted-bugs"))]
mod promises;
#[cfg_attr(feature = "planted-bugs", expect(dead_code, reason = "the cuts need less of it"))]
mod scene;
mod stutter;
