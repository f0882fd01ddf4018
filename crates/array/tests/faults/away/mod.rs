//! Returning members: members that were absent come back, and only regions that are out of sync are
//! rebuilt.
#![allow(clippy::unwrap_used, reason = "a test may give up where it likes")]

#[cfg(feature = "planted-bugs")]
mod planted;
#[cfg(not(feature = "planted-bugs"))]
mod promises;
#[cfg_attr(feature = "planted-bugs", expect(dead_code, reason = "one story needs less of it"))]
mod scene;
